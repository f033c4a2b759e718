"""What `captions finetune` prints of its log."""

from __future__ import annotations

import json

from revise_captions.finetune.narration import Narrator

START = {
    "event": "start", "resumed": False, "device": "cpu", "captions": 1, "replayed": 3000,
    "images": 900, "validation_captions": 50, "trained": 2_000_000, "parameters": 5_700_000,
}  # fmt: skip
TRAIN = {
    "event": "train", "step": 20, "epoch": 0, "captions_per_s": 4.25, "loss": 1.23456,
    "sentences_per_s": 20.0,
}  # fmt: skip


def said(narrator, **event):
    return list(narrator.lines(event))


def test_progress_has_loss_speed_and_the_time_left(tmp_path):
    narrator = Narrator(tmp_path)
    assert said(narrator, event="prepare", what="loading bundled") == ["loading bundled"]
    first, log = said(narrator, **START)
    assert first == (
        "training on cpu: 1 caption and 3,000 replayed, 900 images; 2.0 of 5.7 million parameters; "
        "validated on 50 captions"
    )
    assert log.endswith("training/log.jsonl")
    assert said(narrator, **TRAIN, fraction=0.1, left=270) == [
        "step 20, epoch 1, 10 %, loss 1.235, 4.2 captions/s, 20.0 sentences/s, 4 min 30 s left"
    ]
    assert said(narrator, **TRAIN, fraction=0.0, left=None)[0].endswith("sentences/s")
    assert said(narrator, **{**START, "resumed": True})[0].startswith("continuing on cpu")


def test_the_end_says_what_came_of_it_and_what_to_run(tmp_path):
    (tmp_path / "critic.json").write_text(json.dumps({"threshold": 0.4321}))
    narrator = Narrator(tmp_path)
    event = {"event": "validation", "step": 40, "took": 2.0, "auc": 0.91234, "macro_f1": None}
    event |= {"captions": 30, "of": 400}
    assert said(narrator, **event) == [
        "validation after step 40: ROC-AUC 0.912 (30 of 400 captions, 2.0 s)"
    ]
    lines = said(narrator, event="end", step=40, seconds=80.0, best=0.9, best_step=20)
    assert "done: 40 steps in 1 min 20 s, best after step 20" in lines
    assert any("(threshold 0.4321)" in line for line in lines)
    assert lines[-1].startswith("  captions revise captions.jsonl revised.jsonl --critic ")
    assert said(narrator, event="align", explained=0.5) == []
