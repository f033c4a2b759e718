"""The changed descriptions that ContextRef's authors released, from their files to the table."""

from __future__ import annotations

import csv
import shutil

import numpy as np
import pytest
from PIL import Image

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.errors import UserError
from revise_captions.metrics import MetricScore, Needs
from revise_captions.pipelines.reproduce.options import ReproduceOptions
from revise_captions.pipelines.reproduce.run import SAMPLES, reproduce
from revise_captions.pipelines.stress import scores
from revise_captions.pipelines.stress.options import StressOptions
from revise_captions.pipelines.stress.run import run
from revise_captions.pipelines.stress.terminal import as_text

#: Files as the authors' `write_csv` has them: a row for each rating, three of four descriptions.
FILES = SAMPLES / "contextref/contextref"


class Redness:
    """The image's red, more with each letter of the context, and hardly more with each word."""

    name, settings, needs = "redness", {}, frozenset({Needs.IMAGE})

    def score(self, items):
        reds = [float(np.asarray(i.image.load())[..., 0].mean()) for i in items]
        return [
            MetricScore(red + len(i.context) / 1000 + len(i.text.split()) / 100_000)
            for red, i in zip(reds, items, strict=True)
        ]


@pytest.fixture
def folder(tmp_path):
    """The authors' folder `data`, without the ratings' own tables."""
    shutil.copytree(
        FILES, tmp_path / "train_data/csvs", ignore=shutil.ignore_patterns("data_chunk*")
    )
    for place, red, names in (
        ("images_chunk0", 9, ("1.jpg", "2.jpg", "3.jpg", "4.jpg")),
        ("images_chunk0_wdistractors", 5, ("1_crown.png", "2_ball.png", "3_crown.png")),
    ):
        (tmp_path / "images" / place).mkdir(parents=True)
        for name in names:
            Image.new("RGB", (8, 8), (red, 0, 0)).save(tmp_path / "images" / place / name)
    return tmp_path


def test_the_released_files_make_table_1():
    said = reproduce(ReproduceOptions("contextref:table1", protocol="released"))
    (own,) = [line.split() for line in said.splitlines() if line.startswith("  length")]
    # words of the originals: 9, 2, 12; the fourth is of the training split
    assert own[1:] == ["66.7", "0.0", "0.0", "–", "50.0", "0.0", "66.7", "0.0", "0.0", "0.0"]
    assert "protocol released\n" in said
    assert "\n3 descriptions of 3 images\n" in said
    assert "\n  - the data are a made-up sample\n\n" in said  # and nothing else differs


def test_images_and_contexts_are_those_of_the_files(folder, monkeypatch):
    monkeypatch.setattr(scores, "load_metric", lambda given, options: Redness())
    csvs = folder / "train_data/csvs"
    shutil.copy(csvs / "df_metric_gold.csv", csvs / "df_metric_typos.csv")
    with (csvs / "df_metric_modelerrors_GPT4.csv").open("r+", newline="") as file:
        row = next(csv.DictReader(file))
        file.seek(0, 2)
        csv.DictWriter(file, row).writerow(row | {"img_id": "77.jpg", "description": "A wall."})
    options = StressOptions(
        ("metric:redness",), folder, benchmark="contextref", protocol="released", replicates=100
    )
    found = run(options)
    (metric,) = found["metrics"]
    shares = {
        own["check"]: [own["shares"][way]["value"] for way in ("lower", "same", "higher")]
        for own in metric["checks"]
    }
    assert shares["Frankenstein images"] == [1, 0, 0]
    assert shares["shuffled contexts"] == [0.5, 0.25, 0.25]
    assert shares["exact repetition"] == [0, 1, 0]  # to three decimals
    assert found["applies"]["shuffled descriptions"] == 3  # one is its own, and so no change
    assert found["applies"]["shuffled contexts"] == 4
    (reason,) = metric["unscored"]
    assert "images_chunk0_wdistractors/4_duck.png does not exist" in reason
    assert found["left_out"] == {
        "changed descriptions without their original": 1,
        "file, df_metric_typos.csv, which is no check of the paper": 1,
    }
    text = as_text(found)
    assert text.startswith("contextref, protocol released: 4 descriptions of 4 images")
    assert "left out: 1 changed descriptions without" in text
    assert "protocol:released" in found["signature"]


def test_the_originals_are_a_benchmark_with_ratings_and_a_split(folder):
    examples = list(benchmark("contextref").read(folder))
    assert [(e.image, e.subset) for e in examples] == [
        ("2.jpg", "test"), ("1.jpg", "test"), ("4.jpg", "train"), ("3.jpg", "test")
    ]  # fmt: skip
    bridge = examples[0]
    assert (bridge.caption, bridge.context) == ("A bridge.", "Bridge")
    assert bridge.record.image.path == "images/images_chunk0/2.jpg"
    assert [s.value for s in bridge.scores if s.axis == "imaginability, before"] == [5, 2, 4]
    assert {s.rater for s in bridge.scores} == {"1", "2", "3"}
    assert "imaginability, after" not in {s.axis for s in bridge.scores}


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(UserError, match="for the benchmark contextref, but this is plain"):
        run(StressOptions(("length",), tmp_path, protocol="released"))
    with pytest.raises(UserError, match=r"there is no df_metric_gold\.csv"):
        run(StressOptions(("length",), tmp_path, protocol="released", benchmark="contextref"))
