"""Makes `graphs/grading/senses.json` from WordNet 3.0: what is a kind of what.

    python -m scripts.research.parser.make_senses WORDNET factual_sg/train.csv

WORDNET is the folder with `data.noun` and `index.noun`. Kept are nouns that FACTUAL's
region descriptions use or that WordNet's own corpus has tagged, in their first senses that can be
seen in a picture, with all that is above these.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import click

from revise_captions.graphs.triples import lemmas
from revise_captions.io.writing import write_text

OUT = Path(__file__).parents[3] / "src/revise_captions/graphs/grading/senses.json"
#: Numbers of WordNet's files of nouns for what a picture can show: animals, artifacts, people.
_SEEN = frozenset((3, 5, 6, 8, 13, 14, 15, 17, 18, 19, 20, 25, 27))
_SENSES = 2  # of a word, the most frequent first
_WORDS_OF = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Synset:
    """`file`: the number of the file that WordNet's authors put it in; `above`: hypernyms."""

    file: int
    above: tuple[str, ...]


def synsets(folder: Path) -> dict[str, Synset]:
    """WordNet's `data.noun` by offset (format: wndb(5))."""
    found = {}
    for line in (folder / "data.noun").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            continue
        cells = line.partition("|")[0].split()
        at = 5 + 2 * int(cells[3], 16)
        pointers = [cells[k : k + 2] for k in range(at, at + 4 * int(cells[at - 1]), 4)]
        above = tuple(offset for kind, offset in pointers if kind in ("@", "@i"))
        found[cells[0]] = Synset(int(cells[1]), above)
    return found


def index(folder: Path) -> Iterator[tuple[str, list[str], int]]:
    """Nouns with the offsets of their senses, and how many of these its corpus tags."""
    for line in (folder / "index.noun").read_text(encoding="utf-8").splitlines():
        if not line.startswith("  "):
            cells = line.split()
            pointers = int(cells[3])
            yield cells[0], cells[6 + pointers :], int(cells[5 + pointers])


def vocabulary(captions: Iterable[str]) -> frozenset[str]:
    """Lemmas of words, and of two words next to each other, joined as WordNet does."""
    found = set()
    for caption in captions:
        words = [lemmas(word) for word in _WORDS_OF.findall(caption.lower())]
        found.update(words)
        found.update(f"{a}_{b}" for a, b in pairwise(words))
    return frozenset(found)


def taxonomy(folder: Path, known: frozenset[str]) -> tuple[dict[str, list[int]], list[list[int]]]:
    """`senses` of each noun, `above` of each sense."""
    table = synsets(folder)
    senses: dict[str, list[str]] = {}
    for word, offsets, tagged in index(folder):
        seen = [offset for offset in offsets if table[offset].file in _SEEN][:_SENSES]
        if seen and (word in known or tagged):
            senses[word.replace("_", " ")] = seen
    above: dict[str, tuple[str, ...]] = {}
    pending = [offset for seen in senses.values() for offset in seen]
    while pending:
        offset = pending.pop()
        if offset not in above:
            above[offset] = table[offset].above
            pending += table[offset].above
    number = {offset: k for k, offset in enumerate(sorted(above))}
    return (
        {word: [number[o] for o in seen] for word, seen in sorted(senses.items())},
        [[number[o] for o in above[offset]] for offset in sorted(above)],
    )


@click.command()
@click.argument("wordnet", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("captions", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(wordnet: Path, captions: Path) -> None:
    """Write what POSH's offline judge knows of words."""
    with captions.open(encoding="utf-8", newline="") as file:
        known = vocabulary(row["caption"] for row in csv.DictReader(file))
    senses, above = taxonomy(wordnet, known)
    found = {"senses": senses, "above": above}
    write_text(OUT, json.dumps(found, separators=(",", ":")) + "\n")
    click.echo(f"{len(senses)} nouns, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
