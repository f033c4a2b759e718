"""The main job: IN to OUT, whole or not at all, resumable at any moment.

    open the input and look at its fields ─ load the models ─ journal, window by window ─
    assemble OUT from the journal ─ tally, table and report ─ delete the journal

Everything that a user can get wrong is checked before a model is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

from revise_captions.io.readers import Source
from revise_captions.io.rows import BadRow, Row
from revise_captions.pipelines.job.inputs import image_loader, open_input
from revise_captions.pipelines.job.missing_images import warn_of_missing_images
from revise_captions.pipelines.job.models import load_models, run_settings
from revise_captions.pipelines.job.progress import Progress, shown
from revise_captions.pipelines.job.rounds import LoadedModels
from revise_captions.pipelines.job.window import journal_windows
from revise_captions.pipelines.options import InputOptions, JobOptions, RunOptions
from revise_captions.pipelines.output.journal import Journal, RowResult, refuse_early
from revise_captions.pipelines.output.writers import check_output, journal_path, write
from revise_captions.pipelines.report.results import RunTally, check_report, show, summarize
from revise_captions.pipelines.report.summary import Speed


def run(job: JobOptions) -> dict[str, Any]:
    """Runs the whole job and prints its table.

    Returns:
        The summary that the report prints, too.

    Raises:
        UserError: Something that the user can mend.
        EngineDead: The models stopped answering. Either leaves a journal to resume from, if any
            work was done.
    """
    job.check()
    if job.run.dry_run:
        return _dry_run(job)
    refuse_unfinished(job.run)
    with closing(_open(job)) as source:
        check_outputs(source, job)
        if job.run.runner == "ray":
            return _run_on_ray(source, job)
        models, settings = load_models(job, source)
        decisive = run_settings(models, settings, job)
        with open_journal(job.run, decisive) as journal:
            # In order from the first row on; after a resume, the journal is counted in the end.
            tallied = None if len(journal) else RunTally(source, models.threshold, job.run)
            with Progress(source.count()) as progress:
                journal_windows(source, job.inputs, models, settings, journal, progress, tallied)
            return finish(source, job.inputs, job.run, models, decisive, journal, progress, tallied)


def _open(job: JobOptions) -> Source:
    looks = job.run.stage != "revise"
    source = open_input(job.inputs, job.run.out, need_image=looks)
    if looks:
        warn_of_missing_images(source, job.inputs.image_root)
    return source


def refuse_unfinished(options: RunOptions) -> None:
    """Raises `UserError` where an unfinished run of OUT stands, and is neither resumed nor lost."""
    refuse_early(journal_path(options.out), resume=options.resume, force=options.force)


def check_outputs(source: Source, job: JobOptions) -> None:
    """Raises `UserError` where OUT or the report could not, or must not, be written."""
    options, reads = job.run, job.reads()
    check_output(source, options.out, force=options.force, resume=options.resume, reads=reads)
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
            with Progress(source.count()) as progress:
                ray_runner.process(job, journal, progress)
            return finish(source, job.inputs, job.run, models, decisive, journal, progress)


def open_journal(options: RunOptions, decisive: Mapping[str, Any]) -> Journal:
    """The journal beside OUT, new or resumed. Raises `UserError` where it is another run's."""
    return Journal.open(
        journal_path(options.out), decisive, resume=options.resume, force=options.force
    )


def finish(
    source: Source,
    inputs: InputOptions,
    options: RunOptions,
    models: LoadedModels,
    decisive: Mapping[str, Any],
    journal: Journal,
    progress: Progress,
    tallied: RunTally | None = None,
) -> dict[str, Any]:
    """Writes the output, the report and the table from a complete journal, and deletes it.

    `tallied`: the run's figures, where they are complete; otherwise the rows are counted while they
    are written.
    """
    speed = Speed(progress.seconds, progress.records, progress.sentences)
    each = None
    if tallied is None:
        tallied = RunTally(source, models.threshold, options)
        each = partial(_tally, tallied, journal)
    doing = "writing" if each is None else "writing and tallying"
    results = shown(journal.results(), doing, progress.total)
    with tallied.one_thread():
        written = write(source, results, options.out, each)
    summary = summarize(
        tallied,
        models.signature,
        options,
        speed,
        decisive,
        image_loader(source, inputs),
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
        if not journal.resumed:  # then it is what this process wrote
            raise
        raise journal.not_ours(f"the result of line {row.line}: {error!r}") from None
