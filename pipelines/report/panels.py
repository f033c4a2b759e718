"""The panels of the report, in order.

To add a panel, write `templates/panel_ID.html.j2` (a `<section id="ID">`) and add it to `PANELS`
with a function that computes what the template needs. It then appears in page and navigation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from revise_captions.pipelines.output.repeats import said
from revise_captions.pipelines.report import charts
from revise_captions.pipelines.report.cards import render_cards
from revise_captions.pipelines.report.corrected import trust
from revise_captions.pipelines.report.ranking import SORTS, ranking
from revise_captions.pipelines.report.sample import QUOTA, ReportRow
from revise_captions.pipelines.verify.findings import ComparisonLine, lines, not_verified

if TYPE_CHECKING:
    from jinja2 import Environment

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReportData:
    """The data for panels. `figures` is the content of the page's JSON file."""

    figures: Mapping[str, Any]
    rows: Sequence[ReportRow]
    templates: Environment

    @property
    def summary(self) -> Mapping[str, Any]:
        summary: Mapping[str, Any] = self.figures["summary"]
        return summary

    def shared_values(self) -> Values:
        """Names that every template can use."""
        sentences = self.summary["sentences"]
        return {
            "figures": self.figures,
            "summary": self.summary,
            "records": self.summary["records"],
            "sentences": sentences,
            "flagged": sentences["flagged"] + sentences["flagged_later"],
            "all": self.summary["factuality"]["all"],
            "stuck": said(self.summary["repeated"]),
        }


@dataclass(frozen=True, slots=True)
class Panel:
    """A section of the report. `values` computes what its template needs; None omits it."""

    id: str
    title: str
    values: Callable[[ReportData], Values | None]


@dataclass(frozen=True, slots=True)
class RenderedPanel:
    """A section as HTML."""

    id: str
    title: str
    html: Markup


def rendered(data: ReportData, without: Collection[str] = ()) -> list[RenderedPanel]:
    """The panels that have something to show, except those in `without`."""
    found = []
    for panel in PANELS:
        if panel.id not in without and (values := panel.values(data)) is not None:
            template = data.templates.get_template(f"panel_{panel.id}.html.j2")
            html = template.render(data.shared_values() | values)
            found.append(RenderedPanel(panel.id, panel.title, Markup(html)))
    return found


def _factuality(data: ReportData) -> Values | None:
    summary = data.summary
    shares, critic = summary["factuality"], summary["critic_on_flagged"]
    if shares["all"]["before"]["value"] is None:
        return None
    made = []
    if (found := summary["corrected"]) is not None:
        note = "corrected for the critic's errors"
        made.append(ComparisonLine("Sentences", note, found["before"], found["after"], None))
    made.append(ComparisonLine("Sentences", "as the critic sees them", **shares["all"]))
    if summary["sentences"]["not_assessable"]:
        note = "without those that claim nothing visible"
        made.append(ComparisonLine("Sentences with a claim", note, **shares["assessable"]))
    captions = summary["captions"]["all_factual"]
    made.append(
        ComparisonLine("Captions", "where every judged sentence is", **captions, change=None)
    )
    zero = {"value": 0.0, "low": None, "high": None}
    for key, note in (("of_flagged", "of all flagged ones"), ("of_rewritten", "of rewritten ones")):
        made.append(ComparisonLine("Flagged sentences", note, zero, critic[key], None))
    known = [line for line in made if line.before is not None and line.before["value"] is not None]
    return {"factuality": known, "trust": trust(summary)} if known else None


def _verified(data: ReportData) -> Values | None:
    verification = lines(data.summary)
    if not verification:
        return None
    return {"verification": verification, "not_verified": not_verified(data.summary)}


def _flow(data: ReportData) -> Values:
    return {"flow": charts.flow(data.summary["flow"])}


def _confidence(data: ReportData) -> Values | None:
    experts = data.summary["experts"]
    drawn = [
        (f"{name}: {when}" if name else when, charts.histogram(counts, top, one["threshold"]),
         one["threshold"])
        for name, one in experts.items()
        for top in [max([*one["histogram"]["before"], *one["histogram"]["after"]])]
        if top > 0
        for when, counts in (("before", one["histogram"]["before"]),
                             ("after", one["histogram"]["after"]))
    ]  # fmt: skip
    return {"histograms": drawn} if drawn else None


def _limits(data: ReportData) -> Values | None:
    plots = charts.limit_plots(data.summary["limits"])
    return {"plots": plots} if plots else None


def _groups(data: ReportData) -> Values | None:
    return {} if data.summary["groups"] else None


def _records(data: ReportData) -> Values:
    cards, left_out = render_cards(data.templates, data.rows)
    names = [str(outcome) for outcome in QUOTA]
    found = sorted((card.outcome for card in cards), key=names.index)
    outcomes = [(name, len(list(group))) for name, group in groupby(found)]
    rankings = [
        ranking(row.caption, row.revision, row.labeled)
        for row in data.rows
        if row.revision is not None
    ]
    reasons = Counter(r for found in rankings for r in found.reasons)
    reasons.update(row.reason for row in data.rows if row.reason)
    kinds = Counter(kind for found in rankings for kind in found.kinds)
    models = Counter(row.group for row in data.rows if row.group)
    return {
        "cards": cards,
        "left_out": left_out,
        "total": data.summary["captions"]["total"] + data.summary["records"]["quarantined"],
        "offered": {
            "outcome": outcomes,
            "model": models.most_common() if len(models) > 1 else [],
            "reason": reasons.most_common(),
            "kind": kinds.most_common(),
            "differs": [],
        },
        "sorts": SORTS | {"": "by outcome"},
        "query": defaultdict(str),
        "served": False,
        "decided": 0,
    }


def _run(_: ReportData) -> Values:
    return {}


PANELS = (
    Panel("factuality", "Factuality", _factuality),
    Panel("verified", "Verified", _verified),
    Panel("flow", "Where sentences went", _flow),
    Panel("confidence", "Confidence", _confidence),
    Panel("limits", "Limits", _limits),
    Panel("groups", "Groups", _groups),
    Panel("records", "Records", _records),
    Panel("run", "The run", _run),
)
