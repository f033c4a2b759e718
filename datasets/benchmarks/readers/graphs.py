"""Captions with gold facts or gold scene graphs: DeCapBench, FACTUAL, DiscoSG."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import csv_rows, record, rows, triples
from revise_captions.benchmarks.types import HUMAN, Example, Fact
from revise_captions.records import ImageRef


def read_decapbench(folder: Path) -> Iterator[Example]:
    """ImageInWords captions, decomposed by hand into primitive facts (Ye et al. 2025)."""
    names = ("human_annotated_oracle_facts.jsonl", "oracle_facts.jsonl")
    for entry in rows(next(p for name in names if (p := folder / name).is_file())):
        image = entry.text("image_name")
        row = record(entry, entry.text("oracle_caption"), ImageRef(path=image))
        facts = tuple(Fact(text, True) for text in entry.texts("oracle_facts"))
        yield Example(image, row, image, HUMAN, facts=facts)


def read_factual(folder: Path) -> Iterator[Example]:
    """FACTUAL (Li et al. 2023): descriptions of regions of Visual Genome; a file is a split."""
    for path in sorted(folder.glob("*.csv")):
        for entry in csv_rows(path):
            image, region = entry.text("image_id"), entry.text("region_id")
            row = record(entry, entry.text("caption"), ImageRef(path=image))
            graph = triples(entry.text("scene_graph"))
            name = f"{path.stem}-{image}-{region}-{entry.number}"
            yield Example(name, row, image, HUMAN, path.stem, graph=graph)


def read_discosg(folder: Path) -> Iterator[Example]:
    """DiscoSG (Lin et al. 2025): captions by VLMs, each with a graph of the whole discourse."""
    for path in sorted(folder.glob("*.json*")):
        for entry in rows(path):
            name = f"{path.stem}-{entry.number}"
            row = record(entry, entry.text("caption"), ImageRef())
            graph = triples(entry.text("scene_graph"))
            yield Example(name, row, name, subset=path.stem, graph=graph)
