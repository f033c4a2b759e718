"""Revisions of held-out captions, good and bad on purpose, with their exact truth by the oracle.

Real ones (the models' rewriting and deleting), perfect ones, and damaged ones: what a verifier must
tell apart. Each is a `Change`, so it goes through the same checks as any revision.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from revise_captions.critic.protocol import Critic
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.pipelines.draft import new_draft, revision_of
from revise_captions.pipelines.job import rounds
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.pipelines.verify.claims import Change, Slot, change_of
from revise_captions.records import Attempt, Sentence, Span, Verdict, Why
from revise_captions.reviser.protocol import Reviser
from revise_captions.reviser.scripted import DropReviser
from scripts.research.frame.held_out import Item

RIGHT = (Truth.TRUE, Truth.NOTHING)
WINDOW = 64


@dataclass(frozen=True, slots=True)
class Variant:
    """One revision of one caption. `scene`: the number of the item."""

    scene: int
    name: str
    change: Change


@dataclass(frozen=True, slots=True)
class Truths:
    """By the oracle; None where there is nothing to count.

    `truer`: of the sentences that stand, the share that is true (0 where none stands). `better`: of
    the original's sentences that claim something, the share that stands there, true. `kept`: of
    those that were true, the share that stands, true.
    """

    truer: float
    better: float | None
    kept: float | None


def truths_of(item: Item, change: Change) -> Truths:
    after = [
        None
        if slot.after is None
        else oracle(item.scene, change.after[: slot.after.start], slot.after.of(change.after))
        for slot in change.slots
    ]
    standing = [truth for truth in after if truth is not None]
    pairs = list(zip((s.truth for s in item.sentences), after, strict=True))
    claims = [now for was, now in pairs if was in (Truth.TRUE, Truth.FALSE)]
    true = [now for was, now in pairs if was is Truth.TRUE]
    return Truths(
        _share([truth in RIGHT for truth in standing]) or 0.0,
        _share([truth is Truth.TRUE for truth in claims]),
        _share([truth is Truth.TRUE for truth in true]),
    )


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


def by_models(items: Sequence[Item], critic: Critic, reviser: Reviser, name: str) -> list[Variant]:
    """What the loop makes of the captions."""
    tools = LoadedModels(critic, reviser, critic.threshold, "")
    made: list[Variant] = []
    for start in range(0, len(items), WINDOW):
        window = items[start : start + WINDOW]
        drafts = [new_draft(item.image, item.text, item.spans) for item in window]
        for draft in run_stages(drafts, tools, RevisionSettings()):
            change = change_of(revision_of(draft, ""), critic.threshold)
            assert change is not None
            made.append(Variant(len(made), name, change))
    return made


def made_on_purpose(scene: int, item: Item) -> list[Variant]:
    """Perfect and damaged revisions of one caption, in which the wrong sentences are flagged."""
    rng = random.Random(f"variants.{scene}")
    wrong = [k for k, s in enumerate(item.sentences) if s.truth is Truth.FALSE]
    true = [k for k, s in enumerate(item.sentences) if s.truth is Truth.TRUE]
    perfect: dict[int, str] = {k: item.sentences[k].rewrite for k in wrong}
    false, others = _sentences(item, rng, 0.97, Truth.FALSE), _sentences(item, rng, 0, Truth.TRUE)
    spared = rng.sample(true, min(len(true), 1 + len(true) // 3))
    everything: dict[int, str] = dict.fromkeys(range(len(item.sentences)), "")
    edits: dict[str, Callable[[], Mapping[int, str]]] = {
        "unchanged": dict,
        "perfect": lambda: perfect,
        "wrong ones deleted": lambda: dict.fromkeys(wrong, ""),
        "perfect, true ones deleted": lambda: perfect | dict.fromkeys(spared, ""),
        "perfect, true ones spoilt": lambda: perfect | {k: rng.choice(false) for k in spared},
        "other errors put in": lambda: {k: rng.choice(false) for k in wrong},
        "something else, but true": lambda: {k: rng.choice(others) for k in wrong},
        "all but one deleted": lambda: {k: "" for k in everything if k != (true or [0])[0]},
        "everything deleted": lambda: everything,
    }
    return [
        Variant(scene, name, _edited(item, edit(), frozenset(wrong)))
        for name, edit in edits.items()
    ]


def _sentences(item: Item, rng: random.Random, rate: float, truth: Truth) -> list[str]:
    """Sentences about the scene that stand alone, all true or all false."""
    found: list[str] = []
    while len(found) < 6:
        written = caption(item.scene, rng, error_rate=rate, sentences=8)
        found += [
            s.span.of(written.text)
            for s in written.sentences
            if oracle(item.scene, "", s.span.of(written.text)) is truth
        ]
    return found


def _edited(item: Item, edits: Mapping[int, str], wrong: frozenset[int]) -> Change:
    """The caption with other sentences, "" for none; flagged are the wrong ones, with a rationale
    each, and only them, whatever was edited.
    """
    nothing = Verdict(None)
    sentences = []
    for k, sentence in enumerate(item.sentences):
        made = Sentence(sentence.span, nothing, nothing)
        if k in edits:
            attempt = Attempt(edits[k], True, Why.BETTER, 1)
            made = replace(made, attempts=(attempt,), dropped=not edits[k])
        sentences.append(made)
    text, spans = rounds.compose(item.text, sentences)
    slots = tuple(
        Slot(sentence.span, span, k in wrong, _rationale(item, k) if k in wrong else "")
        for k, (sentence, span) in enumerate(zip(sentences, spans, strict=True))
    )
    return Change(item.text, text, slots)


def _rationale(item: Item, k: int) -> str:
    return max(item.sentences[k].rationales, key=len, default="")


def variants(items: Sequence[Item], critic: Critic, reviser: Reviser) -> list[Variant]:
    """All revisions of all captions."""
    return [
        *by_models(items, critic, reviser, "the models' rewriting"),
        *by_models(items, critic, DropReviser(), "the models' deleting"),
        *(made for scene, item in enumerate(items) for made in made_on_purpose(scene, item)),
    ]


def spans_after(change: Change) -> tuple[Span, ...]:
    return tuple(slot.after for slot in change.slots if slot.after is not None)
