"""Runs that judge nothing, quarantine too much, or are complete: their status and what they say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import read, write_input
from scripted_run import HashCritic, WordReviser

import revise_captions
from revise_captions.errors import UserError
from revise_captions.pipelines.options import ModelOptions

FOREIGN = "Пёс бежит. Кот спит."  # a script that the scripted critic does not know


def foreign(path: Path, count: int, plain: int) -> None:
    write_input(path, plain)
    with path.open("a") as file:
        for _ in range(count):
            file.write(json.dumps({"image": "a.png", "caption": FOREIGN}) + "\n")


def test_a_first_window_that_nobody_can_judge_ends_the_run(command, tmp_path):
    foreign(tmp_path / "in.jsonl", 70, plain=0)
    ran = command("in.jsonl", "out.jsonl")
    assert ran.code == 4
    assert "All 128 sentences of the first 64 records came back unscored: language" in ran.err
    assert "`captions finetune`" in ran.err
    assert "--allow-unscored" in ran.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "in.jsonl"]
    ran = command("in.jsonl", "out.jsonl", "--allow-unscored")
    assert ran.code == 0
    assert len(read("out.jsonl")) == 70


def test_what_comes_after_the_first_window_ends_no_run(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 64)
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write((json.dumps({"image": "a.png", "caption": FOREIGN}) + "\n") * 64)
    assert command("in.jsonl", "out.jsonl").code == 0
    ran = command("in.jsonl", "p.jsonl", "--shard", "1/2")  # whose first window it is
    assert ran.code == 4


def test_the_limit_is_over_ninety_per_cent(command, tmp_path):
    row = json.dumps({"image": "a.png", "caption": "A dog. " * 2}) + "\n"
    write_input(tmp_path / "in.jsonl", 0)
    for unknown, code in ((9, 0), (10, 4)):
        lines = json.dumps({"image": "a.png", "caption": FOREIGN}) + "\n"
        (tmp_path / "in.jsonl").write_text(lines * unknown + row)
        assert command("in.jsonl", f"{unknown}.jsonl").code == code


def test_too_many_rows_in_quarantine(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 8)
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write("[]\n[]\n")
    for given, code in (((), 0), (("0.2",), 0), (("0.19",), 5)):
        options = ("--max-quarantine", *given) if given else ()
        ran = command("in.jsonl", "out.jsonl", "--force", *options)
        assert ran.code == code
        assert ("20.0 % of the records are in quarantine" in ran.err) == (code == 5)
        assert len(read("out.jsonl")) == 8
    (tmp_path / "bad.jsonl").write_text('{"image": "a.png", "caption": "A."}\n' * 2)
    (tmp_path / "a.png").unlink()
    ran = command("bad.jsonl", "none.jsonl")
    assert ran.code == 5
    assert "no record of 2 could be processed" in ran.err
    assert read("none.jsonl") == []


def test_a_finished_run_has_nothing_to_resume(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 5)
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write("[]\n")
    assert command("in.jsonl", "out.jsonl").code == 0
    before = (tmp_path / "out.jsonl").read_bytes()
    ran = command("in.jsonl", "out.jsonl", "--resume")
    assert ran.code == 0
    assert "out.jsonl is already complete: 5 rows, 1 in quarantine (critic hash" in ran.err
    assert (tmp_path / "out.jsonl").read_bytes() == before
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write('{"image": "a.png", "caption": "A dog."}\n')
    assert command("in.jsonl", "out.jsonl", "--resume").code == 2


def test_where_nothing_is_changed_the_causes_are_said(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 20)
    ran = command("in.jsonl", "out.jsonl", "--rounds", "0")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert "flagged, nothing changed. Why not: " in text
    assert ": no rewrite asked for." in text


def test_the_bundled_reviser_refuses_words_that_are_not_its_own(monkeypatch):
    from revise_captions.records import Why
    from revise_captions.reviser import builtin
    from revise_captions.reviser.load import load_reviser
    from revise_captions.reviser.protocol import RewriteRequest

    monkeypatch.setattr(builtin, "is_installed", lambda: False)  # SmolLM2, which knows them
    reviser = load_reviser("bundled")
    own = RewriteRequest("", "A red boat is visible below the sun.", "The boat is blue.")
    sign = RewriteRequest("", 'The sign says "OPEN".', 'The sign says "CLOSED".')
    other = RewriteRequest("", "A cyclist leans into a hairpin bend.", "He rides a motorcycle.")
    assert reviser.foreign([own, other, sign]) == [False, True, False]

    class Flags(HashCritic):
        def judge(self, paragraphs):
            from revise_captions.records import Verdict

            return [[Verdict(0.1) for _ in p.spans[p.first :]] for p in paragraphs]

    from PIL import Image

    rows = [{"image": Image.new("RGB", (8, 8)), "caption": other.sentence}]
    (result,) = revise_captions.revise(rows, critic=Flags(), reviser=reviser, rounds=1)
    (sentence,) = result.revisions["caption"].sentences
    assert sentence.attempts[-1].why is Why.OUTSIDE_WORDS


class TestTheReviserOfACritic:
    """No critic of one's own silently gets the bundled reviser."""

    def test_a_critic_that_cannot_write_needs_one(self, tmp_path):
        from revise_captions.critic.locate import BUNDLED
        from revise_captions.pipelines.job.models import check_reviser

        own = shutil.copytree(BUNDLED, tmp_path / "mine")
        card = json.loads((own / "critic.json").read_text()) | {"goes_with": ""}
        (own / "critic.json").write_text(json.dumps(card))
        check_reviser(ModelOptions())
        check_reviser(ModelOptions(critic=str(own), reviser="drop"))
        before = {"critic": "mine@1234"}
        for given in ((ModelOptions(critic=str(own)),), (ModelOptions(), before)):
            with pytest.raises(UserError, match="needs a reviser") as raised:
                check_reviser(*given)
            assert "--reviser" in raised.value.hint
        rows = [{"image": "a.png", "caption": "A."}]
        with pytest.raises(UserError, match="the critic hash needs a reviser"):
            revise_captions.revise(rows, critic=HashCritic())
        revise_captions.revise(rows, critic=HashCritic(), reviser=WordReviser())
        revise_captions.revise(rows, critic=HashCritic(), stage="critique")

    def test_an_instruct_model_rewrites_itself(self, tmp_path):
        import tinyvlm

        from revise_captions.pipelines.job.models import load_critic_of, load_reviser_of

        folder = tinyvlm.saved(tmp_path / "vlm", "idefics3")
        options = ModelOptions(critic=str(folder), device="cpu")
        critic = load_critic_of(options)
        reviser = load_reviser_of(options, critic)
        assert reviser.engine is critic.engine
        assert reviser.settings["reviser"] == critic.settings["critic"]
        from revise_captions.reviser.protocol import RewriteRequest

        request = RewriteRequest("", "A dog runs.", "It is a cat.")
        assert len(reviser.rewrite([request])) == 1
