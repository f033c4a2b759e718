"""`captions apply`: a run's output with people's decisions, in its own layout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.io.evidence_file import evidence_path
from revise_captions.io.fields import Fields
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow
from revise_captions.io.signature_file import signatures_path
from revise_captions.io.source import NO_FIELDS, Source
from revise_captions.io.writing import check_writable, write_json_lines
from revise_captions.layouts.image_folder import BESIDE
from revise_captions.layouts.style import OutputStyle, style_of
from revise_captions.pipelines.apply.captions import Applied, Undecided, decided_rows
from revise_captions.pipelines.apply.in_place import plan_files, replace_files
from revise_captions.pipelines.apply.people import Settled, ballots_of, settle
from revise_captions.pipelines.options import Evidence, Write
from revise_captions.pipelines.output.writers import check_output, write
from revise_captions.pipelines.select.run import expect_run
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import OutputCounts


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """What is applied to which run.

    Attributes:
        out: The run's output.
        decisions: Files of decisions.
        adjudicate: Decisions that come before everybody's.
        undecided: What becomes of a flagged sentence that nobody decided about.
        fields: Where the run's captions and images stand.
        differences: Where the sentences go of which people think otherwise.
    """

    out: str
    decisions: tuple[Path, ...] = ()
    adjudicate: Path | None = None
    undecided: Undecided = "as-left"
    fields: Fields = NO_FIELDS
    differences: Path | None = None

    def reads(self) -> list[Path | str]:
        """Every file that is read."""
        beside = [evidence_path(self.out), signatures_path(self.out)]
        return [self.out, *beside, *self.decisions, *filter(None, [self.adjudicate])]


def settled_for(job: ApplyJob) -> Settled:
    """What people's decisions come to. Raises `UserError` for a file that holds something else."""
    if job.differences is not None:
        check_writable(job.differences, job.reads())
    adjudicated = ballots_of([job.adjudicate]) if job.adjudicate else {}
    return settle(ballots_of(job.decisions), adjudicated)


def open_run(job: ApplyJob) -> Source:
    """The run. Raises `UserError` where OUT is none, or its evidence is gone."""
    source = open_source(job.out, fields=job.fields, need_image=False)
    expect_run(source)
    return source


def apply_decisions(
    job: ApplyJob,
    new: str,
    *,
    write_as: Write = "caption",
    evidence: Evidence | None = None,
    force: bool = False,
) -> tuple[OutputCounts, Applied, Settled]:
    """Writes NEW: OUT's rows, in OUT's layout, with the captions as decided.

    Args:
        job: What is applied.
        new: NEW's name.
        write_as: `caption` puts the decided text into the caption's own place, the original beside
            it; `both` keeps the original there.
        evidence: Where `revision` goes; by default where OUT has it.
        force: Whether NEW may be replaced.

    Raises:
        UserError: OUT is no run, NEW may not be written, or no decision is about OUT.
    """
    decided = settled_for(job)
    found = Applied.of(decided)
    with closing(open_run(job)) as source:
        style = OutputStyle(write_as, evidence or style_of(source).evidence)
        check_output(source, new, force=force, reads=job.reads(), style=style)
        expect_met(source, job, decided)

        def results() -> Iterator[RowResult | BadRow]:
            for _, result in decided_rows(source, decided.decisions, job.undecided, found):
                yield result

        counts = write(source, results(), new, style=style)
    write_differences(job, decided, found)
    return counts, found, decided


def expect_met(source: Source, job: ApplyJob, decided: Settled) -> None:
    """Raises `UserError` where there are decisions, and none is about a sentence of the run."""
    if not decided.decisions:
        return
    tried = Applied.of(decided)
    for _ in decided_rows(source, {}, "as-left", tried):
        if any(tried.lines.values()):
            return
    names = ", ".join(str(path) for path in (*job.decisions, *filter(None, [job.adjudicate])))
    hint = "give the run whose report or explorer they were made in, or another of its captions"
    raise UserError(f"no decision in {names} is about a sentence of {job.out}", hint=hint)


def write_differences(job: ApplyJob, decided: Settled, found: Applied) -> None:
    """The sentences of which people think otherwise, with everybody's decision."""
    if job.differences is not None:
        rows = [one.as_json(found.lines.get(one.sentence_id)) for one in decided.disputed]
        write_json_lines(job.differences, rows)


def apply_in_place(folder: Path, job: ApplyJob, suffix: str) -> tuple[int, int, Applied, Settled]:
    """Replaces the captions beside the images of the run's input; see `in_place`.

    Returns:
        How many files were replaced, how many rows could not be read, and as `apply_decisions`.

    Raises:
        UserError: OUT is no run of this folder, or a file is not as the run read it.
    """
    decided = settled_for(job)
    if folder.resolve() == Path(job.out).resolve():
        raise UserError(f"{job.out} is the folder itself", hint="name the run's output: OUT")
    if not suffix or "/" in suffix or suffix in BESIDE:
        raise UserError(
            f"--suffix {suffix!r}: not a valid suffix for kept files", hint="such as .original"
        )
    found = Applied.of(decided)
    with closing(open_run(job)) as source:
        expect_met(source, job, decided)
        rows = partial(decided_rows, source, decided.decisions, job.undecided)
        plan, bad = plan_files(folder, rows(found), suffix)
        changed = replace_files(folder, rows(Applied.of(decided)), plan) if plan.changes else 0
    write_differences(job, decided, found)
    return changed, bad, found, decided
