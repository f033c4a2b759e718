"""A whole run with its models on a server."""

from __future__ import annotations

import json
import re

import pytest
from chat_server import MODEL, Manners, serving
from commands import outcome, program, read, read_in_full, write_input

from revise_captions.engines.openai import http
from revise_captions.pipelines import cli
from revise_captions.pipelines.doctor.cli import doctor
from revise_captions.signature import settings_of


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    monkeypatch.setattr(http, "FIRST_PAUSE", 0.002)
    monkeypatch.setattr(http, "PATIENCE", 0.5)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    write_input(tmp_path / "in.jsonl", 3)


def test_what_the_server_can_is_printed_once_and_stands_in_the_signature(capsys, tmp_path):
    with serving(Manners("openai")) as url:
        code, _, err = outcome(cli.main, capsys, "in.jsonl", "out.jsonl", "--critic", f"@{url}")
        status, out, _ = outcome(program(doctor), capsys, "--critic", f"@{url}")
    assert (code, status) == (0, 0)
    found = (
        "log-probabilities top 20; takes max_tokens, images up to 1.5 megapixels, system messages"
    )
    assert err.count(f"{url}: {found}") == 1
    assert f"the server answers; {found}" in out
    row = read_in_full("out.jsonl")[0]
    settings = settings_of(row["revision"]["signature"])
    assert settings["server-can"].startswith(found)
    assert settings["critic"] == settings["reviser"] == MODEL


def test_a_reviser_that_was_not_asked_for_log_probabilities_does_not_seem_to_lack_them(capsys):
    with serving(Manners("openai")) as url:
        name = f"{MODEL}@{url}"
        code, _, err = outcome(
            cli.main, capsys, "in.jsonl", "out.jsonl", "--critic", name, "--reviser", name
        )
    assert code == 0
    assert f"{url}: takes max_tokens, system messages" in err
    assert "log-probabilities none" not in err


def test_tokens_and_cost_are_counted_and_estimated(capsys, tmp_path):
    priced = ("--price-in", 2, "--price-out", 4, "--report", "report.html")
    with serving(Manners("vllm")) as url:
        asked = ("in.jsonl", "out.jsonl", "--critic", f"{MODEL}@{url}", *priced)
        _, estimated, _ = outcome(cli.main, capsys, *asked, "--dry-run")
        code, out, _ = outcome(cli.main, capsys, *asked)
    assert code == 0
    used = json.loads((tmp_path / "report.json").read_text())["summary"]["speed"]["servers"]
    assert used["cost"] == pytest.approx((2 * used["tokens_in"] + 4 * used["tokens_out"]) / 1e6)
    assert used["cached"] == 4 * used["requests"] > 0
    told = dict(re.findall(r"^ *(Requests to servers|tokens in|tokens out|cost) +(\S+)", out, re.M))
    counts = [used["requests"], used["tokens_in"], used["tokens_out"]]
    assert [*told.values()] == [*(f"{n:,}" for n in counts), f"{used['cost']:.4g}"]
    assert f"{used['tokens_in']:,} tokens in" in (tmp_path / "report.html").read_text()
    found = re.search(r"tokens +about ([\d,]+) in, ([\d,]+) out, cost ([\d.e-]+):", estimated)
    tokens_in, tokens_out = (int(found[k].replace(",", "")) for k in (1, 2))
    assert float(found[3]) == pytest.approx((2 * tokens_in + 4 * tokens_out) / 1e6, rel=0.01)


def test_nothing_is_left_of_a_run_that_could_judge_nothing(capsys, tmp_path):
    with serving(Manners("serve")) as url:
        asked = ("in.jsonl", "out.jsonl", "--critic", f"{MODEL}@{url}")
        code, _, err = outcome(cli.main, capsys, *asked)
        assert code == 4
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "in.jsonl"]
        assert "the engine gives no log-probabilities" in err
        assert outcome(cli.main, capsys, *asked, "--samples", 5)[0] == 0
    assert len(read("out.jsonl")) == 3
