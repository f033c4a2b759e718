"""The report: one HTML file that needs nothing else, and its figures as JSON beside it.

Captions are other people's text: everything is escaped (Jinja2's autoescape), nothing that a
browser would obey or hide survives (`text.visible`), and the page's content policy allows its own
script alone and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from PIL import Image

from revise_captions.errors import UserError
from revise_captions.pipelines.output.outcomes import End, end_of, is_flagged
from revise_captions.pipelines.report import charts
from revise_captions.pipelines.report.sample import QUOTA, ReportRow
from revise_captions.pipelines.verify.findings import findings, lines, not_verified
from revise_captions.text.formatting import duration, percent, plural, signed
from revise_captions.text.html import clip, difference, plain, visible

if TYPE_CHECKING:
    from jinja2 import Environment

FORMAT = "revise-captions report"
THUMBNAIL = 320
#: Characters of a caption that are shown, and bytes of all records together.
CAPTION_LIMIT = 6_000
RECORDS_LIMIT = 5_000_000
_NOTES_LIMIT = 40
_TEXT_LIMIT = 1_200
_TEMPLATES = Path(__file__).parent / "templates"


def figures_path(path: Path) -> Path:
    """Where the figures of the report at `path` go: `report.json` for `report.html`."""
    return (
        path.with_suffix(".json") if path.suffix != ".json" else path.with_suffix(".figures.json")
    )


def check_target(path: Path) -> None:
    """Raises `UserError` where the report would overwrite a JSON file that is not a report's.

    Call it before a run begins: `data.json` beside `data.html` may be somebody's data set.
    """
    beside = figures_path(path)
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent} for the report", hint="Create it first.")
    if beside.exists() and FORMAT.encode() not in beside.open("rb").read(200):
        raise UserError(
            f"the report's figures would overwrite {beside}, which is no report",
            hint="Give --report another name, or move that file away.",
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

    `summary` is `Tally.to_json`, `rows` are `Sampler.rows`, already in order; `settings` are shown
    as they are. The same arguments give the same bytes. Raises `UserError` as `check_target` does.
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
    """The page. `figures`: what the JSON file holds."""
    templates = environment()
    summary = figures["summary"]
    style, script = (asset(name) for name in ("report.css", "report.js"))
    cards, left_out = _cards(templates, rows, summary["threshold"])
    return templates.get_template("report.html.j2").render(
        figures=figures,
        summary=summary,
        policy=content_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        factuality=_factuality_lines(summary),
        verification=lines(summary),
        not_verified=not_verified(summary),
        flow=charts.flow(summary["flow"]),
        histograms=_histograms(summary),
        cards=cards,
        outcomes=_outcomes(cards),
        left_out=left_out,
    )


def environment() -> Environment:
    """The pages' templates: everything is escaped, what cannot be seen is spelt out."""
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
    """Applied to all that a template prints: text is spelt out, markup is left alone."""
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
    """A share in per cent, or a score as it is."""
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


@dataclass(frozen=True, slots=True)
class FactualityLine:
    """One line of the before-and-after chart; `note` says what is counted."""

    name: str
    note: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    change: Mapping[str, Any] | None


def _factuality_lines(summary: Mapping[str, Any]) -> list[FactualityLine]:
    shares, critic = summary["factuality"], summary["critic_on_flagged"]
    lines = [FactualityLine("Sentences", "all that the critic judged", **shares["all"])]
    if summary["sentences"]["not_assessable"]:
        note = "without those that claim nothing visible"
        lines.append(FactualityLine("Sentences with a claim", note, **shares["assessable"]))
    captions = summary["captions"]["all_factual"]
    lines.append(
        FactualityLine("Captions", "where every judged sentence is", **captions, change=None)
    )
    zero = {"value": 0.0, "low": None, "high": None}
    for key, note in (("of_flagged", "of all flagged ones"), ("of_rewritten", "of rewritten ones")):
        lines.append(FactualityLine("Flagged sentences", note, zero, critic[key], None))
    return [line for line in lines if line.before["value"] is not None]


def _histograms(summary: Mapping[str, Any]) -> list[tuple[str, Sequence[charts.Bar]]]:
    found = summary["histogram"]
    top = max([*found["before"], *found["after"]])
    return [
        (name, charts.histogram(found[name.lower()], top, summary["threshold"]))
        for name in ("Before", "After")
    ]


@dataclass(frozen=True, slots=True)
class Note:
    """What the report says under a caption about a sentence; unscored ones share a note by reason.

    `number` counts from 1. `tries`: the refused rewrites as edits, each with its attempt.
    """

    number: int
    tone: str
    status: str
    sentence: Mapping[str, Any]
    tries: Sequence[tuple[Markup, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A sentence that has a note; `change` is what stands for it in the marked caption."""

    start: int
    end: int
    change: Markup
    note: Note


@dataclass(frozen=True, slots=True)
class Card:
    """One record as HTML."""

    outcome: str
    html: Markup


def _cards(
    environment: Environment, rows: Iterable[ReportRow], threshold: float
) -> tuple[list[Card], int]:
    """The records as HTML until the page is full, and how many did not fit."""
    template = environment.get_template("record.html.j2")
    cards: list[Card] = []
    size = left_out = 0
    rows = list(rows)
    with ThreadPoolExecutor() as pool:
        images = list(pool.map(lambda row: row.image and thumbnail(row.image), rows))
    for number, (row, image) in enumerate(zip(rows, images, strict=True), 1):
        marks = list(_marks(row, threshold))
        text = template.render(
            row=row,
            number=number,
            image=image,
            pieces=list(_pieces(row, marks)),
            hidden=max(0, len(row.caption) - CAPTION_LIMIT),
            notes=list({mark.note.number: mark.note for mark in marks}.values()),
            revised=visible(clip(row.revised_caption, CAPTION_LIMIT)),
            found=findings(row.revision),
            threshold=threshold,
        )
        size += len(text.encode())
        if size > RECORDS_LIMIT:
            left_out += 1
            continue
        cards.append(Card(str(row.outcome), Markup(text)))
    return cards, left_out


def _outcomes(cards: Sequence[Card]) -> list[tuple[str, int]]:
    """The outcomes that occur in the sample with their counts, for the filter."""
    names = [str(outcome) for outcome in QUOTA]
    found = sorted((card.outcome for card in cards), key=names.index)
    return [(name, len(list(group))) for name, group in groupby(found)]


def thumbnail(image: Image.Image) -> Mapping[str, object]:
    """`uri`, `width`, `height` of a JPEG of at most `THUMBNAIL` pixels a side, on white."""
    small = image.copy()
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    layer = small.convert("RGBA")
    flat = Image.new("RGB", layer.size, "white")
    flat.paste(layer, mask=layer.getchannel("A"))
    buffer = io.BytesIO()
    flat.save(buffer, "JPEG", quality=82, optimize=True)
    data = base64.b64encode(buffer.getvalue()).decode()
    return {"uri": f"data:image/jpeg;base64,{data}", "width": flat.width, "height": flat.height}


_STATUS = {
    End.FACTUAL: ("good", "Rewritten"),
    End.GONE: ("gone", "Removed"),
    End.FLAGGED: ("bad", "Still flagged"),
    End.UNSCORED: ("unsure", "Rewritten, then not judged"),
}


def _marks(row: ReportRow, threshold: float) -> Iterator[Mark]:
    """Flagged and unscored sentences of the part that is shown."""
    unscored: dict[str, Note] = {}
    number = 0
    for sentence in row.revision["sentences"] if row.revision is not None else ():
        start, end = sentence["span"]
        if end > CAPTION_LIMIT or number >= _NOTES_LIMIT:
            return
        text = row.caption[start:end]
        if is_flagged(sentence, threshold):
            number += 1
            note = _note(number, sentence, text, threshold)
        elif sentence["label"] == "unscored":
            reason = sentence["reason"]
            if reason not in unscored:
                number += 1
                unscored[reason] = Note(number, "unsure", "Unscored", sentence, [])
            note = unscored[reason]
        else:
            continue
        yield Mark(start, end, _change(sentence, text), note)


def _note(number: int, sentence: Mapping[str, Any], text: str, threshold: float) -> Note:
    tone, status = _STATUS[end_of(sentence, threshold)]
    if not sentence["accepted"] and tone in ("good", "unsure"):
        status = "Factual in the revised caption" if tone == "good" else "Not judged again"
    return Note(number, tone, status, sentence, _tries(sentence, text))


def _change(sentence: Mapping[str, Any], text: str) -> Markup:
    """The sentence as it stands in the marked caption: an accepted rewrite shows as an edit."""
    if sentence["dropped"]:
        return difference(text, "")
    if sentence["accepted"]:
        return difference(text, clip(sentence["rewrite"], CAPTION_LIMIT))
    return visible(text)


def _tries(sentence: Mapping[str, Any], text: str) -> list[tuple[Markup, Mapping[str, Any]]]:
    """The rewrites that were refused, as edits of the sentence."""
    refused = [a for a in sentence["attempts"] if a["accepted"] is False][:8]
    return [
        (difference(text, clip(a["text"], _TEXT_LIMIT)) if a["text"] else Markup(""), a)
        for a in refused
    ]


def _pieces(row: ReportRow, marks: Sequence[Mark]) -> Iterator[tuple[Markup, Note | None]]:
    """The caption in pieces: text that nobody flagged, and sentences with their note."""
    cursor = 0
    for mark in marks:
        yield visible(row.caption[cursor : mark.start]), None
        yield mark.change, mark.note
        cursor = mark.end
    yield visible(row.caption[cursor : max(cursor, CAPTION_LIMIT)]), None
