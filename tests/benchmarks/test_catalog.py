"""The table of benchmarks, and the command that lists, checks and exports them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from commands import outcome, program
from PIL import Image

from revise_captions.benchmarks import entries
from revise_captions.benchmarks.catalog.table import benchmark, benchmarks
from revise_captions.benchmarks.checks import count
from revise_captions.benchmarks.types import Example, HumanScore, Preference
from revise_captions.errors import UserError
from revise_captions.pipelines.benchmarks.cli import caption_benchmarks

main = program(caption_benchmarks)
ROOT = Path(__file__).parents[2]
OURS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
    "revise_captions.benchmarks"
]

# --- the table ------------------------------------------------------------------------------------


def test_every_benchmark_names_a_reader_and_what_is_missing(tmp_path):
    for name, entry in benchmarks().items():
        assert entry.name == name
        assert callable(entry.opened())
        with pytest.raises(UserError, match=f"{name}: there is no ") as error:
            list(entry.read(tmp_path))
        assert entry.source in str(error.value)
        assert entry.licence in str(error.value)
        assert entry.citation
        assert entry.labels


def test_the_table_is_lazy():
    import subprocess
    import sys

    code = (
        "import sys; from revise_captions.benchmarks.catalog.table import benchmarks\n"
        "benchmarks()\n"
        "read = [n for n in sys.modules if n.endswith(('.chocolate', '.polos', '.entries'))]\n"
        "assert not read and 'numpy' not in sys.modules, read"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(UserError, match="'choc': did you mean chocolate") as error:
        benchmark("choc")
    assert error.value.hint == f"installed are: {', '.join(sorted(OURS))}"


def test_counts_by_name():
    row = entries.record(entries.Entry("f", 1, {}), "A b.", entries.image_at("x.png"))
    example = Example("1", row, "x.png", "m", "s", scores=(HumanScore("axis", 1.0),))
    tie = Preference("y.png", "m", "n", "axis", 0.0)
    assert count([example, tie]) == {
        "captioners": 1, "captions": 1, "captions[m]": 1, "captions[s]": 1, "images": 2,
        "preferences": 1, "preferences[axis]": 1, "scores": 1, "scores[axis]": 1, "ties": 1,
    }  # fmt: skip


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def run(capsys):

    def call(*arguments: object) -> tuple[int, str, str]:
        return outcome(main, capsys, *arguments)

    return call


def write_chocolate(folder: Path) -> None:
    (folder / "images").mkdir()
    Image.new("RGB", (9, 9)).save(folder / "images/1.png")
    row = {"sentences": ["It rises.", "It falls."], "labels": [[], ["trend_error"]],
           "model": "m", "dataset": "pew", "image_path": "images/1.png", "_id": "m-1"}  # fmt: skip
    (folder / "chocolate.json").write_text(json.dumps([row]))


def test_list_show_and_check(run, tmp_path):
    code, out, _ = run("list")
    assert code == 0
    assert len(out.splitlines()) == len(benchmarks())
    code, out, _ = run("show", "chocolate")
    assert "Huang et al. 2024" in out
    assert "khhuang/CHOCOLATE (nothing is fetched for you)" in out
    assert "0.73 / 0.68  VNLI-Critique" in out
    write_chocolate(tmp_path)
    code, out, _ = run("check", "chocolate", tmp_path)
    assert code == 0
    assert "not five captioners:" in out
    assert "captions: 1 found, 989 expected" in out
    code, _, err = run("check", "chocolate", tmp_path, "--as", "five captioners")
    assert code == 2
    assert "does not hold the five captioners of chocolate" in err
    code, _, err = run("check", "docci", tmp_path)
    assert code == 2
    assert "there is no docci_descriptions.json*" in err


def test_export_is_what_the_other_commands_read(run, tmp_path):
    from revise_captions.io.readers import open_source

    write_chocolate(tmp_path)
    code, out, _ = run("export", "chocolate", tmp_path, tmp_path / "out.jsonl")
    assert (code, out.split()[0]) == (0, "1")
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert row["image"] == "images/1.png"
    assert row["sentences"][1] == {
        "start": 10, "end": 19, "label": "nonfactual", "assessable": True, "rationale": None,
        "error_types": ["trend_error"],
    }  # fmt: skip
    (record,) = list(open_source(str(tmp_path / "out.jsonl")))
    assert dict(record.captions) == {"caption": "It rises. It falls."}
    code, _, err = run("export", "chocolate", tmp_path, tmp_path / "out.csv")
    assert code == 2
    assert ".jsonl" in err
