"""The commands `captions apply` and `captions undo`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import (
    EXISTING_FILE,
    EXISTING_FOLDER,
    OUT_FILE,
    shared_option,
)

if TYPE_CHECKING:
    from revise_captions.pipelines.apply.captions import Applied
    from revise_captions.pipelines.apply.people import Settled
    from revise_captions.pipelines.apply.run import ApplyJob

EPILOG = """
\b
Examples:
  captions apply revised.tar revised.decisions.jsonl new.tar
  captions apply out.jsonl anna.jsonl ben.jsonl new.jsonl --adjudicate cleo.jsonl
  captions apply photos/ revised/ revised.decisions.jsonl --in-place   # taken back by:
  captions undo photos/
"""


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Which decisions about which run, and where the captions go."""

    paths: tuple[str, ...] = argument("OUT [DECISIONS]... NEW")
    in_place: bool = option(
        False,
        "Replace the captions beside the images of a folder: FOLDER OUT [DECISIONS]...",
    )
    suffix: str = option(
        ".original", "With --in-place, suffix of the original files that are kept."
    )
    undecided: Literal["as-left", "as-came", "drop"] = option(
        "as-left",
        "What to use for an undecided flagged sentence: the run's result, the original sentence, "
        "or nothing.",
    )
    adjudicate: Path | None = option(
        None, "Decisions that override all others.", type=EXISTING_FILE
    )
    differences: Path | None = option(
        None, "Write the sentences that people disagree about to this file.", type=OUT_FILE
    )
    write: Literal["caption", "both"] = option(
        "caption",
        "Where the decided caption goes: in place of the caption, with the original beside it, "
        "or beside the original.",
    )
    evidence: Literal["row", "sidecar", "none"] | None = option(
        None, "Where `revision` goes.  [default: where OUT has it]"
    )
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option("--caption-field")
    force: bool = shared_option("--force", help="Replace NEW.")


@command(ApplyOptions, name="apply", heading="Correct captions", epilog=EPILOG)
def apply_to_captions(options: ApplyOptions) -> None:
    """Apply people's decisions about a run to its captions.

    OUT is the output of revise-captions; DECISIONS are files from `captions explore` or a report.
    NEW gets OUT's rows, in OUT's layout, with the decisions applied: accepted, edited and removed
    sentences as decided, rejected ones in their original wording. The row records who decided. With
    files of several people, the majority counts, and the agreement is printed.

    With --in-place, caption files beside images are replaced one by one; `captions undo` restores
    them.
    """
    from revise_captions.errors import UserError
    from revise_captions.io.fields import Fields
    from revise_captions.pipelines.apply.run import ApplyJob, apply_decisions
    from revise_captions.text.formatting import plural

    if len(options.paths) < 2:
        raise UserError("expected OUT [DECISIONS]... NEW, or FOLDER OUT [DECISIONS]... --in-place")
    first, *rest = options.paths
    out, named = (rest[0], rest[1:]) if options.in_place else (first, rest[:-1])
    job = ApplyJob(
        out,
        tuple(map(Path, named)),
        options.adjudicate,
        options.undecided,
        Fields(options.image_field, tuple(filter(None, (options.caption_field or "").split(",")))),
        options.differences,
    )
    if options.in_place:
        _in_place(Path(first), job, options.suffix)
        return
    counts, found, decided = apply_decisions(
        job, rest[-1], write_as=options.write, evidence=options.evidence, force=options.force
    )
    _tell(decided, found, job)
    echo(f"{plural(counts.rows, 'record')} in {rest[-1]}")
    if counts.quarantine is not None:
        echo(f"{plural(counts.quarantined, 'row')} in {counts.quarantine}")


def _in_place(folder: Path, job: ApplyJob, suffix: str) -> None:
    from revise_captions.pipelines.apply.run import apply_in_place
    from revise_captions.text.formatting import plural

    changed, bad, found, decided = apply_in_place(folder, job, suffix)
    _tell(decided, found, job)
    if bad:
        echo(f"{plural(bad, 'row')} of {job.out} cannot be read, and nothing was changed for them")
    echo(f"{plural(changed, 'file')} replaced in {folder}, as they were in *{suffix}")
    echo(f"captions undo {folder} restores them")


def _tell(decided: Settled, found: Applied, job: ApplyJob) -> None:
    from revise_captions.outside_text import on_one_line
    from revise_captions.pipelines.apply.people import agreement
    from revise_captions.text.formatting import plural

    if len(decided.given) > 1:
        each = ", ".join(f"{on_one_line(who)} {n:,}" for who, n in decided.given.items())
        echo(f"decisions: {each}; {plural(len(decided.shared), 'sentence')} by more than one")
        for line in agreement(decided.shared):
            echo(f"  {line}")
        how = [one.settled for one in decided.disputed]
        settled = f"{how.count('majority'):,} by majority, {how.count('adjudicated'):,} adjudicated"
        echo(f"differed about {len(how):,}: {settled}, {how.count(''):,} left undecided")
        for one in decided.disputed[:5] if job.differences is None else ():
            said = ", ".join(f"{on_one_line(w)}: {d.decision}" for w, d in one.given.items())
            echo(f"  line {found.lines[one.sentence_id] or '?'}: {said}")
        if job.differences is not None:
            echo(f"  all of them in {job.differences}")
    made = ", ".join(f"{plural(n, 'sentence')} {_DONE[name]}" for name, n in _in_order(found))
    left = {"as-left": "as the run left them", "as-came": "as they came", "drop": "left out"}
    echo(f"{made or 'no decision'}; {found.undecided:,} undecided, {left[job.undecided]}")
    unmet = sum(found.lines[name] is None for name in decided.decisions)
    if unmet:
        echo(f"{plural(unmet, 'decision')} without a matching sentence in {job.out}")
    if found.empty:
        echo(f"{plural(found.empty, 'caption')} left empty; some loaders stop at these:")
        echo('  captions select NEW KEPT --where "length > 0" leaves their records out')


_DONE = {"accept": "accepted", "reject": "rejected", "edit": "edited"}


def _in_order(found: Applied) -> list[tuple[str, int]]:
    return [(name, found.decisions[name]) for name in _DONE if found.decisions[name]]


@dataclass(frozen=True, slots=True)
class UndoOptions:
    """Which folder is restored."""

    folder: Path = argument("FOLDER", type=EXISTING_FOLDER)
    force: bool = option(False, "Also restore files that have changed since.")


@command(UndoOptions, name="undo", heading="Correct captions")
def undo(options: UndoOptions) -> None:
    """Restore what `captions apply --in-place` replaced.

    Restores every replaced file of FOLDER byte for byte, even if the command was interrupted.
    """
    from revise_captions.pipelines.apply.in_place import restore_files
    from revise_captions.text.formatting import plural

    restored = restore_files(options.folder, force=options.force)
    echo(f"{plural(restored, 'file')} of {options.folder} restored")
