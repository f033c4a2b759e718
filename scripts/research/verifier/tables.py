"""The verifier's evaluation as tables, and the names in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from revise_captions.text.formatting import p_value

TRUTHS = {
    "truer": "of the sentences that stand, the share that is true",
    "better": "of the original's claims, the share that stands, true",
    "kept": "of the original's true claims, the share that stands, true",
    "edits": "of the components that came or went, the share that was right to",
}
BASELINES = ("words", "share of words deleted")
#: What each metric is to measure.
MEANT_FOR = {
    "posh mistakes": "truer",
    "posh omissions": "better",
    "posh overall": "better",
    "preservation": "kept",
    "edit scope": "edits",
    "visual": "truer",
    "visual, mean P": "truer",
    "the critic's own share": "truer",
}
LEVEL = 0.05
_MEANS = ("posh mistakes", "posh omissions", "preservation", "edit scope", "visual")
_PARTS = {
    "all": "all kinds of revisions",
    "nothing deleted": "the revisions that delete no more than a tenth of the words",
}

Row = Mapping[str, Any]


def as_summary(found: Mapping[str, Any]) -> str:
    """What each metric is meant for, beside the baselines; means."""
    lines = [f"{name:<8}{meaning}" for name, meaning in TRUTHS.items()]
    for part, truths in found["agreement"].items():
        lines += ["", *_in_short(found, part, truths)]
    return "\n".join([*lines, "", *_means(found["means"])])


def as_text(found: Mapping[str, Any]) -> str:
    """The summary; the critic; then everything."""
    lines = [as_summary(found)]
    if "components" in found:
        lines += ["", *_components(found["components"])]
    for part, truths in found["agreement"].items():
        lines += ["", *_correlations(found, part, truths)]
    return "\n".join(lines)


def _heading(found: Mapping[str, Any], part: str) -> str:
    number = f"{found['revisions'][part]:,} of {found['scenes']} captions"
    return f"Spearman's rho within scenes, {_PARTS[part]} ({number})"


def _in_short(found: Mapping[str, Any], part: str, truths: Mapping[str, Any]) -> Iterator[str]:
    yield _heading(found, part)
    yield f"{'':<25}{'with':<8}{'':<25}beside the better baseline"
    for name, truth in MEANT_FOR.items():
        row = truths[truth][name]
        yield f"{name:<25}{truth:<8}{_rho(row['within']):<25}{verdict(row)}".rstrip()


def _correlations(found: Mapping[str, Any], part: str, truths: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_heading(found, part)}; * what it is meant for"
    yield (f"{'':<25}" + "".join(f"{name:<25}" for name in truths)).rstrip()
    for name in next(iter(truths.values())):
        cells = "".join(
            f"{_rho(rows[name]['within'], MEANT_FOR.get(name) == truth):<25}"
            for truth, rows in truths.items()
        )
        yield f"{name:<25}{cells}".rstrip()


def _rho(row: Row, meant: bool = False) -> str:
    if row["rho"] is None:
        return "none"
    spread = "" if row["low"] is None else f" ({row['low']:+.2f} to {row['high']:+.2f})"
    return f"{row['rho']:+.2f}{spread}{' *' if meant else ''}"


def verdict(row: Row) -> str:
    """Whether a metric beats the better baseline, is level with it, or loses to it."""
    if row.get("difference") is None or row["p_value"] is None:
        return ""
    name = f"{row['best_baseline']}, {row['baseline_rho']:+.2f}"
    said = p_value(row["p_value"], row["least_p"])
    if row["p_value"] >= LEVEL:
        return f"level with {name} ({said})"
    return f"{'beats' if row['difference'] > 0 else 'LOSES TO'} {name} ({said})"


def _means(means: Mapping[str, Mapping[str, float | None]]) -> Iterator[str]:
    heads = [*TRUTHS, "mistakes", "omissions", "preserved", "scope", "visual", "words"]
    yield "means by kind of revision"
    yield f"{'':<26}" + "".join(f"{name:>10}" for name in heads)
    for kind, values in means.items():
        cells = [_cell(values[name], ".3f") for name in (*TRUTHS, *_MEANS)]
        cells.append(_cell(values["words"], ".0f"))
        yield f"{kind:<26}" + "".join(f"{cell:>10}" for cell in cells)


def _cell(value: float | None, how: str) -> str:
    return "none" if value is None else f"{value:{how}}"


def _components(found: Mapping[str, Row]) -> Iterator[str]:
    yield "the critic on single components, by the oracle"
    heads = ("asked", "readable", "true", "accuracy", "ROC-AUC")
    yield f"{'':<12}" + "".join(f"{name:>10}" for name in heads)
    for part, row in found.items():
        cells = [f"{row['asked']:,}", f"{row['readable']:,}"]
        cells += [_cell(row[name], ".3f") for name in ("true", "accuracy", "roc_auc")]
        yield f"{part:<12}" + "".join(f"{cell:>10}" for cell in cells)
