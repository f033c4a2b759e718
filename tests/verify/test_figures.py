"""What verifications add up to, in JSON, table and page."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.report.page import write_report
from revise_captions.pipelines.report.sample import FOUND, ReportRow, Sampler
from revise_captions.pipelines.report.summary import Tally
from revise_captions.pipelines.report.terminal import render_table
from revise_captions.pipelines.verify.findings import findings
from revise_captions.pipelines.verify.tally import VerificationTally, warnings_for

HOSTILE = "</script><script>alert(1)</script>\u202e"
SENTENCE = {
    "span": [0, 10],
    "label": "factual",
    "reason": None,
    "assessable": True,
    "p_factual": 0.9,
    "rationale": None,
    "rewrite": None,
    "accepted": None,
    "why": None,
    "p_after": 0.9,
    "reason_after": None,
    "dropped": False,
    "attempts": [],
}


def seen(number: int, of: int) -> dict:
    unseen = [
        {"part": "object", "claim": HOSTILE, "asked": f"There is {HOSTILE}.", "p_factual": 0.1,
         "span": [0, 1]}
    ] * (of - number)  # fmt: skip
    return {"seen": number, "of": of, "unscored_by_reason": {"too long": 1}, "unseen": unseen}


def scored(mistakes: float | None, omissions: float) -> dict:
    overall = None if mistakes is None else 2 * mistakes * omissions / (mistakes + omissions)
    return {
        "mistakes": mistakes,
        "omissions": omissions,
        "overall": overall,
        "ungraded": 0,
        "absent": [{"part": "object", "claim": HOSTILE, "grade": 1.0, "span": [0, 1]}],
        "missing": [],
    }


def row(kept: int, named: int, before: float, after: float | None) -> dict:
    claim = {"part": "object", "claim": HOSTILE, "span": [0, 1]}
    verification = {
        "signature": "critic:big@1|judge-model:judge@2|verify:text",
        "preservation": {"kept": kept, "of": 4, "lost": [claim] * (4 - kept)},
        "edit_scope": {
            "named": named,
            "of": 2,
            "beyond": [{"change": "added", **claim}] * (2 - named),
        },
        "visual": {"before": seen(1, 2), "after": seen(2, 2)},
        "posh": {"before": scored(before, 0.5), "after": scored(after, 0.5)},
    }
    revision = {
        "signature": "critic:big@1|reviser:judge@3|threshold:0.5",
        "threshold": 0.5,
        "rounds": 0,
        "sentences": [SENTENCE],
        "verification": verification,
    }
    return {"revised_caption": "A caption.", "revision": revision}


ROWS = [row(4, 2, 0.4, 0.6), row(3, 1, 0.5, 0.5), row(4, 2, 0.6, None)] * 10


def tally(rows=ROWS, first: int = 1) -> VerificationTally:
    made = VerificationTally()
    for line, item in enumerate(rows, first):
        made.add(item, line)
    return made


def test_shares_and_means():
    found = tally().to_json()
    assert found["captions"] == 30
    assert found["preservation"]["value"] == pytest.approx(11 / 12, abs=1e-6)
    assert found["preservation"]["captions_with_a_loss"] == 10
    assert found["edit_scope"]["value"] == pytest.approx(5 / 6, abs=1e-6)
    assert found["edit_scope"]["captions_beyond_scope"] == 10
    assert found["visual"]["before"]["value"] == 0.5
    assert found["visual"]["after"]["value"] == 1.0
    low, high = found["preservation"]["low"], found["preservation"]["high"]
    assert low < 11 / 12 < high


def test_posh_is_compared_only_where_both_have_a_score():
    """A text without a score is counted, not guessed: two of three rows, (0.2 + 0) / 2."""
    found = tally().to_json()
    mistakes = found["posh"]["mistakes"]
    assert mistakes["before"]["value"] == pytest.approx(0.45, abs=1e-6)
    assert mistakes["after"]["value"] == pytest.approx(0.55, abs=1e-6)
    assert mistakes["change"]["value"] == pytest.approx(0.1, abs=1e-6)
    assert 0 < mistakes["change"]["low"] < 0.1 < mistakes["change"]["high"] < 0.2
    assert found["posh"]["captions"] == 20
    assert found["unscored"]["posh"] == {"no component, or none that the judge could grade": 10}
    assert found["unscored"]["visual"] == {"too long": 30}


def test_shards_add_up_to_the_whole():
    whole, parts = tally(), tally(ROWS[:13])
    parts += tally(ROWS[13:], first=14)
    assert parts.to_json() == whole.to_json()


def test_nothing_verified_is_nothing():
    made = VerificationTally()
    made.add({"revised_caption": "A.", "revision": {"signature": "s", "sentences": []}}, 1)
    assert made.to_json() is None
    only = {**ROWS[0]["revision"]["verification"]}
    del only["posh"], only["visual"]
    made.add(
        {"revised_caption": "A.", "revision": {**ROWS[0]["revision"], "verification": only}}, 2
    )
    found = made.to_json()
    assert found["posh"] is found["visual"] is None
    assert found["captions"] == 1


def test_warnings_where_one_model_has_two_parts():
    same = "Visual verification: the critic that asked"
    found = warnings_for("critic:a@1|judge-model:big@2", "critic:a@1|reviser:big@9")
    assert [w.startswith(same) for w in found] == [True, False]
    assert found[1] == "POSH: the judge and the reviser are the same model, big."
    found = warnings_for("critic:a@1|judge-model:big@2", "critic:big@2|reviser:c")
    assert found == ("POSH: the judge and the critic are the same model, big.",)
    assert warnings_for("critic:a@1|judge:offline-2", "critic:a@2|reviser:b") == ()
    assert warnings_for("judge-model:x@1", "threshold:0.5") == ()


def test_the_table():
    made = Tally()
    for line, item in enumerate(ROWS, 1):
        made.add(item, line=line)
    out = Console(file=io.StringIO(), width=80)
    render_table(made.to_json(), out)
    text = out.file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"POSH mistakes \(1: none\) +0\.450 +0\.550  \+0\.100 \[\+0\.0", text)
    assert re.search(r"Components the critic sees, % +50\.0 +100\.0  \+50\.0$", text, re.MULTILINE)
    assert re.search(r"Preservation +91\.7 % \[\d\d\.\d, \d\d\.\d\]  of 120 unflagged claims", text)
    assert "Note. POSH: the judge and the reviser are the same model, judge." in text


def test_findings_of_a_record():
    found = findings(row(3, 1, 0.4, 0.6)["revision"])
    said = [(item.tone, item.text) for item in found]
    assert said[:3] == [
        ("bad", "Lost, though nobody flagged it:"),
        ("bad", "New, though no rationale names it:"),
        ("good", "The critic sees 1 of 2 components, and now 2 of 2."),
    ]
    assert said[3][1] == "POSH beside the reference: mistakes 0.40 → 0.60, omissions 0.50."
    whole = [item.text for item in findings(row(4, 2, 0.4, 0.4)["revision"])]
    assert whole[:2] == [
        "All 4 claims that nobody flagged are still made.",
        "Nothing changed beyond what the rationales name.",
    ]
    nothing = {**ROWS[0]["revision"], "verification": {"signature": "", "posh": {"unscored": "x"}}}
    assert [item.text for item in findings(nothing)] == ["POSH, not checked: x."]
    assert findings(None) == []
    assert findings({"sentences": []}) == []


def shown(line: int, item: dict) -> ReportRow:
    return ReportRow("in", line, Outcome.KEPT, "A caption.", revision=item["revision"])


def test_the_page_shows_it_and_stays_a_page(tmp_path):
    made = Tally()
    for line, item in enumerate(ROWS, 1):
        made.add(item, line=line)
    rows = [shown(line, item) for line, item in enumerate(ROWS[:4], 1)]
    write_report(tmp_path / "r.html", summary=made.to_json(), rows=rows, title="t")
    page = (tmp_path / "r.html").read_text()
    assert 'id="verified"' in page
    assert "same model, judge" in page
    assert page.count("<h4>Verified</h4>") == 4
    assert "<script>alert" not in page
    assert "U+202E" in page
    figures = json.loads((tmp_path / "r.json").read_text())
    assert figures["summary"]["verification"]["preservation"]["denominator"] == 120
    plain = Tally()
    write_report(tmp_path / "p.html", summary=plain.to_json(), rows=[], title="t")
    assert 'id="verified"' not in (tmp_path / "p.html").read_text()


def test_what_went_wrong_is_in_the_sample():
    """Eight of the rows with a finding, however few they are among the others."""
    sampler = Sampler(20)
    for line in range(1, 2001):
        sampler.add(shown(line, row(3 if line % 200 == 0 else 4, 2, 0.5, 0.5)))
    found = [r for r in sampler.rows(lambda r: None) if r.line % 200 == 0]
    assert len(found) >= FOUND
