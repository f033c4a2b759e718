"""Named settings: the paper's, and ones that fit on one GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from revise_captions.critic.paligemma.packing import AttentionMode

_FOR_REAL_DATA: Mapping[str, Any] = {
    "steps": 0,
    "weight_decay": 0.0,
    "beta2": 0.999,
    "ema": 0.0,
    "tower_rate": 1.0,
    "rewrites": 0.0,
    "describe_early": 0.0,
    "describe_late": 0.0,
    "rationale_weight": 1.0,
    "follow_weight": 0.2,
    "caption_weight": 0.0,
    "error_onset_weight": 0.0,
    "tower_weight": 0.0,
    "robust_share": 0.0,
    "max_length": 4096,
    "compile": False,
    "keep": "best",
    "samples": 3,
    "validate_captions": 0,
}

_FOR_A_NEW_DOMAIN: Mapping[str, Any] = {
    "new_words": 300,
    "optimizer": "muon",
    "weight_decay": 0.0,
    "warmup": 50,
    "ema": 0.95,
    "describe_early": 0.0,
    "describe_late": 0.0,
    "tower_weight": 0.0,
    "keep": "best",
}

#: Options by preset.
#: `small`: the defaults of `TrainingSettings`, which trained the bundled critic.
#: `paper`: VNLI-Critique, appendix B, with PaliGemma's own attention; its batch of 128 prompts is
#: about 16 captions of eight sentences.
#: `lora`: one GPU.
#: `match`, then `adapt`: a small critic in a new domain, from unlabeled and then labeled captions.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "small": {},
    "paper": {
        **_FOR_REAL_DATA,
        "method": "full",
        "sharded": True,
        "epochs": 5.0,
        "batch_size": 16,
        "micro_batch": 1,
        "dropout": 0.1,
        "learning_rate": 1e-6,
        "schedule": "constant",
        "warmup": 1,
        "clip": 0.0,
        "attention_mode": AttentionMode.PREFIX,
        "checkpointing": True,
    },
    "lora": {
        **_FOR_REAL_DATA,
        "method": "lora",
        "targets": "language,tower",
        "epochs": 3.0,
        "batch_size": 16,
        "micro_batch": 2,
        "lora_dropout": 0.05,
        "learning_rate": 1e-4,
        "schedule": "cosine",
        "warmup": 20,
        "clip": 1.0,
        "checkpointing": True,
        "patience": 4,
    },
    "match": {
        **_FOR_A_NEW_DOMAIN,
        "epochs": 8.0,
        "learning_rate": 1e-3,
        "tower_rate": 0.3,
        "auxiliary_sentences": 12,
        "rewrites": 0.0,
        "caption_weight": 1.0,
    },
    "adapt": {
        **_FOR_A_NEW_DOMAIN,
        "epochs": 12.0,
        "learning_rate": 5e-4,
        "tower_rate": 1.0,
    },
}


def preset_for(base: str, *, own: bool) -> str:
    """The default preset: `small` for `new`, `bundled` and critics trained from them, else `lora`.

    `own`: whether `base` is a PaliGemma folder that captions finetune wrote.
    """
    return "small" if base in ("new", "bundled") or own else "lora"
