"""Benchmarks on real files, whole: counts taken from the raw files, and what the labels mean."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path

import pytest

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.checks import check, require
from revise_captions.benchmarks.types import Example, Preference
from revise_captions.errors import UserError
from revise_captions.stats.correlations import correlation

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of public data is not here")


@pytest.mark.parametrize(
    ("name", "folder", "subset"),
    [
        ("chocolate", "chocolate", "five captioners"),
        ("faithscore", "faithscore", "14 images"),
        ("flickr8k-expert", "flickr8k_expert", "518 images"),
        ("imageinwords", "imageinwords", "IIW-400 and DOCCI_Test"),
        ("contextual-descriptions", "contextual_descriptions", "whole"),
        ("tifa", "tifa_correlation", "whole"),
        ("decapbench", "decapbench", "212 images"),
        ("discosg", "discosg", "300 captions"),
    ],
)
def test_the_counts_are_those_in_the_catalogue(name, folder, subset):
    found = check(benchmark(name), DATA / folder)
    assert found.matches == subset
    assert found.counts.get("doubts", 0) == 0


def test_counts_that_differ_are_an_error_that_says_how():
    with pytest.raises(UserError, match="images: 518, not 1,000"):
        require(benchmark("flickr8k-expert"), DATA / "flickr8k_expert", "published")


def test_chocolate_sentences_and_labels_are_the_files():
    raw = {row["_id"]: row for row in json.loads((DATA / "chocolate/chocolate.json").read_text())}
    read = list(benchmark("chocolate").read(DATA / "chocolate"))
    assert len(raw) == len(read) == 989
    for example in read:
        row = raw[example.id]
        assert [s.span.of(example.caption) for s in example.sentences] == row["sentences"]
        assert [list(s.error_types) for s in example.sentences] == row["labels"]
        assert [s.factual for s in example.sentences] == [not errors for errors in row["labels"]]
        assert Path(example.record.image.path).is_file()


def test_factual_has_the_captions_and_graphs_of_both_splits():
    def rows():
        for item in benchmark("factual").read(DATA / "factual_sg"):
            if item.subset == "train":
                break
            yield item

    read = list(rows())
    assert len(read) == 1000
    known = {item.caption: item.graph for item in read}
    assert known["a clock face on a tower"] == (("face", "on", "tower"), ("clock", "have", "face"))
    assert known["stack of the pole"] == (("pole",),)
    with (DATA / "factual_sg/dev.csv").open() as file:
        raw = list(csv.DictReader(file))
    for row, item in zip(raw, read, strict=True):
        written = " , ".join(f"( {' , '.join(triple)} )" for triple in item.graph)
        assert "".join(written.split()) == "".join(row["scene_graph"].split())


def test_flickr8k_has_every_rating_of_every_rater():
    raw = json.loads((DATA / "flickr8k_expert/flickr8k_expert.json").read_text())
    wanted = sorted(
        (key, row["caption"], row["rating"])
        for key, image in raw.items()
        for row in image["human_judgement"]
    )
    read = list(benchmark("flickr8k-expert").read(DATA / "flickr8k_expert"))
    found = sorted(
        (example.id.rpartition("-")[0], example.caption, score.value)
        for example in read
        for score in example.scores
    )
    assert found == wanted
    assert {len(example.scores) for example in read} == {3}


def test_imageinwords_preferences_point_the_right_way():
    """Published shares: people prefer IIW's captions to GPT-4V's and to DOCCI's on every axis."""
    items = list(benchmark("imageinwords").read(DATA / "imageinwords"))
    examples = {item.id for item in items if isinstance(item, Example)}
    preferences = [item for item in items if isinstance(item, Preference)]
    for preference in preferences:
        assert preference.first_id in examples
        assert (preference.second_id in examples) == (preference.second != "GPT-4V")
    for other in {preference.second for preference in preferences}:
        for axis in {preference.axis for preference in preferences}:
            values = [p.value for p in preferences if (p.second, p.axis) == (other, axis)]
            assert len(values) == 100
            assert sum(value > 0 for value in values) > sum(value < 0 for value in values)
    specific = [p.value for p in preferences if p.second == "IIW-P5B" and p.axis == "Specificity"]
    assert (specific.count(2), specific.count(1), specific.count(0), specific.count(-1)) == (
        79, 14, 5, 2,
    )  # fmt: skip


def test_tifa_scores_give_the_published_correlation():
    read = list(benchmark("tifa").read(DATA / "tifa_correlation"))
    human = [sum(s.value for s in example.scores) / len(example.scores) for example in read]
    meteor = [example.record.fields["meteor"] for example in read]
    assert correlation("kendall-b", meteor, human) == pytest.approx(0.27407599432086477, abs=1e-10)


def test_contextual_descriptions_keep_readers_apart():
    read = list(benchmark("contextual-descriptions").read(DATA / "contextual_descriptions"))
    with (DATA / "contextual_descriptions/blv_data_criticaltrials.csv").open() as file:
        raw = list(csv.DictReader(file))
    values = sorted(s.value for e in read for s in e.scores if s.axis == "BLV: overall")
    assert values == sorted(float(row["q_overall"]) for row in raw)


def test_faithscore_sub_sentences_stand_in_the_answer():
    for example in benchmark("faithscore").read(DATA / "faithscore"):
        spans = [s.span for s in example.sentences]
        assert spans == sorted(spans)
        assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
        assert len(example.references) == 5
