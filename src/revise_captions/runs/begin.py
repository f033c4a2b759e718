"""What a run finds from an earlier one: an unfinished run to continue, or a complete output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import Row
from revise_captions.io.source import Source
from revise_captions.runs.journal import Journal, refuse_early
from revise_captions.runs.paths import journal_path, quarantine_path
from revise_captions.signature import settings_of
from revise_captions.text.formatting import plural

#: The settings that describe a finished run: those that name a model, and the threshold.
_KNOWN_BY = ("critic", "reviser", "decomposer", "matcher", "verifier", "threshold")


class Destination(Protocol):
    """Where a run writes, and whether it continues an earlier run or replaces it."""

    @property
    def out(self) -> str: ...

    @property
    def resume(self) -> bool: ...

    @property
    def force(self) -> bool: ...


def refuse_unfinished(options: Destination) -> None:
    """Raises `UserError` if OUT has an unfinished run, to be neither resumed nor replaced."""
    refuse_early(journal_path(options.out), resume=options.resume, force=options.force)


def is_complete(
    source: Source,
    options: Destination,
    signature_of: Callable[[Mapping[str, object]], str],
) -> bool:
    """Whether `--resume` has nothing to do, as OUT has all rows and no journal; if so, says that.

    `signature_of` gives the signature in a row of OUT; "" for a row that is not from a run.
    """
    if not stands_alone(options):
        return False
    with suppress(UserError), closing(open_rows(options.out)) as written:
        rows = [row for row in islice(written.rows(), 1) if isinstance(row, Row)]
        signature = signature_of(rows[0].data) if rows else ""
        quarantine = quarantine_path(options.out)
        bad = sum(1 for _ in quarantine.open("rb")) if quarantine.is_file() else 0
        done = sum(1 for _ in written.rows()) + bad
        if signature and done == sum(1 for _ in source.rows()):
            by = settings_of(signature)
            models = ", ".join(f"{name} {by[name]}" for name in _KNOWN_BY if name in by)
            say_complete(options, f"{plural(done - bad, 'row')}, {bad:,} in quarantine ({models})")
            return True
    return False


def stands_alone(options: Destination) -> bool:
    """Whether `--resume` finds OUT, and no unfinished run beside it."""
    if not options.resume or options.force or options.out == "-":
        return False
    return Path(options.out).exists() and not journal_path(options.out).exists()


def say_complete(options: Destination, found: str) -> None:
    echo(f"{options.out} is already complete: {found}\n  --force repeats the run", err=True)


def open_journal(options: Destination, decisive: Mapping[str, Any]) -> Journal:
    """The journal beside OUT, new or resumed. Raises `UserError` if it belongs to another run."""
    return Journal.open(
        journal_path(options.out), decisive, resume=options.resume, force=options.force
    )
