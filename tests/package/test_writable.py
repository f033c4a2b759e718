"""Every command refuses to write over what it reads, and over files that are not its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from commands import write_input

from revise_captions.errors import UserError
from revise_captions.io.writing import check_new_folder
from revise_captions.pipelines.benchmarks.cli import caption_benchmarks
from revise_captions.pipelines.metrics.evaluate import EvaluationOptions, evaluate
from revise_captions.pipelines.metrics.number_floors import texts_of
from revise_captions.pipelines.rating.leaderboard import RatingOptions, rate_captions
from revise_captions.posh.score_file import PoshOptions
from revise_captions.posh.score_file import run as score_posh

PRECIOUS = "name,score\nprecious,1\n"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "precious.json"
    path.write_text(PRECIOUS)
    return path


def test_score_posh(tmp_path, foreign):
    source = tmp_path / "in.jsonl"
    source.write_text('{"generation": "A cat.", "reference": "A cat."}\n')
    os.link(source, tmp_path / "link.jsonl")
    for out, html in (("link.jsonl", "p.html"), ("o.jsonl", "link.jsonl"), ("o.jsonl", "o.jsonl")):
        with pytest.raises(UserError):
            score_posh(PoshOptions(source, tmp_path / out, html=tmp_path / html, force=True))
    with pytest.raises(UserError, match="exists"):
        score_posh(PoshOptions(source, tmp_path / "o.jsonl", html=foreign))
    (tmp_path / "o.jsonl.part").symlink_to(foreign)
    assert foreign.read_text() == PRECIOUS
    assert source.read_text().startswith('{"generation"')


def test_evaluate_metric(tmp_path, foreign):
    scores = tmp_path / "scores.csv"
    scores.write_text("id,score\n1,0.5\n")
    for out, given in ((foreign, ()), (scores, (f"mine={scores}",)), (scores, (str(scores),))):
        with pytest.raises(UserError, match=r"exists|is the input"):
            evaluate(EvaluationOptions("annotations", tmp_path / "none", given, out=out))
    assert foreign.read_text() == PRECIOUS


def test_caption_benchmarks_export(tmp_path, foreign):
    out = foreign.rename(tmp_path / "precious.jsonl")
    with pytest.raises(UserError, match="is the input"):
        caption_benchmarks.main(
            ["export", "chocolate", str(tmp_path), str(out)], standalone_mode=False
        )
    assert out.read_text() == PRECIOUS


@pytest.mark.parametrize("name", ["overall.csv", "leaderboard.html", "judged-in.jsonl"])
def test_rate_captions(tmp_path, name):
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / name).write_text(PRECIOUS)
    source = tmp_path / "in.jsonl"
    source.write_text('{"image": "a.png", "caption": "A cat.", "model": "x"}\n')
    with pytest.raises(UserError):
        rate_captions(RatingOptions((str(source),), tmp_path / "board"))
    assert {path.name for path in (tmp_path / "board").iterdir()} == {name}
    assert (tmp_path / "board" / name).read_text() == PRECIOUS


@pytest.mark.parametrize(
    "text",
    [
        "no line of a cache, and no line end",
        json.dumps({"image": "a", "text": "b", "caption": "a data set of mine"}) + "\n",
    ],
)
def test_the_cache_of_texts_in_images(tmp_path, text):
    (tmp_path / "cache.jsonl").write_text(text)
    with pytest.raises(UserError, match="holds no texts of images"):
        texts_of([], tmp_path / "cache.jsonl", tmp_path)
    assert (tmp_path / "cache.jsonl").read_text() == text


def test_a_torn_line_of_the_cache_goes(tmp_path):
    whole = '{"image": "ä", "text": "ö"}\n'
    for torn in ("", "{", '{"image": "x", "te'):
        (tmp_path / "cache.jsonl").write_text(whole + torn, encoding="utf-8")
        assert texts_of([], tmp_path / "cache.jsonl", tmp_path) == {"ä": "ö"}
        assert (tmp_path / "cache.jsonl").read_text(encoding="utf-8") == whole


def test_a_training_run_begins_in_a_new_folder(tmp_path):
    (tmp_path / "out/training").mkdir(parents=True)
    check_new_folder(tmp_path / "out", but=["training"])
    (tmp_path / "out/README.md").write_text(PRECIOUS)
    with pytest.raises(UserError, match="not empty"):
        check_new_folder(tmp_path / "out", but=["training"])
    with pytest.raises(UserError, match="no folder"):
        check_new_folder(tmp_path / "out/README.md")


def test_the_file_of_options_is_not_overwritten(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 3)
    options = tmp_path / "options.toml"
    options.write_text("force = true\n")
    for arguments in (["options.toml"], ["out.jsonl", "--report", "options.toml"]):
        ran = command("in.jsonl", *arguments, "--config", "options.toml")
        assert ran.code == 2
        assert "is the input options.toml" in ran.err
    assert options.read_text() == "force = true\n"
