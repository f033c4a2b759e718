"""ContextRef's tables (2309.11710): checks of metrics, and their correlations with people.

Both come from a run of `captions stress-metric`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from revise_captions.errors import UserError
from revise_captions.pipelines.reproduce.table import (
    OURS,
    RELEASED,
    Asked,
    Figures,
    PaperTable,
    TableModel,
    TableRows,
    published,
)
from revise_captions.pipelines.stress import run as stress
from revise_captions.pipelines.stress.checks import CHECKS
from revise_captions.pipelines.stress.options import StressOptions
from revise_captions.pipelines.stress.published import TABLE_1, TABLE_1_COLUMNS

CONTEXTREF = "contextref"
FILES = "a metric, as captions stress-metric takes it: clipscore=MODEL, likelihood=MODEL"
#: Headings of the checks, in the order of `CHECKS`.
_HEADS = (
    "descr.",
    "contexts",
    "words",
    "names",
    "errors",
    "franken.",
    "short",
    "long",
    "irrel.",
    "repeated",
)
_AXES = (
    "overall, before",
    "overall, after",
    "imaginability, before",
    "relevance, before",
    "relevance, after",
    "irrelevance, before",
    "irrelevance, after",
)
_SHORT = ("overall", "after", "imagin.", "relevance", "after", "irrelev.", "after")


def _found(asked: Asked, part: Literal["all", "test"] = "all") -> Mapping[str, Any]:
    if not asked.files:
        raise UserError("no metric is given", hint=f"add {FILES}")
    return stress.run(
        StressOptions(
            asked.files,
            asked.folder(CONTEXTREF),
            benchmark=CONTEXTREF,
            protocol="released" if asked.protocol == RELEASED else "ours",
            part=part,
            writer=asked.models.get("writer", "none"),
            limit=asked.limit,
            placement=asked.placement,
            replicates=1,
        )
    )


def checks(asked: Asked) -> TableRows:
    """Table 1: the share of changed descriptions with a lower score, in percent, by check."""
    found = _found(asked, "test" if asked.protocol == RELEASED else "all")
    return _rows(
        found,
        {
            metric["name"]: [_lower(check, found["applies"]) for check in metric["checks"]]
            for metric in found["metrics"]
        },
    )


def _lower(check: Mapping[str, Any], applies: Mapping[str, int]) -> float | None:
    value = check["shares"]["lower"]["value"] if applies[check["check"]] else None
    return None if value is None else 100 * float(value)


def people(asked: Asked) -> TableRows:
    """Table A.1: Pearson's r with people's mean ratings, before and after they saw the image."""
    found = _found(asked)
    known = {(own["metric"], own["axis"]): own["value"] for own in found["agreement"]}
    names = [metric["name"] for metric in found["metrics"]]
    return _rows(found, {name: [known.get((name, axis)) for axis in _AXES] for name in names})


def _rows(found: Mapping[str, Any], rows: Mapping[str, Figures]) -> TableRows:
    settings = {f"scores {metric['name']}": metric["signature"] for metric in found["metrics"]}
    said = f"{found['descriptions']} descriptions of {found['images']} images"
    left_out = [f"left out: {count:,} {what}" for what, count in found["left_out"].items()]
    return TableRows(rows, {"run": found["signature"], **settings}, (said, *left_out))


_ROLES = (
    TableModel("writer", "none", "gpt2", "`none` leaves out the two continuations", protocol=OURS),
)
_COST = "204 descriptions and their 1,700 changes, by the metric"

TABLES = (
    PaperTable(
        id="contextref:table1",
        title="changed descriptions with a lower score, in percent, by check",
        source="2309.11710, Table 1",
        benchmarks=(CONTEXTREF,),
        cost=_COST,
        columns=_HEADS,
        published={
            name: tuple(TABLE_1[check.name][k] for check in CHECKS)
            for k, name in enumerate(TABLE_1_COLUMNS)
        },
        roles=_ROLES,
        run=checks,
        sample="contextref",
        files=FILES,
        sample_files=("length",),
        protocols=(OURS, RELEASED),
        digits=(1,),
        differs={
            OURS: (
                "the paper's changes were made with GPT-4, names and errors here by rules",
                "all descriptions; the paper's are a fifth of them, and which is not published",
            )
        },
    ),
    PaperTable(
        id="contextref:table-a1",
        title="Pearson's r with people's ratings, before they saw the image and after",
        source="2309.11710, Table A.1",
        benchmarks=(CONTEXTREF,),
        cost="204 descriptions, by the metric; with their changes, which are not reported here",
        columns=_SHORT,
        published=published("contextref_table_a1.csv"),
        roles=(),
        run=people,
        sample="contextref",
        files=FILES,
        sample_files=("length",),
        digits=(2,),
    ),
)
