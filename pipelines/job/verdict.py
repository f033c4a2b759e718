"""A run's outcome: whether to go on after the first window, and the exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from revise_captions.errors import NothingJudged
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.output.outcomes import captions_of
from revise_captions.pipelines.report.headline import remedy
from revise_captions.records import kind_of_reason
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import QUARANTINED
from revise_captions.text.formatting import percent, plural

#: Looks at a window's results, and may end the run.
Check = Callable[[Sequence[RowResult | BadRow]], None]
#: A first window with a larger share of sentences unscored for one reason stops the run.
MOSTLY = 0.9
#: Exit statuses of runs that reach their end.
DONE, NOTHING_JUDGED = 0, NothingJudged.status
_GO_ON = "Or continue with --allow-unscored, which leaves such captions as they are."


def require_verdicts(rows: Sequence[RowResult | BadRow]) -> None:
    """Raises `NothingJudged` if nearly all sentences of a window are unscored for one reason."""
    reasons: Counter[str] = Counter()
    total = 0
    for row in rows:
        if isinstance(row, BadRow):
            continue
        for _, _, revision in captions_of(row.revised):
            total += len(revision["sentences"])
            left = (s["reason"] for s in revision["sentences"] if s["label"] == "unscored")
            reasons.update(map(kind_of_reason, left))
    if not reasons:
        return
    reason, count = reasons.most_common(1)[0]
    if count > MOSTLY * total:
        which = "All" if count == total else f"{count:,} of"
        raise NothingJudged(
            f"stopped: {which} {plural(total, 'sentence')} of the first "
            f"{plural(len(rows), 'record')} came back unscored: {reason}",
            hint="\n  ".join(filter(None, (remedy(reason), _GO_ON))),
        )


def exit_status(
    summary: Mapping[str, Any], *, most: float | None = None, allow_unscored: bool = False
) -> tuple[int, str]:
    """The exit status of a run that reached its end, and the message where it is not 0.

    Args:
        summary: As `run` returns it; empty where there was nothing to do.
        most: The share of records that may be in quarantine; None: all but one.
        allow_unscored: Whether a run that judged nothing counts as a success.
    """
    if not summary:
        return DONE, ""
    records, sentences = summary["records"], summary["sentences"]
    bad, read = records["quarantined"], records["read"]
    if bad and bad == read:
        return QUARANTINED, f"no record of {read:,} could be processed"
    if most is not None and bad > most * read:
        found = percent(bad / read)
        return QUARANTINED, f"{found} of the records are in quarantine, more than --max-quarantine"
    if sentences["total"] and not sentences["scored"] and not allow_unscored:
        return NOTHING_JUDGED, "no sentence could be judged"
    return DONE, ""
