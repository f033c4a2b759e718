"""What the pages show of `rate-captions` and `evaluate-metric`: made by a run on drawn pictures.

    python -m scripts.research.bundled_models.showcase_boards            # print both
    python -m scripts.research.bundled_models.showcase_boards --write    # …into those pages

The pages' own commands are run, into a folder that is thrown away. Of what they print, one table
goes between `<!-- rate -->` and `<!-- /rate -->`, and figures by name between `<!-- metric -->` and
`<!-- /metric -->`; nothing within a line is changed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from scripts.research.bundled_models.card import ROOT
from scripts.research.frame.blocks import write_to_pages

GENERATE = (
    "-m revise_captions.picturebook.generate world --split test --scenes 24 --captions 14 "
    "--mode captioners --raters"
)
RATE = "world/test.jsonl --out board"
EVALUATE = (
    "picture-book world critic=board/judged-test.jsonl --floors "
    "--level sentence --level system --level agreement"
)
#: Parts of what rate-captions prints, by their first line.
_PARTS = ("correct sentences, overall", "kinds of errors", "24 images")
#: Figures of evaluate-metric that are shown, by level.
_FIGURES = {
    "sentence": ("macro-F1 ", "ROC-AUC ", "macro-F1 at 0.5 "),
    "system": ("spearman ", "kendall-b "),
    "agreement": ("Krippendorff's α (nominal)",),
}
_SAID = "first − this"


def run_commands(folder: Path) -> tuple[str, str]:
    """What the two commands print. Raises CalledProcessError where one fails."""
    _run(folder, GENERATE.split())
    return (
        _run(folder, [*_command("rating.cli"), *RATE.split()]),
        _run(folder, [*_command("metrics.cli"), *EVALUATE.split()]),
    )


def _command(module: str) -> list[str]:
    return ["-c", f"from revise_captions.pipelines.{module} import main; main()"]


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
@click.option("--write", is_flag=True, help="Into the checkout's pages in docs.")
def main(write: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        board, figures = run_commands(Path(folder))
    blocks = {"rate": shown_board(board), "metric": shown_figures(figures)}
    for name, block in blocks.items():
        blocks[name] = f"```\n{re.sub(r' +$', '', block, flags=re.MULTILINE)}\n```"
        click.echo(f"{blocks[name]}\n")
    if write:
        write_to_pages(ROOT, blocks)


if __name__ == "__main__":
    main()
