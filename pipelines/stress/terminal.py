"""The summary as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from revise_captions.text.formatting import plural

_WIDTH = 27


def as_text(found: Mapping[str, Any]) -> str:
    """What `captions stress-metric` prints."""
    return "\n".join(_lines(found))


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{found['benchmark']}, protocol {found['protocol']}: "
        f"{plural(found['descriptions'], 'description')} of "
        f"{plural(found['images'], 'image')}, {plural(found['contexts'], 'context')}"
    )
    yield from said_of_data(found)
    for metric in found["metrics"]:
        yield ""
        yield f"{metric['name']}: {metric['scored']:,} descriptions scored"
        yield from said_of_metric(metric)
        columns = found["published"]["columns"]
        head = "".join(f"{name:>15}" for name in columns)
        yield f"  {'':{_WIDTH}}{'lower (95 % interval)':>24}{'same':>8}{'higher':>8}{'n':>7}{head}"
        for own in metric["checks"]:
            printed = found["published"]["table_1"][own["check"]]
            yield _check_line(own) + "".join(f"{value:>14.1f}%" for value in printed)
    yield ""
    yield "CLIP, Frozen: share lower on 20 % of ContextRef's data (its Table 1). The shares in its"
    yield "Figure 3 cannot be read from the text, which says:"
    yield from (f"  {line}" for line in found["published"]["figure_3"])
    yield from _agreement_lines(found)
    yield from _among_lines(found)
    yield ""
    yield from (metric["verdict"] for metric in found["metrics"])
    yield ""
    yield found["signature"]


def said_of_data(found: Mapping[str, Any]) -> list[str]:
    """What was left out of the data."""
    lines = []
    if found["empty"]:
        lines.append(f"left out: {plural(found['empty'], 'empty description')}")
    if refused := sum(found["refused_ratings"].values()):
        axes = ", ".join(f"{axis} {count}" for axis, count in found["refused_ratings"].items())
        lines.append(f"left out: {plural(refused, 'rating')} outside the scale ({axes}; --scale)")
    lines += [f"left out: {count:,} {what}" for what, count in found["left_out"].items()]
    for check, count in found["applies"].items():
        if not count:
            lines.append(f"{check} does not apply to any description")
    return lines


def said_of_metric(metric: Mapping[str, Any]) -> list[str]:
    """What it could not judge or read in part only."""
    lines = [f"  could not judge {count:,}: {why}" for why, count in metric["unscored"].items()]
    if metric["truncated"]:
        texts = plural(metric["truncated"], "text")
        lines.append(f"  read {texts} in part only: longer than the model's context")
    return lines


def _check_line(own: Mapping[str, Any]) -> str:
    shares = own["shares"]
    if not own["compared"]:
        return f"  {own['check']:{_WIDTH}}{'not tested':>24}{'':23}"
    lower = shares["lower"]
    bounds = (
        "" if lower["low"] is None else f" ({100 * lower['low']:.0f} to {100 * lower['high']:.0f})"
    )
    value = f"{100 * lower['value']:.1f}%{bounds}"
    rest = "".join(f"{100 * shares[name]['value']:>7.1f}%" for name in ("same", "higher"))
    return f"  {own['check']:{_WIDTH}}{value:>24}{rest}{own['compared']:>7,}"


def _agreement_lines(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["agreement"]:
        return
    yield ""
    yield "Pearson's r with people's mean ratings of the originals"
    for own in found["agreement"]:
        value = "none" if own["value"] is None else f"{own['value']:.3f}"
        bounds = "" if own["low"] is None else f" ({own['low']:.3f} to {own['high']:.3f})"
        yield f"  {own['axis']:44} {own['metric']:24}{value:>7}{bounds:20}{own['rows']:>6,}"
    yield "  ContextRef, Table A.1, overall, before and after: " + "; ".join(
        f"{name} {before:.2f}, {after:.2f}"
        for name, (before, after) in found["published"]["table_a1"].items()
    )


def _among_lines(found: Mapping[str, Any]) -> Iterator[str]:
    among = found["among"]
    if among is None:
        return
    yield ""
    yield f"Pearson's r among the metrics, {plural(among['rows'], 'original')} that all score"
    for name, row in zip(among["names"], among["matrix"], strict=True):
        yield f"  {name:24}" + "".join(
            f"{'none' if value is None else f'{value:.2f}':>8}" for value in row
        )
