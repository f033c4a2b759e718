"""Every command refuses to write over what it reads, and over files that are not its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from commands import write_input

from revise_captions.errors import UserError
from revise_captions.finetune.trainer.state import RunFolder
from revise_captions.io.rows import dumps
from revise_captions.io.writing import check_new_folder
from revise_captions.pipelines.benchmarks.cli import caption_benchmarks
from revise_captions.pipelines.metrics.evaluate import evaluate
from revise_captions.pipelines.metrics.number_floors import HEADER, texts_of
from revise_captions.pipelines.metrics.options import EvaluationOptions
from revise_captions.pipelines.rating.leaderboard import rate_captions
from revise_captions.pipelines.rating.options import RatingOptions
from revise_captions.posh.options import PoshOptions
from revise_captions.posh.score_file import run as score_posh
from revise_captions.runs.training_folder import MARK, check_run_folder, mark_run_folder

PRECIOUS = "name,score\nprecious,1\n"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "precious.json"
    path.write_text(PRECIOUS)
    return path


def posh_options(source: Path, out: Path, html: Path, *, force: bool = False) -> PoshOptions:
    return PoshOptions(str(source), out, html=html, force=force)


def test_score_posh(tmp_path, foreign):
    source = tmp_path / "in.jsonl"
    source.write_text('{"generation": "A cat.", "reference": "A cat."}\n')
    os.link(source, tmp_path / "link.jsonl")
    for out, html in (("link.jsonl", "p.html"), ("o.jsonl", "link.jsonl"), ("o.jsonl", "o.jsonl")):
        with pytest.raises(UserError):
            score_posh(posh_options(source, tmp_path / out, tmp_path / html, force=True))
    with pytest.raises(UserError, match="exists"):
        score_posh(posh_options(source, tmp_path / "o.jsonl", foreign))
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
        rate_captions(RatingOptions(inputs=(str(source),), out=tmp_path / "board"))
    assert {path.name for path in (tmp_path / "board").iterdir()} == {name}
    assert (tmp_path / "board" / name).read_text() == PRECIOUS


@pytest.mark.parametrize(
    "text",
    [
        "no line of a cache, and no line end",
        "",
        "{",
        '{"image": "a", "text": "b"}',
        '{"image": "a", "text": "b"}\r\n{"image": "c", "te',
        json.dumps({"image": "a", "text": "b", "caption": "a data set of mine"}) + "\n",
    ],
)
def test_the_cache_of_texts_in_images(tmp_path, text):
    (tmp_path / "cache.jsonl").write_bytes(text.encode())
    with pytest.raises(UserError, match="does not hold OCR texts of images"):
        texts_of([], tmp_path / "cache.jsonl", tmp_path)
    assert (tmp_path / "cache.jsonl").read_bytes() == text.encode()


def test_a_torn_line_of_the_cache_goes(tmp_path):
    whole = (dumps(HEADER) + '\n{"image": "ä", "text": "ö"}\n').encode()
    for torn in (b"", b"{", b'{"image": "x", "te', '{"image": "ä'.encode()[:-1]):
        (tmp_path / "cache.jsonl").write_bytes(whole + torn)
        assert texts_of([], tmp_path / "cache.jsonl", tmp_path) == {"ä": "ö"}
        assert (tmp_path / "cache.jsonl").read_bytes() == whole
    (tmp_path / "cache.jsonl").write_bytes(whole[:-1])  # only the end of the line is missing
    assert texts_of([], tmp_path / "cache.jsonl", tmp_path) == {"ä": "ö"}
    assert (tmp_path / "cache.jsonl").read_bytes() == whole


def test_what_is_no_cache_of_texts_is_one_line(tmp_path):
    (tmp_path / "cache.jsonl").write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere/at/all")
    for name in ("cache.jsonl", "folder", "dangling"):
        with pytest.raises(UserError, match="does not hold OCR texts of images"):
            texts_of([], tmp_path / name, tmp_path)


def test_a_training_run_begins_in_a_new_folder(tmp_path):
    out = tmp_path / "out"
    check_run_folder(out, "captions train-vela", go_on=False)
    (out / "training").mkdir(parents=True)
    (out / "training/part-00000-of-00002.parquet").write_text(PRECIOUS)
    for mark in ("", "[1]", '{"format": "somebody\'s"}'):
        (out / MARK).write_text(mark)
        for go_on in (False, True):
            with pytest.raises(UserError, match="not empty"):
                check_run_folder(out, "captions train-vela", go_on=go_on)
    mark_run_folder(tmp_path / "mine", "captions train-vela")
    check_run_folder(tmp_path / "mine", "captions train-vela", go_on=True)
    with pytest.raises(UserError, match="holds a training run"):
        check_run_folder(tmp_path / "mine", "captions train-vela", go_on=False)
    with pytest.raises(UserError, match="holds a run of captions train-vela"):
        check_run_folder(tmp_path / "mine", "captions finetune", go_on=True)
    with pytest.raises(UserError, match="not a folder"):
        check_new_folder(out / MARK)


def test_only_parts_of_a_training_state_are_removed(tmp_path):
    folder = RunFolder(tmp_path)
    folder.training.mkdir()
    kept = ("part-00000-of-00002.parquet", "part-2-0.pt", "part-1-0.pt.bak", "part-r-00001")
    for name in (*kept, "part-1-0.pt", "part-12-1.pt"):
        (folder.training / name).write_text(PRECIOUS)
    folder.remove_old_parts(2)
    assert {path.name for path in folder.training.iterdir()} == set(kept)


def test_the_file_of_options_is_not_overwritten(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 3)
    options = tmp_path / "options.toml"
    options.write_text("force = true\n")
    for arguments in (["options.toml"], ["out.jsonl", "--report", "options.toml"]):
        ran = command("in.jsonl", *arguments, "--config", "options.toml")
        assert ran.code == 2
        assert "is the input options.toml" in ran.err
    assert options.read_text() == "force = true\n"
