"""Training a LoRA adapter of SmolLM2 by the clock; the same command goes on where it was cut."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError

if TYPE_CHECKING:
    import torch
    from peft import LoraConfig

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
_OUTER = "base_model.model."


@dataclass(frozen=True, slots=True)
class LoraPlan:
    """How long, how fast and where to.

    Attributes:
        out: The folder of the run.
        minutes: Of training in sum.
        rate: The peak: a linear warmup of `warmup` steps, then a cosine to `floor` of it.
        warmup, floor: See `rate`.
        save_every: Steps between saves.
        device: What it computes on, in bfloat16.
    """

    out: Path
    minutes: float
    rate: float
    warmup: int
    floor: float
    save_every: int
    device: str = "cpu"

    def learning_rate(self, step: int, seconds: float) -> float:
        """After so many steps and seconds."""
        cosine = (1 + math.cos(math.pi * seconds / 60 / self.minutes)) / 2
        rise = min(1.0, (step + 1) / self.warmup)
        return self.rate * rise * (self.floor + (1 - self.floor) * cosine)


def lora(rank: int, layers: range | None = None) -> LoraConfig:
    """A LoRA of this rank, in all layers or in some."""
    from peft import LoraConfig

    return LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules=list(TARGETS), task_type="CAUSAL_LM",
        layers_to_transform=None if layers is None else list(layers),
    )  # fmt: skip


def adapted(folder: Path, settings: LoraConfig, start: Path | None = None) -> Any:
    """The model of a folder with a LoRA in place, untrained or that of `start`, frozen otherwise.

    Raises:
        UserError: The adapter in `start` has another shape.
    """
    import torch
    from peft import inject_adapter_in_model, set_peft_model_state_dict
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    plain: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model: Any = inject_adapter_in_model(settings, plain)
    for weight in model.parameters():
        if not weight.requires_grad:
            weight.data = weight.data.to(torch.bfloat16)  # as autocast would at every step
    if start is not None:
        old = {key.removeprefix(_OUTER): w for key, w in load_file(start / WEIGHTS).items()}
        if set_peft_model_state_dict(model, old).unexpected_keys:
            raise UserError(f"{start} holds an adapter of another shape")
    return model.train()


def train(
    model: Any,
    settings: LoraConfig,
    batches: Iterator[Any],
    loss_of: Callable[[Any], tuple[torch.Tensor, Mapping[str, float]]],
    plan: LoraPlan,
) -> None:
    """Trains until the minutes are spent; prints and logs the means of what `loss_of` tells.

    `batches` must be the same each time: those that were seen before a cut are skipped. The length
    of one is how many examples it has.
    `out/log.jsonl` has a row for each save.
    """
    import torch

    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=plan.rate, betas=(0.9, 0.98), weight_decay=0.01)
    state, step, seen, spent = plan.out / "state.pt", 0, 0, 0.0
    if state.is_file():
        old = torch.load(state, weights_only=True)
        optimizer.load_state_dict(old["optimizer"])
        step, seen, spent = old["step"], old["seen"], old["spent"]
        for weight, value in zip(weights, old["weights"], strict=True):
            weight.data.copy_(value)
    told: list[Mapping[str, Any]] = []
    for batch in itertools.islice(batches, step, None):
        if spent >= 60 * plan.minutes:
            return
        began = time.monotonic()
        for group in optimizer.param_groups:
            group["lr"] = plan.learning_rate(step, spent)
        with torch.autocast(plan.device, torch.bfloat16):
            loss, more = loss_of(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, seen, spent = step + 1, seen + len(batch), spent + time.monotonic() - began
        told.append({"loss": loss.detach(), **more})  # read at a save: a GPU would be waited for
        if step % plan.save_every == 0 or spent >= 60 * plan.minutes:
            _save(plan.out, model, settings)
            counts = {"step": step, "seen": seen, "spent": spent}
            saved = {"optimizer": optimizer.state_dict(), "weights": weights, **counts}
            torch.save(saved, state.with_suffix(".tmp"))
            state.with_suffix(".tmp").replace(state)
            means = {key: round(sum(float(t[key]) for t in told) / len(told), 4) for key in told[0]}
            counts = {"step": step, "examples": seen, "minutes": round(spent / 60, 2)}
            row = json.dumps({**counts, **means})
            with (plan.out / "log.jsonl").open("a", encoding="utf-8") as log:
                log.write(row + "\n")
            echo(row)
            told.clear()


def _save(out: Path, model: Any, settings: LoraConfig) -> None:
    """The adapter in PEFT's format, in bfloat16."""
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    found = get_peft_model_state_dict(model)
    named = {_OUTER + key: weight.to(torch.bfloat16).contiguous() for key, weight in found.items()}
    save_file(named, out / WEIGHTS)
    settings.save_pretrained(out)
