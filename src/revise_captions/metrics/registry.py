"""Metrics by name, ours and those of other installed packages: `registry.METRICS`.

An entry names a function: `load(argument, options)` returns a `Metric`; its docstring's first line
is its description in lists. The argument is the text after `=` in `exclamations=ARGUMENT`, usually
a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import cast

from revise_captions import registry
from revise_captions.engines.model_spec import HERE, Placement
from revise_captions.errors import BadRecord, UserError
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs, ScoresParts
from revise_captions.records import Span


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """How a metric's models run.

    Attributes:
        placement: Where and how they run.
        critic_profile: For the critic that a metric asks.
    """

    placement: Placement = HERE
    critic_profile: Path | None = None


Load = Callable[[str, MetricOptions], Metric]


def load_metric(given: str, options: MetricOptions | None = None) -> Metric:
    """Loads `NAME` or `NAME=ARGUMENT`.

    Raises:
        UserError: There is no such metric, or it cannot be loaded.
    """
    name, _, argument = given.partition("=")
    make = cast(Load, registry.load(registry.METRICS, name))
    return make(argument, options or MetricOptions())


def expect_critic(given: Sequence[str], profile: Path | None) -> None:
    """Raises `UserError` for a critic's profile if no metric of `given` asks a critic."""
    if profile is not None and not any(name.partition("=")[0].endswith("critic") for name in given):
        raise UserError(
            "--critic-profile has no effect: no metric here uses a critic",
            hint="name one (critic=MODEL, contextual-critic=MODEL), or leave it out",
        )


def metric_label(given: str) -> str:
    """The name in tables of `NAME` or `NAME=ARGUMENT`; for a folder, its last part."""
    name, _, argument = given.partition("=")
    return f"{name}={Path(argument).name or argument}" if argument else name


def scored(metric: Metric, items: Sequence[MetricInput]) -> list[MetricScore]:
    """Scores of all items: what lacks something the metric needs, or cannot be read, has none.

    Raises:
        UserError: The metric does not keep its protocol.
    """
    unreadable: dict[str, str] = {}
    reasons = [_missing(item, metric.needs, unreadable) for item in items]
    results = [MetricScore(None, reason) for reason in reasons]
    asked = [k for k, reason in enumerate(reasons) if not reason]
    answers = metric.score([items[k] for k in asked]) if asked else []
    if len(answers) != len(asked):
        raise UserError(
            f"the metric {metric.name} gave {len(answers)} scores for {len(asked)} texts"
        )
    for k, answer in zip(asked, answers, strict=True):
        results[k] = _explained(answer, metric.name)
    return results


def scored_parts(
    metric: ScoresParts, items: Sequence[MetricInput], spans: Sequence[Sequence[Span]]
) -> list[list[MetricScore]]:
    """Scores of parts of all items; an item that cannot be scored has none for any of its parts.

    Args:
        metric: A metric that scores parts.
        items: The texts.
        spans: The parts of each text, in order.

    Raises:
        UserError: The metric does not keep its protocol.
    """
    unreadable: dict[str, str] = {}
    reasons = [_missing(item, metric.needs, unreadable) for item in items]
    asked = [k for k, reason in enumerate(reasons) if not reason and spans[k]]
    answers = metric.score_parts([items[k] for k in asked], [spans[k] for k in asked])
    results = [
        [MetricScore(None, reason)] * len(own) for reason, own in zip(reasons, spans, strict=True)
    ]
    if [len(found) for found in answers] != [len(spans[k]) for k in asked]:
        raise UserError(f"the metric {metric.name} did not give one score for each part of a text")
    for k, found in zip(asked, answers, strict=True):
        results[k] = [_explained(score, metric.name) for score in found]
    return results


def scored_alone(
    metric: Metric, items: Sequence[MetricInput], spans: Sequence[Sequence[Span]]
) -> list[list[MetricScore]]:
    """Scores parts as separate texts: `ScoresParts` for a metric that cannot do it better."""
    texts = [
        [replace(item, text=span.of(item.text)) for span in own]
        for item, own in zip(items, spans, strict=True)
    ]
    found = iter(metric.score([one for own in texts for one in own]))
    return [[next(found) for _ in own] for own in texts]


def _explained(score: MetricScore, name: str) -> MetricScore:
    if not isinstance(score, MetricScore):
        raise UserError(f"the metric {name} gave {score!r:.80}, which is no MetricScore")
    if score.value is None and not score.reason:
        return replace(score, reason="no reason given")
    if score.value is not None and not isfinite(score.value):
        return replace(score, value=None, reason=f"the score is {score.value}")
    return score


def _missing(item: MetricInput, needs: frozenset[Needs], unreadable: dict[str, str]) -> str:
    """Why an item cannot be scored, "" if it can; `unreadable` remembers images."""
    reason = item.lacks(needs)
    if reason or item.image is None or Needs.IMAGE not in needs:
        return reason
    if item.image.key not in unreadable:
        unreadable[item.image.key] = ""
        try:
            item.image.load()
        except BadRecord as error:
            unreadable[item.image.key] = f"image: {error}"
    return unreadable[item.image.key]
