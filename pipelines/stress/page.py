"""The summary as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revise_captions.pages.templating import environment, render_page
from revise_captions.pipelines.stress.terminal import said_of_data, said_of_metric
from revise_captions.text.html import difference

TEMPLATES = Path(__file__).parent / "templates"
#: What every such page has in its head.
TITLE = " · metric stress test</title>"


def page(found: Mapping[str, Any]) -> str:
    """The page of `run`'s result."""
    axes: dict[str, list[Mapping[str, Any]]] = {}
    # overall quality first: it is what the paper's figures are about
    for own in sorted(found["agreement"], key=lambda own: "overall" not in own["axis"]):
        axes.setdefault(own["axis"], []).append(own)
    values = {
        "found": found,
        "axes": axes,
        "said": said_of_data(found),
        "notes": {metric["name"]: said_of_metric(metric) for metric in found["metrics"]},
        "counts": {
            metric["name"]: {
                kind: sum(own["outcome"] == kind for own in metric["checks"])
                for kind in ("passes", "unclear", "insensitive", "rewards", "not tested")
            }
            for metric in found["metrics"]
        },
    }
    return render_page(environment(TEMPLATES, difference=difference), "stress.html.j2", values)
