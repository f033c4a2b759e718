"""Every figure about scene graphs and POSH, beside its floor, published peers and target.

    python -m scripts.research.posh.evaluate DATA [--out figures.json] [--only flickr8k]

The table of the last run is in README.md beside this file. With `--only`, `--write` leaves the rows
of the other parts as they are.

DATA is the folder of the public collections, one folder each: `factual_sg`, `discosg`,
`decapbench`, `ud_english_ewt`, `lvlm_captions`, `flickr8k_expert`, `faithscore`, `imageinwords`,
and where one has them `docent` and `caparena`. What is not there is left out and said so; of the
last two the published rows are printed all the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from revise_captions.io.writing import write_text
from revise_captions.text.formatting import p_value
from scripts.research.markdown import write_blocks
from scripts.research.posh.figures import ReportedFigure, as_table


@dataclass(frozen=True, slots=True)
class Setting:
    """Where the data is, which parser, which sentence encoder."""

    data: Path
    pipeline: str
    encoder: str


def _factual(on: Setting) -> Iterator[ReportedFigure]:
    from scripts.research.posh.graphs import factual

    yield from factual(on.data / "factual_sg" / "dev.csv", on.pipeline)


def _discosg(on: Setting) -> Iterator[ReportedFigure]:
    from scripts.research.posh.graphs import discosg

    yield from discosg(on.data / "discosg" / "train_300.json", on.pipeline)


def _decapbench(on: Setting) -> Iterator[ReportedFigure]:
    from scripts.research.posh.graphs import decapbench

    yield from decapbench(on.data / "decapbench" / "oracle_facts.jsonl", on.pipeline)


def _treebank(on: Setting) -> Iterator[ReportedFigure]:
    from scripts.research.posh.graphs import treebank

    yield from treebank(on.data / "ud_english_ewt" / "test.conllu", on.pipeline)[1]


def _speed(on: Setting) -> Iterator[ReportedFigure]:
    from scripts.research.posh.speed import speed

    yield from speed(on.data / "lvlm_captions", on.pipeline)


def _flickr8k(on: Setting) -> Iterator[ReportedFigure]:
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.posh import people

    encoder = load_encoder(on.encoder)
    everything = people.flickr8k(on.data / "flickr8k_expert" / "flickr8k_expert.json")
    tuning, reporting = people.halves(everything)
    yield from _flickr8k_half(reporting, "reporting half", encoder, on.pipeline, target=0.59)
    yield from _flickr8k_half(tuning, "tuning half", encoder, on.pipeline)


def _flickr8k_half(items, half, encoder, pipeline, target=None):  # type: ignore[no-untyped-def]
    """Figures of one half of the images; only the half that nothing was chosen on has a target."""
    from revise_captions.posh.offline_judge import OfflineJudge
    from scripts.research.posh import people

    found = people.overall(items, OfflineJudge(encoder), pipeline)
    plain = people.cosine(items, encoder)
    name = f"Flickr8k-Expert τ-c, {half}"
    yield people.figure(
        f"{name}: offline POSH",
        items,
        found,
        people.tau_c,
        floor=people.tau_c(*_flat(items, plain)),
        floor_name="cosine",
        target=target,
        peers=people.PEERS,
    )
    yield _test(name, people.paired(items, found, plain, people.tau_c), target and 0.03)
    yield from people.pairs(items, found, plain, f"Flickr8k-Expert, {half}")
    if target is not None:
        local = people.overall(items, OfflineJudge(encoder, gist=0), pipeline)
        yield people.figure(f"{name}: structure without the gist", items, local, people.tau_c)
        yield people.figure(f"{name}: cosine to the best reference", items, plain, people.tau_c)
        yield people.figure(f"{name}: stem overlap", items, people.overlap(items), people.tau_c)


def _flat(items, scores):  # type: ignore[no-untyped-def]
    import numpy as np

    counts = [len(item.values) for item in items]
    return np.repeat(scores, counts), np.array([v for item in items for v in item.values])


def _faithscore(on: Setting) -> Iterator[ReportedFigure]:
    from revise_captions.posh.offline_judge import OfflineJudge
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.posh import facts, people

    encoder = load_encoder(on.encoder)
    judge = OfflineJudge(encoder, gist=0)
    items, claims = facts.faithscore(on.data / "faithscore")
    found = facts.supported(claims, judge, on.pipeline)
    name = "FaithScore facts ROC-AUC"
    words = facts.containment(items)
    yield people.figure(
        f"{name}: offline POSH with words and boxes",
        items,
        found,
        people.auc,
        floor=people.auc(*_flat(items, words)),
        floor_name="word overlap",
        target=0.85,
        note="read while rules were written",
    )
    alone = facts.least(claims, judge, on.pipeline)
    seen = "read while rules were written"
    yield people.figure(f"{name}: offline POSH alone", items, alone, people.auc, note=seen)
    yield people.figure(f"{name}: cosine", items, people.cosine(items, encoder), people.auc)
    yield _test(name, people.paired(items, found, words, people.auc))


def _test(name: str, found, target: float | None = None) -> ReportedFigure:  # type: ignore[no-untyped-def]
    return ReportedFigure(
        f"{name}: above its floor by",
        found.difference,
        found.low,
        found.high,
        target=target,
        note=f"paired over images, {p_value(found.p, found.least_p)}",
    )


def _imageinwords(on: Setting) -> Iterator[ReportedFigure]:
    from revise_captions.posh.offline_judge import OfflineJudge
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.posh.people import imageinwords

    encoder = load_encoder(on.encoder)
    path = on.data / "imageinwords" / "IIW-400.jsonl"
    yield from imageinwords(path, OfflineJudge(encoder), encoder, on.pipeline)


def _contrasts(on: Setting) -> Iterator[ReportedFigure]:
    from revise_captions.posh.offline_judge import OfflineJudge
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.posh.marks import figures

    yield from figures(on.data, OfflineJudge(load_encoder(on.encoder)), on.pipeline)


def _docent(on: Setting) -> Iterator[ReportedFigure]:
    from revise_captions.posh.offline_judge import OfflineJudge
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.docent.figures import figures, found_in

    judge = OfflineJudge(load_encoder(on.encoder)) if found_in(on.data) else None
    yield from figures(on.data, judge, on.pipeline)


PARTS: dict[str, tuple[str, Callable[[Setting], Iterator[ReportedFigure]]]] = {
    "treebank": ("ud_english_ewt/test.conllu", _treebank),
    "factual": ("factual_sg/dev.csv", _factual),
    "discosg": ("discosg/train_300.json", _discosg),
    "decapbench": ("decapbench/oracle_facts.jsonl", _decapbench),
    "speed": ("lvlm_captions", _speed),
    "flickr8k": ("flickr8k_expert/flickr8k_expert.json", _flickr8k),
    "faithscore": ("faithscore/annotation.jsonl", _faithscore),
    "imageinwords": ("imageinwords/IIW-400.jsonl", _imageinwords),
    "contrasts": ("", _contrasts),
    "docent": ("", _docent),
}


def put(path: Path, found: list[ReportedFigure], *, only: bool = False) -> None:
    """Replaces what stands between the marks of a file: all rows, or those with a target.

    `only`: rows of other figures stay as they are.
    """
    text = path.read_text(encoding="utf-8")
    chosen = {"posh": found, "posh-targets": [row for row in found if row.target is not None]}
    marks = [mark for mark in chosen if f"<!-- {mark} -->" in text and f"<!-- /{mark} -->" in text]
    if not marks:
        raise click.ClickException(f"{path} has no <!-- posh --> … <!-- /posh -->")
    blocks = {mark: as_table(chosen[mark]) for mark in marks}
    if only:
        for mark, table in blocks.items():
            before = text.split(f"<!-- {mark} -->\n")[1].split(f"<!-- /{mark} -->")[0]
            blocks[mark] = with_rows(before.strip(), table)
    write_blocks(path, blocks)


def with_rows(table: str, new: str) -> str:
    """A table with another's rows in place of its own of the same name; new ones at its end.

    What stands in brackets after a name ("p = 0.004") is no part of it.
    """
    rows = {_name(line): line for line in table.splitlines()}
    rows.update((_name(line), line) for line in new.splitlines())
    return "\n".join(rows.values())


def _name(row: str) -> str:
    return row.split("|")[1].partition("[")[0].strip()


@click.command()
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--parser", default="bundled", show_default=True, help="A spaCy pipeline.")
@click.option("--encoder", default="", help="Folder or hub id of the sentence encoder.")
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="Only these parts.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Figures as JSON.")
@click.option(
    "--write",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Put the table between this file's <!-- posh --> and <!-- /posh -->, or the rows with a "
    "target between the same two of posh-targets.",
)
def main(
    data: Path,
    parser: str,
    encoder: str,
    only: tuple[str, ...],
    out: Path | None,
    write: tuple[Path, ...],
) -> None:
    """Print every figure about scene graphs and POSH as a Markdown table."""
    on = Setting(data, parser, encoder)
    found: list[ReportedFigure] = []
    for name in only or PARTS:
        needed, part = PARTS[name]
        if not (data / needed).exists():
            click.echo(f"{name}: no {needed} in {data}, left out", err=True)
            continue
        click.echo(name, err=True)
        found += part(on)
    click.echo(as_table(found))
    for path in write:
        put(path, found, only=bool(only))
    if out is not None:
        text = json.dumps([figure.as_json() for figure in found], indent=1, ensure_ascii=False)
        write_text(out, text + "\n")


if __name__ == "__main__":
    sys.exit(main())
