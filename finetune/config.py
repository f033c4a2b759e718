"""Everything that decides how a critic is trained, in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from revise_captions.critic.paligemma.packing import AttentionMode


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """`minutes`, `steps` and `epochs` limit the main phase, whichever comes first; 0: no limit.

    `describe_early` and `describe_late`: share of captions that ask for the image's description in
    the first half of training and after. `*_weight` scale each task's mean loss per token.
    `replay`: data whose captions are mixed in, `replay_share` of all, not to be forgotten.
    `targets`: what learns (`adapters.PARTS`), by `method` with all its weights or through LoRA.
    The defaults are for a small model from nothing; `presets.PRESETS` has those for large ones.
    """

    attention_mode: AttentionMode = AttentionMode.IMAGE_PREFIX
    change_attention_mode: bool = False
    minutes: float = 0.0
    steps: int = 0
    tower_minutes: float = 0.0
    tower_from: str = ""
    batch_size: int = 16
    learning_rate: float = 1.5e-3
    tower_rate: float = 0.1
    warmup: int = 200
    schedule: str = "cosine"
    weight_decay: float = 0.02
    optimizer: str = "adamw"
    sharded: bool = False
    shard_weights: bool = False
    beta2: float = 0.98
    clip: float = 1.0
    ema: float = 0.998
    dtype: str = "bfloat16"
    seed: int = 0
    replay: str = ""
    replay_share: float = 0.5
    rationales: int = 2
    rewrites: float = 0.7
    asides: int = 8
    align: bool = True
    describe_early: float = 0.35
    describe_late: float = 0.15
    rationale_weight: float = 0.5
    describe_weight: float = 0.5
    follow_weight: float = 0.2
    caption_weight: float = 0.3
    trace_weight: float = 1.0
    tower_weight: float = 2.0
    robust_share: float = 0.35
    recolour_share: float = 0.0
    max_length: int = 1024
    vocab_size: int = 2048
    new_words: int = 0
    save_minutes: float = 5.0
    validate_minutes: float = 4.0
    validate_captions: int = 400
    compile: bool = True
    epochs: float = 0.0
    micro_batch: int = 0
    method: str = "full"
    targets: str = "language,tower,projector"
    lora_rank: int = 16
    lora_alpha: float = 32.0
    lora_dropout: float = 0.0
    dropout: float = 0.0
    checkpointing: bool = False
    balance: float = 0.0
    device: str = "auto"
    keep: str = "last"
    patience: int = 0
    validate_steps: int = 0
    save_steps: int = 0
    wrong_share: float = 0.0
    samples: int = 0
    tensorboard: bool = False
    merge: bool = False
