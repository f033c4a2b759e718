"""What the whole loop does to held-out captions, by the oracle: which step loses what.

Every sentence of the final caption is judged by the oracle in the final context, so a rewrite, a
deletion, and a sentence whose context changed are all measured in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.pipelines.draft import new_draft, revision_of
from revise_captions.pipelines.job import rounds
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.pipelines.output.schema import to_json
from revise_captions.pipelines.report.summary import Tally
from revise_captions.records import Label, Rationale, Span, Unscored, Verdict, label_of
from revise_captions.stats.error_correction import ErrorRates
from scripts.research.frame.figures import share_of, share_of_hits
from scripts.research.frame.held_out import Item

WINDOW = 64
Interval = tuple[float | None, float | None]


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


def fates(item: Item, draft: rounds.Draft, threshold: float) -> list[Fate]:
    """What became of a caption's sentences."""
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


_RIGHT = (Truth.TRUE, Truth.NOTHING)
#: Of which sentences what is asked, by the name of the figure.
_SHARES: Mapping[str, tuple[Callable[[Fate], bool], Callable[[Fate], bool]]] = {
    "wrong_that_end_true": (lambda f: f.before is Truth.FALSE, lambda f: _fixed(f)),
    "of_these_deleted": (
        lambda f: f.before is Truth.FALSE and _fixed(f),
        lambda f: f.after is None,
    ),
    "wrong_flagged": (lambda f: f.before is Truth.FALSE, lambda f: f.flagged),
    "true_made_false": (lambda f: f.before is Truth.TRUE, lambda f: f.after is Truth.FALSE),
    "true_made_unreadable": (
        lambda f: f.before is Truth.TRUE,
        lambda f: f.after is Truth.UNPARSED,
    ),
    "true_kept": (lambda f: f.before is Truth.TRUE, lambda f: f.after is Truth.TRUE),
}
_TABLE_6: Mapping[str, Callable[[Fate], bool]] = {
    "true_before": lambda f: f.before is not Truth.FALSE,
    "true_after": lambda f: f.after in _RIGHT,
    "critic_after": lambda f: f.critic_after,
}


def _fixed(fate: Fate) -> bool:
    return fate.after is None or fate.after in _RIGHT


def loop_figures(captions: Sequence[Sequence[Fate]]) -> dict[str, Any]:
    """The issue's figures, with numbers of sentences. A truth that the oracle cannot read counts
    against the loop: as not true after, and as content not kept. Intervals: 95 %, over images."""
    intervals: dict[str, Interval] = {}

    def share(name: str, asked: Callable[[Fate], bool], hit: Callable[[Fate], bool]) -> float:
        some = [(hit(f), str(k)) for k, fates in enumerate(captions) for f in fates if asked(f)]
        if not some:
            return float("nan")
        found = share_of_hits([is_ for is_, _ in some], [image for _, image in some])
        intervals[name] = found.low, found.high
        return sum(is_ for is_, _ in some) / len(some)

    flat = [fate for fates in captions for fate in fates]
    means = {}
    for name, before in (("factuality_before", True), ("factuality_after", False)):
        figure = share_of(name, _factuality(captions, before=before))
        means[name], intervals[name] = figure.value, (figure.low, figure.high)
    return {
        **{name: share(name, *asked) for name, asked in _SHARES.items()},
        **means,
        "sentences": len(flat),
        "wrong": sum(fate.before is Truth.FALSE for fate in flat),
        "table_6": {
            "flagged": sum(fate.flagged for fate in flat),
            **{name: share(name, lambda f: f.flagged, hit) for name, hit in _TABLE_6.items()},
        },
        "intervals": intervals,
    }


def told_shares(
    done: Sequence[tuple[Item, rounds.Draft]], errors: ErrorRates | None
) -> dict[str, dict[str, Any]]:
    """The shares of true sentences as a run's summary tells them, as the critic sees them and
    corrected for its known errors, and as they are; before the revision and after it."""
    tally = Tally()
    for line, (_, draft) in enumerate(done):
        tally.add(to_json(revision_of(draft, "")), line=line)
    summary = tally.to_json(errors={"": errors})
    truths: dict[str, list[tuple[bool, str]]] = {"before": [], "after": []}
    for k, (item, draft) in enumerate(done):
        truths["before"] += [(factual, str(k)) for factual in item.factual]
        after = [truth for _, truth in truths_after(item, draft)[1] if truth is not None]
        truths["after"] += [(truth in _RIGHT, str(k)) for truth in after]
    found = {}
    for when, rows in truths.items():
        true = share_of_hits([is_ for is_, _ in rows], [image for _, image in rows])
        found[when] = {
            "seen": summary["factuality"]["all"][when],
            "corrected": summary["corrected"][when],
            "true": {
                "value": sum(is_ for is_, _ in rows) / len(rows),
                "low": true.low,
                "high": true.high,
            },
        }
    return found


def _factuality(captions: Sequence[Sequence[Fate]], *, before: bool) -> list[float]:
    """The share of true sentences of each caption; an emptied one counts as nothing right."""
    shares = []
    for fates in captions:
        truths = [f.before if before else f.after for f in fates]
        there = [t for t in truths if t is not None]
        shares.append(sum(t in _RIGHT for t in there) / len(there) if there else 0.0)
    return shares
