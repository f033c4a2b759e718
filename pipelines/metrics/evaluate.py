"""`captions evaluate-metric`: metrics and raters against human annotations, at every level.

benchmark (a folder) ─ examples, preferences ┐
scores (files)       ─ joined by id ─────────┴─ figures with intervals, tests, a signature
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import Example, Preference
from revise_captions.errors import UserError
from revise_captions.io.writing import check_writable, real_path, write_json
from revise_captions.metrics.registry import MetricOptions, expect_critic
from revise_captions.outside_text import plain
from revise_captions.pipelines.metrics import levels, systems
from revise_captions.pipelines.metrics.agreement import agreement_level
from revise_captions.pipelines.metrics.autorater import autorater_level
from revise_captions.pipelines.metrics.estimates import Figure
from revise_captions.pipelines.metrics.floors import all_floors
from revise_captions.pipelines.metrics.options import EvaluationOptions
from revise_captions.pipelines.metrics.preferences import preference_level, ratings_of
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.pipelines.metrics.scores import read_scores
from revise_captions.pipelines.metrics.spans import span_level
from revise_captions.signature import signature
from revise_captions.text.formatting import p_value, plural

#: Settings that every figure depends on, said in its signature.
TIES = (
    "ROC-AUC half,Kendall a neither b corrected c Stuart,Spearman mean rank,"
    "pairwise calibrated,battles half a win"
)


def evaluate(options: EvaluationOptions) -> dict[str, Any]:
    """Computes all figures and writes them to `options.out`, if given.

    Returns:
        What the JSON file holds.

    Raises:
        UserError: The benchmark or the scores cannot be read.
    """
    entry = benchmark(options.benchmark)
    if options.out is not None:
        reads: list[Path | str] = [options.folder, *options.scores]
        reads += [part for given in options.scores for part in given.split("=")]
        check_writable(options.out, reads, force=None, ours=_is_figures)
        for given in options.scores:
            if real_path(options.out) == real_path(given.partition("=")[2]):
                raise UserError(f"{options.out} is also in {given}", hint="choose another name")
    items = list(entry.read(options.folder))
    examples = [item for item in items if isinstance(item, Example)]
    preferences = [item for item in items if isinstance(item, Preference)]
    expect_critic(options.scores, options.critic_profile)
    how = MetricOptions(critic_profile=options.critic_profile)
    metrics = [
        read_scores(given, examples, options.field, options.folder, how) for given in options.scores
    ]
    more, left_out = all_floors(examples) if options.floors else ([], {})
    metrics += [scores for scores in more if scores.name not in options.scores]
    names = [metric.name for metric in metrics]
    if len(set(names)) < len(names):
        raise UserError("two score files have the same name", hint="name them with NAME=FILE")
    figures = _figures(options, examples, preferences, metrics)
    found: dict[str, Any] = {
        "benchmark": entry.name,
        "captions": len(examples),
        "preferences": len(preferences),
        "signature": _signature(options, metrics),
        "published": dict(entry.published),
        "note": entry.note,
        "unscored": {m.name: dict(m.reasons) for m in metrics},
        "left_out": left_out,
        "figures": [figure.as_json() for figure in figures],
    }
    if "system" in options.levels and any(metric.scores_captions for metric in metrics):
        found["captioners"] = {
            judged.axis: rows
            for judged in levels.judged_by_people(examples, each=options.each)
            if (rows := systems.system_table(judged, metrics))
        }
    if "system" in options.levels and metrics:
        more_figures, shares = autorater_level(examples, metrics, options.replicates)
        found["figures"] += [figure.as_json() for figure in more_figures]
        found["criteria"] = shares
    if "preference" in options.levels and preferences:
        found["ratings"] = ratings_of(preferences, options.replicates)
    if options.out is not None:
        write_json(options.out, found)
    return found


#: The widest table of single captioners, in characters; what is wider goes below.
_WIDEST = 160
_CHANCE = 0.05
_APART = (
    "* p < 0.05 against the first (paired permutation test, one by one); sizes and differences are "
    "in the file of --json"
)


def _is_figures(head: bytes) -> bool:
    """Whether a file begins as the one that `evaluate` writes."""
    return head.startswith(b'{"benchmark": ') and b'"captions": ' in head


def _figures(
    options: EvaluationOptions,
    examples: Sequence[Example],
    preferences: Sequence[Preference],
    metrics: Sequence[Scores],
) -> list[Figure]:
    found: list[Figure] = []
    if "sentence" in options.levels and metrics:
        found += levels.sentence_level(examples, metrics, options.replicates, options.by_captioner)
    for judged in levels.judged_by_people(examples, each=options.each) if metrics else ():
        if "segment" in options.levels:
            found += levels.segment_level(judged, metrics, options.replicates, each=options.each)
        if "system" in options.levels:
            found += systems.system_level(judged, metrics, options.replicates)
    if "system" in options.levels:
        found += systems.pooled_shares(examples, metrics, options.replicates)
    if "preference" in options.levels and preferences and metrics:
        found += preference_level(preferences, metrics, options.replicates)
    if "spans" in options.levels:
        found += span_level(examples, metrics, options.replicates)
    if "agreement" in options.levels:
        found += agreement_level(examples, options.replicates)
    return found


def _signature(options: EvaluationOptions, metrics: Sequence[Scores]) -> str:
    settings = {
        "benchmark": options.benchmark,
        "levels": ",".join(options.levels),
        "intervals": f"95% Poisson bootstrap over images, {options.replicates}",
        "tests": f"paired permutation over images, {options.replicates}",
        "ratings": options.ratings,
        "ties": TIES,
        "seed": "0",
        "scipy": version("scipy"),
        "scikit-learn": version("scikit-learn"),
    }
    return signature(settings | {f"scores {m.name}": m.source for m in metrics})


def as_text(found: Mapping[str, Any]) -> str:
    """The figures as tables for a terminal, one for each level and axis."""
    parts = [f"{found['benchmark']}: {plural(found['captions'], 'caption')}"]
    if found["preferences"]:
        parts[0] += f", {plural(found['preferences'], 'preference')}"
    parts += [_unscored(name, why) for name, why in found["unscored"].items() if why]
    parts += _left_out(found["left_out"])
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for figure in found["figures"]:
        groups.setdefault((figure["level"], figure["axis"]), []).append(figure)
    parts += [_table(level, axis, rows) for (level, axis), rows in groups.items()]
    if not groups:
        parts.append(
            "no figures: people's labels here are of no level that was asked for "
            f"(captions benchmarks show {found['benchmark']} says what they labeled)"
        )
    parts += [_captioners(axis, rows) for axis, rows in found.get("captioners", {}).items()]
    for criterion, rows in found.get("criteria", {}).items():
        parts.append(_captioners(criterion.replace("_", " "), rows))
    for axis, tables in found.get("ratings", {}).items():
        parts += [_ratings(axis, name, rows) for name, rows in tables.items()]
    if found["published"] and found["figures"]:
        rows = "\n".join(f"  {value:>12}  {name}" for name, value in found["published"].items())
        note = f"\n  {found['note']}" if found["note"] else ""
        parts.append(f"published, on the whole benchmark:\n{rows}{note}")
    return "\n\n".join([*parts, found["signature"]])


def _left_out(reasons: Mapping[str, str]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for name, why in reasons.items():
        by_reason.setdefault(why, []).append(name)
    return [f"left out: {', '.join(names)} ({plain(why)})" for why, names in by_reason.items()]


def _unscored(name: str, why: Mapping[str, int]) -> str:
    said = "; ".join(f"{n:,} {plain(reason)}" for reason, n in sorted(why.items()))
    return f"{plain(name)} could not judge: {said}"


def _table(level: str, axis: str, rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"{level}: {plain(axis)}"]
    for row in rows:
        if row["subset"]:
            continue
        line = f"  {row['name']:<40} {plain(row['metric']):<18} {_value(row)}  {row['rows']:>7,}"
        lines.append(line.rstrip() + (f"  {row['note']}" if row["note"] else ""))
        if row["p_value"] is not None:
            difference, low, high = row["difference"]
            between = _value({"value": difference, "low": low, "high": high})
            said = f"first − this {between}, {p_value(row['p_value'], row['least_p'])}"
            lines.append(f"  {'':<40} {said}")
    return "\n".join([*lines, *_by_subset([row for row in rows if row["subset"]])])


def _by_subset(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """One table of the figures of single captioners: a line for each, a column for each figure."""
    found = {(row["subset"], row["name"], row["metric"]): row for row in rows}
    subsets = list(dict.fromkeys(row["subset"] for row in rows))
    first = ["each captioner", "", *map(plain, subsets)]
    lines: list[str] = []
    part: list[list[str]] = []
    above = ""
    for name, metric in dict.fromkeys((name, metric) for _, name, metric in found):
        cells = [_cell(found.get((subset, name, metric))) for subset in subsets]
        if part and _width([first, *part, cells]) > _WIDEST:
            lines, part, above = [*lines, "", *_columns([first, *part])], [], ""
        part.append(["" if name == above else name, plain(metric), *cells])
        above = name
    lines += ["", *_columns([first, *part])] if part else []
    tested = any(row["p_value"] is not None for row in rows)
    return [*lines, f"  {_APART}"] if tested else lines


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(2 + max(map(len, column)) for column in columns)


def _columns(columns: Sequence[Sequence[str]]) -> list[str]:
    """Columns of cells as lines, each column as wide as its longest cell."""
    padded = [[f"{cell:<{max(map(len, column))}}" for cell in column] for column in columns]
    return ["".join(f"  {cell}" for cell in line).rstrip() for line in zip(*padded, strict=True)]


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["value"] is None:
        return "none"
    between = "" if row["low"] is None else f" ({row['low']:.3f} to {row['high']:.3f})"
    apart = row["p_value"] is not None and row["p_value"] < _CHANCE
    return f"{row['value']:.3f}{between}{' *' if apart else ''}"


def _value(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return f"{'none':>6}{'':18}"
    if row["low"] is None:
        return f"{row['value']:6.3f}{'':18}"
    return f"{row['value']:6.3f} ({row['low']:6.3f} to {row['high']:6.3f})"


def _captioners(axis: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Captioners, best first by human mean; ranks stand beside the means."""
    columns = [key for key in rows[0] if key not in ("captioner", "captions")]
    head = "".join(f"{plain(name)[:18]:>20}" for name in columns)
    lines = [f"captioners: mean {plain(axis)}, and rank", f"  {'':<24}{'captions':>9}{head}"]
    for row in rows:
        cells = "".join(f"{_ranked(row, rows, name):>20}" for name in columns)
        lines.append(f"  {plain(row['captioner']):<24}{row['captions']:>9,}{cells}")
    return "\n".join(lines)


def _ranked(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], name: str) -> str:
    if row[name] is None:
        return "none"
    better = sum(other[name] is not None and other[name] > row[name] for other in rows)
    return f"{row[name]:.3f}  {better + 1:>2}"


def _ratings(axis: str, name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"{name} ratings by people: {plain(axis)}"]
    for row in rows:
        if row["rating"] is None:
            said = "none: somebody always wins or always loses"
        elif row["low"] is None:
            said = f"{row['rating']:7.1f}"
        else:
            said = f"{row['rating']:7.1f} ({row['low']:.1f} to {row['high']:.1f})"
        lines.append(f"  {plain(row['captioner']):<32} {said}")
    return "\n".join(lines)
