"""One wrong clause among five joined: is it noticed, and mended, with and without its clauses?

    python -m scripts.research.critic.joined_clauses --first SEED --scenes 150

Five short sentences about a scene are joined to one, as they are true and with one of them wrong;
the oracle confirms both. Intervals are 95 % bootstraps over images.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import click

from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.picturebook.language.auxiliary_sentences import auxiliary_sentences
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
from revise_captions.records import Label, Span, label_of
from revise_captions.reviser.load import load_reviser
from revise_captions.text.clauses import clauses
from scripts.research.bundled_models.job_figures import drafts, truths_after
from scripts.research.frame.figures import rows_as_table, share_of_hits, spread
from scripts.research.frame.held_out import Item, held_out

SPLITS = ("test", "compositional")
CLAUSES = 5
Row = tuple[str, ...]


class Joined(NamedTuple):
    """A joined sentence about the picture of an item."""

    number: int
    text: str
    factual: bool


class JoinedFate(NamedTuple):
    """What became of a joined sentence. `after`: its truth, None where it is gone; `cut`: a clause
    of it is gone."""

    flagged: bool
    after: Truth | None
    cut: bool


def joined(items: Sequence[Item], first: int) -> Iterator[Joined]:
    """For every scene that has one a sentence with a wrong clause, and the same sentence true."""
    for number, item in enumerate(items):
        rng = random.Random(f"joined.{item.scene.split}.{first + number}")
        drawn = auxiliary_sentences(item.scene, rng, CLAUSES)
        wrong = [k for k, one in enumerate(drawn) if not one.factual]
        if len(drawn) < CLAUSES or not wrong:
            continue
        chosen = rng.choice(wrong)
        right = [one.text if one.factual else one.rewrite for one in drawn]
        for factual in (True, False):
            texts = list(right)
            if not factual:
                texts[chosen] = drawn[chosen].text
            begin, *others = [text.rstrip(".") for text in texts]
            rest = [text[0].lower() + text[1:] for text in others]
            text = f"{', '.join([begin, *rest[:-1]])}, and {rest[-1]}."
            if oracle(item.scene, "", text) is (Truth.TRUE if factual else Truth.FALSE):
                yield Joined(number, text, factual)


def _item(item: Item, one: Joined) -> Item:
    """The joined sentence as a caption."""
    sentence = replace(
        item.sentences[0],
        span=Span(0, len(one.text)),
        truth=Truth.TRUE if one.factual else Truth.FALSE,
        rationales=(),
    )
    return replace(item, text=one.text, sentences=(sentence,))


def _share(hits: Sequence[bool], asked: Sequence[Joined]) -> str:
    found = share_of_hits(hits, [str(one.number) for one in asked])
    shown = f"{sum(hits)} of {len(hits)}: {sum(hits) / len(hits):.3f}"
    return f"{shown}{spread(found.low, found.high)}"


def _fates(captions: Sequence[Item], *, by_clause: bool, reviser: str) -> Iterator[JoinedFate]:
    critic = load_paligemma("bundled", by_clause=by_clause)
    models = LoadedModels(critic, load_reviser(reviser), "")
    for item, draft in drafts(captions, models, RevisionSettings()):
        (sentence,) = draft.sentences
        text, ((_, after),) = truths_after(item, draft)
        wrong = label_of(sentence.verdict, critic.threshold) is Label.NONFACTUAL
        cut = after is not None and len(clauses(text)) < CLAUSES
        yield JoinedFate(bool(sentence.attempts) or wrong, after, cut)


def row(items: Sequence[Item], asked: Sequence[Joined], *, by_clause: bool, reviser: str) -> Row:
    """Of wrong sentences those missed, those that end true, those of them without a clause, those
    that are gone; of true ones those flagged, those made false, those without a clause."""
    captions = [_item(items[one.number], one) for one in asked]
    fates = list(_fates(captions, by_clause=by_clause, reviser=reviser))
    cells = []
    for factual, hit in (
        (False, lambda fate: not fate.flagged),
        (False, lambda fate: fate.after is Truth.TRUE),
        (False, lambda fate: fate.after is Truth.TRUE and fate.cut),
        (False, lambda fate: fate.after is None),
        (True, lambda fate: fate.flagged),
        (True, lambda fate: fate.after is Truth.FALSE),
        (True, lambda fate: fate.after is None or fate.cut),
    ):
        chosen = [(f, a) for f, a in zip(fates, asked, strict=True) if a.factual is factual]
        cells.append(_share([hit(fate) for fate, _ in chosen], [one for _, one in chosen]))
    return tuple(cells)


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--first", required=True, type=int, help="Number of the first scene.")
@click.option("--scenes", default=150, show_default=True, help="Scenes per split.")
def main(first: int, scenes: int) -> None:
    rows: list[Row] = [("split", "critic", "reviser", "wrong ones missed", "that end true",
                        "… without a clause", "gone", "true ones flagged", "made false",
                        "cut or gone")]  # fmt: skip
    for split in SPLITS:
        items = held_out(split, scenes, first=first)
        asked = list(joined(items, first))
        for name, reviser in (
            ("picturebook", "bundled"), ("picturebook", "drop"), ("clauses", "bundled")
        ):  # fmt: skip
            cells = row(items, asked, by_clause=name == "clauses", reviser=reviser)
            rows.append((split, name, reviser, *cells))
    click.echo(rows_as_table(rows))


if __name__ == "__main__":
    main()
