"""Steps for other libraries, in those libraries: what they add is what the command writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Command, read_in_full, write_input
from pages import PAGES, ROOT, code

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


def test_data_juicer(rows):
    """Its tokens stay around a caption; texts with several parts or images are left alone."""
    pytest.importorskip("data_juicer", reason="Data-Juicer is not installed")
    from data_juicer.ops.load import load_ops

    from revise_captions.pipelines.adapters import juicer

    options = {"reviser": "bundled"}
    (op,) = load_ops([{juicer.NAME: {"options": options, "num_proc": 1, "skip_op_error": True}}])
    assert (op.is_batched_op(), op.skip_op_error) == (True, False)
    before, after = "<__dj__image>\n", " <|__dj__eoc|>"
    texts = [f"{before}{row['caption']}{after}" for row in rows]
    given = {"text": [*texts, f"A cat.{after} A dog.", "A cat."]}
    images = [[row["image"]] for row in rows]
    found = op.process({**given, "images": [*images, images[0], [*images[0], *images[1]]]})
    assert found["caption_original"] == given["text"]
    assert [text[:16] for text in found["revision_problem"][ROWS:]] == [
        "caption_not_text",
        "missing_image: 2",
    ]
    assert found["text"][ROWS:] == given["text"][ROWS:]
    assert found["text"][7] == texts[7]
    mended = [row | {"revised_caption": ""} for row in rows]
    for row, text in zip(mended, found["text"], strict=False):
        assert text.startswith(before)
        assert text.endswith(after)
        row["revised_caption"] = text.removeprefix(before).removesuffix(after)
    added = {name: found[name][:ROWS] for name in ("revision", "revision_problem")}
    check([row | new for row, new in zip(mended, rows_of(added), strict=True)])


def test_fiftyone_samples(rows):
    fiftyone = pytest.importorskip("fiftyone", reason="FiftyOne is not installed")
    from revise_captions.pipelines.adapters.fiftyone_samples import samples

    written = read_in_full("out.jsonl")
    found = list(samples("out.jsonl"))
    assert [one["caption"] for one in found] == [row["caption"] for row in written]
    assert [one["revised_caption"] for one in found] == [row["revised_caption"] for row in written]
    for sample, row in zip(found, written, strict=True):
        assert Path(sample.filepath).samefile(row["image"])
        verdicts = sample["sentences"].classifications
        stored = row["revision"]["sentences"]
        assert [(one.label, one.confidence) for one in verdicts] == [
            (one["label"], one["p_factual"]) for one in stored
        ]
        assert all(one.text in row["caption"] for one in verdicts)
        # as FiftyOne keeps it in its database
        assert fiftyone.Sample.from_dict(sample.to_dict())["sentences"] == sample["sentences"]


def test_fiftyone_boxes_are_shares_of_the_image(tmp_path):
    pytest.importorskip("fiftyone", reason="FiftyOne is not installed")
    from judged_chart import BARS, CAPTION, SENTENCE
    from PIL import Image

    from revise_captions.pipelines.adapters.fiftyone_samples import samples

    Image.new("RGB", (200, 400)).save(tmp_path / "chart.png")
    revision = {"signature": "x", "threshold": 0.5, "rounds": 1, "needs_review": True}
    revision["sentences"] = [SENTENCE]
    row = {"image": "chart.png", "caption": CAPTION, "revised_caption": CAPTION}
    (tmp_path / "out.jsonl").write_text(json.dumps({**row, "revision": revision}))
    (sample,) = samples(tmp_path / "out.jsonl", image_root=tmp_path)
    ((box,), tags) = (sample["fixes"].detections, sample.tags)
    left, top, right, bottom = BARS[1].box
    shares = [left / 200, top / 400, (right - left) / 200, (bottom - top) / 400]
    assert (box.label, box.bounding_box, tags) == ("2014", shares, ["needs_review"])
    assert (box.wrong, box.right) == ("202", "254")


@pytest.mark.slow
def test_ray_data_actors():
    """On actors of a cluster of this machine, which load the bundled critic themselves."""
    ray = pytest.importorskip("ray")
    examples = ROOT / "datasets/picturebook/examples"
    given = [json.loads(line) for line in (examples / "captions.jsonl").open()][:4]
    rows = [{"image": row["image"], "caption": row["caption"]} for row in given]
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        options = {"image_root": str(examples), "rounds": 1}
        actors = ray.data.ActorPoolStrategy(size=1)
        data = ray.data.from_items(rows).map_batches(
            ReviseActor, fn_constructor_kwargs=options, compute=actors, batch_size=4
        )
        found = data.take_all()
    finally:
        ray.shutdown()
    assert [row["caption"] for row in found] == [row["caption"] for row in rows]
    assert any(row["revised_caption"] != row["caption"] for row in found)
    assert not any(row["revision_problem"] for row in found)


@pytest.mark.slow
def test_the_recipe_of_the_page(tmp_path):
    """Data-Juicer's own program, with the file and the recipe of docs/pipelines.md."""
    pytest.importorskip("data_juicer", reason="Data-Juicer is not installed")
    page = PAGES["docs/pipelines.md"]
    (recipe,) = code(page, "yaml")
    recipe = re.sub(r"critic: .*(?=})", "rounds: 1", recipe)
    (tmp_path / "recipe.yaml").write_text(recipe)
    operator = next(block for block in code(page, "py") if "juicer" in block)
    (tmp_path / "revise_captions_operator.py").write_text(operator)
    examples = ROOT / "datasets/picturebook/examples"
    given = [json.loads(line) for line in (examples / "captions.jsonl").open()][:3]
    rows = [
        {"text": f"<__dj__image>\n{row['caption']}", "images": [str(examples / row["image"])]}
        for row in given
    ]
    (tmp_path / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    program = [sys.executable, "-m", "data_juicer.tools.process_data", "--config", "recipe.yaml"]
    subprocess.run(program, cwd=tmp_path, check=True)
    written = (tmp_path / "revised/captions.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in written]
    assert [row["caption_original"] for row in found] == [row["text"] for row in rows]
    assert any(row["text"] != row["caption_original"] for row in found)
    assert not any(row["revision_problem"] for row in found)
