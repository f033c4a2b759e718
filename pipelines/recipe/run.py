"""Runs a recipe: every step whose output is not there yet, or was made by something else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError
from revise_captions.io.images import mark_of
from revise_captions.io.source import Source
from revise_captions.layouts.style import OutputStyle
from revise_captions.pipelines.job.verdict import exit_status
from revise_captions.pipelines.output.writers import check_output
from revise_captions.pipelines.recipe.ledger import Ledger, LedgerEntry, check_folder, stamp
from revise_captions.pipelines.recipe.recipe import Recipe
from revise_captions.pipelines.recipe.steps import RecipeStep, judged_by, steps_folder, steps_of
from revise_captions.pipelines.report.results import check_report
from revise_captions.runs.digests import run_key, window_digest
from revise_captions.runs.inputs import open_input
from revise_captions.runs.paths import journal_path
from revise_captions.runs.window_images import windows_of


@dataclass(frozen=True, slots=True)
class RecipeResult:
    """What a recipe came to.

    Attributes:
        status: The exit status.
        why: What is said of it; "" of 0.
        judged: The file that has every record with all that was found.
        summaries: By step, what its run found; nothing of a step that was reused from elsewhere.
    """

    status: int
    why: str
    judged: str
    summaries: Mapping[str, Mapping[str, Any]]


def run_recipe(recipe: Recipe, *, force: bool = False) -> RecipeResult:
    """Runs what is left to do of a recipe.

    Args:
        recipe: The recipe.
        force: Whether OUT may be replaced where the recipe did not write it, or it was changed.

    Raises:
        UserError: Something that the user can mend.
        EngineDead: A model stopped answering; the same call goes on there.
    """
    out = recipe.job.run.out
    folder = steps_folder(out)
    with closing(open_input(recipe.job.inputs, out)) as source:
        steps = steps_of(recipe, source)
        _check(recipe, source, folder, force)
        stamps = {recipe.job.inputs.source: digest_of(source, recipe.job.inputs.image_root)}
    folder.mkdir(exist_ok=True)
    ledger = Ledger(folder)
    for number, step in enumerate(steps, start=1):
        echo(f"\n[{number}/{len(steps)}] {step.name}: {step.out}")
        stamps[step.out] = _done(step, ledger, stamps[step.source])
        status, why = _status(recipe, ledger.entries[step.name].summary)
        if status:
            return RecipeResult(status, why, judged_by(steps), {})
    found = {name: entry.summary for name, entry in ledger.entries.items() if entry.summary}
    return RecipeResult(0, "", judged_by(steps), found)


def _done(step: RecipeStep, ledger: Ledger, source: str) -> str:
    """Does a step unless it is done. Returns the stamp of its output."""
    key = run_key({"source": source, **step.decides})
    before = ledger.entries.get(step.name)
    done = before is not None and before.stamp != "" and before.stamp == stamp(step.out)
    if before is not None and done and before.key == key:
        echo("reused: nothing that affects it has changed")
        return before.stamp
    begun = before is not None and before.key == key and not before.stamp
    there = Path(step.out).exists() or journal_path(step.out).exists()
    ledger.put(step.name, LedgerEntry(key))
    summary = step.do(begun and there)
    ledger.put(step.name, LedgerEntry(key, stamp(step.out), summary))
    return stamp(step.out)


def digest_of(source: Source, root: Path | None = None) -> str:
    """The hash of an input's rows, and of what tells its images from other versions of them."""
    total = hashlib.sha256()
    for window in windows_of(source):
        digest = window_digest(window, partial(mark_of, root=root, folder=source.folder))
        total.update(digest.encode())
    return total.hexdigest()


def _status(recipe: Recipe, summary: Mapping[str, Any] | None) -> tuple[int, str]:
    run = recipe.job.run
    return exit_status(summary or {}, most=run.max_quarantine, allow_unscored=run.allow_unscored)


def _check(recipe: Recipe, source: Source, folder: Path, force: bool) -> None:
    """Raises `UserError` before any work where something could not be written in the end."""
    job, select = recipe.job, recipe.select
    reads: list[Path | str] = [*job.reads(), recipe.path]
    style = OutputStyle(select.write or "both", select.evidence or "row")
    for out in filter(None, (job.run.out, select.rest)):
        check_output(source, out, force=True, reads=reads, style=style)
    if job.run.report is not None:
        check_report(job.run.report, replace(job.run, force=force), reads)
    check_folder(folder)
    entry = Ledger(folder).entries.get("write")
    hint = "--force writes it anew; or name another one"
    for out in filter(None, (job.run.out, select.rest)):
        if entry is None and not force and os.path.lexists(out):
            raise UserError(f"{out} exists", hint=hint)
    out = job.run.out
    if entry and not force and Path(out).exists() and entry.stamp not in ("", stamp(out)):
        raise UserError(f"{out} has changed since the recipe wrote it", hint=hint)
