"""What becomes of wrong claims of absence: three ways, by the oracle of the picture-book world.

    python -m scripts.research.reviser.absences --first 20000           # a half to choose on
    python -m scripts.research.reviser.absences --first 30000 # a half to report

`before`: neither the guard against other absences nor the rule that says what is there. `guard`:
the guard alone. `now`: both. A sentence is about an absence where it says "no" before a thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

import click

from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.pipelines.job.rounds import RevisionSettings
from revise_captions.reviser.absence import denied
from revise_captions.reviser.protocol import Reviser
from scripts.research.bundled_models.card import SPLITS
from scripts.research.bundled_models.held_out import Item, held_out
from scripts.research.bundled_models.job_figures import Fate, run_loop

WAYS = ("before", "guard", "now")
HEAD: tuple[str, ...] = (
    *("split", "way", "flagged", "end true", "end false", "removed"),
    *("true sentences made false", "of these, absences"),
)


@contextmanager
def way(name: str) -> Iterator[None]:
    """The loop as it was before, with the guard alone, or as it is now."""
    off = {
        "before": ("guards.other_absence", "bundled_model.reviser.affirmed"),
        "guard": ("bundled_model.reviser.affirmed",),
        "now": (),
    }
    with ExitStack() as stack:
        for place in off[name]:
            stack.enter_context(mock.patch(f"revise_captions.reviser.{place}", return_value=None))
        yield


@dataclass(frozen=True, slots=True)
class AbsenceCounts:
    """Of wrong absences: mended truly, another absence instead, gone; and all harm done."""

    wrong: int
    flagged: int
    mended: int
    still_denied: int
    gone: int
    true: int
    true_made_false: int
    absences_made_false: int

    def cells(self) -> tuple[str, ...]:
        shares = [
            f"{part} of {self.wrong}"
            for part in (self.flagged, self.mended, self.still_denied, self.gone)
        ]
        harm = f"{self.true_made_false} of {self.true:,}"
        return (*shares, harm, f"{self.absences_made_false}")


def count(items: list[Item], fates: list[list[Fate]]) -> AbsenceCounts:
    pairs = [
        (sentence.span.of(item.text), fate)
        for item, told in zip(items, fates, strict=True)
        for sentence, fate in zip(item.sentences, told, strict=True)
    ]
    absent = [(text, fate) for text, fate in pairs if denied(text)]
    wrong = [fate for _, fate in absent if fate.before is Truth.FALSE]
    true = [fate for _, fate in pairs if fate.before is Truth.TRUE]
    return AbsenceCounts(
        len(wrong),
        sum(f.flagged for f in wrong),
        sum(f.after is Truth.TRUE for f in wrong),
        sum(f.after is Truth.FALSE for f in wrong),
        sum(f.after is None for f in wrong),
        len(true),
        sum(f.after is Truth.FALSE for f in true),
        sum(f.before is Truth.TRUE and f.after is Truth.FALSE for _, f in absent),
    )


def measure(reviser: Reviser, first: int, scenes: int) -> list[tuple[str, ...]]:
    from revise_captions.critic.paligemma.load import load_paligemma

    critic = load_paligemma("bundled")
    rows = []
    for split in SPLITS:
        items = held_out(split, scenes, first=first)
        for name in WAYS:
            with way(name):
                found = count(items, run_loop(items, critic, reviser, RevisionSettings()))
            rows.append((split, name, *found.cells()))
    return rows


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--first", default=30_000, show_default=True, help="Number of the first scene.")
@click.option("--scenes", default=700, show_default=True, help="Captions per split.")
def main(first: int, scenes: int) -> None:
    from revise_captions.reviser.load import load_reviser

    rows = [HEAD, ("---",) * len(HEAD), *measure(load_reviser("bundled"), first, scenes)]
    for row in rows:
        click.echo(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
