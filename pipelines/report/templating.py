"""The templates of the HTML pages: escaping, filters, assets, content policy."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from revise_captions.outside_text import plain
from revise_captions.pipelines.report import charts
from revise_captions.text.formatting import duration, percent, plural, signed
from revise_captions.text.html import clip

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


def environment() -> Environment:
    """The template environment: escapes everything and spells out invisible characters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    templates.filters |= {
        "percent": percent,
        "count": lambda number: f"{number:,}",
        "duration": duration,
        "step": charts.step_label,
        "plain": plain,
        "clip": clip,
        "points": _points,
        "interval": _interval,
        "score": _score,
        "moved": _moved,
        "setting": lambda v: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False),
    }
    templates.globals |= {"plural": plural}
    return templates


def _shown(value: object) -> object:
    """Applied to every printed value: spells out text, leaves markup alone."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def content_policy(style: str, script: str = "") -> str:
    """A content policy that allows exactly this style, this script and embedded images."""

    def sha(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    scripts = sha(script) if script else "'none'"
    return (
        f"default-src 'none'; img-src data:; style-src {sha(style)}; script-src {scripts}; "
        "base-uri 'none'; form-action 'none'"
    )


def _points(change: float | None) -> str:
    """A difference of shares in percentage points, with its sign."""
    return "" if change is None else signed(f"{100 * change:+.1f} points")


def _interval(estimate: Mapping[str, Any]) -> str:
    if estimate["low"] is None:
        return ""
    return f"{100 * estimate['low']:.1f} to {100 * estimate['high']:.1f} %"


def _score(estimate: Mapping[str, Any], scale: int) -> str:
    """A share in percent, or a score as it is."""
    value = estimate["value"]
    return percent(value) if scale == 100 or value is None else f"{value:.3f}"


def _moved(change: Mapping[str, Any], scale: int) -> str:
    """A difference with its interval, in points or as it is."""
    if change["value"] is None:
        return ""
    how, unit = ("+.1f", " points") if scale == 100 else ("+.3f", "")
    text = f"{scale * change['value']:{how}}{unit}"
    if change["low"] is not None:
        text += f" ({scale * change['low']:{how}} to {scale * change['high']:{how}})"
    return signed(text)
