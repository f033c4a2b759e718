"""`captions run --pilot N`: a recipe on a sample, and what the whole would come to."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError
from revise_captions.io.readers import open_rows, suffix_of_copies
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.pipelines.annotate.tasks.decided import ACCEPT
from revise_captions.pipelines.explore.decisions import decisions_path
from revise_captions.pipelines.output.writers import write_as_is
from revise_captions.pipelines.recipe.ledger import Ledger, LedgerEntry, check_folder, stamp
from revise_captions.pipelines.recipe.recipe import Recipe
from revise_captions.pipelines.recipe.run import RecipeResult, digest_of, run_recipe
from revise_captions.pipelines.recipe.steps import steps_folder
from revise_captions.pipelines.select.columns import captioner_of
from revise_captions.pipelines.select.run import drawn
from revise_captions.runs.digests import run_key
from revise_captions.runs.inputs import open_input
from revise_captions.runs.journal import RowResult
from revise_captions.runs.pairing import LeftOut
from revise_captions.stats.exact import exact_interval, trials_for
from revise_captions.text.formatting import duration, percent, plural

#: How wide an interval a person may still decide by.
_WIDE = 0.2


@dataclass(frozen=True, slots=True)
class PilotSample:
    """A pilot's records: the file that they stand in, how many, of how many."""

    path: str
    records: int
    total: int


def run_pilot(recipe: Recipe, size: int, seed: int) -> int:
    """Runs the recipe on a sample and prints what the whole would come to.

    Returns:
        The exit status, that of the run.

    Raises:
        UserError: Something that the user can mend.
        EngineDead: A model stopped answering.
    """
    folder = steps_folder(recipe.job.run.out) / "pilot"
    with closing(open_input(recipe.job.inputs, recipe.job.run.out)) as source:
        if not Path(recipe.job.run.out).resolve().parent.is_dir():
            raise UserError(
                f"the folder of {recipe.job.run.out} does not exist", hint="make it first"
            )
        check_folder(folder.parent)
        folder.mkdir(parents=True, exist_ok=True)
        Ledger(folder).claim()
        sample = _sample(source, recipe, folder, size, seed)
        root = recipe.job.inputs.image_root or source.folder
        inner = _on(recipe, sample, folder, source)
    made = run_recipe(inner, force=True)
    if made.why:
        echo(f"captions run: {made.why}", err=True)
        return made.status
    echo("")
    for line in findings(recipe, sample, made, root, inner.job.run.out):
        echo(line)
    return made.status


def _sample(source: Source, recipe: Recipe, folder: Path, size: int, seed: int) -> PilotSample:
    """Writes the sample, unless it is there."""
    path = str(folder / f"sample{suffix_of_copies(source)}")
    ledger = Ledger(folder)
    digest = digest_of(source, recipe.job.inputs.image_root)
    key = run_key({"source": digest, "size": size, "seed": seed})
    before = ledger.entries.get("sample")
    if before is None or before.summary is None or (before.key, before.stamp) != (key, stamp(path)):
        strata: dict[object, list[int]] = {}
        total = 0
        for row in source.rows():
            if isinstance(row, Row):
                by = captioner_of(row.data, recipe.select.captioner_field)
                strata.setdefault(by, []).append(total)
            total += 1
        chosen = set(drawn(list(strata.values()), size, seed))
        written = write_as_is(source, _chosen(source, chosen), path)
        before = LedgerEntry(key, stamp(path), {"records": written.rows, "total": total})
        ledger.put("sample", before)
    assert before.summary is not None
    return PilotSample(path, before.summary["records"], before.summary["total"])


def _chosen(source: Source, chosen: set[int]) -> Iterator[RowResult | BadRow | LeftOut]:
    for number, row in enumerate(source.rows()):
        yield RowResult(row.line, {}) if number in chosen else LeftOut(row.line)


def _on(recipe: Recipe, sample: PilotSample, folder: Path, source: Source) -> Recipe:
    """The recipe for the sample, writing into the pilot's folder."""
    suffix = suffix_of_copies(source)
    out = str(folder / f"out{suffix}")
    job = recipe.job
    inside = None if Path(sample.path).is_dir() else source.folder
    inputs = replace(job.inputs, source=sample.path, limit=None, folder=inside)
    report = None if job.run.report is None else folder / "report.html"
    select = replace(recipe.select, kept=out, rest=None, sample=None)
    run = replace(job.run, out=out, report=report)
    return replace(recipe, job=replace(job, inputs=inputs, run=run), select=select)


def findings(
    recipe: Recipe, sample: PilotSample, made: RecipeResult, root: Path, out: str
) -> Iterator[str]:
    """What a pilot says, line by line."""
    yield f"Pilot on {plural(sample.records, 'record')} of {sample.total:,}."
    yield from _cost(recipe, sample, made.summaries)
    kept = sum(1 for row in open_rows(out).rows() if isinstance(row, Row))
    if recipe.select.where != "true" and sample.records:
        low, high = (bound * sample.total for bound in exact_interval(kept, sample.records))
        yield f"{'kept':9}{kept:,} of {sample.records:,}; of all, {low:,.0f} to {high:,.0f}"
    yield from _right(recipe, made.judged, root)


def _cost(
    recipe: Recipe, sample: PilotSample, summaries: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    speeds = [found["speed"] for found in summaries.values() if found.get("speed")]
    seconds = sum(one["seconds"] / one["records"] for one in speeds if one["records"])
    if not seconds:
        yield f"{'time':9}not known: the pilot was resumed; --seed draws another sample"
        return
    whole = seconds * sample.total
    line = f"{'time':9}about {duration(whole)} for all, as fast as the pilot"
    if (price := recipe.pilot.price_per_hour) is not None:
        line += f"; {whole / 3600 * price:,.2f} at {price:g} an hour"
    yield line


def _right(recipe: Recipe, judged: str, root: Path) -> Iterator[str]:
    """How often rewrites were right, by the decisions made, and whether to go on."""
    explore = shlex.join(["captions", "explore", judged, "--image-root", str(root)])
    least = recipe.pilot.least_right
    enough = trials_for(least, _WIDE)
    counts = decided(decisions_path(judged))
    if not counts:
        yield f"{'right':9}nobody has decided whether the rewrites are right. Go on without, or"
        yield f"{'':9}decide about {enough:,}, or all that there are, and repeat this command:"
        yield f"{'':9}{explore}"
        return
    right, of = counts.count(ACCEPT), len(counts)
    low, high = exact_interval(right, of)
    found = f"{right:,} of {of:,} decided, {percent(right / of)} [{percent(low)}, {percent(high)}]"
    yield f"{'right':9}{found}"
    if low >= least:
        yield f"{'go on':9}yes: at least {percent(least)} of the rewrites are right"
    elif high < least:
        yield f"{'go on':9}no: fewer than {percent(least)} are right; try another critic or reviser"
    else:
        yield f"{'go on':9}not clear yet for a least share of {percent(least)}: decide about more."
        yield f"{'':9}{explore}"


def decided(path: Path) -> list[str]:
    """The decision about each sentence of which one was made."""
    found: dict[str, str] = {}
    for row in open_rows(str(path)).rows() if path.exists() else ():
        if isinstance(row, Row) and isinstance(row.data.get("sentence_id"), str):
            found[row.data["sentence_id"]] = str(row.data.get("decision"))
    return list(found.values())
