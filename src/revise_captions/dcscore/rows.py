"""The content of a line of OUT, and the part that means and intervals are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from revise_captions.dcscore.score import CaptionScore, UnitCounts
from revise_captions.dcscore.scorer import ScoredCaption
from revise_captions.dcscore.units import Decomposition, InformationUnit
from revise_captions.dcscore.verifiers import agreement
from revise_captions.io.checked_json import checked_row
from revise_captions.stats.bootstrap import rounded
from revise_captions.stats.means import Mean, mean_over

#: The figures by name, as in the paper; `n_units` is FeedQuill's c_r.
FIGURES: Mapping[str, Callable[[CaptionScore], float | None]] = {
    "dcscore": lambda score: score.value,
    "s_p": lambda score: score.figure(lambda one: one.all.precision),
    "s_r": lambda score: score.figure(lambda one: one.all.recall),
    "s_f": lambda score: score.figure(lambda one: one.all.f1),
    "s_f_descriptive": lambda score: score.figure(lambda one: one.descriptive.f1),
    "n_units": lambda score: _count(score.all),
}


def _count(counts: UnitCounts) -> float | None:
    """FeedQuill's c_r; None for a caption that could not be decomposed at all."""
    found = counts.units + counts.unscored
    return float(found) if found or not counts.unread else None


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """What the summary needs of a scored line.

    Attributes:
        group: The image, the unit of resampling.
        score: The caption's.
        agreement: Share of its units on which the members of an ensemble agree.
    """

    group: str
    score: CaptionScore
    agreement: float | None = None


def line_of(scored: ScoredCaption) -> dict[str, Any]:
    """One line of OUT. Spans are `[start, end)` in code points of their text."""
    score, reference = scored.score, scored.reference
    found: dict[str, Any] = {name: rounded(figure(score)) for name, figure in FIGURES.items()}
    if scored.why_unscored:
        found["unscored"] = scored.why_unscored
    found["counts"] = {"all": asdict(score.all), "descriptive": asdict(score.descriptive)}
    if score.trials:
        found["trials"] = [{name: rounded(f(one)) for name, f in FIGURES.items()}
                           for one in score.trials]  # fmt: skip
    found["units"] = _caption_units(scored)
    found["unscored_sentences"] = _unread(scored.caption)
    if reference is not None:
        found["reference"] = {
            "units_by": "hand" if scored.by_hand else "decomposer",
            "units": [
                {**_unit(unit), "missed": k in scored.missed}
                for k, unit in enumerate(reference.units)
            ],
            "unscored_sentences": _unread(reference),
        }
    return found


def _caption_units(scored: ScoredCaption) -> list[dict[str, Any]]:
    rows = []
    for k, (unit, verdict) in enumerate(zip(scored.caption.units, scored.verdicts, strict=True)):
        row = {**_unit(unit), "correct": verdict.correct}
        if verdict.p_correct is not None:
            row["p_correct"] = verdict.p_correct
        if verdict.votes:
            row["votes"] = list(verdict.votes)
        if verdict.unscored:
            row["unscored"] = verdict.unscored
        if scored.matches:
            match = scored.matches[k]
            row |= {"unmatched": match.unscored} if match.unscored else {}
            row["matches"] = list(match.references)
        rows.append(row)
    return rows


def _unit(unit: InformationUnit) -> dict[str, Any]:
    return {
        "text": unit.text,
        "sentence": unit.sentence,
        "span": list(unit.span),
        "descriptive": unit.descriptive,
    }


def _unread(found: Decomposition) -> list[dict[str, Any]]:
    return [
        {"sentence": one.sentence, "span": list(found.sentences[one.sentence]),
         "reason": one.reason}
        for one in found.unscored
    ]  # fmt: skip


def row_of(group: str, scored: ScoredCaption) -> ScoredRow:
    return ScoredRow(group, scored.score, agreement(scored.verdicts))


def scored_row(kept: Mapping[str, Any]) -> ScoredRow:
    """Restores a row that the journal keeps in `asdict` form."""
    return checked_row(ScoredRow, kept, "no scores of a caption")


def means(rows: Sequence[ScoredRow]) -> dict[str, Mean]:
    """The mean of each figure over captions, with an interval over images."""
    images = [row.group for row in rows]
    return {
        name: mean_over([figure(row.score) for row in rows], images)
        for name, figure in FIGURES.items()
    }


def totals(rows: Sequence[ScoredRow]) -> UnitCounts:
    """The sum of all captions' counts."""
    return UnitCounts(
        *(sum(getattr(row.score.all, name) or 0 for row in rows) for name in UnitCounts.__slots__)
    )
