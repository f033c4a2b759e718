"""Figures, report and table of a finished run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.critic.known_errors import known_errors
from revise_captions.critic.profile import CALIBRATION, UNCALIBRATED
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.decoding import shrink
from revise_captions.io.fields import captions_of, look_up, to_record
from revise_captions.io.rows import BadRow, Row, dumps
from revise_captions.io.writing import cannot_write, real_path
from revise_captions.outside_text import plain
from revise_captions.pipelines.annotate.tasks.decided import row_image_name
from revise_captions.pipelines.annotate.tasks.units import error_types_of
from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.report.sample import ReportRow, Sampler, report_rows
from revise_captions.pipelines.report.summary import Speed, Tally
from revise_captions.runs.journal import RowResult
from revise_captions.runs.paths import journal_path, quarantine_path
from revise_captions.signature import of_expert, settings_of

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.io.images import LoadImage
    from revise_captions.io.source import Source
    from revise_captions.pipelines.options import JobOptions, RunOptions
    from revise_captions.pipelines.report.chart_view import ChartView
    from revise_captions.records import Record
    from revise_captions.runs.outputs import OutputCounts

#: Longest side in pixels of an image kept for the report.
SHOWN_SIDE = 640
#: Most characters of a quarantined row kept for the report.
SHOWN_TEXT = 10_000


def check_report(path: Path, options: RunOptions, reads: Sequence[Path | str]) -> None:
    """Raises `UserError` before any work is done if the report could not be written."""
    from revise_captions.pipelines.report.page import check_target, figures_path

    out = options.out
    for written in (Path(out), quarantine_path(out), journal_path(out)):
        if real_path(written) in (real_path(path), real_path(figures_path(path))):
            raise UserError(f"the report {path} would overwrite the output {written}")
    check_target(path, reads, force=options.force)


class RunTally:
    """A run's figures and the report's sample, row by row, in the input's order.

    `title` is the report's, if that is not the source's name; `judged` is the name of the run's
    input, if the source is its output: resamples, and hence intervals, depend on it.
    """

    def __init__(
        self, source: Source, options: RunOptions, title: str = "", judged: str = ""
    ) -> None:
        self.source, self.title = source, title or source.name
        self.judged = judged or source.name
        self.group_by = options.group_by
        self.tally = Tally(group_by=options.group_by)
        self.sampler: Sampler | None = None
        self._blas: Any = None
        if options.report is not None:
            self.sampler = Sampler()

    def add(self, row: Row | BadRow, result: RowResult | BadRow) -> None:
        group = None
        if self.group_by is not None and isinstance(row, Row):
            group = look_up(row.data, self.group_by)
        if isinstance(row, BadRow) or isinstance(result, BadRow):
            bad = result if isinstance(result, BadRow) else row
            assert isinstance(bad, BadRow)
            self.tally.quarantine(bad.reason)
            if self.sampler is not None:
                self.sampler.add(_quarantined(row, bad, self.source.name))
            return
        captions = captions_of(row, self.source.fields)
        image = row_image_name(row.data, self.source.fields)
        self.tally.add(
            result.revised,
            line=row.line,
            source=self.judged,
            group=group,
            captions=captions.values(),
            image=image,
        )
        if self.sampler is None:
            return
        for shown in report_rows(
            *(result.revised, captions),
            source=self.source.name,
            line=row.line,
            group=group,
            image_name=image,
            labels=partial(error_types_of, row.data) if "sentences" in row.data else None,
        ):
            self.sampler.add(shown)

    def add_window(
        self, rows: Iterable[Record | BadRow], results: Iterable[RowResult | BadRow]
    ) -> None:
        """Adds a window. Any thread may call it while models run: it limits nobody's threads."""
        for row, result in zip(rows, results, strict=True):
            if isinstance(row, BadRow):
                self.add(row, result)
            else:
                self.add(Row(row.line, row.fields, row.raw), result)

    def one_thread(self) -> AbstractContextManager[object]:
        """The bootstrap's products are so small that threads cost more than they gain."""
        if self._blas is None:
            from threadpoolctl import ThreadpoolController

            self._blas = ThreadpoolController()
        return self._blas.limit(limits=1, user_api="blas")


def summarize(
    tallied: RunTally,
    signature: str,
    job: JobOptions,
    speed: Speed | None,
    settings: Mapping[str, Any],
    load: LoadImage,
) -> dict[str, Any]:
    """The run's figures, the same whether or not the run was interrupted.

    Writes the report if requested.
    """
    options, named = job.run, settings_of(signature)
    models = job.models
    known = {
        name: known_errors(
            of_expert(named, name), models.critic, models.adapter, models.critic_profile
        )
        for name in tallied.tally.experts_seen()
    }
    calibrated = UNCALIBRATED not in (of_expert(named, name).get(CALIBRATION) for name in known)
    summary = tallied.tally.to_json(speed, known, calibrated=calibrated)
    if tallied.sampler is not None and options.report is not None:
        from revise_captions.pipelines.report.page import write_report

        source = tallied.source
        try:
            write_report(
                options.report,
                summary=summary,
                rows=with_pictures(tallied.sampler, source, load),
                title=tallied.title,
                signature=signature,
                settings=settings,
                force=options.force,
            )
        except OSError as error:
            raise cannot_write(options.report, error) from None
    return summary


def _quarantined(row: Row | BadRow, bad: BadRow, source: str) -> ReportRow:
    return ReportRow(
        source=source,
        line=row.line,
        outcome=Outcome.QUARANTINED,
        caption=_text_of(row)[:SHOWN_TEXT],
        reason=str(bad.reason),
        detail=bad.detail,
    )


def _text_of(row: Row | BadRow) -> str:
    if isinstance(row, Row):
        return dumps(row.data) if row.raw is None else row.raw
    text = row.original
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def with_pictures(sampler: Sampler, source: Source, load: LoadImage) -> list[ReportRow]:
    """The sampled rows with those images that can be read. Reads the input once more."""
    from revise_captions.pipelines.report.chart_view import ChartView, of_charts

    shown = [row for row in sampler.rows(lambda row: None) if row.revision is not None]
    lines = {row.line for row in shown}
    charts = {row.line for row in shown if row.revision and of_charts(row.revision)}
    wanted: list[Row] = []
    for row in source.rows(parsed=False):
        if not lines:
            break
        if row.line in lines and isinstance(row, Row):
            wanted.append(row)
        lines.discard(row.line)

    def picture(row: Row) -> tuple[Image | None, ChartView | None]:
        with suppress(BadRecord):  # a record without a picture is shown without one
            image = load(to_record(row, source.fields, source=source.name))
            view = ChartView.of(image) if row.line in charts else None
            shrink(image, SHOWN_SIDE)
            return image, view
        return None, None

    with ThreadPoolExecutor() as pool:
        found = dict(zip((row.line for row in wanted), pool.map(picture, wanted), strict=True))
    none = (None, None)
    rows = sampler.rows(lambda row: found.get(row.line, none)[0])
    return [replace(row, chart=found.get(row.line, none)[1]) for row in rows]


def show(summary: Mapping[str, Any], options: RunOptions, written: OutputCounts) -> None:
    """Prints the table and the output paths; to stderr if stdout carries the captions."""
    from rich.console import Console

    from revise_captions.pipelines.report.terminal import render_table

    console = Console(stderr=options.out == "-")
    render_table(summary, console)
    places: list[tuple[str, object]] = []
    if options.out != "-":
        places.append(("captions", options.out))
    if written.quarantine is not None:
        places.append(("quarantine", written.quarantine))
    if options.report is not None:
        places.append(("report", options.report))
    console.print()
    for name, place in places:
        line = plain(f"{name + ':':12}{place}")
        console.print(line, markup=False, highlight=False, soft_wrap=True)
