"""`captions reproduce`: from files in their released formats to printed tables."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from revise_captions.command_line.captions import load_command
from revise_captions.errors import UserError
from revise_captions.pipelines.reproduce.catalog import table, tables
from revise_captions.pipelines.reproduce.options import ReproduceOptions
from revise_captions.pipelines.reproduce.run import SAMPLES, reproduce


@pytest.mark.parametrize("name", tables())
def test_every_table_runs_on_its_sample_and_says_so(name, tmp_path):
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
