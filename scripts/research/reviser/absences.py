"""What becomes of claims of absence, in four ways, by the oracle of the picture-book world.

    python -m scripts.research.reviser.absences --first 20000 # the half to choose on
    python -m scripts.research.reviser.absences --first 40000 --write # the half to report

`before`: no guard against other absences, and no rule that says what is there. `guard`: the guard
alone. `removed`: a flagged claim of absence is taken out. `now`: the guard, and the rule, which
takes it out only where the next sentence may refer to what would be there. Captions
with a sentence that says "no" before a thing; the harm is counted over all of their sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

import click

from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.pipelines.job.rounds import RevisionSettings
from revise_captions.reviser.absence import affirmed, denied
from revise_captions.reviser.protocol import Reviser
from scripts.research.bundled_models.card import ROOT, SPLITS
from scripts.research.bundled_models.held_out import Item, held_out
from scripts.research.bundled_models.job_figures import Fate, run_loop
from scripts.research.markdown import write_blocks

WAYS = ("before", "guard", "removed", "now")
HEAD: tuple[str, ...] = (
    *("split", "way", "wrong absences flagged", "end true", "end false", "removed"),
    *("true sentences made false", "true absences made false", "true absences removed"),
)
GUARD = "revise_captions.reviser.guards.other_absence"
RULE = "revise_captions.reviser.bundled_model.reviser.affirmed"


@contextmanager
def way(name: str) -> Iterator[None]:
    """The loop as it was before, or as it would be; as it is now."""
    with ExitStack() as stack:
        if name == "before":
            stack.enter_context(mock.patch(GUARD, return_value=None))
        if name in ("before", "guard"):
            stack.enter_context(mock.patch(RULE, return_value=None))
        if name == "removed":
            stack.enter_context(mock.patch(RULE, _taken_out))
        yield


def _taken_out(sentence: str, rationale: str) -> str | None:
    return None if affirmed(sentence, rationale) is None else ""


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
    absences: int
    absences_made_false: int
    absences_gone: int

    def cells(self) -> tuple[str, ...]:
        shares = [
            f"{part} of {self.wrong}"
            for part in (self.flagged, self.mended, self.still_denied, self.gone)
        ]
        harm = (f"{self.true_made_false} of {self.true:,}",)
        lost = (self.absences_made_false, self.absences_gone)
        return (*shares, *harm, *(f"{part} of {self.absences}" for part in lost))


def count(items: list[Item], fates: list[list[Fate]]) -> AbsenceCounts:
    pairs = [
        (sentence.span.of(item.text), fate)
        for item, told in zip(items, fates, strict=True)
        for sentence, fate in zip(item.sentences, told, strict=True)
    ]
    absent = [(text, fate) for text, fate in pairs if denied(text)]
    wrong = [fate for _, fate in absent if fate.before is Truth.FALSE]
    true = [fate for _, fate in pairs if fate.before is Truth.TRUE]
    right = [fate for _, fate in absent if fate.before is Truth.TRUE]
    return AbsenceCounts(
        len(wrong),
        sum(f.flagged for f in wrong),
        sum(f.after is Truth.TRUE for f in wrong),
        sum(f.after is Truth.FALSE for f in wrong),
        sum(f.after is None for f in wrong),
        len(true),
        sum(f.after is Truth.FALSE for f in true),
        len(right),
        sum(f.after is Truth.FALSE for f in right),
        sum(f.after is None for f in right),
    )


def measure(reviser: Reviser, first: int, scenes: int) -> list[tuple[str, ...]]:
    from revise_captions.critic.paligemma.load import load_paligemma

    critic = load_paligemma("bundled")
    rows = []
    for split in SPLITS:
        items = [item for item in held_out(split, scenes, first=first) if _denies(item)]
        for name in WAYS:
            with way(name):
                found = count(items, run_loop(items, critic, reviser, RevisionSettings()))
            rows.append((split, name, *found.cells()))
    return rows


def _denies(item: Item) -> bool:
    return any(denied(sentence.span.of(item.text)) for sentence in item.sentences)


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--first", default=40_000, show_default=True, help="Number of the first scene.")
@click.option("--scenes", default=600, show_default=True, help="Captions per split, with others.")
@click.option("--write", is_flag=True, help="Into the reviser's card.")
def main(first: int, scenes: int, write: bool) -> None:
    from revise_captions.reviser.load import load_reviser

    rows = [HEAD, ("---",) * len(HEAD), *measure(load_reviser("bundled"), first, scenes)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    about = f"Scenes {first:,} to {first + scenes - 1:,} of each split; nothing was chosen on them."
    lines += ["", f"{about} Command: `python -m scripts.research.reviser.absences`."]
    click.echo("\n".join(lines))
    if write:
        write_blocks(ROOT / "reviser/bundled/README.md", {"absences": "\n".join(lines)})


if __name__ == "__main__":
    main()
