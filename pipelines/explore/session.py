"""What the explorer works on: a run, perhaps a second one, the images, the decisions."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.decoding import reduced
from revise_captions.io.fields import to_record
from revise_captions.io.images import load_image, parse_image, resolve_path
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import Row
from revise_captions.io.writing import check_writable
from revise_captions.pipelines.annotate.tasks.decided import decidable, decided_unit
from revise_captions.pipelines.annotate.tasks.units import RunCaption, Unit
from revise_captions.pipelines.apply.captions import Undecided
from revise_captions.pipelines.apply.run import ApplyJob, apply_decisions
from revise_captions.pipelines.explore.comparison import Comparison, compare
from revise_captions.pipelines.explore.decisions import Decisions, decisions_path
from revise_captions.pipelines.explore.index import RunFile, RunIndex, open_index, unpacked
from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.report.chart_view import ChartView, of_charts
from revise_captions.pipelines.report.sample import ReportRow
from revise_captions.records import ImageRef
from revise_captions.runs.paths import quarantine_path
from revise_captions.text.formatting import plural

if TYPE_CHECKING:
    from PIL.Image import Image

#: Other captions of an image that stand beside one.
OTHERS = 4


@dataclass(frozen=True, slots=True)
class ExploreOptions:
    """See `explore --help`."""

    run: RunFile
    against: str | None = None
    decisions: Path | None = None
    image_root: Path | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True)
class StoredCaption:
    """A caption as the index has it: for a card, and where its image is.

    Attributes:
        row: What the card shows, without the image.
        image: Path or URL.
        embedded: Whether the image stands in the run itself.
    """

    row: ReportRow
    image: str | None
    embedded: bool


@dataclass(frozen=True, slots=True)
class ExploreSession:
    """An open run.

    Attributes:
        lock: Guards the index, which one thread at a time may read.
        new: Where `apply` writes.
        written: What it has written, which it may replace.
    """

    index: RunIndex
    decisions: Decisions
    comparison: Comparison | None
    image_root: Path | None
    lock: RLock
    new: str
    written: set[str]

    def stored(self, number: int) -> StoredCaption:
        """A caption of the index. Raises `LookupError` where there is none of that number."""
        query = "SELECT line, field, outcome, model, body FROM captions WHERE id = ?"
        found = self.index.db.execute(query, [number]).fetchone()
        if found is None:
            raise LookupError(f"no caption {number}")
        line, field, outcome, model, packed = found
        body = unpacked(packed)
        row = ReportRow(
            Path(self.index.run.path).name,
            line,
            Outcome(outcome),
            body["caption"],
            field,
            body.get("revised", ""),
            body.get("revision"),
            model,
            body.get("reason", ""),
            body.get("detail", ""),
            image_name=body.get("name", ""),
        )
        return StoredCaption(row, body.get("image"), bool(body.get("embedded")))

    def unit(self, number: int, sentence: int) -> Unit:
        """A sentence about which there is something to decide. Raises `LookupError`."""
        stored = self.stored(number)
        row = stored.row
        if row.revision is None or sentence not in decidable(row.revision):
            raise LookupError(f"nothing to decide about sentence {sentence}")
        judged = RunCaption(
            Row(row.line, {}), row.field, row.caption, row.revised_caption, row.revision
        )
        path = self._path(stored)
        return decided_unit(judged, row.image_name, sentence, row.source, path=path)

    def decide(self, number: int, sentence: int, decision: str, text: str) -> None:
        """Keeps a decision. Raises `LookupError` or `UserError`."""
        self.decisions.decide(self.unit(number, sentence), decision, text)
        self.tell_index()

    def tell_index(self) -> None:
        """Has the index know what is decided."""
        db = self.index.db
        db.execute("CREATE TEMP TABLE IF NOT EXISTS made (name TEXT PRIMARY KEY)")
        db.execute("DELETE FROM made")
        db.executemany("INSERT INTO made VALUES (?)", [(name,) for name in self.decisions.rows])

    def left(self) -> int:
        """How many sentences nobody has decided about."""
        query = "SELECT (SELECT count(*) FROM sentences) - count(*) FROM made JOIN sentences"
        (count,) = self.index.db.execute(f"{query} USING (name)").fetchone()
        return int(count)

    def left_of(self, number: int) -> tuple[bool, float]:
        """Whether a caption needs review, and how many of its sentences are likely wrong."""
        query = "SELECT review, gain FROM captions WHERE id = ?"
        review, gain = self.index.db.execute(query, [number]).fetchone()
        return bool(review), float(gain)

    def others(self, number: int) -> tuple[str, list[ReportRow], list[int]]:
        """The other captions of a caption's image: the image as `Query.same` names it, some of
        them, and their numbers."""
        query = "SELECT picture FROM captions WHERE id = ?"
        (picture,) = self.index.db.execute(query, [number]).fetchone()
        query = "SELECT id FROM captions WHERE picture = ? AND id <> ? ORDER BY id LIMIT ?"
        found = self.index.db.execute(query, [picture, number, OTHERS]) if picture else ()
        ids = [other for (other,) in found]
        return picture, [self.stored(other).row for other in ids], ids

    def apply(self, undecided: Undecided) -> str:
        """Writes the run with the decisions made so far, and says so. Raises `UserError`."""
        run = self.index.run.path
        fields = self.index.source.fields
        job = ApplyJob(run, (self.decisions.path,), undecided=undecided, fields=fields)
        counts, found, _ = apply_decisions(job, self.new, force=self.new in self.written)
        self.written.add(self.new)
        made = plural(found.decisions.total(), "decision")
        return f"{plural(counts.rows, 'record')} in {self.new}, with {made}"

    def _path(self, stored: StoredCaption) -> str:
        """The image's path as training data beside the decisions finds it; its name without one."""
        if stored.embedded or not stored.image or "://" in stored.image:
            return stored.image or stored.row.image_name
        try:
            real = resolve_path(stored.image, self.image_root, self.index.source.folder)
        except BadRecord:
            return stored.image
        real, beside = Path(os.path.abspath(real)), self.decisions.path.resolve().parent
        return str(real.relative_to(beside) if real.is_relative_to(beside) else real)

    def has_picture(self, stored: StoredCaption) -> bool:
        """Whether the image may be there; an embedded one is taken to be."""
        if stored.embedded or not stored.image:
            return stored.embedded
        try:
            return resolve_path(stored.image, self.image_root, self.index.source.folder).is_file()
        except (BadRecord, OSError, ValueError):
            return False

    def picture(self, number: int) -> Image:
        """A caption's image, read as the run reads it. Raises `BadRecord` or `LookupError`."""
        with self.lock:
            stored = self.stored(number)
        line, image = stored.row.line, stored.image
        ref = self._embedded(line) if stored.embedded else parse_image(image)
        folder = self.index.source.folder
        return load_image(ref, root=self.image_root, folder=folder, keep=reduced)

    def stored_row(self, number: int) -> ReportRow:
        """A caption as it is shown, without its image. Raises `LookupError`."""
        with self.lock:
            return self.stored(number).row

    def with_chart(self, number: int) -> ReportRow:
        """A caption with its image and what is read in the chart.

        Raises:
            BadRecord: The image cannot be read.
            LookupError: There is no such caption, or a critic of charts did not judge it.
        """
        row = self.stored_row(number)
        if not of_chart(row):
            raise LookupError(f"caption {number} is not of a chart")
        image = self.picture(number)
        return replace(row, image=image, chart=ChartView.of(image))

    def _embedded(self, line: int) -> ImageRef:
        """An image that stands in the run itself, which is read up to its row."""
        source = self.index.source
        for row in source.rows(parsed=False):
            if row.line == line and isinstance(row, Row):
                return to_record(row, source.fields, source=source.name).image
        raise LookupError(f"no row {line}")


def of_chart(row: ReportRow) -> bool:
    """Whether a critic of charts judged the caption, and this install can read the chart."""
    judged = row.revision is not None and of_charts(row.revision)
    return judged and find_spec("rapidocr") is not None


def open_session(options: ExploreOptions, tell: Any = lambda text: None) -> ExploreSession:
    """Opens, or builds, the indexes. Raises `UserError`."""
    if "-" in (options.run.path, options.against):
        hint = "name the file that revise-captions wrote"
        raise UserError("a run is read more than once, so it cannot be standard input", hint=hint)
    if not Path(options.run.path).exists():
        open_rows(options.run.path).close()  # says so, before a place for decisions is missed
    reads: list[Path | str] = [options.run.path, quarantine_path(options.run.path)]
    reads += [options.against] if options.against else []
    if options.new is not None:
        check_writable(Path(options.new), reads)
    path = options.decisions or decisions_path(options.run.path)
    decisions = Decisions.open(path, _reviewer(), reads)
    index = open_index(options.run, tell)
    comparison = None
    if options.against is not None:
        other = RunFile(options.against, options.run.fields, options.run.group_field)
        comparison = compare(index, open_index(other, tell))
    new = options.new or applied_path(options.run.path)
    session = ExploreSession(index, decisions, comparison, options.image_root, RLock(), new, set())
    session.tell_index()
    return session


def applied_path(out: str) -> str:
    """`out.applied.jsonl` for `out.jsonl`."""
    path = Path(out)
    packed = path.suffix in (".gz", ".zst", ".zstd")
    suffix = "" if path.is_dir() else "".join(path.suffixes[-2 if packed else -1 :])
    return str(path.with_name(f"{path.name.removesuffix(suffix)}.applied{suffix}"))


def _reviewer() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "reviewer"
