"""The recipe of docs/fine-tuning.md, whole and tiny: from exported answers to a better critic."""

from __future__ import annotations

import json
from pathlib import Path

import annotated
import numpy as np
import pytest
from click.testing import CliRunner
from finetuning import FINETUNE as finetune_critic
from PIL import Image
from tinycritic import saved

from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.finetune.data.records import open_split
from revise_captions.pipelines.annotate.cli import annotate
from revise_captions.pipelines.annotate.tasks.interfaces import INTERFACES
from revise_captions.pipelines.cli import revise_captions
from revise_captions.stats.classification import roc_auc


def run(command, *arguments: object) -> str:
    result = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def auc(critic, data: Path) -> float:
    """Of the training split: whether training does anything, not whether it generalises."""
    examples = open_split(data, "train")
    asked = [
        JudgeRequest(Image.open(data / e.image).convert("RGB"), e.caption, e.spans)
        for e in examples
    ]
    p = [v.p_factual for row in critic.judge(asked) for v in row]
    truth = [float(s.factual) for e in examples for s in e.sentences]
    kept = [i for i, value in enumerate(p) if value is not None]
    assert len(kept) > 0.8 * len(p)
    return roc_auc(np.array([p[i] for i in kept]), np.array([truth[i] for i in kept]))


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> tuple[Path, list[Path]]:
    """What people were asked, and what Label Studio exports of their answers."""
    folder = tmp_path_factory.mktemp("exported")
    made = annotated.write_run(folder / "r", 12)
    run(annotate, "export", made.path, folder / "asked", "--size", 10_000)
    files = []
    for name in INTERFACES:
        files.append(folder / f"{name}.json")
        files[-1].write_text(json.dumps(annotated.label_studio(made, folder / "asked", name)))
    return folder / "asked", files


def test_three_commands_from_an_export_to_a_better_critic(exported, tmp_path):
    asked, files = exported
    base = saved(tmp_path / "base")
    (base / "words.txt").unlink()
    data, out = tmp_path / "data", tmp_path / "my-critic"
    run(annotate, "import", asked, *files, "--out", data)
    said = run(
        finetune_critic, data, "--base", base, "--out", out, "--steps", 50, "--batch-size", 4,
        "--learning-rate", 4e-3, "--warmup", 5, "--no-compile", "--dtype", "float32", "--ema", 0.9,
        "--robust-share", 0, "--validate-time", 0,
    )  # fmt: skip
    assert "{" not in said
    assert f"captions revise captions.jsonl revised.jsonl --critic {out} --reviser" in said
    lines = [json.loads(line) for line in (out / "training/log.jsonl").read_text().splitlines()]
    assert lines[-1]["event"] == "end"
    before, after = (
        auc(load_critic(str(folder), CriticOptions(Placement(device="cpu"))), data)
        for folder in (base, out)
    )
    assert after > 0.9 > before + 0.15
    card = (out / "README.md").read_text()
    for line in ("| ROC-AUC |", "floor: the shorter the truer", "expected calibration error"):
        assert line in card
    picture = next((data / "images").rglob("*.png"))
    rows = tmp_path / "in.jsonl"
    rows.write_text(json.dumps({"image": str(picture), "caption": "It is day. A dog sits."}) + "\n")
    run(revise_captions, rows, tmp_path / "out.jsonl", "--critic", out, "--stage", "critique")
    (revised,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert [s["label"] for s in revised["revision"]["sentences"]]
