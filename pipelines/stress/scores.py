"""A metric's scores of the originals and of everything that the checks made of them.

A metric is a name of the registry (`posh`, `clipscore=MODEL`), a floor (`floor:bleu`), or a file of
scores, as `evaluate-metric` takes it, with the ids that `--export` writes: `ID` for the original
and `ID#CHECK` for a changed one.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from revise_captions.benchmarks.types import CAPTION, Example
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions, load_metric, metric_label
from revise_captions.metrics.registry import scored as scored_by
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.pipelines.metrics.scores import METRIC, read_scores
from revise_captions.pipelines.stress.checks import CHECKS, Continuations
from revise_captions.pipelines.stress.items import RatedItems
from revise_captions.registry import METRICS, names, unknown
from revise_captions.signature import signature

logger = logging.getLogger(__name__)
ORIGINAL = ""


@dataclass(frozen=True, slots=True)
class Variants:
    """Every input, by check (`ORIGINAL` for the originals); None where a check does not apply.

    `left_out` says what of released changes was not used, by reason.
    """

    inputs: Mapping[str, Sequence[MetricInput | None]]
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StressScores:
    """One metric's scores.

    Attributes:
        name: What tables call it.
        source: What computed them, as a signature.
        values: By check, one per item; None where there is no score, or nothing to score.
        reasons: Why there is none, of the originals and of all changed ones.
        truncated: Texts of which the metric read a part only.
        needs: What it needs; None for a file of scores.
        seconds: For each scored text, and None for a file.
    """

    name: str
    source: str
    values: Mapping[str, Sequence[float | None]]
    reasons: Mapping[str, int]
    truncated: int = 0
    needs: frozenset[Needs] | None = None
    seconds: float | None = None


def changed(items: RatedItems, seed: int, written: Continuations | None) -> Variants:
    """All changed inputs."""
    found: dict[str, Sequence[MetricInput | None]] = {
        ORIGINAL: [item.given for item in items.items]
    }
    for check in CHECKS:
        found[check.name] = check.change(items.items, seed, written)
    return Variants(found)


def variant_id(item: str, check: str) -> str:
    """`12` for an original, `12#exact-repetition` for a changed one."""
    return f"{item}#{check.replace(' ', '-').lower()}" if check else item


def is_registered(given: str) -> bool:
    """Whether it names a metric of the registry rather than a floor or a file."""
    return given.startswith(METRIC) or given.partition("=")[0] in names(METRICS)


def loaded_first(names: Sequence[str], options: MetricOptions) -> dict[str, Metric]:
    """The metrics among `names` that name no model: small ones, or such that ask for a model, which
    is better said before minutes of writing continuations than after.

    Raises:
        UserError: One of `names` is no metric, or one without a model cannot be loaded.
    """
    for given in names:
        computed_here = is_registered(given) or given.startswith("floor:")
        if not computed_here and "=" not in given and not Path(given).exists():
            raise unknown(METRICS, given, hint="others are floor:NAME, NAME=FILE")
    alone = [name for name in names if is_registered(name) and "=" not in name]
    return {name: load_metric(name.removeprefix(METRIC), options) for name in alone}


def stress_scores(
    given: str,
    items: RatedItems,
    variants: Variants,
    folder: Path,
    metrics: Mapping[str, Metric],
    options: MetricOptions,
) -> StressScores:
    """Scores by what `given` names, one of `metrics` or what is loaded now; see the module.

    Raises:
        UserError: It cannot be loaded or read.
    """
    if is_registered(given):
        name = given.removeprefix(METRIC)
        metric = metrics[given] if given in metrics else load_metric(name, options)
        return computed(metric, metric_label(name), variants)
    examples = variant_examples(items, variants)
    return _joined(read_scores(given, examples, folder=folder), items, variants)


def variant_examples(items: RatedItems, variants: Variants) -> list[Example]:
    """Originals and changed ones as captions of a benchmark, without their images."""
    found = []
    for check, inputs in variants.inputs.items():
        for example, given in zip(items.examples, inputs, strict=True):
            if given is None:
                continue
            found.append(
                replace(
                    example,
                    id=variant_id(example.id, check),
                    record=replace(example.record, captions={CAPTION: given.text}),
                    references=given.references,
                    context=given.context,
                    sentences=(),
                )
            )
    return found


def computed(metric: Metric, name: str, variants: Variants) -> StressScores:
    """Scores by a metric, the originals first."""
    values: dict[str, Sequence[float | None]] = {}
    reasons: Counter[str] = Counter()
    truncated = count = 0
    began = time.monotonic()
    for check, inputs in variants.inputs.items():
        asked = [given for given in inputs if given is not None]
        logger.info("%s: %d texts of %s", name, len(asked), check or "the originals")
        found = iter(scored_by(metric, asked))
        scores = [next(found) if given is not None else MetricScore(None) for given in inputs]
        values[check] = [score.value for score in scores]
        reasons.update(score.reason for score in scores if score.reason)
        truncated += sum(score.truncated > 0 for score in scores)
        count += sum(score.value is not None for score in scores)
    seconds = (time.monotonic() - began) / count if count else None
    source = signature(metric.settings)
    return StressScores(name, source, values, dict(reasons), truncated, metric.needs, seconds)


def _joined(scores: Scores, items: RatedItems, variants: Variants) -> StressScores:
    values: dict[str, list[float | None]] = {}
    for check, inputs in variants.inputs.items():
        ids = [variant_id(item.id, check) for item in items.items]
        values[check] = [
            scores.caption(own) if given is not None else None
            for own, given in zip(ids, inputs, strict=True)
        ]
    return StressScores(scores.name, scores.source, values, dict(scores.reasons))
