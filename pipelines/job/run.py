"""The main job: IN to OUT, whole or not at all, resumable at any moment.

    open the input and look at its fields ─ load the models ─ journal, window by window ─
    assemble OUT from the journal ─ tally, table and report ─ delete the journal

Everything that a user can get wrong is checked before a model is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from revise_captions.io.readers import Source
from revise_captions.pipelines.job import local_runner
from revise_captions.pipelines.job.inputs import image_loader, open_input
from revise_captions.pipelines.job.models import load_tools, run_settings
from revise_captions.pipelines.job.progress import Progress
from revise_captions.pipelines.job.window import Tools
from revise_captions.pipelines.options import Options
from revise_captions.pipelines.output.journal import Journal, refuse_early
from revise_captions.pipelines.output.writers import check_output, journal_path, write
from revise_captions.pipelines.report.results import check_report, show, summarise
from revise_captions.pipelines.report.summary import Speed


def run(options: Options) -> dict[str, Any]:
    """Runs the whole job and prints its table. Returns the summary that the report prints too.

    Raises `UserError` for what the user can mend, `EngineDead` where the models stopped answering;
    both leave a journal to resume from, if any work was done.
    """
    options.check()
    if options.dry_run:
        return _dry_run(options)
    refuse_early(journal_path(options.out), resume=options.resume, force=options.force)
    with closing(open_input(options)) as source:
        check_outputs(source, options)
        return _run(source, options)


def _dry_run(options: Options) -> dict[str, Any]:
    from revise_captions.pipelines.job.dry_run import dry_run

    journal = journal_path(options.out)
    with closing(open_input(options)) as source:
        checks = (
            lambda: refuse_early(journal, resume=options.resume, force=options.force),
            lambda: check_outputs(source, options),
        )
        return dry_run(source, options, image_loader(source, options), checks)


def check_outputs(source: Source, options: Options) -> None:
    """Raises `UserError` where OUT or the report could not be written."""
    check_output(source, options.out, force=options.force, resume=options.resume)
    if options.report is not None:
        check_report(options.report, options.out)


def _run(source: Source, options: Options) -> dict[str, Any]:
    if options.runner == "ray":
        from revise_captions.pipelines.job import ray_runner

        with ray_runner.cluster(options):
            named = ray_runner.describe(options)
            work = partial(ray_runner.process, options)
            return work_through(source, options, named.tools, named.decisive, work)
    tools, settings = load_tools(options, source)

    def process(journal: Journal, progress: Progress) -> None:
        local_runner.process(source, options, journal, tools, settings, progress)

    return work_through(source, options, tools, run_settings(tools, settings, options), process)


def work_through(
    source: Source,
    options: Options,
    tools: Tools,
    decisive: Mapping[str, Any],
    process: Callable[[Journal, Progress], None],
) -> dict[str, Any]:
    """Windows into the journal by `process`, the output and the summary out of it."""
    began = time.monotonic()
    with Journal.open(
        journal_path(options.out), decisive, resume=options.resume, force=options.force
    ) as journal:
        with Progress(source.count()) as progress:
            process(journal, progress)
        speed = Speed(time.monotonic() - began, progress.records, progress.sentences)
        written = write(source, journal.results(), options.out)
        summary = summarise(
            source,
            journal,
            tools.threshold,
            tools.signature,
            options,
            speed,
            decisive,
            image_loader(source, options),
        )
        journal.delete()
    show(summary, options, written)
    return summary
