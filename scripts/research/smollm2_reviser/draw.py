"""Draws the reviser's training examples into a file, for a machine that only trains.

    python -m scripts.research.smollm2_reviser.draw DATA PICTURE_BOOK FILE --recipe people --every 2

Recipes: `edits`, the broken sentences and voices of `edits`; `people`, these and edits of people's
sentences in wordings put together from parts; `rules`, those of the latter that the rules of
`critic/reading` mend, with what they write as the answer. FILE is JSON Lines, compressed with gzip.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

import click

from revise_captions.charts.claims.edits import with_fixes
from revise_captions.command_line.printing import echo
from revise_captions.critic.reading.rationale import read
from scripts.research.reviser.data import ExplainedError, read_errors
from scripts.research.reviser.synthetic import RewriteExample
from scripts.research.smollm2_reviser import people
from scripts.research.smollm2_reviser.train import Edits, examples, read_edits

#: Share of the newer edits in the recipe `people`.
SHARE = 0.75


def old(edits: Edits, book: list[ExplainedError], seed: int) -> Iterator[RewriteExample]:
    for chunk in itertools.count():
        yield from examples(edits, book, chunk, seed)


def by_rules(one: RewriteExample) -> RewriteExample | None:
    """The example with what the rules write as its answer; None where they leave something."""
    faults = read(one.request.rationale, one.request.sentence)
    fixes = [fix for fault in faults for fix in fault.fixes if fix.certain]
    if not fixes or any(not fault.fixes for fault in faults):
        return None
    return RewriteExample(one.request, with_fixes(one.request.sentence, fixes))


def drawn(
    recipe: str, edits: Edits, book: list[ExplainedError], folder: Path, seed: int
) -> Iterator[RewriteExample]:
    first = old(edits, book, seed)
    if recipe == "edits":
        yield from first
        return
    rng = random.Random(seed)
    new = people.stream(edits.data, edits.words, folder, f"{seed}.people")
    if recipe == "rules":
        new = (one for one in map(by_rules, new) if one is not None)
    tests = {text for edit in people.measured(folder) for text in (edit.sentence, edit.right)}
    while True:
        one = next(new) if rng.random() < SHARE else next(first)
        if tests.isdisjoint((one.request.sentence, one.rewrite)):
            yield one


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.argument("picture_book", type=click.Path(path_type=Path, exists=True))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--recipe", type=click.Choice(["edits", "people", "rules"]), default="people")
@click.option("--count", default=100_000, show_default=True, help="Examples.")
@click.option("--every", default=1, show_default=True, help="Read one sentence of so many.")
@click.option("--seed", default=2, show_default=True, help="Seed of every random choice.")
def main(
    data: Path, picture_book: Path, file: Path, recipe: str, count: int, every: int, seed: int
) -> None:
    edits = read_edits(data, held=False, every=every)
    book = read_errors(picture_book / "train.jsonl", 20_000)
    echo(f"{len(edits.data):,} sentences, {len(book):,} of the picture book")
    made = itertools.islice(drawn(recipe, edits, book, data, seed), count)
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        for one in made:
            r = one.request
            row = [r.context, r.sentence, r.rationale, list(r.failed), one.rewrite]
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
