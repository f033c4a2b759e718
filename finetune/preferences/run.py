"""Runs of `captions train-preferences`: checks, reads and loads everything before TRL trains."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.command_line.extras import expect_libraries
from revise_captions.errors import UserError
from revise_captions.finetune.config import expect_adapters
from revise_captions.finetune.preferences.settings import (
    DpoSettings,
    GrpoSettings,
    PreferenceSettings,
    RewardModelSettings,
)
from revise_captions.finetune.trainer.trackers import expect_tracker
from revise_captions.io.writing import write_json_lines
from revise_captions.runs.training_folder import check_run_folder, mark_run_folder

if TYPE_CHECKING:
    from revise_captions.finetune.preferences.data import PreferenceExamples
    from revise_captions.finetune.preferences.policy import Policy
    from revise_captions.finetune.preferences.training import (
        PreferenceRun,
        Report,
        WeightedReward,
    )

COMMAND = "captions train-preferences"
QUARANTINE = "training/quarantine.jsonl"


@dataclass(frozen=True, slots=True)
class PreferenceJob:
    """The command line, without training settings; explained by `train-preferences --help`."""

    data: Path
    policy: str
    out: Path
    report: Report
    prompts: tuple[str, ...] = ()
    by: str = ""
    rewards: tuple[str, ...] = ()
    units: str = "graph"
    verifier: tuple[str, ...] = ("bundled",)
    critic_profile: Path | None = None
    reference_field: str | None = None
    judge: str = "offline"
    image_root: Path | None = None
    allow_urls: bool = False
    limit: int | None = None
    trust_remote_code: bool = False
    resume: bool = False
    force: bool = False


def run_reward_model(job: PreferenceJob, settings: RewardModelSettings) -> None:
    """Trains a reward model on pairs. Raises `UserError`."""
    policy, pairs, folder = prepared(job, settings, pairs=True)
    from revise_captions.finetune.preferences.training import train_reward_model

    train_reward_model(policy, pairs, settings, folder)


def run_dpo(job: PreferenceJob, settings: DpoSettings) -> None:
    """Trains a captioner on pairs. Raises `UserError`."""
    policy, pairs, folder = prepared(job, settings, pairs=True)
    from revise_captions.finetune.preferences.training import train_dpo

    train_dpo(policy, pairs, settings, folder)


def run_grpo(job: PreferenceJob, settings: GrpoSettings) -> None:
    """Trains a captioner on images by rewards. Raises `UserError`."""
    from revise_captions.finetune.preferences.rewards import parsed

    named = parsed(job.rewards)
    if "posh" in dict(named) and job.reference_field is None:
        raise UserError(
            "--reward posh compares with a reference caption",
            hint="name its field with --reference-field",
        )
    require_libraries()
    rewards = load_rewards(named, job, settings)
    policy, images, folder = prepared(job, settings, pairs=False)
    from revise_captions.finetune.preferences.training import train_grpo

    train_grpo(policy, images, rewards, settings, folder)


def prepared(
    job: PreferenceJob, settings: PreferenceSettings, *, pairs: bool
) -> tuple[Policy, PreferenceExamples, PreferenceRun]:
    """The policy, the data, and where to write. Cheap checks come first."""
    require_libraries()
    expect_adapters(settings.lora.method)
    _check_numbers(settings)
    if settings.saving.log_with is not None:
        expect_tracker(settings.saving.log_with)
    first = os.environ.get("RANK", "0") == "0"  # the others may find what it has already written
    if first:
        check_run_folder(job.out, COMMAND, go_on=job.resume or job.force)
    from revise_captions.engines.transformers.chat_template import added_tokens
    from revise_captions.finetune.preferences.data import ReadingOptions, read_images, read_pairs
    from revise_captions.finetune.preferences.policy import load_policy
    from revise_captions.finetune.preferences.training import PreferenceRun

    policy = load_policy(job.policy, settings, trusted=job.trust_remote_code)
    reading = ReadingOptions(
        job.prompts,
        job.by,
        job.reference_field,
        job.image_root,
        job.allow_urls,
        job.limit,
        added_tokens(list(policy.processor.tokenizer.get_added_vocab())),
    )
    examples = (read_pairs if pairs else read_images)(job.data, reading)
    if first:
        mark_run_folder(job.out, COMMAND)
    if examples.bad:
        write_json_lines(job.out / QUARANTINE, (row.as_json() for row in examples.bad))
    kind = "pairs" if pairs else "images"
    found = {kind: len(examples.rows), "quarantined": len(examples.bad)}
    job.report({"event": "data", **found})
    return policy, examples, PreferenceRun(job.out, job.resume, job.report)


def _check_numbers(settings: PreferenceSettings) -> None:
    """Raises `UserError` for numbers that make training impossible."""
    length, batch, saving = settings.length, settings.batch, settings.saving
    least = {
        "--batch-size": (batch.batch_size, 1),
        "--micro-batch": (batch.micro_batch, 1),
        "--save-steps": (saving.save_steps, 1),
        "--log-steps": (saving.log_steps, 1),
        "--lora-rank": (settings.lora.rank, 1),
        "--steps": (length.steps, 0),
        "--warmup": (settings.update.warmup, 0),
        "--learning-rate": (settings.update.learning_rate, 0),
    }
    for name, (value, low) in least.items():
        if value < low:
            raise UserError(f"{name} {value}: expected {low} or more")
    if length.epochs <= 0 and not length.steps:
        raise UserError(f"--epochs {length.epochs:g} trains nothing", hint="or give --steps")


def require_libraries() -> None:
    """Raises `UserError` if the extra `rl` is not installed; silences its libraries."""
    expect_libraries("train-preferences", "rl", "trl", "datasets", "peft")
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    # TRL 1.16 uses names that transformers 5.23 is about to rename
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")


def load_rewards(
    named: Sequence[tuple[str, float]], job: PreferenceJob, settings: GrpoSettings
) -> list[WeightedReward]:
    """The rewards by name, in order.

    Args:
        named: Names and weights.
        job: Names the verifiers and POSH's judge.
        settings: Where reward models run.

    Raises:
        UserError: One of them is not available.
    """
    from revise_captions.finetune.preferences.policy import device_of
    from revise_captions.finetune.preferences.reward_model import load_reward_model
    from revise_captions.finetune.preferences.rewards import PoshReward, UnitRewards
    from revise_captions.finetune.preferences.training import WeightedReward

    units: UnitRewards | None = None
    found = []
    for name, weight in named:
        function: Any
        if name in ("c_p", "c_r"):
            if units is None:
                from revise_captions.dcscore.load import load_unit_scoring
                from revise_captions.engines.model_spec import Placement

                device, profile = device_of(settings), job.critic_profile
                scoring = load_unit_scoring(
                    job.units, job.verifier, Placement(device=device), profile=profile
                )
                units = UnitRewards(scoring.decomposer, scoring.verifier)
            function = units.c_p if name == "c_p" else units.c_r
        elif name == "posh":
            from revise_captions.posh.load import load_judge

            function = PoshReward(load_judge(job.judge))
        else:
            function = load_reward_model(name, device=device_of(settings), dtype="float32")
        found.append(WeightedReward(Path(name).name, function, weight))
    return found
