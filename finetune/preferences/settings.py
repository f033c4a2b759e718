"""Settings of preference training; each field is an option of `captions train-preferences`.

Defaults are FeedQuill's (2503.07906, A.3.1 and Table 12) if TRL has a counterpart. In Table 12, γ,
λ, the critic's learning rate and the value clipping belong to PPO's value model, which GRPO lacks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import click

from revise_captions.command_line.options import option
from revise_captions.finetune.config import LoraSettings


@dataclass(frozen=True, slots=True)
class LengthSettings:
    """Length of training."""

    epochs: float = option(1.0, "Passes through the data.")
    steps: int = option(0, "Stop after this many optimizer steps (0: by --epochs).")
    seed: int = option(0, "Seed of data order, new weights and sampling.")


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """Optimization."""

    learning_rate: float = option(
        0.0, "Peak learning rate (0: 1e-6, and of a reward model 2e-5, as in FeedQuill)."
    )
    schedule: str = option(
        "linear", "Learning rate after the warmup.", choices=("linear", "constant", "cosine")
    )
    warmup: int = option(0, "Steps of linear warmup.")
    weight_decay: float = option(0.0, "Decoupled weight decay.")
    clip: float = option(1.0, "Clip the gradient to this norm.")


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """Batches, devices and memory."""

    batch_size: int = option(256, "Pairs, or sampled captions, per optimizer step in all.")
    micro_batch: int = option(8, "Of them per forward pass and process.")
    dtype: str = option(
        "auto",
        "Compute dtype. auto: bfloat16, but float32 on processors without instructions for it, "
        "where it is many times faster.",
        choices=("auto", "bfloat16", "float32"),
    )
    device: str = option("auto", "Device to train on: auto, cpu, cuda.")
    checkpointing: bool = option(False, "Recompute activations in the backward pass.")
    targets: str = option(
        "language", "Parts to train, comma-separated: language, tower, projector."
    )


@dataclass(frozen=True, slots=True)
class SavingSettings:
    """Saving and logging."""

    save_steps: int = option(100, "Steps between checkpoints.")
    log_steps: int = option(10, "Steps between log lines.")
    log_with: str | None = option(
        None,
        "Also log curves to a tracker, by accelerate; tensorboard's are in OUT/training.",
        choices=("wandb", "mlflow", "tensorboard"),
    )


@dataclass(frozen=True, slots=True)
class PreferenceSettings:
    """Settings common to all three methods."""

    length: LengthSettings = field(default_factory=LengthSettings)
    update: UpdateSettings = field(default_factory=UpdateSettings)
    batch: BatchSettings = field(default_factory=BatchSettings)
    lora: LoraSettings = field(default_factory=LoraSettings)
    saving: SavingSettings = field(default_factory=SavingSettings)


@dataclass(frozen=True, slots=True)
class HeldOutSettings:
    """Held-out pairs."""

    validation_share: float = option(
        0.1,
        "Share of the images whose pairs are held out, to measure the reward model on (0: none).",
        type=click.FloatRange(0, 1, max_open=True),
    )


@dataclass(frozen=True, slots=True)
class RewardModelSettings(PreferenceSettings):
    """Settings of `captions train-preferences reward`."""

    held_out: HeldOutSettings = field(default_factory=HeldOutSettings)


@dataclass(frozen=True, slots=True)
class DpoLossSettings:
    """DPO."""

    beta: float = option(0.1, "Strength of the pull toward the reference model.")
    loss: str = option(
        "sigmoid", "TRL's loss.", choices=("sigmoid", "hinge", "ipo", "sigmoid_norm")
    )


@dataclass(frozen=True, slots=True)
class DpoSettings(PreferenceSettings):
    """Settings of `captions train-preferences dpo`."""

    dpo: DpoLossSettings = field(default_factory=DpoLossSettings)


@dataclass(frozen=True, slots=True)
class SampledSettings:
    """Sampling."""

    generations: int = option(8, "Captions sampled per image.")
    max_tokens: int = option(512, "Where a sampled caption is cut.")
    temperature: float = option(1.0, "Temperature of sampling.")
    top_p: float = option(0.7, "Nucleus of sampling: the probability that it holds.")
    sampler: str = option(
        "auto",
        "What samples: transformers, vllm on the GPUs that train, or auto: vllm where it is "
        "installed, there is a GPU, and it computes what is trained.",
        choices=("auto", "transformers", "vllm"),
    )
    vllm_memory: float = option(
        0.3,
        "Share of a GPU's memory that vllm takes.",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
    )


@dataclass(frozen=True, slots=True)
class GrpoLossSettings:
    """GRPO."""

    kl: float = option(0.05, "Weight of the KL penalty toward the reference model (0: none).")
    clip_low: float = option(0.2, "Clip the probability ratio below at 1 minus this.")
    clip_high: float = option(
        0.2, "Clip the probability ratio above at 1 plus this. DAPO takes 0.28."
    )
    loss: str = option("dapo", "TRL's loss.", choices=("dapo", "grpo", "dr_grpo", "bnpo"))
    aggregate: str = option(
        "normalize_then_sum",
        "Bring each reward to unit variance among an image's captions before they are weighted and "
        "summed, or sum them as they are. Reward models are summed as they are in the paper.",
        choices=("normalize_then_sum", "sum_then_normalize"),
    )
    iterations: int = option(1, "Updates per batch of sampled captions.")
    mask_cut: bool = option(True, "Leave captions that were cut at --max-tokens out of the loss.")


@dataclass(frozen=True, slots=True)
class GrpoSettings(PreferenceSettings):
    """Settings of `captions train-preferences grpo`."""

    sampled: SampledSettings = field(default_factory=SampledSettings)
    grpo: GrpoLossSettings = field(default_factory=GrpoLossSettings)
