"""The report: one self-contained HTML file, and its figures as JSON beside it.

    write_report ─ render ─ panels ┬ charts     geometry of the SVG charts
                                   └ cards      the sampled records

Captions are untrusted text: Jinja2 escapes everything, characters that a browser would obey or hide
are spelled out (`text.html.visible`), and the content policy allows the page's own script alone and
no request at all. `panels` says how to add a panel.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from revise_captions.errors import UserError
from revise_captions.pipelines.report.panels import ReportData, rendered
from revise_captions.pipelines.report.sample import ReportRow
from revise_captions.pipelines.report.templating import asset, content_policy, environment

FORMAT = "revise-captions report"


def figures_path(path: Path) -> Path:
    """The path of the report's figures: `report.json` for `report.html`."""
    return (
        path.with_suffix(".json") if path.suffix != ".json" else path.with_suffix(".figures.json")
    )


def check_target(path: Path) -> None:
    """Raises `UserError` if the report would overwrite a JSON file that is not a report's.

    Call it before a run starts: `data.json` beside `data.html` may be a data set.
    """
    beside = figures_path(path)
    if not path.parent.is_dir():
        raise UserError(
            f"there is no folder {path.parent} for the report", hint=f"mkdir -p {path.parent}"
        )
    if beside.exists() and FORMAT.encode() not in beside.open("rb").read(200):
        raise UserError(
            f"the report's figures would overwrite {beside}, which is not a report's",
            hint="choose another name for --report, or move that file",
        )


def write_report(
    path: Path,
    *,
    summary: Mapping[str, Any],
    rows: Iterable[ReportRow],
    title: str,
    signature: str = "",
    settings: Mapping[str, object] | None = None,
) -> None:
    """Writes `path` and `figures_path(path)`; each appears only when complete.

    Equal arguments give equal bytes.

    Args:
        summary: From `Tally.to_json`.
        rows: From `Sampler.rows`, in order.
        settings: Shown as they are.

    Raises:
        UserError: As `check_target`.
    """
    check_target(path)
    figures = {
        "format": FORMAT,
        "title": title,
        "signature": signature,
        "settings": dict(settings or {}),
        "summary": summary,
    }
    text = json.dumps(figures, indent=2, allow_nan=False, default=str) + "\n"
    _replace(figures_path(path), text)
    _replace(path, render(json.loads(text), rows))


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, path)


def render(figures: Mapping[str, Any], rows: Iterable[ReportRow]) -> str:
    """The page, from the content of its JSON file."""
    data = ReportData(figures, list(rows), environment())
    style, script = (asset(name) for name in ("report.css", "report.js"))
    return data.templates.get_template("report.html.j2").render(
        data.shared_values(),
        policy=content_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        panels=rendered(data),
    )
