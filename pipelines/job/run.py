"""The main job: IN to OUT, all or nothing, resumable at any moment.

    open the input and look at its fields ─ load the models ─ journal, window by window ─
    assemble OUT from the journal ─ tally, table and report ─ delete the journal

Everything that a user can get wrong is checked before any model is loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from revise_captions.engines.openai.usage import counted
from revise_captions.errors import NothingJudged
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.layouts.style import OutputStyle
from revise_captions.pipelines.job.missing_images import warn_of_missing_images
from revise_captions.pipelines.job.models import load_models, run_settings
from revise_captions.pipelines.job.probe import look_ahead
from revise_captions.pipelines.job.rounds import LoadedModels
from revise_captions.pipelines.job.verdict import Check, require_verdicts
from revise_captions.pipelines.job.window import journal_windows, stored_signature
from revise_captions.pipelines.options import JobOptions, RunOptions
from revise_captions.pipelines.output.writers import check_output, write
from revise_captions.pipelines.report.results import RunTally, check_report, show, summarize
from revise_captions.pipelines.report.summary import Speed
from revise_captions.runs.begin import is_complete, open_journal, refuse_unfinished
from revise_captions.runs.inputs import image_loader, open_input
from revise_captions.runs.journal import Journal, RowResult
from revise_captions.runs.paths import journal_path
from revise_captions.runs.progress import Progress, shown

logger = logging.getLogger(__name__)


def run(job: JobOptions) -> dict[str, Any]:
    """Runs the whole job and prints its table.

    Returns:
        The summary, which the report prints too.

    Raises:
        UserError: Something that the user can fix.
        EngineDead: The models stopped answering. Both errors leave a journal to resume from, if
            any work was done.
    """
    job.check()
    if job.run.dry_run:
        return _dry_run(job)
    refuse_unfinished(job.run)
    with closing(_open(job)) as source:
        if is_complete(source, job.run, stored_signature):
            return {}
        check_outputs(source, job)
        if job.run.runner == "ray":
            return _run_on_ray(source, job)
        with counted(job.models.server) as spending:
            models, settings = load_models(job, source)
        ahead, root, load = "", job.inputs.image_root, image_loader(source, job.inputs)
        if not journal_path(job.run.out).exists():
            ahead = look_ahead(source, load, models.critic)
        looked = None if job.run.stage == "revise" else load
        decisive = run_settings(models, settings, job)
        with open_journal(job.run, decisive) as journal:
            # Counts rows in order from the first; a resumed run counts the journal at the end.
            tallied = None if len(journal) else RunTally(source, job.run)
            counting = Progress(source.count(), beside=spending.line)
            with counting as progress, _nothing_to_resume(journal):
                journal_windows(
                    *(source, root, looked, models, settings, journal, progress, tallied),
                    _check_of(job.run, ahead),
                )
            used = spending.as_json()
            return finish(source, job, models, decisive, journal, progress, tallied, used)


def _open(job: JobOptions) -> Source:
    looks = job.run.stage != "revise"
    source = open_input(job.inputs, job.run.out, need_image=looks)
    if looks:
        warn_of_missing_images(source, job.inputs.image_root, allow_urls=job.inputs.allow_urls)
    return source


def _check_of(options: RunOptions, ahead: str = "") -> Check:
    """`ahead`: a warning, shown if the run goes on after its first window; a stop has its own."""

    def check(rows: Sequence[RowResult | BadRow]) -> None:
        if not options.allow_unscored and options.stage != "revise":
            require_verdicts(rows)
        if ahead:
            logger.warning(ahead)

    return check


@contextmanager
def _nothing_to_resume(journal: Journal) -> Iterator[None]:
    """Leaves no journal behind if the run ends before its first window."""
    try:
        yield
    except NothingJudged:
        if not len(journal):
            journal.delete()
        raise


def check_outputs(source: Source, job: JobOptions) -> None:
    """Raises `UserError` where OUT or the report cannot, or must not, be written."""
    options, reads = job.run, job.reads()
    check_output(
        *(source, options.out),
        force=options.force,
        resume=options.resume,
        reads=reads,
        style=OutputStyle(options.write, options.evidence),
    )
    if options.report is not None:
        check_report(options.report, options, [*reads, *source.reads()])


def _dry_run(job: JobOptions) -> dict[str, Any]:
    from revise_captions.pipelines.job.dry_run import dry_run

    with closing(_open(job)) as source:
        checks = (
            lambda: refuse_unfinished(job.run),
            lambda: check_outputs(source, job),
        )
        return dry_run(source, job, image_loader(source, job.inputs), checks)


def _run_on_ray(source: Source, job: JobOptions) -> dict[str, Any]:
    from revise_captions.pipelines.job import ray_runner

    with ray_runner.cluster(job):
        models, decisive = ray_runner.describe(job)
        with open_journal(job.run, decisive) as journal:
            with Progress(source.count()) as progress, _nothing_to_resume(journal):
                ray_runner.process(job, journal, progress, _check_of(job.run))
            return finish(source, job, models, decisive, journal, progress)


def finish(
    source: Source,
    job: JobOptions,
    models: LoadedModels,
    decisive: Mapping[str, Any],
    journal: Journal,
    progress: Progress,
    tallied: RunTally | None = None,
    usage: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Writes the output, the report and the table from a complete journal, and deletes it.

    `tallied`: the run's figures, if complete; otherwise rows are counted as they are written.
    `usage`: this process's use of servers (`Spending.as_json`).
    """
    options = job.run
    speed = Speed(progress.seconds, progress.records, progress.sentences, usage)
    each = None
    if tallied is None:
        tallied = RunTally(source, options)
        each = partial(_tally, tallied, journal)
    doing = "writing" if each is None else "writing and tallying"
    results = shown(journal.results(), doing, progress.total)
    with tallied.one_thread():
        style = OutputStyle(options.write, options.evidence)
        written = write(source, results, options.out, each, style)
    summary = summarize(
        tallied,
        models.signature,
        job,
        speed,
        decisive,
        image_loader(source, job.inputs),
    )
    journal.delete()
    show(summary, options, written)
    return summary


def _tally(
    tallied: RunTally, journal: Journal, row: Row | BadRow, result: RowResult | BadRow
) -> None:
    try:
        tallied.add(row, result)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if not journal.resumed:  # then this process wrote all of it
            raise
        raise journal.not_ours(f"the result of line {row.line}: {error!r}") from None
