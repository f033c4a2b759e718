"""The tables of docs/preferences.md, from hand-made captions."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

from scripts.research.preferences import tables
from scripts.research.preferences.blind_spots import example, is_blind
from scripts.research.preferences.plot import plotted


def row(scene, truths, said, sentences=None):
    sentences = sentences or [f"Sentence {k}." for k in range(len(truths))]
    return {
        "policy": "p",
        "scene": scene,
        "caption": " ".join(sentences),
        "spans": [[10 * k, 10 * k + 9] for k in range(len(truths))],
        "sentences": sentences,
        "oracle": truths,
        "critic": said,
        "p": [None] * len(truths),
    }


def written(folder, name, rows):
    (folder / "captions").mkdir(exist_ok=True)
    lines = "".join(json.dumps(one) + "\n" for one in rows)
    (folder / "captions" / f"{name}.jsonl").write_text(lines)


def test_figures_by_hand(tmp_path):
    """Before: 10 of 20 sentences true; after: 15 of 20, and one said twice."""
    before = [row(k, [True, False], [True, True]) for k in range(10)]
    after = [row(k, [True, k < 5], [True, False], ["It rains.", "A dog."]) for k in range(9)]
    after.append(row(9, [True, False], [True, None], ["It rains.", "it rains"]))
    written(tmp_path, "sft", before)
    written(tmp_path, "dpo.critic.both", after)
    found = tables.read(tmp_path)
    table = tables.main_table(found)
    assert "| before: taught on them | 0.500 |  | 2.00 |  | 4.0 | 1.000 |" in table
    line = next(one for one in table.splitlines() if one.startswith("| DPO"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[0] == "DPO, c_p + 0.5 c_r, by the critic"
    assert cells[1].startswith("0.750 (")
    assert cells[2].startswith("+0.250 (")
    assert cells[3] == "1.90"
    assert cells[4].startswith("-0.10 (")
    assert cells[6] == f"{10 / 19:.3f}"
    picture = ElementTree.fromstring(plotted(tables.points(found)))
    titles = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["before: taught on them", "DPO, c_p + 0.5 c_r, by the critic"]


def test_blind_spots_become_training_data():
    passed = row(1, [True, False, None], [True, True, True])
    assert is_blind(passed)
    assert is_blind(row(1, [True], [False]))
    assert not is_blind(row(1, [True, False, None, False], [True, False, False, None]))
    made = example(passed, "images/1.png")
    assert made["sentences"] == [
        {"start": 0, "end": 9, "label": "factual", "assessable": True},
        {"start": 10, "end": 19, "label": "nonfactual", "assessable": True},
        {"start": 20, "end": 29, "label": "factual", "assessable": False},
    ]
