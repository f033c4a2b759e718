"""A run's captions in SQLite: built once for a file as it is, kept in the user's cache.

captions   one row a caption: what it is sorted and filtered by, its text, and `body`, the
           compressed JSON that its page shows
tags       why something was not done, kinds of error: several of one caption
sentences  those about which there is something to decide, by the names that decisions have
about      signature, counts; written last, so a file without it is no index
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from revise_captions.critic.known_errors import known_errors
from revise_captions.critic.profile import CALIBRATION, UNCALIBRATED
from revise_captions.errors import UserError
from revise_captions.io.evidence_file import evidence_path
from revise_captions.io.fields import Fields, captions_of, look_up
from revise_captions.io.readers import open_rows, open_source
from revise_captions.io.rows import BadRow, dumps
from revise_captions.io.source import Source
from revise_captions.io.writing import working_file
from revise_captions.outside_text import plain
from revise_captions.pipelines.annotate.tasks.decided import (
    decidable,
    image_name,
    row_image,
    sentence_id,
)
from revise_captions.pipelines.annotate.tasks.units import RunCaption, captions_in, error_types
from revise_captions.pipelines.output.outcomes import (
    Outcome,
    deciders,
    needs_review,
    outcome_of,
)
from revise_captions.pipelines.rating.autorater import CAPTIONER_FIELDS
from revise_captions.pipelines.report.ranking import ranking
from revise_captions.pipelines.report.summary import Tally
from revise_captions.runs.paths import quarantine_path
from revise_captions.signature import of_expert, settings_of

VERSION = "4"
#: Values of a filter that the page offers; the others are found by searching.
OFFERED = 200
_BATCH = 500
_TABLES = """
CREATE TABLE captions (
    id INTEGER PRIMARY KEY, line INTEGER, field TEXT, outcome TEXT, model TEXT, worst REAL,
    changed INTEGER, unsure REAL, pair TEXT, verdicts TEXT, text TEXT, body BLOB,
    picture TEXT, review INTEGER, gain REAL);
CREATE TABLE sentences (name TEXT, caption INTEGER);
CREATE TABLE tags (kind TEXT, value TEXT, caption INTEGER);
CREATE TABLE about (value TEXT);
"""
_INDEXES = """
CREATE INDEX by_worst ON captions (worst, id);
CREATE INDEX by_changed ON captions (changed DESC, id);
CREATE INDEX by_unsure ON captions (unsure, id);
CREATE INDEX by_gain ON captions (gain DESC, id);
CREATE INDEX by_picture ON captions (picture, id);
CREATE INDEX by_name ON sentences (name);
CREATE INDEX by_caption ON sentences (caption);
CREATE INDEX by_outcome ON captions (outcome);
CREATE INDEX by_model ON captions (model);
CREATE INDEX by_pair ON captions (pair);
CREATE INDEX by_tag ON tags (kind, value, caption);
"""


@dataclass(frozen=True, slots=True)
class RunFile:
    """A run's output, as the command line names it."""

    path: str
    fields: Fields = field(default_factory=Fields)
    group_field: str | None = None


@dataclass(frozen=True, slots=True)
class RunIndex:
    """An open index.

    Attributes:
        run: Whose it is.
        db: The database, for one thread at a time.
        about: Signature, summary, and the values that filters offer, with counts.
        source: The run itself, where its images are found.
    """

    run: RunFile
    db: sqlite3.Connection
    about: Mapping[str, Any]
    source: Source


def open_index(run: RunFile, tell: Any = lambda text: None) -> RunIndex:
    """The run's index, built where the cache has none of the file as it is.

    Args:
        run: The output of revise-captions.
        tell: Is told what takes time.

    Raises:
        UserError: The file cannot be read, or is no run.
    """
    source = open_source(run.path, fields=run.fields, need_image=False)
    name = hashlib.sha256(os.fsencode(os.path.abspath(run.path))).hexdigest()[:16]
    path = _cache() / f"{name}-{_digest(run)}.sqlite"
    if not path.is_file():
        tell(f"indexing {run.path} …")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _build(source, run, path, tell)
        for old in path.parent.glob(f"{name}-*.sqlite"):
            if old != path:  # of the file as it was; who has it open keeps it
                old.unlink(missing_ok=True)
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
    try:
        (about,) = db.execute("SELECT value FROM about").fetchone()
    except sqlite3.DatabaseError as error:
        hint = f"remove it, to have it rebuilt: {path}"
        raise UserError(f"the index of {run.path} cannot be read: {error}", hint=hint) from None
    return RunIndex(run, db, json.loads(about), source)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "revise-captions" / "explore"


def _digest(run: RunFile) -> str:
    """Tells the file from another, and from another version of it."""
    parts: list[object] = [VERSION, *run.fields.captions, run.fields.image, run.group_field]
    for path in (Path(run.path), quarantine_path(run.path), evidence_path(run.path)):
        found = path.stat() if path.exists() else None
        parts += [str(path.resolve()), found and (found.st_size, found.st_mtime_ns)]
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:32]


# --- Building -----------------------------------------------------------------------------------


def _build(source: Source, run: RunFile, path: Path, tell: Any) -> None:
    """Writes the index under another name first, so that a run that is killed leaves none."""
    work = working_file(path, "partial")
    try:
        db = sqlite3.connect(work.path)
        with contextlib.closing(db), db:
            db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)
            about = _fill(db, source, run, tell)
            db.executescript(_INDEXES)
            db.execute("INSERT INTO about VALUES (?)", (dumps(about),))
        os.replace(work.path, path)
    except BaseException:
        work.remove()
        raise
    work.close()


@dataclass(slots=True)
class _Filling:
    """What is counted while the index is filled."""

    tally: Tally
    models: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    tags: Counter[tuple[str, str]] = field(default_factory=Counter)
    line: int = 0
    unreadable: int = 0


def _fill(db: sqlite3.Connection, source: Source, run: RunFile, tell: Any) -> dict[str, Any]:
    signature = _signature(source)
    settings = settings_of(signature)
    found = _Filling(Tally(group_by=run.group_field or "model"))
    rows = enumerate(_rows(source, run, found))
    while batch := list(islice(rows, _BATCH)):
        marks = ", ".join("?" * 15)
        db.executemany(
            f"INSERT INTO captions VALUES ({marks})", [(n, *row.values) for n, row in batch]
        )
        db.executemany(
            "INSERT INTO tags VALUES (?, ?, ?)",
            [(kind, value, n) for n, row in batch for kind, value in row.tags],
        )
        db.executemany(
            "INSERT INTO sentences VALUES (?, ?)",
            [(name, n) for n, row in batch for name in row.sentences],
        )
        done = batch[-1][0] + 1
        if done % 20_000 == 0:
            tell(f"{done:,} captions")
    experts = found.tally.experts_seen()
    kinds: dict[str, list[tuple[str, int]]] = {"reason": [], "kind": []}
    for (kind, value), count in found.tags.most_common():
        kinds[kind].append((value, count))
    return {
        "signature": signature,
        "summary": found.tally.to_json(
            errors={name: known_errors(of_expert(settings, name)) for name in experts},
            calibrated=UNCALIBRATED
            not in (of_expert(settings, name).get(CALIBRATION) for name in experts),
        ),
        "unreadable": found.unreadable,
        "offered": {
            "outcome": found.outcomes.most_common(),
            "model": found.models.most_common(OFFERED) if len(found.models) > 1 else [],
            **{kind: values[:OFFERED] for kind, values in kinds.items()},
        },
    }


def _signature(source: Source) -> str:
    """The signature in the first rows. Raises `UserError` for a file that is no run."""
    for judged in islice(captions_in(source), 100):
        if not isinstance(judged, BadRow):
            signature = str(judged.stored.get("signature", ""))
            if "critic" in settings_of(signature):
                return signature
    raise UserError(
        f"{source.name} has no `revision` with a signature in its first rows",
        hint="expected the output of revise-captions",
    )


@dataclass(frozen=True, slots=True)
class _Indexed:
    """What the index holds of a caption: its row, its tags, the sentences to decide about."""

    values: tuple[Any, ...]
    tags: list[tuple[str, str]]
    sentences: list[str] = field(default_factory=list)


def _rows(source: Source, run: RunFile, found: _Filling) -> Iterator[_Indexed]:
    """Each caption: those of the run, then the quarantined."""
    for judged in captions_in(source):
        if isinstance(judged, BadRow):
            found.unreadable += 1
            continue
        try:
            yield _caption(judged, source, run, found)
        except (LookupError, TypeError, ValueError, AttributeError):
            found.unreadable += 1  # a `revision` that another program changed
    path = quarantine_path(run.path)
    if path.is_file():
        for row in open_rows(str(path)).rows():
            if not isinstance(row, BadRow):
                yield _quarantined(row.data, found)


def _caption(judged: RunCaption, source: Source, run: RunFile, found: _Filling) -> _Indexed:
    row, sentences = judged.row, judged.stored["sentences"]
    model = _model(row.data, run.group_field)
    outcome = outcome_of(judged.stored)
    labeled = [error_types(judged, s) for s in sentences] if "sentences" in row.data else ()
    ranked = ranking(judged.caption, judged.stored, labeled)
    image = row_image(row.data, source.fields)
    name = image_name(image)
    body = {
        "caption": judged.caption,
        "revised": judged.revised_caption,
        "revision": judged.stored,
        "image": image.path or image.url,
        "embedded": image.data is not None,
        "name": name,
    }
    tags = [("reason", plain(r)) for r in ranked.reasons]
    tags += [("kind", plain(k)) for k in ranked.kinds]
    if row.line != found.line:  # of a row with several captions, once
        found.tally.add(
            row.data,
            line=row.line,
            source=source.name,
            group=model,
            captions=captions_of(row, source.fields).values(),
            image=name,
        )
        found.line = row.line
    found.models[model] += 1
    found.outcomes[outcome] += 1
    found.tags.update(tags)
    text = f"{judged.caption}\n{judged.revised_caption}\n{row.data.get('id', '')}".casefold()
    verdicts = [[s["p_factual"], s["label"], s["p_after"], s["rewrite"]] for s in sentences]
    packed = zlib.compress(dumps(body).encode(), 1)
    open_ = [k for k in decidable(judged.stored) if not deciders(sentences[k])]
    values = (
        *(row.line, judged.field, str(outcome), model),
        *(ranked.worst, ranked.changed, ranked.unsure),
        *(pair_of(judged.caption, name, judged.field), json.dumps(verdicts)),
        *(_encodable(text), packed, _digest_of(name) if name else ""),
        *(needs_review(judged.stored), sum(_likely_wrong(sentences[k]) for k in open_)),
    )
    named = [sentence_id(judged.caption, name, judged.field, k) for k in open_]
    return _Indexed(values, tags, named)


def _likely_wrong(sentence: Mapping[str, Any]) -> float:
    """The probability, by the critic's own view, that what the run left of a sentence is wrong: a
    false sentence that stands there, or a right one that is gone."""
    if sentence["dropped"]:
        return float(0.5 if sentence["p_factual"] is None else sentence["p_factual"])
    return 0.5 if sentence["p_after"] is None else 1 - float(sentence["p_after"])


def _quarantined(data: Mapping[str, Any], found: _Filling) -> _Indexed:
    reason = plain(str(data.get("reason") or ""))
    text = str(data.get("text") or data.get("bytes") or "")[:10_000]
    body = {"caption": text, "reason": reason, "detail": str(data.get("detail") or "")}
    tags = [("reason", reason)] if reason else []
    found.tally.quarantine(reason)
    found.outcomes[Outcome.QUARANTINED] += 1
    found.tags.update(tags)
    line = data["line"] if isinstance(data.get("line"), int) else 0
    packed = zlib.compress(dumps(body).encode(), 1)
    shown = _encodable(text.casefold())
    outcome = str(Outcome.QUARANTINED)
    values = (line, "", outcome, "", None, 0, None, "", "[]", shown, packed, "", False, 0.0)
    return _Indexed(values, tags)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _model(row: Mapping[str, Any], field_: str | None) -> str:
    for name in (field_,) if field_ else CAPTIONER_FIELDS:
        value = look_up(row, name)
        if isinstance(value, str | int | float) and str(value):
            return plain(str(value))
    return ""


def pair_of(caption: str, image: str, field_: str) -> str:
    """What two runs' records of the same caption have in common."""
    return _digest_of(f"{field_}\0{image}\0{caption}")


def _digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def unpacked(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(body))
    return found
