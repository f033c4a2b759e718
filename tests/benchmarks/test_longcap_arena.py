"""`captions reproduce vela:table1`: published rows as printed, and ours beside them."""

from __future__ import annotations

import csv
import json
import re
from functools import partial
from pathlib import Path

import pytest
from click import Command
from click.testing import CliRunner
from scipy.stats import kendalltau

from revise_captions.benchmarks.catalog.longcap_arena import (
    AXES,
    HUMAN,
    TABLE_1,
    TABLE_4,
    VELA,
    test_of,
)
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.errors import UserError
from revise_captions.pipelines.benchmarks.cli import caption_benchmarks
from revise_captions.pipelines.reproduce import vela
from revise_captions.pipelines.reproduce.cli import reproduce_table
from revise_captions.stats.paired_tests import measured
from revise_captions.vela.training.data import merged, read_rated
from revise_captions.vela.training.settings import RatingFields

PAPER = Path(__file__).parents[3] / "shared/papers/vela.txt"
test_of.__test__ = False


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch) -> None:
    monkeypatch.setattr(vela, "measured", partial(measured, replicates=20))


def write(folder: Path) -> Path:
    """TestA, TestB and training files of all perspectives, 12 captions of 6 images each."""
    for part in ("train", "dci_val", "dci_test"):
        for axis in AXES:
            path = folder / f"{part}.{axis[:4].replace('rele', 'rel').replace('flue', 'flu')}.csv"
            with path.open("w", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["imgid", "cand", "refs", "score"])
                for k in range(12):
                    words = " ".join(["word"] * (k * 5 % 12 + 1))
                    rows.writerow([f"{part}{k // 2}.jpg", words, "['a word']", k * 7 % 5 / 4])
    return folder


def reproduced(table: int, folder: Path, *files: object) -> str:
    asked = [f"vela:table{table}", "--data", folder, *files]
    return ran(reproduce_table, *asked)


def ran(command: Command, *arguments: object) -> str:
    found = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


def rows_of(output: str, name: str) -> list[list[str]]:
    """The six figures of a row."""
    rows = [line.strip() for line in output.splitlines()]
    return [row.removeprefix(f"{name} ").split() for row in rows if row.startswith(f"{name}  ")]


def test_published_rows_are_printed_as_the_paper_has_them(tmp_path):
    write(tmp_path)
    first, second = (reproduced(number, tmp_path, "floor:length") for number in (1, 4))
    assert rows_of(first, VELA) == [["56.4", "40.0", "57.4", "54.0", "52.3", "39.0"]]
    assert rows_of(second, VELA) == [["56.8", "41.0", "55.2", "52.2", "51.9", "38.7"]]
    assert rows_of(first, HUMAN) == [["56.1", "46.6", "24.5", "48.9", "52.6", "24.4"]]
    assert rows_of(second, HUMAN) == [["54.4", "47.5", "32.1", "46.6", "51.9", "31.1"]]


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's text is not here")
def test_the_stored_tables_are_the_papers():
    text = re.sub(r"\$\\pm\$|<math>\\pm</math>", "±", PAPER.read_text())
    text = re.sub(r"<[^>]+>|± ?[\d.]+", "", text)
    for name, (six, ms) in TABLE_1.items():
        row = [*map(str, six), f"{ms:g}" if ms is not None else ""]
        assert re.search(r"\s+".join(map(re.escape, row[:6])) + rf"\s+{row[6]}", text), name
    for name, six in TABLE_4.items():
        assert re.search(r"\s+".join(map(re.escape, map(str, six))), text), name


def test_our_rows_hold_scipys_taus(tmp_path):
    write(tmp_path)
    lengths = [k * 5 % 12 for k in range(12)]
    human = [k * 7 % 5 for k in range(12)]
    for number, variant in ((1, "c"), (4, "b")):
        output = reproduced(number, tmp_path, "floor:length")
        expected = 100 * kendalltau(lengths, human, variant=variant).statistic
        assert rows_of(output, "floor:length") == [[f"{expected:.1f}"] * 6]
        assert "floor:length, TestA, relevance: 95 % [" in output


def test_a_file_may_have_a_column_for_each_perspective(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    examples = list(benchmark("longcap-arena").read(write(data)))
    scores = tmp_path / "vela.jsonl"
    lines = [
        json.dumps({"id": e.id, e.scores[0].axis: e.scores[0].value, "signature": "s"})
        for e in examples
    ]
    scores.write_text("\n".join(lines))
    assert rows_of(reproduced(4, data, f"ours={scores}"), "ours") == [["100.0"] * 6]


def test_files_of_the_validation_images_are_a_test_set(tmp_path):
    items = read_rated(write(tmp_path), "longcap-arena", RatingFields({}))
    assert {item.split for item in items} == {"train", "test"}
    both = merged(items)
    assert len(both) == len(items) // 3
    assert set(both[0].ratings) == set(AXES)


def test_captions_of_the_pooled_test_files_count_once(tmp_path):
    before = list(benchmark("longcap-arena").read(write(tmp_path)))
    for path in list(tmp_path.glob("dci_val.*.csv")):
        other = path.with_name(path.name.replace("dci_val", "dci_test")).read_text()
        pooled = path.read_text() + other.partition("\n")[2]
        path.with_name(path.name.replace("dci_val", "test")).write_text(pooled)
    after = list(benchmark("longcap-arena").read(tmp_path))
    assert {e.id for e in after} == {e.id for e in before}
    assert len(after) == len(before) == 3 * 36
    for path in tmp_path.glob("dci_*"):
        path.unlink()
    assert len(list(benchmark("longcap-arena").read(tmp_path))) == 3 * 36


def test_mistakes_are_explained(tmp_path):
    write(tmp_path)
    for path in tmp_path.glob("dci_*"):
        path.unlink()
    with pytest.raises(UserError, match="is in a test set"):
        reproduced(1, tmp_path, "floor:length")
    with pytest.raises(UserError, match="no score file"):
        reproduced(1, write(tmp_path), "nothing.jsonl")


def test_show_has_the_papers_figures():
    assert "56.4 40.0 57.4; 54.0 52.3 39.0" in ran(caption_benchmarks, "show", "longcap-arena")
    assert VELA in TABLE_4
