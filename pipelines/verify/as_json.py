"""What a verification puts into a row: `revision.verification`.

    {"signature": "…",
     "preservation": {"kept": 11, "of": 12, "lost": [{"part", "claim", "span"}]},
     "edit_scope": {"named": 2, "of": 3, "beyond": [{"change", "part", "claim", "span"}]},
     "visual": {"before": {"seen": 9, "of": 12, "unscored_by_reason": {}, "unseen": [
                   {"part", "claim", "asked", "p_factual", "span"}]}, "after": {…}},
     "posh": {"before": {"mistakes": 0.71, "omissions": 0.64, "overall": 0.67, "ungraded": 0,
                         "absent": [{"part", "claim", "grade", "span"}], "missing": […]},
              "after": {…}}}

Only what was asked for is there; a check that could not be made is `{"unscored": "why"}`. Spans are
half-open and count code points: of the caption (lost, removed, before) or of the revised caption
(added, after); those of `missing` are of the reference (with several, `reference` says which).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from revise_captions.pipelines.verify import claims
from revise_captions.pipelines.verify.claims import Change, Claim
from revise_captions.records import kind_of_reason
from revise_captions.stats.bootstrap import rounded

if TYPE_CHECKING:
    from revise_captions.graphs.graph import Graph
    from revise_captions.pipelines.verify.visual import ComponentAnswer
    from revise_captions.posh.scoring import Graded, Score

#: Findings of one kind that a row lists; the counts are of all.
LISTED = 20
CHANGED_BY_OTHERS = "the sentences do not give this revised caption"
NO_IMAGE = "no image"
NO_REFERENCE = "no reference"
NOTHING_LEFT = "nothing is left of the caption"

Found = dict[str, Any]


def found_in_text(change: Change | None, graphs: Mapping[str, Graph]) -> Found:
    """Preservation and edit scope of one caption."""
    if change is None:
        nothing = {"unscored": CHANGED_BY_OTHERS}
        return {"preservation": dict(nothing), "edit_scope": dict(nothing)}
    found = claims.check(change, graphs[change.before], graphs[change.after], graphs)
    removed = ({"change": "removed", **_claim(claim)} for claim in found.removed)
    added = ({"change": "added", **_claim(claim)} for claim in found.added)
    lost = [_claim(claim) for claim in found.lost[:LISTED]]
    beyond = [*removed, *added][:LISTED]
    return {
        "preservation": {"kept": found.kept, "of": found.free, "lost": lost},
        "edit_scope": {"named": found.named, "of": found.changed, "beyond": beyond},
    }


def _claim(claim: Claim) -> Found:
    return {"part": str(claim.part), "claim": claim.phrase, "span": list(claim.span)}


def found_by_critic(
    answers: tuple[Sequence[ComponentAnswer], Sequence[ComponentAnswer]] | None,
) -> Found:
    """The critic's answers about components before and after; None without an image."""
    if answers is None:
        return {"unscored": NO_IMAGE}
    before, after = (_seen(part) for part in answers)
    return {"before": before, "after": after}


def _seen(answers: Sequence[ComponentAnswer]) -> Found:
    scored = [answer for answer in answers if answer.yes is not None]
    unseen = [answer for answer in scored if not answer.yes]
    reasons: dict[str, int] = {}
    for answer in answers:
        if (reason := answer.verdict.unscored) is not None:
            kind = kind_of_reason(reason)
            reasons[kind] = reasons.get(kind, 0) + 1
    listed = [
        {
            "part": str(answer.question.part),
            "claim": answer.question.phrase,
            "asked": answer.question.text,
            "p_factual": answer.verdict.p_factual,
            "span": list(answer.question.span),
        }
        for answer in unseen[:LISTED]
    ]
    return {
        "seen": len(scored) - len(unseen),
        "of": len(scored),
        "unscored_by_reason": reasons,
        "unseen": listed,
    }


def found_by_posh(references: Sequence[str], before: Score | None, after: Score | None) -> Found:
    """POSH before and after; a text without a score says why."""
    if not references:
        return {"unscored": NO_REFERENCE}
    return {"before": _score(before), "after": _score(after)}


def _score(score: Score | None) -> Found:
    if score is None:
        return {"unscored": NOTHING_LEFT}
    several = len(score.references) > 1
    return {
        "mistakes": rounded(score.mistakes.score),
        "omissions": rounded(score.omissions.score),
        "overall": rounded(score.overall),
        "ungraded": score.mistakes.unscored + score.omissions.unscored,
        "absent": list(_absent(score.generation))[:LISTED],
        "missing": [
            {**item, **({"reference": number} if several else {})}
            for number, graded in enumerate(score.references)
            for item in _absent(graded)
        ][:LISTED],
    }


def _absent(graded: Graded) -> Iterable[Found]:
    """The components that the judge does not find in the other text."""
    for part, grade in zip(graded.parts, graded.grades, strict=True):
        if grade.score is not None and not grade.present:
            yield {
                "part": str(part.part),
                "claim": part.phrase(graded.graph),
                "grade": round(grade.score, 2),
                "span": list(part.span),
            }
