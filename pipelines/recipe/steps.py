"""The steps of a recipe, each a command's own function, and what decides what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from revise_captions.io.readers import suffix_of_copies
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.io.writing import replacing
from revise_captions.layouts.image_folder import MARK
from revise_captions.pipelines.job.run import run
from revise_captions.pipelines.job.window import stored_signature
from revise_captions.pipelines.options import Stage
from revise_captions.pipelines.recipe.ledger import stamp
from revise_captions.pipelines.recipe.recipe import Recipe
from revise_captions.pipelines.report.results import RunTally, summarize
from revise_captions.pipelines.select.run import open_run, select
from revise_captions.pipelines.verify_revisions.run import verify_file
from revise_captions.runs.inputs import image_loader, input_settings
from revise_captions.runs.journal import RowResult
from revise_captions.runs.paths import journal_path, quarantine_path
from revise_captions.signature import settings_of

#: Where a model runs decides nothing of what it says.
_ANYWHERE = ("device", "trust_remote_code")
#: What of a run later steps tell.
_TOLD = ("records", "sentences", "speed")


@dataclass(frozen=True, slots=True)
class RecipeStep:
    """A step.

    Attributes:
        name: What messages and the ledger call it.
        source: What it reads: IN, or what an earlier step wrote.
        out: What it writes.
        decides: Of what it writes, beside the source.
        do: Does it, given whether it goes on where it stopped, or else replaces what is there;
            returns what it found, where it says something.
    """

    name: str
    source: str
    out: str
    decides: Mapping[str, Any]
    do: Callable[[bool], Mapping[str, Any] | None]


def steps_folder(out: str) -> Path:
    """`clean.jsonl.steps` for `clean.jsonl`."""
    return Path(f"{out.rstrip('/')}.steps")


def steps_of(recipe: Recipe, source: Source) -> list[RecipeStep]:
    """All steps in order. `source` is IN, opened."""
    folder, suffix = steps_folder(recipe.job.run.out), suffix_of_copies(source)
    # a folder's copy links its images
    inside = None if source.layout.mark == MARK else source.folder

    def place(name: str) -> str:
        return str(folder / f"{name.replace(' ', '-')}{suffix}")

    def of_copy(last: str) -> Recipe:
        """The recipe with what a step wrote as its input."""
        if last == recipe.job.inputs.source:
            return recipe
        given = recipe.job.inputs
        copy = type(given)(last, given.image_field, given.caption_field, given.image_root)
        inputs = replace(copy, allow_urls=given.allow_urls, folder=inside)
        return replace(recipe, job=replace(recipe.job, inputs=inputs))

    steps, last = [], recipe.job.inputs.source
    for name, stage in _stages(recipe):
        steps.append(_judging(name, of_copy(last), stage, place(name)))
        last = place(name)
    if recipe.verify:
        steps.append(_verifying(of_copy(last), place("verify")))
        last = place("verify")
    before = [step.out for step in steps]
    steps.append(_writing(recipe, last, before))
    if recipe.job.run.report is not None:
        judged = next(step.source for step in reversed(steps) if step.name.startswith("judge"))
        steps.append(_reporting(of_copy(last), before, judged))
    return steps


def judged_by(steps: list[RecipeStep]) -> str:
    """The file that has every record with all that was found."""
    return next(step.source for step in steps if step.name == "write")


def _stages(recipe: Recipe) -> Iterator[tuple[str, Stage]]:
    if recipe.stages == "together":
        yield "judge", "all"
        return
    yield "judge", "critique"
    for number in range(recipe.job.run.rounds if recipe.stages == "in turn" else 0):
        yield f"rewrite {number + 1}", "revise"
        yield f"judge {number + 2}", "critique"


def _judging(name: str, recipe: Recipe, stage: Stage, out: str) -> RecipeStep:
    job, models = recipe.job, recipe.job.models
    if stage == "revise":  # no critic is loaded
        models = replace(models, adapter=None, compile=False, target_precision=None)
    verify = replace(job.verify, verify="none", reference_field=None)
    asked = replace(job.run, out=out, stage=stage, report=None, group_by=None)
    job = replace(job, models=models, run=asked, verify=verify)

    def do(resume: bool) -> Mapping[str, Any]:
        found = run(replace(job, run=replace(asked, resume=resume, force=not resume)))
        return {name: found[name] for name in _TOLD if name in found}

    names = ("rounds", "on_unfixable", "guard")
    decides = {"stage": stage, **{n: getattr(asked, n) for n in names}, **_known(recipe)}
    return RecipeStep(name, job.inputs.source, out, decides, do)


def _known(recipe: Recipe) -> dict[str, Any]:
    """Models and fields; of models that are files or folders, which version of them."""
    job = recipe.job
    models = {k: v for k, v in asdict(job.models).items() if k not in _ANYWHERE}
    inputs = {k: v for k, v in input_settings(job.inputs).items() if k not in ("in", "image-root")}
    stamps = {name: stamp(name) for name in job.reads()[1:] if stamp(name)}
    return {**models, **inputs, "stamps": stamps, "version": version("revise-captions")}


def _verifying(recipe: Recipe, out: str) -> RecipeStep:
    asked = replace(recipe.job.run, out=out, stage="all", report=None, group_by=None)
    job = replace(recipe.job, run=asked)

    def do(resume: bool) -> None:
        resume = resume and journal_path(out).exists()
        verify_file(replace(job, run=replace(asked, resume=resume, force=not resume)))

    return RecipeStep("verify", job.inputs.source, out, _known(recipe) | asdict(job.verify), do)


def _writing(recipe: Recipe, source: str, before: list[str]) -> RecipeStep:
    asked = replace(recipe.select, out=source, force=True)
    decides = {name: value for name, value in asdict(asked).items() if name not in ("out", "kept")}

    def do(resume: bool) -> None:
        select(asked)
        _join_quarantines([*before, asked.kept], asked.kept)

    return RecipeStep("write", source, asked.kept, decides, do)


def _join_quarantines(written: list[str], out: str) -> None:
    """What any step could not process, where a run of one command would have put it."""
    paths = [path for path in map(quarantine_path, written) if path.is_file()]
    if paths:
        whole = b"".join(path.read_bytes() for path in paths)
        with replacing(quarantine_path(out)) as file:
            file.write(whole)


def _reporting(recipe: Recipe, before: list[str], judged: str) -> RecipeStep:
    run_ = recipe.job.run
    decides = {"report": str(run_.report), "group-by": run_.group_by}
    return RecipeStep(
        "report", before[-1], str(run_.report), decides, partial(_report, recipe, before, judged)
    )


def _report(recipe: Recipe, before: list[str], judged: str, resume: bool) -> None:
    """The report of a finished run, from what stands in its rows."""
    job = replace(recipe.job, run=replace(recipe.job.run, out=before[-1], force=True))
    with closing(open_run(before[-1], job.inputs.caption_field)) as opened:
        source = opened if job.inputs.folder is None else replace(opened, folder=job.inputs.folder)
        tallied, signature = RunTally(source, job.run, recipe.job.run.out, judged), ""
        for path in map(quarantine_path, before):
            for bad in _quarantined(path):
                tallied.tally.quarantine(bad)
        for row in source.rows():
            if isinstance(row, BadRow):
                tallied.add(row, row)
            else:
                signature = signature or stored_signature(row.data)
                tallied.add(row, RowResult(row.line, _found(row)))
        with tallied.one_thread():
            load = image_loader(source, job.inputs)
            summarize(tallied, signature, job, None, settings_of(signature), load)


def _found(row: Row) -> dict[str, Any]:
    return {name: row.data[name] for name in ("revised_caption", "revision")}


def _quarantined(path: Path) -> Iterator[str]:
    from revise_captions.io.readers import open_rows

    for row in open_rows(str(path)).rows() if path.is_file() else ():
        if isinstance(row, Row):
            yield str(row.data["reason"])
