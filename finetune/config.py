"""Everything that determines how a critic is trained, as one frozen value of options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from revise_captions.command_line.extras import expect_libraries
from revise_captions.command_line.options import grouped, option, option_name, with_values
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.errors import UserError


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Length of training (at least one limit is required; most presets set one)."""

    minutes: float = option(
        0.0, "Minutes for all of it, preparation and export included (0: no limit)."
    )
    steps: int = option(0, "Stop after this many optimizer steps (0: no limit).")
    epochs: float = option(0.0, "Stop after this many passes through the data (0: no limit).")
    patience: int = option(0, "Stop after this many validations without improvement (0: never).")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Model."""

    attention_mode: AttentionMode = option(
        AttentionMode.IMAGE_PREFIX,
        "Which tokens attend to which; stored in the checkpoint.",
        choices=tuple(map(str, AttentionMode)),
    )
    change_attention_mode: bool = option(
        False,
        "Start from a checkpoint of another attention mode and retrain it.",
        negatable=True,
    )
    targets: str = option(
        "language,tower,projector", "Parts to train, comma-separated: language, tower, projector."
    )
    dropout: float = option(0.0, "Dropout of attention weights.")
    max_length: int = option(1024, "Longest packed row in tokens, image included.")
    new_words: int = option(
        0, "Add tokens for at most this many words that a small tokenizer splits into pieces."
    )
    vocab_size: int = option(
        2048, "Vocabulary size of a new tokenizer (--base new).", research=True
    )


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """LoRA."""

    method: str = option(
        "full",
        "Train all weights, LoRA adapters, or adapters on a 4-bit base (bitsandbytes).",
        choices=("full", "lora", "qlora"),
    )
    rank: int = option(16, "Rank of the adapters.", name="lora_rank")
    alpha: float = option(32.0, "Scale of the adapters: alpha / rank.", name="lora_alpha")
    dropout: float = option(0.0, "Dropout before the adapters.", name="lora_dropout")
    merge: bool = option(
        False,
        "Write merged weights, and keep the adapter in OUT/adapter.",
        negatable=True,
    )


@dataclass(frozen=True, slots=True)
class DataSettings:
    """Data."""

    batch_size: int = option(16, "Captions per optimizer step, over all processes.")
    replay: str = option(
        "", "Folder or JSONL file of earlier training data to mix in, against forgetting."
    )
    replay_share: float = option(0.5, "Share of the training captions drawn from --replay.")
    rationales: int = option(2, "Rationales per caption and step (maximum).")
    rewrites: float = option(
        0.7, "Probability of also training on a wrong sentence's true rewrite."
    )
    auxiliary_sentences: int = option(8, "Auxiliary sentences per caption and step (maximum).")
    robust_share: float = option(0.35, "Share of images to rescale and JPEG-compress.")
    recolor_share: float = option(
        0.0,
        "Share of images to recolor, keeping sentences that name no color.",
        research=True,
    )
    hue_share: float = option(
        0.0, "Share of images to shift slightly in hue, keeping all sentences.", research=True
    )
    describe_early: float = option(
        0.35, "Share of captions with a description target, first half of training.", research=True
    )
    describe_late: float = option(0.15, "The same, second half.", research=True)


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Losses (weights of each task's mean per token; the verdict's is 1)."""

    rationale: float = option(0.5, "Weight of the rationale loss.", name="rationale_weight")
    balance: float = option(0.0, "Class weights: from 0, by frequency, to 1, equal.")
    follow: float = option(
        0.2, "Weight of the tokens after Yes or No.", name="follow_weight", research=True
    )
    describe: float = option(
        0.5, "Weight of the description loss.", name="describe_weight", research=True
    )
    caption: float = option(
        0.3, "Weight of the next-word loss on true sentences.", name="caption_weight", research=True
    )
    error_onset: float = option(
        1.0,
        "Weight of predicting, at each word, whether the sentence is wrong so far.",
        name="error_onset_weight",
        research=True,
    )
    tower: float = option(
        2.0, "Weight of the dense-label loss in the main phase.", name="tower_weight", research=True
    )


@dataclass(frozen=True, slots=True)
class TowerSettings:
    """Image tower."""

    minutes: float = option(
        0.0,
        "Minutes of training the image tower alone on dense labels first.",
        name="tower_minutes",
        research=True,
    )
    source: str = option(
        "",
        "Start a new model's image tower from this checkpoint folder.",
        name="tower_from",
        research=True,
    )
    align: bool = option(
        True, "Initialize a new model's projector from its dense labels.", research=True
    )


@dataclass(frozen=True, slots=True)
class OptimizerSettings:
    """Optimizer."""

    name: str = option(
        "adamw",
        "AdamW, or Muon for the layers' matrices and AdamW for the rest.",
        name="optimizer",
        choices=("adamw", "muon"),
    )
    learning_rate: float = option(1.5e-3, "Peak learning rate.")
    tower_rate: float = option(
        0.1, "Learning rate of the image tower in the main phase, as a multiple of --learning-rate."
    )
    warmup: int = option(200, "Steps of linear warmup.")
    schedule: str = option(
        "cosine", "Learning rate after the warmup.", choices=("cosine", "constant")
    )
    weight_decay: float = option(0.02, "Decoupled weight decay, on matrices only.")
    beta2: float = option(0.98, "AdamW's second-moment decay.")
    clip: float = option(1.0, "Clip the gradient to this norm (0: do not clip).")
    ema: float = option(
        0.998, "Decay of the averaged weights, which are validated and written (0: none)."
    )


@dataclass(frozen=True, slots=True)
class ComputeSettings:
    """Devices, memory and processes."""

    device: str = option("auto", "Device to train on: auto, cpu, cuda, …")
    dtype: str = option(
        "auto",
        "Compute dtype; the optimizer keeps float32 copies of the weights. auto: bfloat16, but "
        "float32 on processors without instructions for it, where it is many times faster.",
        choices=("auto", "bfloat16", "float32"),
    )
    micro_batch: int = option(
        0, "Captions per forward pass (0: the process's whole share of the batch)."
    )
    checkpointing: bool = option(
        False,
        "Recompute activations in the backward pass: less memory, slower.",
        negatable=True,
    )
    workers: int = option(
        0,
        "Processes that encode batches while the model computes, for small critics on a GPU "
        "(0: none).",
    )
    compile: bool = option(True, "Compile the layers (needs a C++ compiler).")
    sharded: bool = option(
        False,
        "Shard the optimizer's state among processes: less memory (AdamW only).",
        negatable=True,
    )
    shard_weights: bool = option(
        False,
        "Shard weights and gradients too (FSDP): still less memory, slower.",
        negatable=True,
    )


@dataclass(frozen=True, slots=True)
class ValidationSettings:
    """Validation and saving."""

    time_share: float = option(
        0.1,
        "Share of the time that validations may take (0: only the last).",
        name="validate_time",
    )
    steps: int = option(
        0, "Steps between validations, instead of a share of the time.", name="validate_steps"
    )
    captions: int = option(
        400,
        "Captions per interim validation (0: all); the last uses all, if --minutes allows.",
        name="validate_captions",
    )
    samples: int = option(0, "Log the rationales of this many sentences at each validation.")
    keep: str = option(
        "last", "Weights to write: the last, or the best by validation.", choices=("last", "best")
    )
    wrong_share: float = option(
        0.0, "Share of wrong sentences to calibrate the threshold for (0: as in validation)."
    )
    save_minutes: float = option(5.0, "Minutes between saves.")
    save_steps: int = option(0, "Steps between saves, instead of minutes (0: minutes).")
    log_with: str | None = option(
        None,
        "Also log curves to a tracker, by accelerate; tensorboard's are in OUT/training.",
        choices=("wandb", "mlflow", "tensorboard"),
    )


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings by group; an option's name on the command line is unique over all groups.

    The first of the three limits to be reached ends the main phase. The defaults suit a small
    model trained from scratch; `presets.PRESETS` has settings for large ones.
    """

    limits: LimitSettings = field(default_factory=LimitSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    lora: LoraSettings = field(default_factory=LoraSettings)
    data: DataSettings = field(default_factory=DataSettings)
    losses: LossSettings = field(default_factory=LossSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    compute: ComputeSettings = field(default_factory=ComputeSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    tower: TowerSettings = field(default_factory=TowerSettings)
    seed: int = option(0, "Seed of initial weights, data order and every random choice.")

    def options(self) -> dict[str, Any]:
        """Every value by its option's name, as stored in cards and logs."""
        return {
            option_name(item): getattr(getattr(self, group) if group else self, item.name)
            for group, item in grouped(self)
        }

    def with_options(self, **values: Any) -> TrainingSettings:
        """These settings with other values, by option name. Raises KeyError for an unknown one."""
        known = {option_name(item) for _, item in grouped(self)}
        if unknown := sorted(values.keys() - known):
            raise KeyError(unknown[0])
        changed: TrainingSettings = with_values(self, values)
        return changed


def require_limit(settings: TrainingSettings) -> None:
    """Raises UserError for settings under which training would never stop."""
    limits = settings.limits
    if not limits.minutes and not limits.steps and not limits.epochs:
        raise UserError(
            "nothing limits the length of training", hint="add --minutes, --steps or --epochs"
        )


def expect_adapters(method: str) -> None:
    """Raises `UserError` if the packages for a method of training are not installed."""
    if method in ("lora", "qlora"):
        expect_libraries(f"--method {method}", "train", "peft")
    if method == "qlora":
        expect_libraries("--method qlora", "qlora", "bitsandbytes", instead="take --method lora")
