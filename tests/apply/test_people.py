"""Several people's decisions: majority, adjudication, agreement, and who differed."""

from __future__ import annotations

import json

import pytest
from commands import outcome, read
from deciding import EDITED, decide, in_turn
from layout_inputs import make
from sklearn.metrics import cohen_kappa_score

from revise_captions.command_line.captions import main
from revise_captions.pipelines.apply.people import Decision, agreement, ballots_of, settle


def said(who: str, decision: str, text: str | None = None) -> Decision:
    return Decision(decision, text, (who,), "a.png")


@pytest.mark.parametrize(
    ("texts", "adjudicated", "stands", "settled"),
    [
        ((None, None, "x"), None, None, "majority"),
        (("x", "x", "y"), None, "x", "majority"),
        (("x", "y"), None, "nobody", ""),
        (("x", "y"), "z", "z", "adjudicated"),
        ((None, None, None), "z", "z", None),
        (("", "", None, None), None, "nobody", ""),
    ],
)
def test_more_than_half_decide_or_an_adjudicator(texts, adjudicated, stands, settled):
    given = {f"p{n}": said(f"p{n}", "edit", text) for n, text in enumerate(texts)}
    last = {"s": {"boss": said("boss", "edit", adjudicated)}} if adjudicated else None
    found = settle({"s": given}, last)
    if stands == "nobody":
        assert found.decisions == {}
    else:
        assert found.decisions["s"].text == stands
        voters = [who for who, d in given.items() if d.text == stands]
        assert list(found.decisions["s"].by) == (["boss"] if adjudicated else voters)
    assert [one.settled for one in found.disputed] == ([] if settled is None else [settled])


def test_accepting_a_text_and_writing_it_is_the_same():
    found = settle({"s": {"a": said("a", "accept", "x"), "b": said("b", "edit", "x")}})
    assert not found.disputed
    assert found.decisions["s"].by == ("a", "b")


def test_agreement_is_that_of_another_library_where_two_share_their_margins():
    """Fleiss' κ of two raters is Scott's π; with equal margins, that is Cohen's κ."""
    one, two = [0] * 30 + [1] * 20, [0] * 25 + [1] * 5 + [0] * 5 + [1] * 15
    shared = [
        {w: Decision("reject" if v else "accept", None if v else "x", (w,), f"{n}.png")
         for w, v in (("a", x), ("b", y))}
        for n, (x, y) in enumerate(zip(one, two, strict=True))
    ]  # fmt: skip
    (kappa,) = [line for line in agreement(shared) if line.startswith("Fleiss' κ, right or")]
    value, low, high = (
        float(part.strip("[],")) for part in kappa.split(": ")[1].split(" (")[0].split()
    )
    assert value == pytest.approx(cohen_kappa_score(one, two), abs=0.005)
    assert low < value < high


def test_several_files_of_a_run(command, tmp_path, capsys):
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl").code == 0
    run = tmp_path / "out.jsonl"
    made = decide(run, "anna.jsonl", in_turn(("reject", ""), ("edit", EDITED), ("reject", "")))
    decide(run, "ben.jsonl", in_turn(("reject", ""), ("edit", EDITED), ("edit", "")), "ben")
    third = in_turn(("", ""), ("", ""), ("edit", "Adjudicated."), *[("", "")] * 3)
    decide(run, "cleo.jsonl", third, "cleo")
    arguments = ["apply", "out.jsonl", "anna.jsonl", "ben.jsonl", "new.jsonl"]
    more = ["--adjudicate", "cleo.jsonl", "--differences", "differ.jsonl"]
    code, printed, err = outcome(main, capsys, *arguments, *more)
    assert code == 0, err
    total, third = len(made), len(made) // 3
    assert f"decisions: anna {total}, ben {total}; {total} sentences by more than one" in printed
    assert "Fleiss' κ, right or wrong: 0." in printed
    differ = read("differ.jsonl")
    assert f"differed about {len(differ)}: 0 by majority" in printed
    assert {row["settled"] for row in differ} == {"adjudicated", None}
    assert differ[0]["by"]["ben"] == {"decision": "edit", "text": ""}
    rows = read("new.jsonl")
    for one in differ:
        decided = [s.get("decided") for s in rows[one["line"] - 1]["revision"]["sentences"]]
        assert any(d and d["by"] == ["cleo"] for d in decided) or one["settled"] is None
    assert any(
        s.get("decided", {}).get("by") == ["anna", "ben"] for s in rows[0]["revision"]["sentences"]
    ) or any("Somebody" in row["caption"] for row in rows)  # fmt: skip


def test_two_people_of_one_name_are_told_apart(tmp_path):
    line = {"sentence_id": "s", "decision": "reject", "rewrite": "", "annotator": "root"}
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    found = ballots_of([tmp_path / "one.jsonl", tmp_path / "two.jsonl"])
    assert list(found["s"]) == ["root (one)", "root (two)"]


@pytest.mark.parametrize(
    ("content", "message"),
    [('{"mine": 1}\n', "not a decision of explore"), ("{broken\n", "not a decision of explore")],
)
def test_what_is_no_decision_is_said(command, tmp_path, capsys, content, message):
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl").code == 0
    (tmp_path / "d.jsonl").write_text(content)
    code, _, err = outcome(main, capsys, "apply", "out.jsonl", "d.jsonl", "new.jsonl")
    assert code == 2
    assert message in err
    assert not (tmp_path / "new.jsonl").exists()


def test_decisions_about_another_run_are_refused(command, tmp_path, capsys):
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl").code == 0
    line = {"sentence_id": "s", "decision": "reject", "rewrite": "", "annotator": "root"}
    (tmp_path / "d.jsonl").write_text(json.dumps(line) + "\n")
    code, _, err = outcome(main, capsys, "apply", "out.jsonl", "d.jsonl", "new.jsonl")
    assert code == 2
    assert "no decision in d.jsonl is about a sentence of out.jsonl" in err
    code, _, err = outcome(main, capsys, "apply", "in.jsonl", "d.jsonl", "new.jsonl")
    assert "there is no `revision`" in err
