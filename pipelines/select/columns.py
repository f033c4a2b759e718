"""The documented columns of every record of a run, which expressions choose by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from revise_captions.io.fields import Fields, captions_of
from revise_captions.io.rows import Row, dumps
from revise_captions.pipelines.output import outcomes
from revise_captions.pipelines.output.figures import OTHER, REASONS, figures
from revise_captions.pipelines.rating.autorater import CAPTIONER_FIELDS


@dataclass(frozen=True, slots=True)
class RecordColumn:
    """A column.

    Attributes:
        name: What an expression calls it.
        kind: DuckDB's type: BIGINT, DOUBLE, BOOLEAN or VARCHAR.
        about: What it holds.
    """

    name: str
    kind: str
    about: str


COLUMNS = (
    RecordColumn("record", "BIGINT", "its number in OUT, from 1"),
    RecordColumn("captions", "BIGINT", "captions of the record"),
    RecordColumn("sentences", "BIGINT", "sentences of the original captions"),
    RecordColumn(
        "factual_before",
        "DOUBLE",
        "share of judged sentences that are factual, in the original captions",
    ),
    RecordColumn("factual_after", "DOUBLE", "the same of the revised captions"),
    RecordColumn("worst_before", "DOUBLE", "lowest P(factual) of an original sentence"),
    RecordColumn("worst_after", "DOUBLE", "the same of the revised captions"),
    RecordColumn("flagged", "BIGINT", "sentences that the critic ever judged nonfactual"),
    RecordColumn("rewritten", "BIGINT", "sentences with an accepted rewrite"),
    RecordColumn("removed", "BIGINT", "sentences removed from the revised captions"),
    RecordColumn("decided", "BIGINT", "sentences that a person decided about"),
    RecordColumn("still_flagged", "BIGINT", "flagged sentences still in the revised captions"),
    RecordColumn("unscored", "BIGINT", "original sentences that could not be judged"),
    RecordColumn("unscored_after", "BIGINT", "sentences of the revised captions without a verdict"),
    *(RecordColumn(name, "BIGINT", f"unscored for: {said}") for said, name in REASONS.items()),
    RecordColumn(OTHER, "BIGINT", "unscored for a reason of another package's critic"),
    RecordColumn("length_before", "BIGINT", "characters of the original captions"),
    RecordColumn("length", "BIGINT", "characters of the revised captions"),
    RecordColumn("changed", "BOOLEAN", "a revised caption differs from the original"),
    RecordColumn("needs_review", "BOOLEAN", "a flagged sentence is still in a revised caption"),
    RecordColumn("failed", "BOOLEAN", "an exception left a caption without verdicts"),
    RecordColumn("captioner", "VARCHAR", "who wrote the caption, by --captioner-field"),
    RecordColumn("expert", "VARCHAR", "the panel members that judged, separated by commas"),
    RecordColumn(
        "caption", "VARCHAR", "the original caption; several are separated by line breaks"
    ),
    RecordColumn(
        "revised_caption", "VARCHAR", "the revised caption; several are separated by line breaks"
    ),
    RecordColumn("scores", "JSON", "numbers of --scores: (scores->>'s_p')::double > 0.8"),
    RecordColumn("fields", "JSON", "numbers, texts and truth values of the row: fields->>'id'"),
)
#: Characters of a text that `fields` has.
LONGEST_FIELD = 1000


def values_of(
    row: Row,
    number: int,
    fields: Fields,
    captioner_field: str | None = None,
    scores: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A record's columns.

    Args:
        row: A row of a run, as the readers give it.
        number: Its number among the records, from 1.
        fields: Where its captions stand.
        captioner_field: The field that names the captioner; by default the first known one.
        scores: A metric's numbers for it; None where it has none.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: `revision` is no run's.
        BadRecord: There is no caption.
    """
    parts = outcomes.captions_of(row.data)
    captions = captions_of(row, fields)
    originals = [captions[name] if name else next(iter(captions.values())) for name, _, _ in parts]
    revised = [text for _, text, _ in parts]
    experts = dict.fromkeys(str(part["expert"]) for _, _, part in parts if part.get("expert"))
    found = figures(parts)
    return found | {
        "record": number,
        "captions": len(parts),
        "length_before": sum(map(len, originals)),
        "changed": originals != revised,
        "needs_review": found["still_flagged"] > 0,
        "failed": any(part.get("error") for _, _, part in parts),
        "captioner": captioner_of(row.data, captioner_field),
        "expert": ",".join(experts) or None,
        "caption": _encodable("\n".join(originals)),
        "revised_caption": _encodable("\n".join(revised)),
        "scores": None if scores is None else _encodable(dumps(scores)),
        "fields": _encodable(dumps(_scalars(row.data))),
    }


def captioner_of(row: Mapping[str, Any], field: str | None) -> str | None:
    for name in (field,) if field else CAPTIONER_FIELDS:
        value = row.get(name)
        if isinstance(value, str | int | float) and str(value):
            return _encodable(str(value))
    return None


def _scalars(row: Mapping[str, Any]) -> dict[str, Any]:
    ours = ("revised_caption", "caption_original", "revision")
    return {
        name: value
        for name, value in row.items()
        if name not in ours
        and (
            (isinstance(value, bool | int | float) and math.isfinite(value))
            or (isinstance(value, str) and len(value) <= LONGEST_FIELD)
        )
    }


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
