"""`captions reproduce`: from files in their released formats to printed tables."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

from revise_captions.command_line.captions import load_command
from revise_captions.errors import UserError
from revise_captions.metrics.protocol import ScoredSpan
from revise_captions.pipelines.reproduce import posh, vela
from revise_captions.pipelines.reproduce.catalog import table, tables
from revise_captions.pipelines.reproduce.options import ReproduceOptions
from revise_captions.pipelines.reproduce.run import SAMPLES, reproduce
from revise_captions.records import Span
from revise_captions.stats.paired_tests import measured


@pytest.mark.parametrize("name", tables())
def test_every_table_runs_on_its_sample_and_says_so(name, tmp_path, monkeypatch):
    monkeypatch.setattr(vela, "measured", partial(measured, replicates=20))
    out = tmp_path / "table.json"
    text = reproduce(ReproduceOptions(name, out=out))
    assert "\nSAMPLE: " in text
    assert f", protocol {tables()[name].protocols[0]}\n" in text
    found = json.loads(out.read_text())
    assert found["sample"] is True
    assert f"protocol:{found['protocol']}" in found["signature"]
    for rows in (found["computed"], found["published"]):
        assert rows
        assert {len(row) for row in rows.values()} == {len(found["columns"])}
    assert any(value is not None for row in found["computed"].values() for value in row)


def test_the_list_says_what_a_table_needs():
    said = CliRunner().invoke(load_command("reproduce"), ["--list"]).output
    for one in tables().values():
        assert f"{one.id}  {one.title}" in said
    assert "judge=offline by default; the paper's: Qwen/Qwen3-14B" in said


def test_models_go_by_role_and_what_is_not_the_papers_is_said(tmp_path):
    table2 = table("posh:table2")
    models = table2.models_of(["Qwen/Qwen3-14B@http://x/v1", "parser=en_core_web_trf"])
    assert models == {
        "judge": "Qwen/Qwen3-14B@http://x/v1",
        "parser": "en_core_web_trf",
        "coreference": "rules",
    }
    assert [role.why_other(models[role.name]) for role in table2.roles] == [
        "",
        "",
        "coreference is rules; the paper's is maverick",
    ]
    with pytest.raises(UserError, match="takes one judge"):
        table2.models_of(["one", "judge=two"])
    with pytest.raises(UserError, match="did you mean posh:table2"):
        table("posh:tabel2")
    with pytest.raises(UserError, match="is for the protocol released"):
        reproduce(ReproduceOptions("posh:table2", prompts=tmp_path, protocol="paper"))


def test_further_metrics_stand_beside_the_papers_own():
    options = ReproduceOptions(
        "posh:table3-docent", data=SAMPLES / "posh", files=("floor:length",), limit=2
    )
    text = reproduce(options)
    assert "SAMPLE" not in text
    assert "\n  floor:length " in text
    assert "only the first 2 rows" in text
    assert "\n1 pairs\n" in text


@pytest.mark.parametrize("number", [3, 4, 7])
def test_further_raters_stand_beside_the_critic(number, tmp_path):
    out = tmp_path / "table.json"
    reproduce(ReproduceOptions(f"vnli-critique:table{number}", ("metric:critic=bundled",), out=out))
    found = json.loads(out.read_text())
    rows = found["computed"]
    if number == 7:
        # the paper's eight other raters stand between
        assert found["columns"][:2] == ["people", "critic"]
        assert found["columns"][10:] == ["metric:critic=bundled"]
        assert all(row[1] == row[10] for row in rows.values())
        assert all(row[2:10] == [None] * 8 for row in rows.values())
        # Table 7, last row: GPT-4o by its ten raters
        wanted = [0.83, 0.73, 0.94, 0.89, 0.97, 0.97, 0.67, 0.00, 0.37, 0.74, None]
        assert found["published"]["GPT-4o"] == wanted
    else:  # one critic, asked in both ways
        assert list(rows) == ["critic bundled", "metric:critic=bundled"]
        assert rows["critic bundled"] == rows["metric:critic=bundled"]
    assert len(found["notes"]) >= 2
    for given in ("metric:length", "floor:length"):
        with pytest.raises(UserError, match=f"{given} scores no sentences"):
            reproduce(ReproduceOptions(f"vnli-critique:table{number}", (given,)))


def test_no_table_is_called_the_papers_where_it_is_ours():
    text = reproduce(ReproduceOptions("contextref:table1"))
    assert ", protocol ours\n" in text
    assert "names and errors here by rules" in text
    assert "protocol:ours" in text
    assert ", protocol released\n" in reproduce(
        ReproduceOptions("contextref:table1", protocol="released")
    )
    with pytest.raises(UserError, match="has no protocol 'paper'"):
        reproduce(ReproduceOptions("contextref:table1", protocol="paper"))


def test_a_token_has_the_best_grade_of_what_stands_on_it():
    """A wrong relation between two right objects marks what is only the relation's."""
    text = "A woman holds a chalice."
    tokens = {text: [Span(0, 1), Span(2, 7), Span(8, 13), Span(14, 15), Span(16, 23)]}
    parts = [
        ScoredSpan(Span(2, 7), 0.0),
        ScoredSpan(Span(16, 23), 0.5),
        ScoredSpan(Span(2, 23), 4.0),
    ]
    side = [(text, parts, [Span(8, 13)])]
    both = [posh.best_f1(side, tokens, protocol) for protocol in ("paper", "released")]
    # "holds a" is marked at 1, "chalice" above 4.5: one right of two marked, the rest clean
    assert both == pytest.approx([(2 / 3 + 6 / 7) / 2] * 2)


def test_ten_thresholds_are_not_all():
    text = "a b c"
    tokens = {text: [Span(0, 1), Span(2, 3), Span(4, 5)]}
    parts = [ScoredSpan(Span(2, 3), 0.01), ScoredSpan(Span(4, 5), 4.0)]
    side = [(text, parts, [Span(2, 3), Span(4, 5)])]
    assert posh.best_f1(side, tokens, "paper") == 1.0
    assert posh.best_f1(side, tokens, "released") < 1.0


def test_as_many_ties_as_people_have():
    gaps, human = np.array([0.1, -0.5, 0.3, 0.02]), np.array([0.0, -1.0, 2.0, 1.0])
    assert posh.votes(gaps, human).tolist() == [1.0, -1.0, 1.0, 0.0]


def test_exported_docent_is_scored_by_posh_and_its_out_evaluated(tmp_path, monkeypatch):
    """Each of four commands takes what the one before it wrote."""
    monkeypatch.chdir(tmp_path)
    folder = str(SAMPLES / "posh/docent-granular")
    run = CliRunner().invoke
    steps = {
        "benchmarks": ["export", "docent-granular", folder, "in.jsonl"],
        "posh": ["in.jsonl", "out.jsonl", "--caption-field", "caption"],
        "evaluate-metric": ["docent-granular", folder, "posh=out.jsonl", "--level", "spans"],
        "reproduce": ["posh:table2", "same=out.jsonl", "--data", str(SAMPLES / "posh")],
    }
    said = {}
    for name, line in steps.items():
        done = run(load_command(name), line)
        assert done.exit_code == 0, (name, done.output, done.exception)
        said[name] = done.output
    row = json.loads((tmp_path / "in.jsonl").read_text().splitlines()[0])
    assert row["reference"].startswith("A woman in a white dress")
    scored = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert scored["id"] == row["id"]
    assert "macro-F1 of tokens, best threshold" in said["evaluate-metric"]
    rows = [line.split() for line in said["reproduce"].splitlines() if line.startswith("  ")]
    computed = {line[0]: line[-2:] for line in rows[::-1]}  # above the published rows
    assert computed["same"] == computed["POSH,"]
