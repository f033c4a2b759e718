"""The main command with `--verify`, `captions verify` on what it wrote, with scripted models."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import toyparser
from commands import Command, command, program, read, read_in_full, write_input  # noqa: F401

import revise_captions
from revise_captions.critic.panel import PanelCritic
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.errors import UserError
from revise_captions.graphs import parse
from revise_captions.graphs.grading.components import components
from revise_captions.graphs.grading.judge import Grade
from revise_captions.io.readers import open_source
from revise_captions.pipelines.job import models
from revise_captions.pipelines.options import JobOptions
from revise_captions.pipelines.verify import load
from revise_captions.pipelines.verify_revisions import cli
from revise_captions.pipelines.verify_revisions import run as verifying
from revise_captions.records import Unscored, Verdict
from revise_captions.reviser.scripted import ScriptedReviser
from revise_captions.runs.journal import Journal
from revise_captions.runs.progress import Progress

main = program(cli.verify_revisions)


class WordJudge:
    """Explicit where the other texts have the component's words, absent elsewhere."""

    settings = {"judge-model": "Big/Judge@abc"}  # noqa: RUF012

    def grade(self, tasks):
        return [
            tuple(
                Grade(5.0 if any(part.phrase(task.source) in t.text for t in task.targets) else 1.0)
                for part in components(task.source)
            )
            for task in tasks
        ]


@pytest.fixture
def verify(command, monkeypatch, capsys):  # noqa: F811
    """Runs `captions verify`; `command` is there to run the main job before."""
    toyparser.install(monkeypatch.setattr)
    monkeypatch.setattr(load, "load_judge", lambda *_, **__: WordJudge())
    monkeypatch.setattr(verifying, "load_critic_of", lambda *_: ScriptedCritic())

    def run(*arguments):
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = stopped.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def verification_of(row):
    return row["revision"]["verification"]


def test_a_missing_parser_is_named_before_models_are_loaded(tmp_path, monkeypatch):
    def load_critic_of(_: object) -> None:
        raise AssertionError("a critic was loaded")

    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setattr(models, "load_critic_of", load_critic_of)
    parse.load_pipeline.cache_clear()
    parse.settings.cache_clear()
    source = tmp_path / "in.jsonl"
    write_input(source, 2)
    job = JobOptions.of({"verify": "text", "source": str(source), "out": tmp_path / "out.jsonl"})
    with pytest.raises(UserError, match="scene graphs need spaCy"):
        models.load_models(job, open_source(str(source)))


def test_every_row_is_verified_in_the_main_run(command: Command, verify):  # noqa: F811
    write_input(Path("in.jsonl"), 70, reference="A dog and a tree.")
    ran = command(
        *(
            "in.jsonl",
            "out.jsonl",
            "--verify",
            "posh,text,critic",
            "--reference-field",
            "reference",
        ),
        *("--report", "r.html"),
    )
    assert ran.code == 0, ran.err
    rows = read_in_full("out.jsonl")
    assert len(rows) == 70
    for row in rows:
        found = verification_of(row)
        assert set(found) == {"signature", "preservation", "edit_scope", "visual", "posh"}
        assert found["preservation"]["kept"] <= found["preservation"]["of"]
        for when in ("before", "after"):
            assert {"seen", "of"} <= set(found["visual"][when])
    signature = verification_of(rows[0])["signature"]
    assert "parser:toy" in signature
    assert "judge-model:Big/Judge@abc" in signature
    figures = json.loads(Path("r.json").read_text())["summary"]["verification"]
    assert figures["captions"] == 70
    kept = sum(verification_of(row)["preservation"]["kept"] for row in rows)
    assert figures["preservation"]["numerator"] == kept
    assert "the critic that asked for the revision" in figures["warnings"][0]["text"]
    for text in ("POSH mistakes", "Components the critic sees", "Preservation", "Edit scope"):
        assert text in ran.out
    assert "Note. Visual verification: the critic" in ran.out


def test_without_verify_nothing_of_it_is_there(command: Command):  # noqa: F811
    write_input(Path("in.jsonl"), 3)
    assert command("in.jsonl", "out.jsonl").code == 0
    assert all("verification" not in row["revision"] for row in read("out.jsonl"))


def test_verifying_afterwards_changes_nothing_else(
    command: Command,  # noqa: F811
    verify,
    monkeypatch,
):
    write_input(Path("in.jsonl"), 70)
    command("in.jsonl", "out.jsonl", "--verify", "text")
    command("in.jsonl", "plain.jsonl")
    shown: list[Progress] = []

    def progress(total: int | None) -> Progress:
        shown.append(Progress(total))
        return shown[-1]

    monkeypatch.setattr(verifying, "Progress", progress)
    code, out, err = verify("plain.jsonl", "verified.jsonl")
    assert code == 0, err
    sentences = [s for row in read("out.jsonl") for s in row["revision"]["sentences"]]
    assert shown[0].counts["rewritten"] == sum(bool(s["accepted"]) for s in sentences) > 0
    assert read("verified.jsonl") == read("out.jsonl")
    assert "Preservation" in out
    for before, after in zip(read("plain.jsonl"), read("verified.jsonl"), strict=True):
        del after["revision"]["verification"]
        assert after == before


def test_another_critic_is_independent(command: Command, verify):  # noqa: F811
    write_input(Path("in.jsonl"), 5)
    command("in.jsonl", "out.jsonl")
    code, out, _ = verify("out.jsonl", "v.jsonl", "--verify", "critic", "--critic", "another")
    assert code == 0
    assert "Note." not in out
    found = verification_of(read_in_full("v.jsonl")[0])
    assert set(found) == {"signature", "visual"}
    assert "critic:scripted" in found["signature"]


def test_several_captions_in_a_row(command: Command, verify):  # noqa: F811
    rows = write_input(Path("in.jsonl"), 4)
    lines = [{**row, "other": row["caption"]} for row in rows]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    command("in.jsonl", "out.jsonl", "--caption-field", "caption,other")
    code, _, err = verify("out.jsonl", "v.jsonl", "--caption-field", "caption,other")
    assert code == 0, err
    for row in read("v.jsonl"):
        parts = [row["revision"][name]["verification"] for name in ("caption", "other")]
        assert parts[0] == parts[1]


def test_what_cannot_be_verified_says_why(command: Command, verify):  # noqa: F811
    """Another's change of the caption, a row without a reference, and one without a revision."""
    write_input(Path("in.jsonl"), 3, reference="A dog.")
    command("in.jsonl", "out.jsonl")
    rows = read("out.jsonl")
    rows[0]["revised_caption"] = "Somebody wrote this."
    del rows[1]["reference"]
    del rows[2]["revision"]
    Path("out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    checks = ("--verify", "text,posh", "--reference-field", "reference")
    code, out, err = verify("out.jsonl", "v.jsonl", *checks)
    assert code == 0, err
    first, second = (verification_of(row) for row in read("v.jsonl"))
    why = "the sentences do not give this revised caption"
    assert first["preservation"] == first["edit_scope"] == {"unscored": why}
    assert second["posh"] == {"unscored": "no reference"}
    assert f"Preservation, not checked: 1 {why} (captions)." in " ".join(out.split())
    (bad,) = read("v.quarantine.jsonl")
    assert (bad["line"], bad["reason"]) == (3, "bad_revision")


def test_mistakes_are_answered_before_any_work(command: Command, verify):  # noqa: F811
    write_input(Path("in.jsonl"), 3)
    for arguments, message in (
        (("--verify", "truth"), "--verify truth: unknown check"),
        (("--verify", "posh"), "--reference-field"),
        (("--reference-field", "caption"), "add --verify posh"),
        (("--verify", "critic", "--stage", "revise"), "loads none"),
        (("--verify", "posh", "--reference-field", "ref"), 'no text in the field "ref"'),
    ):
        ran = command("in.jsonl", "out.jsonl", *arguments)
        assert (ran.code, Path("out.jsonl").exists()) == (2, False)
        assert message in ran.err
    code, _, err = verify("in.jsonl", "v.jsonl")
    assert code == 2
    assert "there is no `revision`" in err


def test_a_cut_run_goes_on(command: Command, verify, monkeypatch):  # noqa: F811
    """Killed after the first window: the second run verifies only the rest, to the same bytes."""
    write_input(Path("in.jsonl"), 150)
    command("in.jsonl", "out.jsonl")
    verify("out.jsonl", "whole.jsonl")
    append, done = Journal.append, []

    def dying(journal, window, digest, rows):
        if window == 1:
            raise KeyboardInterrupt
        append(journal, window, digest, rows)

    monkeypatch.setattr(Journal, "append", dying)
    code, _, err = verify("out.jsonl", "v.jsonl")
    assert (code, Path("v.jsonl").exists()) == (130, False)
    assert "--resume" in err

    def counting(journal, window, digest, rows):
        done.append(window)
        append(journal, window, digest, rows)

    monkeypatch.setattr(Journal, "append", counting)
    code, _, err = verify("out.jsonl", "v.jsonl", "--resume")
    assert code == 0, err
    assert done == [1, 2]
    assert Path("v.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    code, _, err = verify("out.jsonl", "v.jsonl", "--resume")
    assert (code, "v.jsonl is already complete: " in err) == (0, True)
    Path("copy.jsonl").write_bytes(Path("out.jsonl").read_bytes())  # whole, and never verified
    code, _, err = verify("out.jsonl", "copy.jsonl", "--resume")
    assert (code, "there is nothing to resume" in err) == (2, True)


def test_the_function_gives_verifications_too(monkeypatch, tmp_path):
    toyparser.install(monkeypatch.setattr)
    write_input(tmp_path / "in.jsonl", 1)
    row = {"image": str(tmp_path / "a.png"), "caption": "A black dog. The house."}

    def verdicts(paragraph, index):
        text = paragraph.spans[index].of(paragraph.text)
        if text == "There is a house.":
            return Verdict(None, Unscored.NO_ANSWER)
        return Verdict(0.1 if "black" in text else 0.9)

    (result,) = revise_captions.revise(
        [row],
        critic=ScriptedCritic(verdicts, {"A black dog.": "The dog is white."}),
        reviser=ScriptedReviser({"A black dog.": "A white dog."}),
        verify="text,critic",
    )
    found = result.verifications["caption"]
    assert found["preservation"] == {"kept": 1, "of": 1, "lost": []}
    assert found["edit_scope"] == {"named": 2, "of": 2, "beyond": []}
    before, after = found["visual"]["before"], found["visual"]["after"]
    assert (before["seen"], before["of"]) == (1, 2)
    assert [item["asked"] for item in before["unseen"]] == ["The dog is black."]
    assert (after["seen"], after["of"], after["unseen"]) == (2, 2, [])
    assert after["unscored_by_reason"] == {str(Unscored.NO_ANSWER): 1}


@pytest.mark.parametrize("name", ["out.parquet", "out.jsonl.gz", "out.json"])
def test_other_kinds_of_files(command: Command, verify, name):  # noqa: F811
    from revise_captions.io.readers import open_source

    write_input(Path("in.jsonl"), 3)
    ran = command("in.jsonl", name)
    assert ran.code == 0, ran.err
    code, _, err = verify(name, f"v-{name}")
    assert code == 0, err
    rows = [row.data for row in open_source(f"v-{name}").rows()]
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert all(set(verification_of(row)) > {"preservation"} for row in rows)


def test_the_bundled_parser_end_to_end(tmp_path):
    """Nothing is replaced but the models: the sentence goes, and with it what nobody had named."""
    write_input(tmp_path / "in.jsonl", 1)
    caption = "A brown dog sits by a red ball. The house is pink."
    first, second = caption[:31], "The dog is black, not brown."
    (result,) = revise_captions.revise(
        [{"image": str(tmp_path / "a.png"), "caption": caption}],
        critic=ScriptedCritic({first: Verdict(0.1)}, {first: second}),
        reviser=ScriptedReviser({first: ""}),
        verify="text,critic",
    )
    found = result.verifications["caption"]
    assert "parser:bundled-" in found["signature"]
    assert found["preservation"] == {"kept": 2, "of": 2, "lost": []}
    gone = {item["claim"] for item in found["edit_scope"]["beyond"]}
    assert {"dog", "ball", "red ball"} <= gone
    assert "brown dog" not in gone
    assert found["visual"]["after"]["of"] == 2


def test_the_output_of_a_panel_is_verified(tmp_path, verify):
    """Its signature has no threshold of its own: each expert's stands under the expert's name."""
    write_input(tmp_path / "in.jsonl", 1)
    row = {"image": str(tmp_path / "a.png"), "caption": "A brown dog sits."}
    panel = PanelCritic({"one": ScriptedCritic(), "other": ScriptedCritic()})
    results = revise_captions.revise([row], critic=panel, reviser=ScriptedReviser({}))
    (done,) = [result.to_row() for result in results]
    assert "one.threshold:0.5000" in done["revision"]["signature"]
    Path("out.jsonl").write_text(json.dumps(done) + "\n", encoding="utf-8")
    assert verify("out.jsonl", "v.jsonl", "--verify", "text")[0] == 0
