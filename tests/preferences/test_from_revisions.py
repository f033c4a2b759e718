"""Pairs from the main job's output."""

from __future__ import annotations

import json

import pytest
from commands import outcome, program, read, write_input

from revise_captions.pipelines.preferences.cli import collect_preferences

main = program(collect_preferences)


def test_a_revised_caption_is_preferred_where_a_rewrite_was_accepted(command, capsys, tmp_path):
    write_input(tmp_path / "in.jsonl", 40)
    assert command("in.jsonl", "revised.jsonl").code == 0
    with (tmp_path / "revised.jsonl").open("a") as file:
        file.write(json.dumps({"image": "a.png", "caption": "A dog."}) + "\n")
    code, out, _ = outcome(main, capsys, "revised.jsonl", "pairs.jsonl", "--from-revisions")
    assert code == 0
    revised, pairs = read(tmp_path / "revised.jsonl"), read(tmp_path / "pairs.jsonl")
    wanted = [
        (row["revised_caption"], row["caption"])
        for row in revised[:-1]
        if any(sentence["accepted"] for sentence in row["revision"]["sentences"])
    ]
    texts = [(p["chosen"][0]["content"], p["rejected"][0]["content"]) for p in pairs]
    assert texts == wanted
    assert 0 < len(pairs) < 40
    first = next(row for row in revised if row["caption"] == pairs[0]["rejected"][0]["content"])
    rises = [
        attempt["p_after"] - attempt["p_before"]
        for sentence in first["revision"]["sentences"]
        for attempt in sentence["attempts"]
        if attempt["accepted"] and attempt["p_after"] is not None
    ]
    assert pairs[0]["margin"] == pytest.approx(sum(rises) / len(rises), abs=1e-6)
    assert pairs[0]["by"] == "revision"
    assert f"40 captions, {len(pairs)} pairs" in out
    (bad,) = read(tmp_path / "pairs.quarantine.jsonl")
    assert (bad["line"], bad["reason"]) == (41, "bad_revision")
    code, _, said = outcome(main, capsys, "in.jsonl", "none.jsonl", "--from-revisions")
    assert (code, "could be processed" in said) == (5, True)
    # nothing is overwritten without a word
    assert outcome(main, capsys, "revised.jsonl", "pairs.jsonl", "--from-revisions")[0] == 2
    again = ("revised.jsonl", "pairs.jsonl", "--from-revisions", "--resume")
    code, _, said = outcome(main, capsys, *again)
    assert (code, "pairs.jsonl is already complete: " in said) == (0, True)
