"""The result of a training run: weights or an adapter, calibration, card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from revise_captions.critic.adapters import merged_model
from revise_captions.critic.checkpoints import CARD, CriticCard, read_card
from revise_captions.critic.gates.language import (
    WORDS_FILE,
    Vocabulary,
    common_words,
    read_vocabulary,
    write_vocabulary,
)
from revise_captions.critic.gates.taught_words import TAUGHT_FILE, TaughtWords, taught_words
from revise_captions.critic.hub_names import write_hub_names
from revise_captions.critic.locate import weights_digest
from revise_captions.finetune.data.records import judged_texts, provenance
from revise_captions.finetune.export.model_card import model_card
from revise_captions.finetune.models.adapters import save_adapter
from revise_captions.finetune.models.bases import shown
from revise_captions.io.writing import write_text
from revise_captions.stats.calibration import calibrate

if TYPE_CHECKING:
    from revise_captions.finetune.trainer.setup import TrainingRun

#: Folder of the adapter beside merged weights.
ADAPTER = "adapter"


def snapshot(run: TrainingRun, path: Path) -> None:
    """Writes the current weights (or adapter) as a critic folder, with the last calibration."""
    card = critic_card(run)
    path.mkdir(parents=True, exist_ok=True)
    if run.wrapped is None:
        run.learner.write(path, card)
    else:
        save_adapter(run.wrapped, path)
        run.learner.write_small(path, card)
    if run.vocabulary is None:
        run.vocabulary = vocabulary(run)
    if run.vocabulary.known or run.vocabulary.taught:
        write_vocabulary(path, run.vocabulary)


def export(run: TrainingRun, out: Path) -> None:
    """Writes the finished critic into a new folder: adapter or weights, card, `README.md`."""
    snapshot(run, out)
    if run.wrapped is not None and run.settings.lora.merge:
        merge(run, out)
    card = json.loads((out / "critic.json").read_text())
    write_text(out / "README.md", model_card(run, card))


def merge(run: TrainingRun, out: Path) -> None:
    """Merges the adapter in `out` into its base, in float32 and unquantized, and moves the adapter
    to `out/adapter`.
    """
    adapter = out / ADAPTER
    adapter.mkdir()
    for file in sorted(out.glob("adapter_*")):
        file.rename(adapter / file.name)
    for name in ("critic.json", WORDS_FILE, TAUGHT_FILE):
        if (out / name).exists():
            shutil.copy(out / name, adapter / name)
    folder = run.base.folder
    assert folder is not None
    model = merged_model(folder, adapter)
    model.to(torch.bfloat16 if run.settings.compute.dtype == "bfloat16" else torch.float32)
    model.save_pretrained(out, safe_serialization=True)
    write_hub_names(out)


def critic_card(run: TrainingRun) -> CriticCard:
    """The card for `critic.json`: what scores depend on, and how the critic was trained."""
    from transformers import __version__ as transformers_version

    settings = run.settings
    origin: dict[str, Any] = {"base": shown(run.base_name), "data": provenance(run.train.root)}
    if run.train.replayed is not None:
        origin["replayed_data"] = provenance(run.train.replayed)
    if run.wrapped is not None and run.base.folder is not None:
        origin["base_digest"] = weights_digest(run.base.folder)
    card = replace(
        run.learner.card(),
        transformers=transformers_version,
        max_length=longest(run),
        training={
            **settings.options(),
            **asdict(run.progress),
            **origin,
            "train_captions": run.train.own,
            "train_images": run.train.own_images,
            "replayed_captions": len(run.train) - run.train.own,
        },
    )
    if run.measured is None or not 0 < run.measured.factual.mean() < 1:
        return card
    share = settings.validation.wrong_share or None
    calibration = calibrate(run.measured.p, run.measured.factual, share)
    return replace(
        card,
        threshold=calibration.threshold,
        calibration={**calibration.as_dict(), "figures": run.measured.shown},
    )


def longest(run: TrainingRun) -> int:
    """The critic's longest prompt in tokens: its base's, or the longest in training."""
    seen = run.progress.longest or run.settings.model.max_length
    folder = run.base.folder
    if folder is None or (run.folder.training / "base").exists():
        return seen
    card = run.learner.card()
    if not (folder / CARD).exists():
        return max(seen, card.max_length)
    return max(seen, read_card(folder, card.prompt).max_length)


def vocabulary(run: TrainingRun) -> Vocabulary:
    """The critic's word lists: its base's words and the data's; empty for a pretrained base.

    Only a model trained from scratch knows no words beyond its data. If the base has no list of
    taught words, what the critic knows is left open.
    """
    base = run.base.folder
    captions: Iterator[str] = (run.train[i].caption for i in _evenly_spaced(run.train.own, 20_000))
    if base is None or (run.folder.training / "base").exists():
        return Vocabulary(frozenset(common_words(captions)), taught_words(judged_texts(run.train)))
    before = read_vocabulary(base)
    known, taught = before.known, before.taught
    if known:
        known |= set(common_words(captions, at_least=2))
    if taught is not None:
        taught = TaughtWords(taught.listed | taught_words(judged_texts(run.train)).listed)
    return Vocabulary(known, taught)


def _evenly_spaced(total: int, limit: int) -> range:
    return range(0, total, max(1, total // limit))
