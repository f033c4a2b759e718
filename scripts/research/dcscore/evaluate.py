"""Every figure about DCScore, beside its floor, published peers and target.

    python -m scripts.research.dcscore.evaluate DATA [--only picture-book] [--write docs/dcscore.md]

DATA is the folder of the public collections: `decapbench`, `faithscore`, `flickr8k_expert`,
`imageinwords`. What is not there is left out and said so; the picture-book rows need none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from scripts.research.markdown import write_blocks
from scripts.research.posh.evaluate import with_rows
from scripts.research.posh.figures import ReportedFigure, as_table

#: Captions of each kind of picture-book text.
CAPTIONS = 140


def _decapbench(data: Path) -> Iterator[ReportedFigure]:
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.dcscore.decomposition import decapbench

    yield from decapbench(data / "decapbench", load_encoder(device="cpu"))


def _faithscore(data: Path) -> Iterator[ReportedFigure]:
    from scripts.research.dcscore.decomposition import faithscore

    yield from faithscore(data / "faithscore" / "annotation.jsonl")


def _picture_book(_: Path) -> Iterator[ReportedFigure]:
    from revise_captions.critic.load import load_critic
    from scripts.research.dcscore.picturebook import figures

    critic = load_critic(device="cpu")
    for balanced in (False, True):
        yield from figures(critic, CAPTIONS, balanced=balanced)


def _speed(data: Path) -> Iterator[ReportedFigure]:
    from scripts.research.dcscore.speed import speed

    yield from speed(data / "decapbench")


def _flickr8k(data: Path) -> Iterator[ReportedFigure]:
    from scripts.research.dcscore.people import flickr8k

    yield from flickr8k(data / "flickr8k_expert")


def _imageinwords(data: Path) -> Iterator[ReportedFigure]:
    from scripts.research.dcscore.people import imageinwords

    yield from imageinwords(data / "imageinwords" / "IIW-400.jsonl")


PARTS: dict[str, tuple[str, Callable[[Path], Iterator[ReportedFigure]]]] = {
    "decapbench": ("decapbench", _decapbench),
    "faithscore": ("faithscore/annotation.jsonl", _faithscore),
    "picture-book": ("", _picture_book),
    "flickr8k": ("flickr8k_expert", _flickr8k),
    "imageinwords": ("imageinwords/IIW-400.jsonl", _imageinwords),
    "speed": ("decapbench", _speed),
}


@click.command()
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="Only these parts.")
@click.option(
    "--write",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Put the rows between this file's <!-- dcscore --> and <!-- /dcscore -->.",
)
def main(data: Path, only: tuple[str, ...], write: Path | None) -> None:
    """Print every figure about DCScore as a Markdown table."""
    found: list[ReportedFigure] = []
    for name in only or PARTS:
        needed, part = PARTS[name]
        if not (data / needed).exists():
            click.echo(f"{name}: no {needed} in {data}, left out", err=True)
            continue
        click.echo(name, err=True)
        found += part(data)
    table = as_table(found)
    click.echo(table)
    if write is not None:
        text = write.read_text(encoding="utf-8")
        before = text.split("<!-- dcscore -->\n")[1].split("<!-- /dcscore -->")[0]
        write_blocks(write, {"dcscore": with_rows(before.strip(), table) if only else table})


if __name__ == "__main__":
    sys.exit(main())
