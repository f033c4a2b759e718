"""`captions benchmarks run decapbench`: rows beside the published table, and ranks."""

from __future__ import annotations

import json

import pytest

from revise_captions.benchmarks.catalog.decapbench import CAPARENA, TABLE_11
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.dcscore.load import load_scorer
from revise_captions.dcscore.options import UnitModels
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.pipelines.benchmarks.decapbench import run

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


@pytest.fixture(scope="module")
def scorer():
    return load_scorer(UnitModels(placement=Placement(device="cpu")))


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


def test_rows_beside_the_published_table(tmp_path, folder, scorer):
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
    text = run(benchmark("decapbench"), folder, files, UnitModels(), scorer=scorer)
    rows = {line.split()[0]: line for line in text.splitlines()[1:4]}
    assert float(rows["GPT-4o"].split()[1]) > float(rows["LLaVA-1.5-7B"].split()[1])
    assert "2 of 2, 1 of other images" in rows["GPT-4o"]
    assert "1 of 2, 1 bad or repeated rows" in rows["LLaVA-1.5-7B"]
    assert "not comparable with the rows above" in text
    assert all(name in text for name in TABLE_11)
    assert "with Table 11: 0.866 (3 models)" in text  # ranks 2.5 1 2.5 against 3 1 2
    assert "verifier:reference-only" in text


def test_the_published_orders():
    """Six models are in both; their ranks in Table 11 are 6 3 2 4 5 1 in CapArena's order."""
    both = [name for name in CAPARENA if name in TABLE_11]
    assert len(both) == 6
    assert max(TABLE_11, key=TABLE_11.__getitem__) == "FeedQuill-7B"
    assert len(TABLE_11) == 22


def test_files_that_are_of_no_use(tmp_path, folder, scorer):
    entry = benchmark("decapbench")
    with pytest.raises(UserError, match="no file of captions"):
        run(entry, folder, [], UnitModels(), scorer=scorer)
    other = captions(tmp_path / "x.jsonl", {"image_name": "z.jpg", "caption": "A dog."})
    with pytest.raises(UserError, match="no caption of an image of the benchmark"):
        run(entry, folder, [other], UnitModels(), scorer=scorer)
