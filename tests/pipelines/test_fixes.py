"""Fixes on their way: from a critic through the journal to the row, and into the next stage."""

from __future__ import annotations

import json

from PIL import Image

from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.io.decoding import reduced
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
from revise_captions.pipelines.job.window import journaled, revise_window
from revise_captions.pipelines.output.schema import from_json
from revise_captions.records import Evidence, Fix, ImageRef, Rationale, Record, Span, Verdict
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.runs.journal import Journal
from revise_captions.text.markdown import sentence_spans

CAPTION = "A chart.\n- In 2014 there were 202 cases."
WRONG = "In 2014 there were 202 cases."
FIX = Fix(
    Span(19, 22), "254", "value", False, "the bar “2014”",
    (Evidence((10, 20, 30, 40), "2014"), Evidence((0, 0, 1, 1))),
)  # fmt: skip
WHY = Rationale("2014 is at 254, not 202.", (FIX,))
SETTINGS = {"critic": "scripted"}


class Keeping:
    """Keeps what it is asked, and has no answer."""

    strict, settings = False, {"reviser": "keeping"}

    def __init__(self) -> None:
        self.asked: list[RewriteRequest] = []

    def rewrite(self, requests):
        self.asked += requests
        return [None] * len(requests)


def record(**fields: object) -> Record:
    return Record(
        "in.jsonl", 1, ImageRef("a.png"), {"caption": CAPTION}, {"caption": CAPTION, **fields}
    )


def test_fixes_survive_journal_and_row_and_reach_the_next_stages_reviser(tmp_path):
    """The image was reduced by half before the critic saw it; the row has its full pixels."""
    assert sentence_spans(CAPTION)[1].of(CAPTION) == WRONG
    image = reduced(Image.new("RGB", (2000, 2000)), 1_000_000)
    critic = ScriptedCritic({WRONG: Verdict(0.3)}, {WRONG: WHY}, threshold=0.4)
    settings = RevisionSettings(stage="critique", guard="warn")
    models = LoadedModels(critic, None, "critic:scripted")
    done = revise_window([(record(), image)], models, settings)
    with Journal.open(tmp_path / "j", SETTINGS) as journal:
        journal.append(0, "d", journaled(done, settings))
    with Journal.open(tmp_path / "j", SETTINGS, resume=True) as journal:
        (result,) = journal.results()
    row = json.loads(json.dumps(result.revised))
    assert row["revision"]["threshold"] == 0.4
    fine, wrong = row["revision"]["sentences"]
    assert fine["fixes"] == []
    assert wrong["fixes"] == [
        {"span": [19, 22], "right": "254", "kind": "value", "certain": False,
         "basis": "the bar “2014”",
         "evidence": [{"box": [20, 40, 60, 80], "label": "2014"},
                      {"box": [0, 0, 2, 2], "label": ""}]},
    ]  # fmt: skip
    (fix,) = from_json(CAPTION, row, whole=True).sentences[1].rationale.fixes
    assert (fix.span.of(WRONG), fix.right, fix.certain) == ("202", "254", False)

    reviser = Keeping()
    models = LoadedModels(None, reviser, "reviser:keeping")
    settings = RevisionSettings(stage="revise", rounds=1, guard="warn")
    revise_window([(record(**row), None)], models, settings)
    (request,) = reviser.asked
    assert request.sentence == "In 2014 there were 202 cases."
    assert [one.span.of(request.sentence) for one in request.fixes] == ["202"]
    assert request.fixes[0].evidence == fix.evidence


def test_another_threshold_of_the_next_stage_flags_by_it():
    critic = ScriptedCritic({WRONG: Verdict(0.3)}, {WRONG: WHY}, threshold=0.4)
    image = Image.new("RGB", (8, 8))
    judged = revise_window(
        [(record(), image)], LoadedModels(critic, None, "critic:scripted"),
        RevisionSettings(stage="critique", guard="warn"),
    )  # fmt: skip
    (row,) = journaled(judged, RevisionSettings())
    for threshold, asked in ((None, [WRONG]), (0.2, []), (0.95, ["A chart.", WRONG])):
        reviser = Keeping()
        models = LoadedModels(None, reviser, "reviser:keeping", threshold=threshold)
        settings = RevisionSettings(stage="revise", rounds=1, guard="warn")
        (done,) = revise_window([(record(**row.revised), None)], models, settings)
        assert [request.sentence for request in reviser.asked] == asked
        assert done.revisions["caption"].threshold == (threshold or 0.4)
