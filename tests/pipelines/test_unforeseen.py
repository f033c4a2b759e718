"""An exception in a window's shared batch is one caption's, or the run's."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from functools import partial

import pytest
from commands import write_input
from scripted_run import HashCritic, WordReviser, install

from revise_captions.errors import EngineDead, Reason, UserError
from revise_captions.io.rows import BadRow
from revise_captions.isolation import MANY, Raised, isolated
from revise_captions.pipelines import cli
from revise_captions.pipelines.api import revise
from revise_captions.pipelines.job import models, rounds
from revise_captions.pipelines.output.schema import from_json, to_json
from revise_captions.pipelines.verify.verifier import Verifier
from revise_captions.records import Unscored

GUILTY = "Two quokkas sing. The sun holds a bench."
CAPTIONS = [f"The tall tree {verb} dogs. The sun holds a bench." for verb in ("has", "is", "sees")]


def rows_of(*captions: str, picture) -> list[dict]:
    return [{"image": picture, "caption": caption} for caption in captions]


@pytest.fixture
def picture():
    from PIL import Image

    return Image.new("RGB", (12, 8), "red")


def about(request) -> bool:
    """Whether a request to a model is about the guilty caption."""
    return "quokka" in getattr(request, "text", getattr(request, "sentence", ""))


def spoiled(model, method: str, error: Exception):
    """The model, whose method raises where the guilty caption is among what it is asked."""
    whole = getattr(model, method)

    def spoil(requests):
        if any(about(request) for request in requests):
            raise error
        return whole(requests)

    setattr(model, method, spoil)
    return model


def run(captions, picture, critic=None, reviser=None, **options):
    found = revise(
        rows_of(*captions, picture=picture),
        critic=critic or HashCritic(0.8),
        reviser=reviser or WordReviser(),
        **options,
    )
    return list(found)


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), RecursionError(), OSError("no image")])
@pytest.mark.parametrize("method", ["judge", "explain", "rewrite"])
@pytest.mark.parametrize("at", [0, 9, 17])
def test_one_caption_is_unscored_and_the_others_are_as_without_it(picture, error, method, at):
    captions = (CAPTIONS * 6)[:17]
    alone = run(captions, picture)
    critic, reviser = HashCritic(0.8), WordReviser()
    spoiled(reviser if method == "rewrite" else critic, method, error)
    found = run([*captions[:at], GUILTY, *captions[at:]], picture, critic, reviser)
    guilty = found.pop(at).revisions["caption"]
    assert [result.revisions for result in found] == [result.revisions for result in alone]
    assert guilty.error.startswith(type(error).__name__)
    assert {s.verdict.unscored for s in guilty.sentences} == {Unscored.UNEXPECTED}
    assert guilty.revised_caption == GUILTY
    assert {result.revisions["caption"].threshold for result in found} == {0.8}
    stored = to_json(guilty)
    assert stored["revision"]["error"] == guilty.error
    assert from_json(GUILTY, stored) == guilty


def test_two_at_fault_in_one_window(picture):
    critic = spoiled(HashCritic(), "judge", KeyError("q"))
    found = run([GUILTY, *CAPTIONS, GUILTY], picture, critic)
    assert [bool(r.revisions["caption"].error) for r in found] == [True, *[False] * 3, True]


def test_a_caption_that_our_own_code_cannot_handle_is_quarantined(picture, monkeypatch):
    compose = rounds.compose

    def broken(caption, sentences):
        if "quokka" in caption:
            raise IndexError("a bug")
        return compose(caption, sentences)

    monkeypatch.setattr(rounds, "compose", broken)
    first, bad, last = run([CAPTIONS[0], GUILTY, CAPTIONS[1]], picture)
    assert isinstance(bad, BadRow)
    assert (bad.reason, bad.detail) == (Reason.UNEXPECTED_ERROR, "IndexError: a bug")
    assert not first.revisions["caption"].error
    assert not last.revisions["caption"].error


@pytest.mark.parametrize("method", ["judge", "explain", "rewrite"])
def test_models_that_fail_on_a_plain_caption_end_the_run(picture, method):
    def gone(requests):
        raise RuntimeError("CUDA error\nthe device is lost")

    critic, reviser = HashCritic(0.8), WordReviser()
    setattr(reviser if method == "rewrite" else critic, method, gone)
    with pytest.raises(EngineDead, match="any caption: RuntimeError: CUDA error the device"):
        run(CAPTIONS, picture, critic, reviser)


@pytest.mark.parametrize(
    "error",
    [
        *(EngineDead("x"), UserError("x"), MemoryError(), KeyboardInterrupt()),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_what_concerns_the_run_passes(picture, error):
    with pytest.raises(type(error)) as caught:
        run([GUILTY, *CAPTIONS], picture, spoiled(HashCritic(), "judge", error))
    assert caught.value is error


def test_it_is_not_the_items_where_many_fail_and_none_works():
    def failing(items):
        raise ValueError("a bug")

    found = isolated(range(MANY - 1), failing, lambda: None)
    assert all(isinstance(answer, Raised) for answer in found)
    with pytest.raises(EngineDead, match="every caption: ValueError: a bug"):
        isolated(range(MANY), failing, lambda: None)


def test_a_batch_that_only_works_in_parts():
    def at_most_three(items):
        if len(items) > 3:
            raise ValueError("too many")
        return [-item for item in items]

    assert isolated(range(10), at_most_three, lambda: None) == [-k for k in range(10)]


def test_a_failure_that_passes_leaves_no_trace():
    calls = []

    def once(items):
        calls.append(list(items))
        if len(calls) == 1:
            raise ValueError("for once")
        return list(items)

    assert isolated([1, 2, 3], once, lambda: None) == [1, 2, 3]
    assert calls == [[1, 2, 3]] * 2


def test_a_check_that_fails_on_one_caption_says_so(picture, monkeypatch):
    whole = Verifier.verify

    def broken(self, cases):
        if any("quokka" in case.revision.caption for case in cases):
            raise LookupError("no parse")
        return whole(self, cases)

    alone = run(CAPTIONS, picture, verify="text")
    monkeypatch.setattr(Verifier, "verify", broken)
    first, guilty, *others = run([CAPTIONS[0], GUILTY, *CAPTIONS[1:]], picture, verify="text")
    assert [first, *others] == [
        replace(result, record=made.record)
        for made, result in zip([first, *others], alone, strict=True)
    ]
    found = guilty.verifications["caption"]
    why = {"unscored": "an unexpected error on this caption: LookupError: no parse"}
    assert (found["preservation"], found["edit_scope"]) == (why, why)


def test_the_command_counts_it_and_writes_the_other_rows_to_the_byte(tmp_path, monkeypatch, capsys):
    install(lambda *given: monkeypatch.setattr(*given))
    monkeypatch.chdir(tmp_path)
    write_input(tmp_path / "in.jsonl", 70)
    lines = (tmp_path / "in.jsonl").read_text().splitlines()
    spoilt = json.loads(lines[30]) | {"caption": GUILTY}
    with_it = [*lines[:30], json.dumps(spoilt), *lines[31:]]
    (tmp_path / "with.jsonl").write_text("\n".join(with_it))
    for name in ("in", "with"):
        if name == "with":
            spoil = partial(spoiled, HashCritic(), "judge", ZeroDivisionError("x"))
            monkeypatch.setattr(models, "load_critic_of", lambda options, spoil=spoil: spoil())
        with pytest.raises(SystemExit) as ended:
            cli.main([f"{name}.jsonl", f"{name}.out.jsonl", "--report", f"{name}.html"])
        assert ended.value.code == 0
    without, found = (
        (tmp_path / f"{name}.out.jsonl").read_text().splitlines() for name in ("in", "with")
    )
    assert json.loads(found[30])["revision"]["error"] == "ZeroDivisionError: x"
    assert found[:30] + found[31:] == without[:30] + without[31:]
    assert "an unexpected error on this caption" in capsys.readouterr().out
