"""What docs/stability.md promises is what it was: a change is announced, and then kept."""

from __future__ import annotations

import json

from scripts import stable


def test_nothing_stable_changed_unnoticed():
    found = "\n".join(stable.differences())
    assert not found, f"see docs/stability.md, then: python -m scripts.stable --write\n{found}"


def test_a_lost_name_a_new_default_and_a_renamed_key_are_noticed(monkeypatch, tmp_path):
    kept = json.loads(stable.KEPT.read_text(encoding="utf-8"))
    kept["entry points"]["revise_captions.critics"].append("gone")
    kept["row keys"]["revision.sentences"].remove("p_factual")
    kept["python"]["revise_captions.split"] += " "
    monkeypatch.setattr(stable, "KEPT", tmp_path / "stable.json")
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    stable.KEPT.write_text(text, encoding="utf-8")
    lines = [line.strip(" -+,") for line in stable.differences()]
    assert '"gone"' in lines
    assert '"p_factual"' in lines
    assert any(line.startswith('"revise_captions.split"') for line in lines)
