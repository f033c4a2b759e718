"""Graphs compared under WordNet's synonyms: SPICE's definition, worked by hand on a tiny WordNet.

Its files are written here, by the format of wndb(5WN).
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.errors import UserError
from revise_captions.graphs import parse, synonyms
from revise_captions.graphs.synonyms import combined, find_wordnet, synonym_f1
from revise_captions.graphs.triples import f1, tuples
from revise_captions.pipelines.metrics.floors import all_floors
from revise_captions.pipelines.metrics.scores import read_scores

PARSER = (Path(parse.__file__).parent / "bundled").is_dir()
LICENSE = "  1 This software and database is being provided to you, the LICENSEE, by\n"
#: Synsets by lemma, as WordNet 3.0 has them in part.
NOUNS = {
    "auto": [2958343],
    "automobile": [2958343],
    "bicycle": [2834778],
    "bike": [3769881, 2834778],
    "car": [2958343, 2959942],
    "construction": [2913152],
    "building": [2913152],
    "motorcycle": [3769881, 3790512],
    "railcar": [2959942],
    "stoplight": [4334599],
    "tee_shirt": [3595614],
    "t-shirt": [3595614],
    "traffic_light": [4334599],
}
VERBS = {"ride": [1955984], "sit_on": [1955984], "car": [99]}
ADJECTIVES = {"azure": [370267], "blue": [370267, 2959942]}


def lines(entries, part):
    """Index lines: lemma, part, synsets, pointers, senses, tagged senses, offsets."""
    return LICENSE + "".join(
        f"{lemma} {part} {len(own)} 2 @ ~ {len(own)} 1 {' '.join(f'{n:08d}' for n in own)}  \n"
        for lemma, own in sorted(entries.items())
    )


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "wordnet"
    found.mkdir()
    for name, part, entries in (
        ("noun", "n", NOUNS), ("verb", "v", VERBS), ("adj", "a", ADJECTIVES), ("adv", "r", {}),
    ):  # fmt: skip
        (found / f"index.{name}").write_text(lines(entries, part))
    return found


@pytest.fixture
def wordnet(folder):
    return find_wordnet(str(folder))


def scored(wordnet, caption, references):
    return synonym_f1(combined(caption, wordnet), combined(references, wordnet))


def test_tuples_match_if_lemmas_are_equal_or_share_a_synset(wordnet):
    caption = [("car", "is", "blue"), ("man", "ride", "bikes")]
    references = [("auto", "is", "azure"), ("automobile",), ("man", "hold", "bicycle")]
    # car, man, bike, blue car, man rides bike: all but the last match one of
    # auto (= automobile), man, bicycle, azure auto, man holds bicycle
    assert scored(wordnet, caption, references) == pytest.approx(4 / 5)
    # without synonyms, man alone of 5 and of 6
    plain = f1(tuples(caption).all, tuples(references).all)
    assert plain == pytest.approx(2 * 1 / (5 + 6))
    relation = [("man", "sit on", "bicycle")]
    assert scored(wordnet, [("man", "ride", "bike")], relation) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("traffic lights", "stoplight", True),
        ("t-shirt", "tee shirt", True),
        ("a car", "railcar", True),  # one sense of several is enough
        ("automobile", "railcar", False),  # both are cars, but share no synset
        ("car", "blue", False),  # the same offset, of another part of speech
        ("dog", "dogs", True),  # not in WordNet: by lemma
        ("dog", "cat", False),
    ],
)
def test_words_and_phrases(wordnet, one, other, same):
    assert scored(wordnet, [(one,)], [(other,)]) == same


def test_synonyms_are_combined_with_the_most_similar_object(wordnet):
    # a bike shares 1 synset of 2 with the bicycle, 1 of 3 with the motorcycle
    (motorcycle,), (bicycle,) = combined([("motorcycle",), ("bicycle",), ("bike",)], wordnet)
    assert motorcycle.words == {"motorcycle"}
    assert bicycle.words == {"bicycle", "bike"}
    found = combined(
        [("car", "is", "blue"), ("auto", "is", "azure"), ("auto", "by", "car")], wordnet
    )
    assert [len(one) for one in found] == [1, 2, 3]


def test_several_matches_of_one_tuple_leave_recall_at_most_1(wordnet):
    caption, references = [("automobile",), ("railcar",)], [("car",)]
    # both of the caption's match: P = 2/2; SPICE's code has R = 2/1 and F = 4/3
    assert scored(wordnet, caption, references) == 1
    assert scored(wordnet, references, caption) == pytest.approx(2 * 1 * 0.5 / 1.5)


def test_nothing_to_compare(wordnet):
    assert scored(wordnet, [], []) == 1
    assert scored(wordnet, [], [("car",)]) == scored(wordnet, [("car",)], []) == 0


def test_where_wordnet_is_found(folder, tmp_path, monkeypatch, wordnet):
    home = tmp_path / "home"
    archive = home / "corpora" / "wordnet.zip"  # as NLTK's downloader leaves it
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.iterdir():
            file.write(path, f"wordnet/{path.name}")
    assert find_wordnet(str(archive)) == wordnet
    monkeypatch.setattr(synonyms, "SYSTEM", tmp_path / "none")
    monkeypatch.delenv("WNHOME", raising=False)
    monkeypatch.setattr("nltk.data.path", [])
    with pytest.raises(UserError, match=r"not installed\n.*nltk.downloader wordnet.*wordnet-base"):
        find_wordnet()
    monkeypatch.setattr("nltk.data.path", [str(home)])
    assert find_wordnet() == wordnet
    monkeypatch.setattr(synonyms, "SYSTEM", folder)
    assert find_wordnet() == wordnet


def test_what_is_not_wordnet(folder, tmp_path):
    with pytest.raises(UserError, match=r"holds no WordNet: no index\.noun"):
        find_wordnet(str(tmp_path))
    (folder / "index.verb").write_text("ride v many\n")
    with pytest.raises(UserError, match=r"index\.verb is not WordNet's"):
        find_wordnet(str(folder))
    (folder / "index.verb").unlink()
    with pytest.raises(UserError, match=r"index\.verb is not WordNet's: .*index\.verb"):
        find_wordnet(str(folder))


@pytest.mark.skipif(not PARSER, reason="no parser is bundled")
def test_the_floor_is_named_with_its_files(folder, tmp_path):
    texts = [
        ("A blue car.", ["An azure automobile."]),
        ("A blue car.", ["A white horse."]),
        ("A blue car.", []),
    ]
    rows = [
        {"id": name, "image": f"{name}.png", "model": "m", "caption": caption,
         "references": references, "scores": [{"axis": "quality", "value": 1}]}
        for name, (caption, references) in zip("abc", texts, strict=True)
    ]  # fmt: skip
    (tmp_path / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    examples = list(benchmark("plain").read(tmp_path))
    found = read_scores(f"floor:spice-like={folder}", examples)
    assert found.captions == {"a": 1, "b": 0, "c": None}
    assert found.reasons == {"no references": 1}
    assert "WordNet " in found.source
    assert read_scores("floor:graph-f1", examples).captions == {"a": 0, "b": 0, "c": None}
    assert "floor:spice-like" not in {scores.name for scores in all_floors(examples)[0]}


@pytest.mark.skipif(
    not (synonyms.SYSTEM / "index.noun").is_file(),
    reason="Debian's wordnet-base is not installed, whose counts wnstats(7WN) prints",
)
def test_the_whole_of_wordnet():
    found = find_wordnet(str(synonyms.SYSTEM))
    assert len(set().union(*found.synsets.values())) == 117_659
    assert found.of("car") & found.of("automobile")
