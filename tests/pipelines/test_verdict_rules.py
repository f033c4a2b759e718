"""The rules behind a run's end: what stops it after a window, and its exit status."""

from __future__ import annotations

import pytest

from revise_captions.errors import NothingJudged, Reason
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.job.verdict import exit_status, require_verdicts
from revise_captions.records import Unscored
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import OutputCounts, quarantine_status

BAD = BadRow("in.jsonl", 9, Reason.IMAGE_NOT_FOUND, "gone", "{}")
GO_ON = "Or continue with --allow-unscored, which leaves such captions as they are."


def window(*reasons: str) -> RowResult:
    """A caption with a sentence for each reason; "" for one that was judged."""
    sentences = [
        {"label": "unscored" if reason else "factual", "reason": reason or None}
        for reason in reasons
    ]
    return RowResult(1, {"revised_caption": "", "revision": {"sentences": sentences}})


def stop_of(*rows: RowResult | BadRow) -> str:
    with pytest.raises(NothingJudged) as stopped:
        require_verdicts(rows)
    return str(stopped.value)


def test_a_window_of_one_reason_stops_the_run():
    said = stop_of(window(Unscored.OUTSIDE_DOMAIN, Unscored.OUTSIDE_DOMAIN), BAD)
    first, remedy, last = said.split("\n")
    assert first == (
        "stopped: All 2 sentences of the first 2 records came back unscored: "
        "outside the model's domain"
    )
    assert "--critic" in remedy
    assert last.strip() == GO_ON
    unnamed = stop_of(window("a reason of nobody's"))
    assert unnamed.split("\n")[1:] == [f"  {GO_ON}"]


def test_a_reason_must_hold_of_more_than_nine_tenths():
    why, other = Unscored.LANGUAGE, Unscored.TOO_LONG
    require_verdicts([window(*[why] * 9, "")])
    require_verdicts([window(*[why] * 18, other, other)])
    require_verdicts([])
    require_verdicts([BAD])
    require_verdicts([window("", "")])
    assert "stopped: 19 of 20 sentences" in stop_of(window(*[why] * 10, ""), window(*[why] * 9))
    assert f"came back unscored: {why}" in stop_of(window(*[why] * 19, other))


def ended(read: int, bad: int, total: int = 5, scored: int = 5) -> dict[str, dict[str, int]]:
    return {
        "records": {"read": read, "quarantined": bad},
        "sentences": {"total": total, "scored": scored},
    }


@pytest.mark.parametrize(
    ("summary", "most", "status", "said"),
    [
        ({}, None, 0, ""),
        (ended(4, 0), None, 0, ""),
        (ended(0, 0, 0, 0), None, 0, ""),
        (ended(4, 4, 0, 0), None, 5, "no record of 4 could be processed"),
        (ended(4000, 4000, 0, 0), 0.5, 5, "no record of 4,000 could be processed"),
        (ended(4, 3), None, 0, ""),
        (ended(4, 2), 0.5, 0, ""),
        (ended(4, 3), 0.5, 5, "75.0 % of the records are in quarantine, more than --max-quaran"),
        (ended(4, 1), 0.0, 5, "25.0 % of the records"),
        (ended(4, 0), 0.0, 0, ""),
        (ended(4, 0, 5, 0), None, 4, "no sentence could be judged"),
        (ended(4, 0, 5, 1), None, 0, ""),
        (ended(4, 0, 0, 0), None, 0, ""),
    ],
)
def test_the_status_of_a_run(summary, most, status, said):
    found, why = exit_status(summary, most=most)
    assert found == status
    assert why.startswith(said)
    assert bool(why) == bool(said)


def test_nothing_judged_may_be_allowed():
    assert exit_status(ended(4, 0, 5, 0), allow_unscored=True) == (0, "")


def test_rows_of_other_commands_may_all_be_quarantined(capsys):
    assert quarantine_status("some", OutputCounts(0, 0, None)) == 0
    assert quarantine_status("some", OutputCounts(1, 7, None)) == 0
    assert capsys.readouterr().err == ""
    assert quarantine_status("some", OutputCounts(0, 1200, None)) == 5
    assert capsys.readouterr().err == "some: no record of 1,200 could be processed\n"
