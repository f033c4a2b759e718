"""Benchmarks that are not here, on tiny files in the format in which each is published."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from revise_captions.benchmarks import entries
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.checks import check
from revise_captions.benchmarks.types import Example, HumanScore, Preference
from revise_captions.errors import UserError
from revise_captions.records import Span


def read(name: str, folder: Path) -> list[Example | Preference]:
    return list(benchmark(name).read(folder))


def lines(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(path: Path, *rows: dict[str, object]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path.parent.mkdir(parents=True, exist_ok=True)
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(list(rows)), path)


def table(path: Path, *rows: dict[str, object]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


# --- sentences ------------------------------------------------------------------------------------


def mhal(label: str = "INACCURATE") -> dict[str, object]:
    return {
        "question": "Describe the image.",
        "response": "A cat sits. It looks happy.",
        "image": "COCO_val2014_000000000042.jpg",
        "annotations": [
            {"start": 0, "end": 11, "text": "A cat sits.", "label": label},
            {"start": 12, "end": 27, "text": "It looks happy.", "label": "ANALYSIS"},
        ],
    }


def test_m_haldetect(tmp_path):
    (tmp_path / "val_raw.json").write_text(json.dumps([mhal(), mhal("ACCURATE")]))
    wrong, right = read("m-haldetect", tmp_path)
    assert [s.factual for s in wrong.sentences] == [False, None]
    assert [s.assessable for s in wrong.sentences] == [True, False]
    assert wrong.sentences[1].span.of(wrong.caption) == "It looks happy."
    assert right.sentences[0].factual is True
    assert (wrong.image, wrong.captioner) == ("COCO_val2014_000000000042.jpg", "InstructBLIP")
    assert wrong.doubts == ()


def test_m_haldetect_with_text_from_elsewhere_is_a_doubt_and_other_labels_an_error(tmp_path):
    row = mhal()
    row["annotations"][0]["text"] = "A dog sits."
    lines(tmp_path / "val.jsonl", row)
    assert check(benchmark("m-haldetect"), tmp_path).counts["doubts"] == 1
    lines(tmp_path / "val.jsonl", mhal("MAYBE"))
    with pytest.raises(UserError, match=r"val\.jsonl, row 1: the label is “maybe”; expected one"):
        read("m-haldetect", tmp_path)
    row = mhal()
    row["annotations"][0]["end"] = 99
    lines(tmp_path / "val.jsonl", row)
    with pytest.raises(UserError, match="0 to 99 is no span of a response of 27"):
        read("m-haldetect", tmp_path)


def test_chocolate_reads_doubled_records_once(tmp_path):
    row = {
        "sentences": ["It rises.", "It falls."],
        "labels": [[], ["trend_error", "value_error"]],
        "model": "matcha",
        "dataset": "pew",
        "image_path": "images/1.png",
        "_id": "matcha-1",
    }
    (tmp_path / "chocolate.json").write_text(json.dumps([row, row]))
    (example,) = read("chocolate", tmp_path)
    assert example.caption == "It rises. It falls."
    assert example.sentences[1].span == Span(10, 19)
    assert example.sentences[1].error_types == ("trend_error", "value_error")
    row["labels"] = [[]]
    (tmp_path / "chocolate.json").write_text(json.dumps([row]))
    with pytest.raises(UserError, match="1 labels for 2 sentences"):
        read("chocolate", tmp_path)


def test_picture_book_is_what_the_generator_writes(tmp_path):
    from click.testing import CliRunner

    from revise_captions.picturebook.generate import main

    options = ["--split", "test", "--scenes", "3", "--captions", "2", "--raters", "--no-draw"]
    options += ["--mode", "captioners", "--workers", "1"]
    result = CliRunner().invoke(main, [str(tmp_path), *options])
    assert result.exit_code == 0, result.output
    raw = [json.loads(line) for line in (tmp_path / "test.jsonl").read_text().splitlines()]
    found = check(benchmark("picture-book"), tmp_path).counts
    labels = [sentence["label"] for row in raw for sentence in row["sentences"]]
    assert (found["captions"], found["images"], found["captioners"]) == (6, 3, 6)
    assert (found["factual"], found["nonfactual"]) == (
        labels.count("factual"),
        labels.count("nonfactual"),
    )
    assert found["votes"] == 5 * len(labels)


# --- scores ---------------------------------------------------------------------------------------


def test_flickr8k_cf_leaves_out_ratings_that_are_not_numbers(tmp_path):
    judgements = [{"caption": "a dog", "rating": float("nan")}, {"caption": "a cat", "rating": 0.5}]
    image = {"image_id": "1", "image_path": "Flickr8k_Dataset/1.jpg", "ground_truth": ["x", "y"]}
    text = json.dumps({"1": image | {"human_judgement": judgements}})
    (tmp_path / "crowdflower_flickr8k.json").write_text(text)
    dog, cat = read("flickr8k-cf", tmp_path)
    assert dog.scores == ()
    assert cat.scores == (HumanScore("share of yes", 0.5, "1"),)
    assert cat.references == ("x", "y")


@pytest.mark.parametrize("name", ["composite", "polaris", "nebula"])
def test_polos_csv(name, tmp_path):
    row = {"mt": "a dog", "refs": "['a hound', \"it's a dog\"]", "score": "0.75", "imgid": "7.jpg"}
    table(tmp_path / "en_test.csv", row)
    (example,) = read(name, tmp_path)
    assert (example.caption, example.image) == ("a dog", "7.jpg")
    assert example.references == ("a hound", "it's a dog")
    assert [score.value for score in example.scores] == [0.75]


def test_polos_refs_are_never_run_as_code(tmp_path):
    refs = "[__import__('os').getcwd()]"
    table(tmp_path / "x.csv", {"mt": "a", "refs": refs, "score": 1, "imgid": "7"})
    with pytest.raises(UserError, match="expected a list of texts"):
        read("polaris", tmp_path)


def test_polaris_and_nebula_parquet(tmp_path):
    image = {"bytes": b"\x89PNG", "path": "7.png"}
    row = {"cand": "a", "refs": ["r"], "human_score": 0.5, "img": image, "imgid": "7.png"}
    parquet(tmp_path / "p/test.parquet", row)
    (example,) = read("polaris", tmp_path / "p")
    assert (example.image, example.record.image.data) == ("7.png", b"\x89PNG")
    row = {"mt": "a", "refs": ["r"], "human_score": 0.5, "file_name": "8.png", "image": image}
    parquet(tmp_path / "n/test.parquet", row)
    assert read("nebula", tmp_path / "n")[0].image == "8.png"


def test_longcap_arena_takes_the_perspective_from_the_path(tmp_path):
    row = {"file_name": "1.jpg", "image": {"bytes": b"x", "path": None}, "refs": ["long"],
           "cand": "longer", "score": 0.25}  # fmt: skip
    parquet(tmp_path / "dci_test.desc/0000.parquet", row)
    parquet(tmp_path / "dci_test.flu/0000.parquet", row)
    axes = [example.scores[0].axis for example in read("longcap-arena", tmp_path)]
    assert axes == ["descriptiveness", "fluency"]
    parquet(tmp_path / "else.parquet", row)
    with pytest.raises(UserError, match="names none of the perspectives"):
        read("longcap-arena", tmp_path)


def test_thumb(tmp_path):
    row = {
        "SYS": "Human", "seg_id": "9002", "set_id": 77, "hyp": "There is a pizza.",
        "image": "COCO_val2014_000000009002.jpg", "P": 5.0, "R": 4.0, "Fl": -0.3, "Inc": -0.0,
        "Con": -0.0, "human_score": 4.2,
    }  # fmt: skip
    lines(tmp_path / "mscoco_THumB-1.0.jsonl", row, row | {"SYS": "Up-Down", "human_score": 4.3})
    lines(tmp_path / "mscoco_references.jsonl", {"seg_id": "9002", "refs": ["A pizza."]})
    human, model = read("thumb", tmp_path)
    assert (human.captioner, model.captioner) == ("human", "Up-Down")
    assert {s.axis: s.value for s in human.scores}["overall"] == 4.2
    assert (human.doubts, len(model.doubts)) == ((), 1)
    assert human.references == ("A pizza.",)


def contextref(submission: str, caption: str, overall: str = "['2', '4']", added: str = "4"):
    sliders = {f"q{n}_sliderval": "['3', '3']" for n in range(2, 5)}
    types = ("reconstructive", "all_relevant", "no_irrelevant", "image_fit", "added_info")
    return {
        "submission_id": submission, "img_id": "10", "description": "A red barn.",
        "caption": caption, "q1_sliderval": "['5']", **sliders,
        "q5_sliderval": f"['{added}', '{added}']", "q6_sliderval": overall,
        **{f"q{n}_type": kind for n, kind in enumerate(types, start=1)}, "q6_type": "overall",
    }  # fmt: skip


def test_contextref_counts_the_attentive_and_what_three_of_them_rated(tmp_path):
    rows = []
    for submission, added in (("a", "1"), ("b", "2"), ("c", "2"), ("d", "5")):
        copied = contextref(submission, "A barn", added=added)
        rows.append(copied | {"description": "A barn", "img_id": "11"})
        rows.append(contextref(submission, "The barn of 1880"))
    table(tmp_path / "data_chunk0-1_anon.csv", *rows)
    copy, barn = sorted(read("contextref", tmp_path), key=lambda example: example.image)[::-1]
    assert (copy.caption, barn.caption) == ("A barn", "A red barn.")
    assert {score.rater for score in barn.scores} == {"a", "b", "c"}
    axes = {score.axis: score.value for score in barn.scores if score.rater == "a"}
    assert axes["overall, before"] == 2
    assert axes["overall, after"] == 4
    assert axes["imaginability, before"] == 5
    assert barn.record.image.path == "10.jpg"
    write_image = tmp_path / "images/10.jpg"
    write_image.parent.mkdir()
    write_image.touch()
    text = (tmp_path / "data_chunk0-1_anon.csv").read_text().replace(",10,", ",10.jpg,")
    (tmp_path / "data_chunk0-1_anon.csv").write_text(text)
    paths = {example.record.image.path for example in read("contextref", tmp_path)}
    assert paths == {"images/10.jpg", "11.jpg"}
    assert "imaginability, after" not in axes


# --- preferences and spans ------------------------------------------------------------------------

DOCENT = {
    "uuid": "u1", "model1": "gpt4o", "model2": "llava", "model1_generation": "A saint.",
    "model2_generation": "A man.", "reference": "A saint holds a book.", "mistakes": "equal",
    "omissions": "1_much_better", "overall_quality": "2_slightly_better",
}  # fmt: skip


def test_docent_coarse(tmp_path):
    other = DOCENT | {"model2": "molmo", "model2_generation": "A monk."}
    parquet(tmp_path / "data/coarse-0.parquet", DOCENT, other)
    items = read("docent-coarse", tmp_path)
    examples = [item for item in items if isinstance(item, Example)]
    assert [example.captioner for example in examples] == ["gpt4o", "llava", "molmo"]
    values = {p.axis: p.value for p in items if isinstance(p, Preference) and p.second == "llava"}
    assert values == {"mistakes": 0, "omissions": 2, "overall_quality": -1}
    lines(tmp_path / "more.jsonl", DOCENT | {"mistakes": "better"})
    with pytest.raises(UserError, match="`mistakes` is 'better'; expected one of “1_much_better”"):
        read("docent-coarse", tmp_path)


def test_docent_granular(tmp_path):
    row = {
        "uuid": "u1", "model": "gpt4o", "generation": "A saint sits.", "reference": "A saint.",
        "mistakes": json.dumps([{"start": 8, "end": 12}, {"start": 8, "end": 99}]),
        "omissions": json.dumps([{"start": 0, "end": 7}]),
    }  # fmt: skip
    lines(tmp_path / "granular.jsonl", row)
    (example,) = read("docent-granular", tmp_path)
    assert [(e.kind, e.span) for e in example.errors] == [
        ("mistake", Span(8, 12)),
        ("mistake", Span(8, 13)),
        ("omission", Span(0, 7)),
    ]
    assert len(example.doubts) == 1
    lines(tmp_path / "granular.jsonl", row | {"mistakes": "[{"})
    with pytest.raises(UserError, match="row 1: `mistakes` holds no JSON"):
        read("docent-granular", tmp_path)


def test_caparena_ties_and_the_human_caption(tmp_path):
    def row(winner, source2="human"):
        return {
            "img": "test_1.jpg", "source1": "GPT-4o", "source2": source2, "caption1": "A boat.",
            "caption2": "Boats.", "ref": "Boats.", "winner": winner, "cluster": "level 1",
        }  # fmt: skip

    path = tmp_path / "caparena_annots_eval.json"
    path.write_text(json.dumps([row("GPT-4o"), row("human"), row("skip"), row("equal", "X")]))
    items = read("caparena", tmp_path)
    preferences = [item for item in items if isinstance(item, Preference)]
    assert [p.value for p in preferences] == [1, -1, 0, 0]
    assert [p.verdict for p in preferences] == ["GPT-4o", "human", "skip", "equal"]
    assert preferences[0].subset == "level 1"
    examples = {item.id: item for item in items if isinstance(item, Example)}
    assert len(examples) == 3
    assert examples[preferences[0].second_id].references == ()
    assert examples[preferences[3].second_id].references == ("Boats.",)
    path.write_text(json.dumps([row("nobody")]))
    with pytest.raises(UserError, match="the winner is 'nobody'"):
        read("caparena", tmp_path)


# --- captions -------------------------------------------------------------------------------------


def test_docci(tmp_path):
    row = {"example_id": "train_0", "split": "train", "image_file": "train_0.jpg",
           "description": "A long wall."}  # fmt: skip
    lines(tmp_path / "docci_descriptions.jsonlines", row)
    (example,) = read("docci", tmp_path)
    assert (example.id, example.subset, example.captioner) == ("train_0", "train", "human")
    assert example.record.image.path == str(tmp_path / "images/train_0.jpg")


def test_pixelprose(tmp_path):
    row = {"uid": "u", "url": "https://x/1.jpg", "key": "k", "status": "s", "vlm_model": "gemini",
           "original_caption": "alt", "vlm_caption": "This image displays a wall."}  # fmt: skip
    parquet(tmp_path / "data/vlm_captions_x.parquet", row)
    (example,) = read("pixelprose", tmp_path)
    assert example.record.image.url == "https://x/1.jpg"
    assert (example.captioner, example.caption) == ("gemini", "This image displays a wall.")


def test_detailcaps(tmp_path):
    row = {
        "image": "1.jpg", "source": "coco", "binary": b"\xff\xd8", "CogVLM": "a",
        "ShareCaptioner": "b", "LLaVA_v15": "c", "GT_Caption_GPT4O": "x", "GT_Caption_GPT4V": "y",
        "GT_Caption_Gemini15Pro": "z",
    }  # fmt: skip
    scored = row | {"GPT4_Eval": '{"CogVLM": 3, "ShareCaptioner": 4.5, "LLaVA_v15": 2}'}
    parquet(tmp_path / "test.parquet", scored, row | {"image": "2.jpg", "GPT4_Eval": None})
    read_all = read("detailcaps", tmp_path)
    assert [e.scores[0].value if e.scores else None for e in read_all] == [3, 4.5, 2, *[None] * 3]
    assert read_all[1].references == ("x", "y", "z")
    assert read_all[1].record.image.data == b"\xff\xd8"


# --- all of them ----------------------------------------------------------------------------------


def test_a_field_that_is_missing_is_named_with_the_row(tmp_path):
    row = {"example_id": "1", "split": "train", "image_file": "1.jpg", "caption": "x"}
    lines(tmp_path / "docci_descriptions.jsonlines", row)
    with pytest.raises(UserError) as error:
        read("docci", tmp_path)
    assert "row 1 has no field `description`" in str(error.value)
    assert "it has example_id, split, image_file, caption" in str(error.value)
    (tmp_path / "docci_descriptions.jsonlines").write_text("{oops\n")
    with pytest.raises(UserError, match="row 1"):
        read("docci", tmp_path)


def test_triples():
    assert entries.triples("( a , on , b ) , ( c )") == (("a", "on", "b"), ("c",))
    assert entries.triples("") == ()
