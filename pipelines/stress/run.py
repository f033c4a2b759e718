"""What `stress-metric` does: items, changed items, scores of all metrics, and the summary."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.readers.contextref import gold
from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError
from revise_captions.io.writing import check_new_folder, check_writable, write_json, write_text
from revise_captions.metrics.registry import MetricOptions, expect_critic
from revise_captions.pipelines.stress import published
from revise_captions.pipelines.stress.checks import CHECKS, Continuations
from revise_captions.pipelines.stress.continuations import continuations, is_continuations
from revise_captions.pipelines.stress.export import export_variants
from revise_captions.pipelines.stress.items import RatedItems, part_of, read_items, spread
from revise_captions.pipelines.stress.options import StressOptions
from revise_captions.pipelines.stress.page import TITLE, page
from revise_captions.pipelines.stress.released import released
from revise_captions.pipelines.stress.scores import (
    ORIGINAL,
    StressScores,
    Variants,
    changed,
    loaded_first,
    stress_scores,
)
from revise_captions.pipelines.stress.summary import (
    agreements,
    among_themselves,
    check_shares,
    rises_by,
    verdict,
)
from revise_captions.signature import signature

logger = logging.getLogger(__name__)
FORMAT = "revise-captions stress"
NO_WRITER = "none"
CONTEXTREF, RELEASED = "contextref", "released"
#: Of scores, as the authors of ContextRef compare them.
DECIMALS = 3


def run(options: StressOptions) -> dict[str, Any]:
    """Stresses metrics and writes what was asked for.

    Returns:
        What the JSON file holds.

    Raises:
        UserError: Data or metrics cannot be read or loaded, before anything is written.
    """
    _check_targets(options)
    originals = _originals(options)
    examples = spread(part_of(originals, options.part), options.limit)
    rated = read_items(examples, options.folder, options.scale)
    if not rated.items:
        raise UserError(f"{options.folder} holds no descriptions of {options.benchmark}")
    expect_critic(options.metrics, options.critic_profile)
    how = MetricOptions(options.placement, options.critic_profile)
    small = loaded_first(options.metrics, how)
    written = None
    if options.protocol == RELEASED:
        variants = released(options.folder, rated, originals)
    else:
        written = _continuations(rated, options)
        variants = changed(rated, options.seed, written)
    if options.export is not None:
        export_variants(options.export, rated, variants)
    if not options.metrics:
        return {}
    metrics = [
        stress_scores(given, rated, variants, options.folder, small, how)
        for given in options.metrics
    ]
    names = [metric.name for metric in metrics]
    if len(set(names)) < len(names):
        raise UserError("two metrics have the same name", hint="name score files with NAME=FILE")
    found = _found(options, rated, variants, metrics, _settings(options, written))
    if options.json is not None:
        write_json(options.json, found)
    if options.html is not None:
        write_text(options.html, page(found))
    return found


def _originals(options: StressOptions) -> list[Example]:
    if options.protocol == RELEASED:
        if options.benchmark != CONTEXTREF:
            raise UserError(
                f"--protocol {RELEASED} is for the benchmark {CONTEXTREF}, but this is "
                f"{options.benchmark}",
                hint=f"add --benchmark {CONTEXTREF}, or leave --protocol out",
            )
        return list(gold(options.folder))
    found = benchmark(options.benchmark).read(options.folder)
    return [item for item in found if isinstance(item, Example)]


def _check_targets(options: StressOptions) -> None:
    if not options.metrics and options.export is None:
        raise UserError("no metric was named", hint="--list shows the installed ones")
    reads: list[Path | str] = [options.folder, options.writer, options.critic_profile or ""]
    reads += [part for given in options.metrics for part in given.split("=")]
    if options.export is not None:
        check_new_folder(options.export)
    if options.continuations is not None:
        check_writable(options.continuations, reads, force=None, ours=is_continuations)
    if options.html is not None:
        check_writable(
            options.html, reads, force=options.force, ours=lambda head: TITLE.encode() in head
        )
    if options.json is not None:
        check_writable(
            options.json, reads, force=options.force, ours=lambda head: FORMAT.encode() in head[:99]
        )


def _continuations(rated: RatedItems, options: StressOptions) -> Continuations | None:
    if options.writer == NO_WRITER:
        return None
    texts = [item.given.text for item in rated.items]
    return continuations(texts, options.writer, options.continuations, options.placement.device)


def _settings(options: StressOptions, written: Continuations | None) -> dict[str, str]:
    """What decides the figures, besides the metrics."""
    made = {
        "checks": "ContextRef section 5.1, names and errors by rules",
        "writer": written.model if written else "none",
        "seed": str(options.seed),
    }
    theirs = {"checks": "df_metric_*.csv", "compared": f"to {DECIMALS} decimals"}
    return {
        "benchmark": options.benchmark,
        "protocol": options.protocol,
        **(theirs if options.protocol == RELEASED else made),
        "part": options.part,
        "intervals": f"95% Poisson bootstrap over images, {options.replicates}",
    }


def _found(
    options: StressOptions,
    rated: RatedItems,
    variants: Variants,
    metrics: Sequence[StressScores],
    settings: Mapping[str, str],
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "signature": signature(settings),
        "benchmark": options.benchmark,
        "protocol": options.protocol,
        "descriptions": len(rated.items),
        "images": len({item.image for item in rated.items}),
        "contexts": len({item.given.context for item in rated.items} - {""}),
        "empty": rated.empty,
        "refused_ratings": dict(rated.refused),
        "left_out": dict(variants.left_out),
        "applies": {
            check.name: sum(given is not None for given in variants.inputs[check.name])
            for check in CHECKS
        },
        "metrics": [_metric(metric, rated, options) for metric in metrics],
        "agreement": agreements(rated.examples, metrics, options.replicates),
        "among": among_themselves(metrics),
        "examples": _shown(rated, variants, metrics),
        "published": {
            "columns": published.TABLE_1_COLUMNS,
            "table_1": published.TABLE_1,
            "figure_3": published.FIGURE_3,
            "table_a1": published.TABLE_A1,
        },
    }


def _metric(metric: StressScores, rated: RatedItems, options: StressOptions) -> dict[str, Any]:
    images = [item.image for item in rated.items]
    decimals = DECIMALS if options.protocol == RELEASED else None
    checks = [check_shares(check, metric, images, options.replicates, decimals) for check in CHECKS]
    return {
        "name": metric.name,
        "signature": metric.source,
        "needs": sorted(metric.needs) if metric.needs is not None else None,
        "scored": sum(value is not None for value in metric.values[ORIGINAL]),
        "unscored": dict(metric.reasons),
        "truncated": metric.truncated,
        "seconds_per_text": metric.seconds,
        "checks": checks,
        "rises_by": rises_by(checks),
        "verdict": verdict(metric.name, checks),
    }


def _shown(
    rated: RatedItems, variants: Variants, metrics: Sequence[StressScores]
) -> list[dict[str, Any]]:
    """One item in all its variants, the first to which most checks apply."""
    applies = [
        sum(variants.inputs[check.name][k] is not None for check in CHECKS)
        for k in range(len(rated.items))
    ]
    k = applies.index(max(applies))
    found = []
    for check, inputs in variants.inputs.items():
        given = inputs[k]
        if given is not None:
            found.append(
                {
                    "check": check,
                    "text": given.text,
                    "context": given.context[:200],
                    "scores": {metric.name: metric.values[check][k] for metric in metrics},
                }
            )
    return found
