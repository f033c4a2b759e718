"""POSH in the registry of metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.graphs.grading.judge import MOST, PRESENT, Judge
from revise_captions.graphs.parse import BUNDLED, Coreference, load_pipeline
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs, ScoredSpan
from revise_captions.metrics.registry import MetricOptions
from revise_captions.posh.load import load_coreference, load_judge
from revise_captions.posh.scoring import Graded, Pair, score_captions, signature_of
from revise_captions.records import Span
from revise_captions.signature import settings_of

#: The options after `posh=`, besides the judge.
OPTIONS = ("parser", "coreference", "prompts")
#: A span and its grade, 1 to 5; None if it was not graded.
Place = tuple[Span, float | None]


class PoshMetric:
    """POSH's overall score against the references; mistakes and omissions apart, and by span.

    Args:
        judge: Grades components.
        pipeline: The spaCy pipeline that parses texts.
        coreference: A resolver that runs before the rules.
    """

    name = "posh"
    needs = frozenset({Needs.REFERENCES})

    def __init__(
        self, judge: Judge, pipeline: str = BUNDLED, coreference: Coreference | None = None
    ) -> None:
        self.judge, self.pipeline, self.coreference = judge, pipeline, coreference
        self.settings = settings_of(signature_of(judge, pipeline, coreference))

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        pairs = [Pair(item.text, tuple(filter(str.strip, item.references))) for item in items]
        return [
            metric_score(
                {
                    "mistakes": score.mistakes.score,
                    "omissions": score.omissions.score,
                    "overall": score.overall,
                },
                _places(score.generation),
                _places(score.references[0]),
            )
            for score in score_captions(pairs, self.judge, self.pipeline, self.coreference)
        ]


def metric_score(
    criteria: Mapping[str, float | None], said: Iterable[Place], missed: Iterable[Place]
) -> MetricScore:
    """POSH's result for a text.

    Args:
        criteria: The scores for `mistakes`, `omissions`, `overall`.
        said: The text's components, graded in the references.
        missed: Those of the first reference, graded in the text.
    """
    overall = criteria["overall"]
    return MetricScore(
        overall,
        "" if overall is not None else "no component graded",
        aspects={name: criteria[name] for name in ("mistakes", "omissions")},
        spans=_marks(said),
        omissions=_marks(missed),
    )


def _marks(places: Iterable[Place]) -> tuple[ScoredSpan, ...]:
    """Spans scored by how far the grade is below the best; those not present are marked."""
    return tuple(
        ScoredSpan(span, MOST - grade, marked=grade < PRESENT)
        for span, grade in places
        if grade is not None
    )


def _places(graded: Graded) -> list[Place]:
    return [
        (part.span, grade.score) for part, grade in zip(graded.parts, graded.grades, strict=True)
    ]


def load(argument: str, options: MetricOptions) -> Metric:
    """POSH against references [=JUDGE,parser=…,coreference=…,prompts=DIR; offline]."""
    judge, parts = "", argument.split(",")
    if parts[0].partition("=")[0] not in OPTIONS:
        judge, *parts = parts
    given = dict(part.partition("=")[::2] for part in parts if part)
    if unknown := sorted(set(given) - set(OPTIONS)):
        raise UserError(
            f"posh={argument}: POSH has no option {unknown[0]!r}",
            hint=f"the judge may be followed by {', '.join(f'{name}=…' for name in OPTIONS)}",
        )
    return load_posh(judge or "offline", options, **given)


def load_posh(
    judge: str,
    options: MetricOptions,
    parser: str = BUNDLED,
    coreference: str = "rules",
    prompts: str = "",
) -> PoshMetric:
    """Loads POSH as a metric.

    Args:
        judge: `offline`, a model, or a server's MODEL@URL.
        options: How models run.
        parser: A spaCy pipeline.
        coreference: `rules`, `maverick`, or a folder of its weights.
        prompts: The user's copy of the authors' prompts; "": the paper's.

    Raises:
        UserError: Something cannot be loaded.
    """
    load_pipeline(parser)  # reports what is missing before a judge is loaded
    found = load_judge(judge, options.placement, prompts=Path(prompts) if prompts else None)
    return PoshMetric(found, parser, load_coreference(coreference, options.placement.device))
