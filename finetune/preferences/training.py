"""Training through TRL: each method configures one of its trainers."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.engines.transformers import paligemma_chat
from revise_captions.errors import UserError
from revise_captions.finetune.preferences.data import PreferenceExamples
from revise_captions.finetune.preferences.held_out import (
    EVENT,
    RESULT,
    accuracy,
    without_held_out,
)
from revise_captions.finetune.preferences.policy import (
    Policy,
    device_of,
    dtype_of,
    load_network,
    write_policy,
)
from revise_captions.finetune.preferences.reward_model import (
    CaptionRewardModel,
    ConversationEncoder,
    ModelReward,
)
from revise_captions.finetune.preferences.settings import (
    DpoSettings,
    GrpoSettings,
    PreferenceSettings,
    RewardModelSettings,
)
from revise_captions.finetune.trainer.state import saving
from revise_captions.io.writing import write_json

#: The paper's learning rates for 7B: for the policy (Table 12) and for a reward model (A.3.1).
POLICY_RATE, REWARD_MODEL_RATE = 1e-6, 2e-5
Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class WeightedReward:
    """A reward of GRPO.

    Attributes:
        name: Used in logs.
        function: As TRL calls it: maps prompts, completions, images and columns to a reward per
            completion, None if there is none.
        weight: In the sum of rewards.
    """

    name: str
    function: Callable[..., Sequence[float | None]]
    weight: float


def train_reward_model(
    policy: Policy, pairs: PreferenceExamples, settings: RewardModelSettings, run: PreferenceRun
) -> None:
    """Trains a reward model on pairs (pairwise loss, FeedQuill section 4.2) and writes it.

    Its accuracy on the held-out pairs goes to the log and into the folder.
    """
    from trl import RewardConfig, RewardTrainer

    trained, held = without_held_out(pairs, settings.held_out.validation_share)
    wrapped = None
    if policy.adapter is not None:
        from peft import get_peft_model

        wrapped = get_peft_model(policy.model, policy.adapter)
    model, encoder = CaptionRewardModel(policy.model.model), ConversationEncoder(policy.processor)
    trainer = RewardTrainer(
        model=model,
        args=RewardConfig(
            **_arguments(settings, run, REWARD_MODEL_RATE),
            max_length=None,
            remove_unused_columns=False,
        ),
        data_collator=encoder,
        # the trainer does not process a data set with these columns, and the collator does the work
        train_dataset=_with_columns(trained.dataset(), "chosen_ids", "rejected_ids"),
        processing_class=policy.processor.tokenizer,
        callbacks=[run.callback()],
    )
    _train(trainer, run)
    if wrapped is not None:
        model.backbone = wrapped.merge_and_unload().model
    if trainer.is_world_process_zero():
        with saving(run.out):
            model.write(run.out, policy.processor)
    if held.rows:
        reward = ModelReward(model, encoder)
        found = accuracy(reward, held, trained, batch=settings.batch.micro_batch).as_json()
        if trainer.is_world_process_zero():
            write_json(run.out / RESULT, found)
        run.report({"event": EVENT, **found})


def train_dpo(
    policy: Policy, pairs: PreferenceExamples, settings: DpoSettings, run: PreferenceRun
) -> None:
    """Trains a policy on pairs by DPO and writes it."""
    from trl import DPOConfig, DPOTrainer

    reference = None
    if policy.adapter is None:
        dtype = policy.model.dtype
        reference = load_network(policy.folder, policy.name, policy.processor, dtype=dtype)
    trainer = DPOTrainer(
        model=policy.model,
        ref_model=reference,
        args=DPOConfig(
            **_arguments(settings, run, POLICY_RATE),
            beta=settings.dpo.beta,
            loss_type=[settings.dpo.loss],
            max_length=None,
        ),
        train_dataset=pairs.dataset(),
        processing_class=policy.processor,
        peft_config=policy.adapter,
        callbacks=[run.callback()],
    )
    _train(trainer, run)
    _write(trainer, policy, settings, run)


def train_grpo(
    policy: Policy,
    images: PreferenceExamples,
    rewards: Sequence[WeightedReward],
    settings: GrpoSettings,
    run: PreferenceRun,
) -> None:
    """Trains a policy on images by GRPO, sampling and rewarding captions, and writes it."""
    from trl import GRPOConfig, GRPOTrainer

    _expect_whole_groups(settings)
    sampled, loss = settings.sampled, settings.grpo
    sampler = sampler_arguments(policy, settings)
    run.report({"event": "sampler", "sampler": "vllm" if sampler else "transformers"})
    trainer = GRPOTrainer(
        model=policy.model,
        reward_funcs=[_named(reward) for reward in rewards],
        args=GRPOConfig(
            **_arguments(settings, run, POLICY_RATE),
            num_generations=sampled.generations,
            max_completion_length=sampled.max_tokens,
            temperature=sampled.temperature,
            top_p=sampled.top_p,
            beta=loss.kl,
            epsilon=loss.clip_low,
            epsilon_high=loss.clip_high,
            loss_type=loss.loss,
            num_iterations=loss.iterations,
            mask_truncated_completions=loss.mask_cut,
            reward_weights=[reward.weight for reward in rewards],
            multi_objective_aggregation=loss.aggregate,
            **sampler,
        ),
        train_dataset=images.dataset(),
        processing_class=policy.processor,
        peft_config=policy.adapter,
        callbacks=[run.callback()],
    )
    if policy.is_paligemma and trainer.ref_model is not None:
        paligemma_chat.find_prefix(trainer.ref_model, policy.processor.tokenizer)
    _train(trainer, run)
    _write(trainer, policy, settings, run)


@dataclass(frozen=True, slots=True)
class PreferenceRun:
    """Where a run writes, and who is told about it.

    Attributes:
        out: The trained model; checkpoints and curves are in `out/training`.
        resume: Whether to continue from the last checkpoint.
        report: Receives each line of the log.
    """

    out: Path
    resume: bool
    report: Report

    def callback(self) -> Any:
        """Passes log lines on to `report`, on the first process."""
        from transformers import TrainerCallback

        report = self.report

        class ReportingCallback(TrainerCallback):
            def on_log(
                self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any
            ) -> None:
                if state.is_world_process_zero and logs:
                    report({"step": state.global_step, **logs})

        return ReportingCallback()


def _arguments(settings: PreferenceSettings, run: PreferenceRun, rate: float) -> dict[str, Any]:
    """The arguments common to the trainers' configurations."""
    length, update, batch, saving = (
        settings.length,
        settings.update,
        settings.batch,
        settings.saving,
    )
    folder = run.out / "training"
    if saving.log_with == "tensorboard":
        os.environ["TENSORBOARD_LOGGING_DIR"] = str(folder / "tensorboard")
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    each = max(1, batch.batch_size // processes)
    micro = min(batch.micro_batch, each)
    if each % micro:
        raise UserError(
            f"--batch-size {batch.batch_size} on {processes} processes is not a multiple of "
            f"--micro-batch {batch.micro_batch}"
        )
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": each // micro,
        "learning_rate": update.learning_rate or rate,
        "lr_scheduler_type": update.schedule,
        "warmup_steps": update.warmup,
        "weight_decay": update.weight_decay,
        "adam_epsilon": 1e-8,
        "max_grad_norm": update.clip,
        "num_train_epochs": length.epochs,
        "max_steps": length.steps or -1,
        "seed": length.seed,
        "bf16": dtype_of(settings) == "bfloat16",
        "use_cpu": device_of(settings) == "cpu",
        "gradient_checkpointing": batch.checkpointing,
        "logging_steps": saving.log_steps,
        "save_steps": saving.save_steps,
        "save_total_limit": 2,
        "report_to": [saving.log_with] if saving.log_with else [],
        "disable_tqdm": True,
    }


def _train(trainer: Any, run: PreferenceRun) -> None:
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    folder, save = run.out / "training", trainer._save_checkpoint

    def save_checkpoint(*given: Any, **named: Any) -> None:
        with saving(folder):
            save(*given, **named)

    trainer._save_checkpoint = save_checkpoint
    last = last_whole_checkpoint(folder) if run.resume else None
    trainer.train(resume_from_checkpoint=str(last) if last is not None else None)


def last_whole_checkpoint(folder: Path) -> Path | None:
    """The last checkpoint written completely; the trainer's state is its last file."""
    found = {}
    for state in folder.glob("checkpoint-*/trainer_state.json"):
        with suppress(OSError, ValueError):
            json.loads(state.read_text(encoding="utf-8"))
            found[int(state.parent.name.rpartition("-")[2])] = state.parent
    return found[max(found)] if found else None


def _write(trainer: Any, policy: Policy, settings: PreferenceSettings, run: PreferenceRun) -> None:
    if trainer.is_world_process_zero():
        trained = trainer.accelerator.unwrap_model(trainer.model)
        with saving(run.out):
            write_policy(policy, trained, run.out, merge=settings.lora.merge)


def _with_columns(data: Any, *names: str) -> Any:
    """The data set with empty columns of these names, keeping its transform."""
    transform = data.format["format_kwargs"]["transform"]
    plain = data.with_format(None)
    for name in names:
        plain = plain.add_column(name, [[0]] * len(plain))
    return plain.with_transform(transform)


def _named(reward: WeightedReward) -> Callable[..., Sequence[float | None]]:
    """The function, renamed as TRL should log it."""

    def function(**given: Any) -> Sequence[float | None]:
        return reward.function(**given)

    function.__name__ = reward.name
    return function


def sampler_arguments(policy: Policy, settings: GrpoSettings) -> dict[str, Any]:
    """Arguments that make TRL sample with vLLM on the training GPUs; none if transformers samples.

    Args:
        policy: vLLM computes a PaliGemma with another attention, and cannot load QLoRA's weights.
        settings: Which sampler is requested.

    Raises:
        UserError: vLLM is requested but cannot sample.
    """
    asked = settings.sampled.sampler
    if asked == "transformers":
        return {}
    reason = hint = ""
    if importlib.util.find_spec("vllm") is None:
        reason, hint = "it is not installed", "pip install 'revise-captions[vllm]'"
    elif device_of(settings) == "cpu":
        reason, hint = "there is no GPU", "--sampler transformers"
    elif policy.is_paligemma:
        reason = f"it computes {policy.name} under another attention than is trained"
        hint = "--sampler transformers"
    elif settings.lora.method == "qlora":
        reason, hint = (
            "it cannot take weights in 4 bits",
            "--method lora, or --sampler transformers",
        )
    if not reason:
        return {
            "use_vllm": True,
            "vllm_mode": "colocate",
            "vllm_gpu_memory_utilization": settings.sampled.vllm_memory,
            # TRL weights a caption by how much likelier it is under the policy than under vLLM.
            # vLLM's probabilities are renormalized within the nucleus, but the policy's are not,
            # so with a nucleus all weights of long captions would be near 0
            "vllm_importance_sampling_correction": settings.sampled.top_p == 1,
        }
    if asked == "vllm":
        raise UserError(f"--sampler vllm: {reason}", hint=hint)
    return {}


def _expect_whole_groups(settings: GrpoSettings) -> None:
    """Raises UserError if a batch does not hold all captions of its images."""
    each, batch = settings.sampled.generations, settings.batch.batch_size
    if each < 2:
        raise UserError(
            "--generations must be 2 or more: the captions of an image are compared with each other"
        )
    if batch % each:
        raise UserError(
            f"--batch-size {batch} is not a multiple of --generations {each}",
            hint="a batch holds all captions of its images",
        )
