"""Steps for other libraries, in those libraries: what they add is what the command writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Command, read_in_full, write_input

from revise_captions.errors import UserError
from revise_captions.pipelines import api
from revise_captions.pipelines.adapters.columns import rows_of
from revise_captions.pipelines.adapters.hf_datasets import MapBatches
from revise_captions.pipelines.adapters.ray_data import ReviseActor
from revise_captions.pipelines.job import models

ROWS = 40


@pytest.fixture
def rows(command: Command, tmp_path, monkeypatch) -> list[dict[str, Any]]:
    """Captions, one without an image; beside them, what the command makes of them."""
    for name in ("load_critic_of", "check_reviser", "load_reviser_of"):
        monkeypatch.setattr(api, name, getattr(models, name))  # the scripted ones
    write_input(tmp_path / "in.jsonl", ROWS)
    lines = (tmp_path / "in.jsonl").read_text().splitlines()
    lines[7] = lines[7].replace("a.png", "gone.png")
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    assert command("in.jsonl", "out.jsonl").code == 0
    return [json.loads(line) for line in lines]


def check(found: list[dict[str, Any]]) -> None:
    expected = {row["id"]: row for row in read_in_full("out.jsonl")}
    assert len(found) == ROWS
    assert found[7]["revision_problem"].startswith("image_not_found: ")
    for row in found[:7] + found[8:]:
        assert row["revised_caption"] == expected[row["id"]]["revised_caption"]
        assert json.loads(row["revision"]) == expected[row["id"]]["revision"]
    assert sum(row["revised_caption"] != row["caption"] for row in found if row["revision"]) > 5


def test_datasets(rows):
    """The first batch has no problem, the second has one; a second pass leaves the first alone."""
    datasets = pytest.importorskip("datasets")
    step = MapBatches()
    data = datasets.Dataset.from_list(rows).map(step, batched=True, batch_size=5)
    check(list(data))
    # the loaded models are no part of what makes the cache's name
    again = datasets.Dataset.from_list(rows).map(step, batched=True, batch_size=5)
    assert again._fingerprint == data._fingerprint
    judged = data.select([0]).map(MapBatches(stage="critique"), batched=True)
    assert judged[0]["revised_caption"] == rows[0]["caption"]


def test_datasets_with_decoded_images(rows):
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list([rows[0]]).cast_column("image", datasets.Image())
    (found,) = data.map(MapBatches(), batched=True)
    assert found["revised_caption"] == read_in_full("out.jsonl")[0]["revised_caption"]


def test_ray_data_batches(rows):
    """As Ray calls it; on a cluster: `test_ray.py` has the models there."""
    import numpy as np

    batch = {name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]}
    found = ReviseActor()(batch)
    assert list(found) == [*rows[0], "revised_caption", "revision", "revision_problem"]
    check(rows_of(found))
    pixels = np.zeros((1, 7, 9, 3), dtype=np.uint8)
    found = ReviseActor()({"image": pixels, "caption": np.array(["A cat."])})
    assert found["revision_problem"].tolist() == [""]


def test_options_are_those_of_revise(rows):
    Path("elsewhere").mkdir()
    Path("a.png").rename("elsewhere/a.png")
    batch = {name: [row[name] for row in rows] for name in rows[0]}
    given = {**batch, "said": batch["caption"], "caption": ["not this one"] * ROWS}
    found = MapBatches(image_root="elsewhere", caption_field="said")(given)
    check(rows_of({**batch, **found}))
    with pytest.raises(UserError, match="stage revise"):
        MapBatches(stage="revise")
    with pytest.raises(TypeError, match="did you mean 'threshold'"):
        MapBatches(treshold=0.5)


def test_datatrove(rows, tmp_path):
    pytest.importorskip("datatrove", reason="datatrove is not installed")
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    from revise_captions.pipelines.adapters.datatrove import ReviseStep

    folder = Path("captions")
    folder.mkdir()
    lines = [json.dumps({**row, "id": str(row["id"])}) for row in rows]
    (folder / "a.jsonl").write_text("\n".join(lines))
    steps = [
        JsonlReader(str(folder), text_key="caption", compression=None),
        ReviseStep(),
        JsonlWriter("revised", output_filename="a.jsonl", compression=None),
    ]
    LocalPipelineExecutor(pipeline=steps, logging_dir="logs").run()
    found = []
    for line in Path("revised/a.jsonl").read_text().splitlines():
        row = json.loads(line)
        meta = row["metadata"]
        texts_ = {
            "revised_caption": row["text"],
            "caption": meta.get("caption_original", row["text"]),
        }
        found.append({"revision": "", **meta, **texts_, "id": int(row["id"])})
    check(found)


@pytest.mark.slow
def test_ray_data_actors():
    """On actors of a cluster of this machine, which load the bundled critic themselves."""
    ray = pytest.importorskip("ray")
    examples = Path(__file__).parents[2] / "datasets/picturebook/examples"
    given = [json.loads(line) for line in (examples / "captions.jsonl").open()][:4]
    rows = [{"image": row["image"], "caption": row["caption"]} for row in given]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        options = {"image_root": str(examples), "rounds": 1}
        data = ray.data.from_items(rows).map_batches(
            ReviseActor, fn_constructor_kwargs=options, concurrency=1, batch_size=4
        )
        found = data.take_all()
    finally:
        ray.shutdown()
    assert [row["caption"] for row in found] == [row["caption"] for row in rows]
    assert any(row["revised_caption"] != row["caption"] for row in found)
    assert not any(row["revision_problem"] for row in found)
