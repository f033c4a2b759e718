"""What the whole loop does to held-out captions, by the oracle: which step loses what.

Every sentence of the final caption is judged by the oracle in the final context, so a rewrite, a
deletion, and a sentence whose context changed are all measured in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from revise_captions.critic.protocol import Critic, ExplainRequest, JudgeRequest
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.pipelines.draft import new_draft
from revise_captions.pipelines.job import rounds
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.records import Label, Rationale, Span, Unscored, Verdict, label_of
from revise_captions.reviser.protocol import Reviser
from scripts.research.frame.figures import share_of_hits
from scripts.research.frame.held_out import Item

WINDOW = 64


@dataclass(frozen=True, slots=True)
class OracleCritic:
    """A perfect critic: knows the truth of every sentence that the oracle can read."""

    items: Mapping[int, Item]
    threshold: float = 0.5

    @classmethod
    def of(cls, items: Sequence[Item]) -> OracleCritic:
        return cls({id(item.image): item for item in items})

    @property
    def settings(self) -> dict[str, str]:
        return {"critic": "oracle"}

    def judge(self, paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        return [
            [
                self._verdict(self.items[id(q.image)], q.text[: s.start], s.of(q.text))
                for s in q.spans[q.first :]
            ]
            for q in paragraphs
        ]

    def _verdict(self, item: Item, context: str, sentence: str) -> Verdict:
        truth = oracle(item.scene, context, sentence)
        if truth is Truth.UNPARSED:
            return Verdict(None, Unscored.NO_ANSWER)
        return Verdict(0.0 if truth is Truth.FALSE else 1.0, None, truth is not Truth.NOTHING)

    def explain(self, claims: Sequence[ExplainRequest]) -> list[Rationale]:
        return [Rationale(self._rationale(claim)) for claim in claims]

    def _rationale(self, claim: ExplainRequest) -> str:
        """The longest rationale of the sentence; "" for one that only a rewrite made."""
        item = self.items[id(claim.image)]
        text = claim.spans[claim.index].of(claim.text)
        for sentence in item.sentences:
            if sentence.span.of(item.text) == text and sentence.rationales:
                return max(sentence.rationales, key=len)
        return ""


@dataclass(frozen=True, slots=True)
class Fate:
    """One sentence: its truth before, its truth after (None: gone), and how it got there."""

    before: Truth
    after: Truth | None
    flagged: bool
    rewritten: bool
    critic_after: bool


def drafts(
    items: Sequence[Item], models: LoadedModels, settings: RevisionSettings
) -> Iterator[tuple[Item, rounds.Draft]]:
    """Every caption with what became of it, window by window as in a real run."""
    for start in range(0, len(items), WINDOW):
        window = items[start : start + WINDOW]
        opened = [new_draft(item.image, item.text, item.spans) for item in window]
        yield from zip(window, run_stages(opened, models, settings), strict=True)


def truths_after(
    item: Item, draft: rounds.Draft
) -> tuple[str, list[tuple[Span | None, Truth | None]]]:
    """The revised caption, and of each sentence what stands in its place: where, and its truth."""
    present, spans = rounds.compose(draft.caption, draft.sentences)
    return present, [
        (
            span,
            None if span is None else oracle(item.scene, present[: span.start], span.of(present)),
        )
        for span in spans
    ]


def run_loop(
    items: Sequence[Item], critic: Critic, reviser: Reviser, settings: RevisionSettings
) -> list[list[Fate]]:
    """The fates of every caption's sentences."""
    models = LoadedModels(critic, reviser, "")
    return [
        _fates(item, draft, critic.threshold) for item, draft in drafts(items, models, settings)
    ]


def _fates(item: Item, draft: rounds.Draft, threshold: float) -> list[Fate]:
    _, found = truths_after(item, draft)
    return [
        Fate(
            labeled.truth,
            after,
            bool(sentence.attempts) or _nonfactual(sentence.verdict, threshold),
            sentence.accepted is not None and not sentence.dropped,
            span is not None and not _nonfactual(sentence.now, threshold),
        )
        for labeled, sentence, (span, after) in zip(
            item.sentences, draft.sentences, found, strict=True
        )
    ]


def _nonfactual(verdict: Verdict, threshold: float) -> bool:
    return label_of(verdict, threshold) is Label.NONFACTUAL


def loop_figures(fates: Sequence[Sequence[Fate]]) -> dict[str, Any]:
    """The issue's figures, with numbers of sentences. A truth that the oracle cannot read counts
    against the loop: as not true after, and as content not kept. Intervals: 95 %, over images."""
    flat = [fate for caption in fates for fate in caption]
    wrong = [fate for fate in flat if fate.before is Truth.FALSE]
    true = [fate for fate in flat if fate.before is Truth.TRUE]
    mended = [fate for fate in wrong if fate.after in (Truth.TRUE, Truth.NOTHING)]
    deleted = [fate for fate in wrong if fate.after is None]
    fixed = len(mended) + len(deleted)
    flagged = [fate for fate in flat if fate.flagged]
    names = [str(number) for number, caption in enumerate(fates) for _ in caption]

    def interval(among: Truth, ends: tuple[Truth | None, ...]) -> tuple[float | None, float | None]:
        kept = [
            (fate, name) for fate, name in zip(flat, names, strict=True) if fate.before is among
        ]
        if not kept:
            return None, None
        found = share_of_hits([f.after in ends for f, _ in kept], [name for _, name in kept])
        return found.low, found.high

    return {
        "intervals": {
            "wrong_that_end_true": interval(Truth.FALSE, (Truth.TRUE, Truth.NOTHING, None)),
            "true_made_false": interval(Truth.TRUE, (Truth.FALSE,)),
        },
        "sentences": len(flat),
        "wrong": len(wrong),
        "wrong_that_end_true": _share(fixed, len(wrong)),
        "of_these_deleted": _share(len(deleted), fixed),
        "wrong_flagged": _share(sum(fate.flagged for fate in wrong), len(wrong)),
        "true_made_false": _share(sum(f.after is Truth.FALSE for f in true), len(true)),
        "true_made_unreadable": _share(sum(f.after is Truth.UNPARSED for f in true), len(true)),
        "true_kept": _share(sum(f.after is Truth.TRUE for f in true), len(true)),
        "factuality_before": _factuality(fates, before=True),
        "factuality_after": _factuality(fates, before=False),
        "table_6": {
            "flagged": len(flagged),
            "true_before": _share(sum(f.before is not Truth.FALSE for f in flagged), len(flagged)),
            "true_after": _share(
                sum(f.after in (Truth.TRUE, Truth.NOTHING) for f in flagged), len(flagged)
            ),
            "critic_after": _share(sum(f.critic_after for f in flagged), len(flagged)),
        },
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _factuality(fates: Sequence[Sequence[Fate]], *, before: bool) -> float:
    """Mean share of true sentences per caption; an emptied caption counts as nothing right."""
    shares = []
    for caption in fates:
        truths = [f.before if before else f.after for f in caption]
        there = [t for t in truths if t is not None]
        right = sum(t in (Truth.TRUE, Truth.NOTHING) for t in there)
        shares.append(right / len(there) if there else 0.0)
    return float(np.mean(shares))
