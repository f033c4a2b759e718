"""`captions reproduce dcscore:table11`: a row for each file of captions, and ranks."""

from __future__ import annotations

import json
import re

import pytest

from revise_captions.benchmarks.catalog.decapbench import CAPARENA, TABLE_11
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.pipelines.reproduce.dcscore import TABLES, leaderboard
from revise_captions.pipelines.reproduce.table import Asked

FACTS = {
    "a.jpg": (
        "A brown dog sits on a mat.",
        ["There is a dog.", "The dog is brown.", "There is a mat."],
    ),
    "b.jpg": (
        "A red car stands on a road.",
        ["There is a car.", "The car is red.", "There is a road."],
    ),
}


def found(folder, *files):
    """The offline models' rows of these files."""
    (table,) = TABLES
    return leaderboard(Asked(folder, table.models_of(()), files, placement=Placement(device="cpu")))


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "decapbench"
    made.mkdir()
    rows = [
        {"image_name": name, "oracle_caption": text, "oracle_facts": facts}
        for name, (text, facts) in FACTS.items()
    ]
    (made / "oracle_facts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return made


def captions(path, *rows):
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def test_rows_with_their_intervals_and_ranks(tmp_path, folder):
    right = captions(
        tmp_path / "right.jsonl",
        {"image_name": "a.jpg", "caption": FACTS["a.jpg"][0]},
        {"image_name": "images/b", "caption": FACTS["b.jpg"][0]},
        {"image_name": "c.jpg", "caption": "A cat."},
    )
    wrong = captions(
        tmp_path / "wrong.jsonl",
        {"image_name": "a.jpg", "caption": FACTS["b.jpg"][0]},
        {"image_name": "a.jpg", "caption": "Once more."},
    )
    names = ["GPT-4o", "LLaVA-1.5-7B", "InternVL-2-26B"]
    files = [f"{names[0]}={right}", f"{names[1]}={wrong}", f"{names[2]}={right}"]
    rows = found(folder, *files)
    assert rows.rows["GPT-4o"][0] > rows.rows["LLaVA-1.5-7B"][0]
    first, second, _, rank, _ = rows.notes
    assert first == ("GPT-4o: 2 of 2 images, 0 unscored, 1 of other images, 0 bad or repeated rows")
    assert "LLaVA-1.5-7B: 1 of 2 images" in second
    assert "1 bad or repeated rows" in second
    assert rank.endswith("with Table 11: 0.866 (3 models)")  # ranks 2.5 1 2.5 against 3 1 2
    assert rows.settings["verifier"] == "reference-only"


def test_the_interval_of_f_stands_in_the_notes(tmp_path):
    texts = [f"A brown dog sits on {word}." for word in ("a mat", "a bed", "a car", "a log")]
    folder = tmp_path / "decapbench"
    folder.mkdir()
    rows = [
        {"image_name": f"{k}.jpg", "oracle_caption": text, "oracle_facts": ["There is a dog."]}
        for k, text in enumerate(texts * 5)
    ]
    (folder / "oracle_facts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = [{"image_name": f"{k}.jpg", "caption": "A dog and a cat."[: 6 + k]} for k in range(20)]
    (note,) = found(folder, f"mine={captions(tmp_path / 'mine.jsonl', *said)}").notes
    assert re.match(r"mine: F 95 % \[[\d.]+, [\d.]+\], 20 of 20 images", note)


def test_the_published_orders():
    """Six models are in both; their ranks in Table 11 are 6 3 2 4 5 1 in CapArena's order."""
    both = [name for name in CAPARENA if name in TABLE_11]
    assert len(both) == 6
    assert max(TABLE_11, key=TABLE_11.__getitem__) == "FeedQuill-7B"
    assert len(TABLE_11) == 22


def test_files_that_are_of_no_use(tmp_path, folder):
    with pytest.raises(UserError, match="no file of captions"):
        found(folder)
    other = captions(tmp_path / "x.jsonl", {"image_name": "z.jpg", "caption": "A dog."})
    with pytest.raises(UserError, match="no caption of an image of the benchmark"):
        found(folder, other)
