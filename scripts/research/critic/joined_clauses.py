"""Wrong clauses among five joined ones: are they noticed, and mended without the others?

    python -m scripts.research.critic.joined_clauses --first SEED [--scenes 150] [--wrong 2]

Five short sentences about a scene are joined to one, as they are true and with some of them wrong;
the oracle confirms both. Intervals are 95 % bootstraps over images.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import click

from revise_captions.critic.load import load_critic
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
PAIRS = (("clauses", "bundled"), ("clauses", "drop"))


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


#: What is asked, by column: of wrong sentences or of true ones, and which of them are counted.
COLUMNS: dict[str, tuple[bool, Callable[[JoinedFate], bool]]] = {
    "wrong ones missed": (False, lambda fate: not fate.flagged),
    "that end true": (False, lambda fate: fate.after is Truth.TRUE),
    "… without a clause": (False, lambda fate: fate.after is Truth.TRUE and fate.cut),
    "gone": (False, lambda fate: fate.after is None),
    "true ones flagged": (True, lambda fate: fate.flagged),
    "made false": (True, lambda fate: fate.after is Truth.FALSE),
    "cut or gone": (True, lambda fate: fate.after is None or fate.cut),
}


def joined(items: Sequence[Item], first: int, wrong: int = 1) -> Iterator[Joined]:
    """For every scene that has one a sentence with wrong clauses, and the same sentence true."""
    for number, item in enumerate(items):
        rng = random.Random(f"joined.{item.scene.split}.{first + number}")
        drawn = auxiliary_sentences(item.scene, rng, CLAUSES)
        faulty = [k for k, one in enumerate(drawn) if not one.factual]
        if len(drawn) < CLAUSES or len(faulty) < wrong:
            continue
        # the sentences with one wrong clause are those of earlier measurements
        chosen = rng.sample(faulty, wrong) if wrong > 1 else [rng.choice(faulty)]
        right = [one.text if one.factual else one.rewrite for one in drawn]
        for factual in (True, False):
            texts = list(right)
            for k in () if factual else chosen:
                texts[k] = drawn[k].text
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


def fates(captions: Sequence[Item], models: LoadedModels) -> Iterator[JoinedFate]:
    assert models.critic is not None
    for item, draft in drafts(captions, models, RevisionSettings()):
        (sentence,) = draft.sentences
        text, ((_, after),) = truths_after(item, draft)
        wrong = label_of(sentence.verdict, models.critic.threshold) is Label.NONFACTUAL
        cut = after is not None and len(clauses(text)) < CLAUSES
        yield JoinedFate(bool(sentence.attempts) or wrong, after, cut)


def cells(found: Sequence[JoinedFate], asked: Sequence[Joined]) -> Iterator[str]:
    """A share per column."""
    for factual, hit in COLUMNS.values():
        some = [(hit(f), str(a.number)) for f, a in zip(found, asked, strict=True)
                if a.factual is factual]  # fmt: skip
        hits, images = zip(*some, strict=True)
        share = share_of_hits(hits, images)
        shown = f"{sum(hits)} of {len(hits)}: {sum(hits) / len(hits):.3f}"
        yield f"{shown}{spread(share.low, share.high)}"


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--first", required=True, type=int, help="Number of the first scene.")
@click.option("--scenes", default=150, show_default=True, help="Scenes per split.")
@click.option("--wrong", default=1, show_default=True, help="Wrong clauses of a wrong sentence.")
def main(first: int, scenes: int, wrong: int) -> None:
    rows: list[Sequence[str]] = [("split", "critic", "reviser", *COLUMNS)]
    for split in SPLITS:
        items = held_out(split, scenes, first=first)
        asked = list(joined(items, first, wrong))
        captions = [_item(items[one.number], one) for one in asked]
        for critic, reviser in PAIRS:
            models = LoadedModels(load_critic(critic), load_reviser(reviser), "")
            found = list(fates(captions, models))
            rows.append((split, critic, reviser, *cells(found, asked)))
    click.echo(rows_as_table(rows))


if __name__ == "__main__":
    main()
