"""What the pages show of runs: the demo, one record, its verification, a leaderboard, a metric.

    python -m scripts.research.bundled_models.showcase            # print them all
    python -m scripts.research.bundled_models.showcase --write    # …into docs, and the pictures

Commands are run as a user would, into a folder that is thrown away, and what they print goes into
the pages; nothing within a line is changed. `example` is the shortest record in which all that was
flagged was mended, and nothing is wrong any more (by the scene that was drawn, not by the critic).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from revise_captions.io.writing import write_text
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.text import sentences
from scripts.research.frame.before_after import before_after
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.report import ROOT, write_option

EXAMPLES = Path("datasets/picturebook/examples/captions.jsonl")
#: Millions of people, by the Census Bureau's counts; a caption as it might be written of them.
CENSUS = {"1980": 226.5, "1990": 248.7, "2000": 281.4, "2010": 308.7, "2020": 331.4}
CENSUS_CAPTION = (
    "The bar chart shows the resident population of the United States from 1980 to 2020. It grew "
    "from 226.5 million in 1980 to 313.4 million in 2020. The population was highest in 2010."
)
GENERATE = (
    "-m revise_captions.picturebook.generate world --split test --scenes 24 --captions 14 "
    "--mode captioners --raters"
)
RATE = "world/test.jsonl --out board"
EVALUATE = (
    "picture-book world critic=board/judged-test.jsonl --floors "
    "--level sentence --level system --level agreement"
)
#: Parts of what captions rate prints, by their first line.
_PARTS = ("correct sentences, overall", "kinds of errors", "24 images")
#: Figures of captions evaluate-metric that are shown, by level.
_FIGURES = {
    "sentence": ("macro-F1 ", "ROC-AUC ", "macro-F1 at 0.5 "),
    "system": ("spearman ", "kendall-b "),
    "agreement": ("Krippendorff's α (nominal)",),
}
_SAID = "first − this"


def run_demo(folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """The demo's table and its output rows. Raises CalledProcessError where the run fails."""
    out = folder / "captions.jsonl"
    command = [str(Path(sys.executable).with_name("revise-captions")), str(EXAMPLES), str(out)]
    command += ["--report", str(folder / "report.html"), "--group-by", "model", "--force"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    # without the files' names, and without the time, which is the machine's
    table = done.stdout.partition("\nTime ")[0].strip("\n")
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return table, rows


def chart_picture(folder: Path) -> str:
    """A chart of census data, as a stock library draws it, and a caption with two errors."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(4.2, 4.2), dpi=110)
    axes.bar_label(axes.bar(list(CENSUS), list(CENSUS.values())), fmt="%.1f", fontsize=9)
    axes.set_title("Resident population of the United States", fontsize=10)
    axes.set_ylabel("million people")
    figure.tight_layout()
    figure.savefig(folder / "census.png")
    row = {"image": "census.png", "caption": CENSUS_CAPTION}
    given, out = folder / "census.jsonl", folder / "census-revised.jsonl"
    given.write_text(json.dumps(row) + "\n", encoding="utf-8")
    command = [str(Path(sys.executable).with_name("revise-captions")), str(given), str(out)]
    subprocess.run([*command, "--critic", "charts"], check=True, stdout=subprocess.DEVNULL)
    return before_after(json.loads(out.read_text(encoding="utf-8")), folder / "census.png")


def run_verification(folder: Path) -> str:
    """The lines that `captions verify` adds to the table of the demo's output in `folder`."""
    name = str(Path(sys.executable).with_name("captions"))
    command = [name, "verify", "captions.jsonl", "verified.jsonl", "--report", "verified.html"]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return verification(done.stdout)


def verification(printed: str) -> str:
    """The paragraph about preservation. Raises ValueError where there is none."""
    found = [part for part in printed.split("\n\n") if part.startswith("Preservation")]
    if len(found) != 1:
        raise ValueError(f"{len(found)} paragraphs begin with “Preservation”, expected 1")
    return found[0]


def example(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The shortest record in which something was flagged, and all of that was mended, truly."""
    mended = [row for row in rows if _mended(row) and _true(row)]
    return min(mended, key=lambda row: (len(row["caption"]), row["id"]))


def _mended(row: dict[str, Any]) -> bool:
    flagged = [s for s in row["revision"]["sentences"] if s["label"] == "nonfactual"]
    return bool(flagged) and all(s["accepted"] and not s["dropped"] for s in flagged)


def _true(row: dict[str, Any]) -> bool:
    """Whether no sentence of the revised caption is wrong or beyond the oracle."""
    split, _, number = row["id"].rpartition("-")
    scene, text = sample_scene(int(number), split), row["revised_caption"]
    truths = {oracle(scene, text[: s.start], s.of(text)) for s in sentences.split(text)}
    return not truths & {Truth.FALSE, Truth.UNPARSED}


def as_block(row: dict[str, Any]) -> str:
    """The record as JSON with one line for each sentence, fenced."""
    revision = row["revision"]
    lines = ",\n    ".join(_line(sentence) for sentence in revision["sentences"])
    head = {key: value for key, value in row.items() if key != "revision"}
    rest = {key: value for key, value in revision.items() if key != "sentences"}
    fields = ",\n ".join(f"{json.dumps(key)}: {_line(value)}" for key, value in head.items())
    text = f'{{{fields},\n "revision": {_line(rest)[:-1]}, "sentences": [\n    {lines}]}}}}'
    assert json.loads(text) == row
    return f"```json\n{text}\n```"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def run_commands(folder: Path) -> tuple[str, str]:
    """What the two commands print. Raises CalledProcessError where one fails."""
    _run(folder, GENERATE.split())
    return (
        _run(folder, [*_command("rate"), *RATE.split()]),
        _run(folder, [*_command("evaluate-metric"), *EVALUATE.split()]),
    )


def _command(name: str) -> list[str]:
    return ["-m", "revise_captions", name]


def _run(folder: Path, arguments: list[str]) -> str:
    call = [sys.executable, *arguments]
    return subprocess.run(call, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def shown_board(printed: str) -> str:
    """The parts of the leaderboard that are shown, whole."""
    parts = printed.strip("\n").split("\n\n")
    kept = []
    for place, part in enumerate(parts):
        if part.startswith(_PARTS):
            table = place + 1 < len(parts) and "\n" not in part
            kept += parts[place : place + 2] if table else [part]
    return "\n\n".join(kept)


def shown_figures(printed: str) -> str:
    """Of each level its heading and the chosen figures, with their tests."""
    kept = []
    for part in printed.split("\n\n"):
        head, *lines = part.split("\n")
        level = head.split(":")[0]
        if level not in _FIGURES or (level == "agreement" and "wrong or not" not in head):
            continue
        own, take = [head], False
        for line in lines:
            if not line.strip().startswith(_SAID):
                take = line.strip().startswith(_FIGURES[level]) and "[" not in line[:40]
            if take:
                own.append(line)
        kept.append("\n".join(own))
    return "\n\n".join(kept)


@click.command(help=(__doc__ or "").splitlines()[0])
@write_option
def main(write: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, rows = run_demo(Path(folder))
        verified = run_verification(Path(folder))
        board, figures = run_commands(Path(folder))
        chart = chart_picture(Path(folder)) if write else ""
    printed = {
        "demo": table,
        "verify": verified,
        "rate": re.sub(r" +$", "", shown_board(board), flags=re.MULTILINE),
        "metric": re.sub(r" +$", "", shown_figures(figures), flags=re.MULTILINE),
    }
    blocks = {name: f"```\n{text}\n```" for name, text in printed.items()}
    chosen = example(rows)
    blocks["example"] = as_block(chosen)
    for block in blocks.values():
        click.echo(f"{block}\n")
    if write:
        write_to_pages(ROOT, blocks)
        picture = before_after(chosen, ROOT / EXAMPLES.parent / chosen["image"])
        write_text(ROOT / "docs/images/before-after.svg", picture)
        write_text(ROOT / "docs/images/before-after-chart.svg", chart)


if __name__ == "__main__":
    main()
