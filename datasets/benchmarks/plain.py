"""The user's own human data, in this project's row format.

`captions.jsonl`, one caption per row; everything but the first four fields may be left out:

    {"id", "image", "model", "caption", "references": […], "context",
     "sentences": [{"start", "end", "label": "factual" | "nonfactual", "assessable", "rationale",
                    "error_types": […]}],
     "scores": [{"axis", "value", "rater"}],
     "errors": [{"start", "end", "kind"}]}

`preferences.jsonl`, one comparison per row; `value` > 0 if the first is better:

    {"image", "first", "second", "first_id", "second_id", "axis", "value"}
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, record, rows, shown
from revise_captions.benchmarks.types import (
    ErrorSpan,
    Example,
    HumanScore,
    Item,
    LabeledSentence,
    Preference,
)
from revise_captions.records import ImageRef, Span

HINT = "`python -m pydoc revise_captions.benchmarks.plain` describes the rows"
_LABELS = {"factual": True, "nonfactual": False}


def read(folder: Path) -> Iterator[Item]:
    """Reads `captions.jsonl` and, if it exists, `preferences.jsonl`."""
    seen: set[str] = set()
    for entry in rows(folder / "captions.jsonl", HINT):
        if (name := str(entry["id"])) in seen:
            raise entry.error(f"`id` {shown(name)} is that of an earlier row")
        seen.add(name)
        image, caption = entry.text("image"), entry.text("caption")
        yield Example(
            name,
            record(entry, caption, ImageRef(path=image)),
            image,
            str(entry["model"]),
            sentences=tuple(_sentence(s, caption) for s in _within(entry, "sentences")),
            scores=tuple(
                HumanScore(s.text("axis"), s.number_at("value"), str(s.data.get("rater", "")))
                for s in _within(entry, "scores")
            ),
            errors=tuple(
                ErrorSpan(_span(e, caption), str(e.data.get("kind", "mistake")))
                for e in _within(entry, "errors")
            ),
            references=entry.texts("references") if "references" in entry.data else (),
            context=entry.text("context") if "context" in entry.data else "",
        )
    if (folder / "preferences.jsonl").exists():
        for entry in rows(folder / "preferences.jsonl", HINT):
            yield Preference(
                entry.text("image"),
                entry.text("first"),
                entry.text("second"),
                str(entry.data.get("axis", "better caption")),
                entry.number_at("value"),
                str(entry["first_id"]),
                str(entry["second_id"]),
            )


def _sentence(entry: Entry, caption: str) -> LabeledSentence:
    assessable, rationale = entry.data.get("assessable"), entry.data.get("rationale")
    return LabeledSentence(
        _span(entry, caption),
        entry.one_of("label", _LABELS),
        None if assessable is None else bool(assessable),
        entry.texts("error_types") if "error_types" in entry.data else (),
        None if rationale is None else entry.text("rationale"),
    )


def _within(entry: Entry, key: str) -> Iterator[Entry]:
    return entry.within(key) if key in entry.data else iter(())


def _span(entry: Entry, caption: str) -> Span:
    start, end = int(entry.number_at("start")), int(entry.number_at("end"))
    if not 0 <= start < end <= len(caption):
        raise entry.error(f"{start} to {end} is no span of a caption of {len(caption)}")
    return Span(start, end)
