"""The report: one self-contained HTML file, and its figures as JSON beside it.

    write_report ─ render ─ panels ┬ charts     geometry of the SVG charts
                                   └ cards      the sampled records

Captions are untrusted text: Jinja2 escapes everything, characters that a browser would obey or hide
are spelled out (`text.html.visible`), and the content security policy allows only the page's own
script and no requests. `panels` says how to add a panel.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.io.writing import check_writable, write_text
from revise_captions.pages.templating import asset, environment, render_page
from revise_captions.pipelines.report import charts
from revise_captions.pipelines.report.panels import ReportData, rendered
from revise_captions.pipelines.report.sample import ReportRow

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
FORMAT = "revise-captions report"
#: What every report has in its head.
TITLE = " · caption revision</title>"


def figures_path(path: Path) -> Path:
    """The path of the report's figures: `report.json` for `report.html`."""
    return (
        path.with_suffix(".json") if path.suffix != ".json" else path.with_suffix(".figures.json")
    )


def check_target(path: Path, reads: Iterable[Path | str] = (), *, force: bool = False) -> None:
    """Raises `UserError` if the report would overwrite anything but an earlier report.

    Call it before a run starts: `data.json` beside `data.html` may be a data set. `force` allows
    any file that is neither read nor an image.
    """
    reads = list(reads)
    check_writable(path, reads, force=force, ours=lambda head: TITLE.encode() in head)
    beside = figures_path(path)
    check_writable(beside, reads, force=force, ours=lambda head: FORMAT.encode() in head[:200])


def write_report(
    path: Path,
    *,
    summary: Mapping[str, Any],
    rows: Iterable[ReportRow],
    title: str,
    signature: str = "",
    settings: Mapping[str, object] | None = None,
    force: bool = False,
) -> None:
    """Writes `path` and `figures_path(path)`; each appears only when complete.

    Equal arguments give equal bytes.

    Args:
        summary: From `Tally.to_json`.
        rows: From `Sampler.rows`, in order.
        settings: Shown unchanged.
        force: Whether files that are not reports may be replaced.

    Raises:
        UserError: As in `check_target`.
    """
    check_target(path, force=force)
    figures = {
        "format": FORMAT,
        "title": title,
        "signature": signature,
        "settings": dict(settings or {}),
        "summary": summary,
    }
    text = json.dumps(figures, indent=2, allow_nan=False, default=str) + "\n"
    write_text(figures_path(path), text)
    write_text(path, render(json.loads(text), rows))


def render(figures: Mapping[str, Any], rows: Iterable[ReportRow]) -> str:
    """The page, from the content of its JSON file."""
    environment_ = templates()
    scripts = (asset("page.js"), asset("records.js", TEMPLATES))
    values = report_values(figures, rows, environment_)
    return render_page(environment_, "report.html.j2", values, *scripts)


def report_values(
    figures: Mapping[str, Any],
    rows: Iterable[ReportRow],
    environment_: Environment,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """The values for the report's template, without the panels in `without`."""
    data = ReportData(figures, list(rows), environment_)
    return data.shared_values() | {"panels": rendered(data, without), "back": "", "served": False}


def templates() -> Environment:
    """The report's own templates, and what their filters need."""
    return environment(TEMPLATES, step=charts.step_label)
