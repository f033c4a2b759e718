"""Captions of images to candidates: units, and which of them are true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from revise_captions.dcscore.score import score
from revise_captions.dcscore.units import InformationUnit, UnitVerdict, VerifyTask
from revise_captions.pipelines.preferences.pairs import Candidate

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.dcscore.load import UnitScoring


def candidates_of(
    captions: Sequence[tuple[Image, Sequence[str]]], scoring: UnitScoring
) -> list[list[Candidate]]:
    """Takes captions apart and verifies their units, all captions together.

    Args:
        captions: Images, each with its captions.
        scoring: Decomposer and verifier.

    Returns:
        For each image a candidate per caption, in order.
    """
    texts = [text for _, own in captions for text in own]
    found = scoring.decomposer.decompose(texts)
    images = [image for image, own in captions for _ in own]
    tasks = [VerifyTask(image, one) for image, one in zip(images, found, strict=True)]
    verdicts = scoring.verifier.verify(tasks)
    made = iter(
        Candidate(
            one.text,
            score(one.units, own).all,
            tuple(_as_json(unit, verdict) for unit, verdict in zip(one.units, own, strict=True)),
        )
        for one, own in zip(found, verdicts, strict=True)
    )
    return [[next(made) for _ in own] for _, own in captions]


def _as_json(unit: InformationUnit, verdict: UnitVerdict) -> dict[str, Any]:
    """A unit and its verdict in a row."""
    found: dict[str, Any] = {"text": unit.text, "start": unit.span.start, "end": unit.span.end}
    if not unit.descriptive:
        found["descriptive"] = False
    if verdict.correct is None:
        return {**found, "unscored": verdict.unscored}
    found["correct"] = verdict.correct
    if verdict.p_correct is not None:
        found["p_correct"] = verdict.p_correct
    if verdict.votes:
        found["votes"] = list(verdict.votes)
    return found
