"""Templates to pages: escaping, filters, the shared style, the content policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from revise_captions.outside_text import plain
from revise_captions.text.formatting import duration, p_value, percent, plural, signed
from revise_captions.text.html import clip

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


def environment(*folders: Path, **filters: Callable[..., object]) -> Environment:
    """The template environment: escapes everything and spells out invisible characters.

    Args:
        folders: Where a page's own templates are, besides the shared ones.
        filters: The page's own filters, by name.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader([_TEMPLATES, *folders]),
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
        "plain": plain,
        "clip": clip,
        "points": _points,
        "interval": _interval,
        "score": _score,
        "moved": _moved,
        "setting": lambda v: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False),
        "breaks": breaks,
        "p_value": p_value,
    } | filters
    templates.globals |= {"plural": plural}
    return templates


def _shown(value: object) -> object:
    """Applied to every printed value: spells out text, leaves markup alone."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_page(
    templates: Environment,
    name: str,
    values: Mapping[str, object],
    *scripts: str,
    served: bool = False,
    beside: bool = False,
) -> str:
    """A page that extends `base.html.j2`, with the shared style.

    Args:
        templates: From `environment`.
        name: The page's template.
        values: What it needs.
        scripts: The page's scripts; they become one.
        served: Whether the page may send requests to where it came from.
        beside: Whether its images are files beside it.
    """
    style, script = asset("page.css"), "".join(scripts)
    return templates.get_template(name).render(
        values,
        policy=content_policy(style, script, served=served, beside=beside),
        style=Markup(style),
        script=Markup(script),
    )


def asset(name: str, folder: Path = _TEMPLATES) -> str:
    return (folder / name).read_text(encoding="utf-8")


def content_policy(
    style: str, script: str = "", *, served: bool = False, beside: bool = False
) -> str:
    """A content policy that allows exactly this style, this script and embedded images.

    A `served` page may also load images from its own origin, and send forms and requests there.
    One with images `beside` it may load those, also from a folder, where pages have no origin.
    """

    def sha(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    scripts = sha(script) if script else "'none'"
    own = "'self'" if served else "'none'"
    images = "data: 'self'" if served else "data: 'self' file:" if beside else "data:"
    return (
        f"default-src 'none'; img-src {images}; style-src {sha(style)}; script-src {scripts}; "
        f"connect-src {own}; base-uri 'none'; form-action {own}"
    )


_SEPARATORS = re.compile(r"(?<=[^\W_])([-_/.:,@]+)(?=\w)")


def breaks(text: str) -> Markup:
    """A name that may be broken behind its separators, and in no other place if that suffices."""
    parts = _SEPARATORS.split(plain(text))
    return Markup("").join(
        part if place % 2 == 0 else Markup("{}<wbr>").format(part)
        for place, part in enumerate(parts)
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
