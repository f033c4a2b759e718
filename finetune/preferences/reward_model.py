"""A reward model: a captioner's network that outputs one number per caption, not a next token.

TRL's `RewardTrainer` only supports texts. It accepts any module that returns `logits` of shape
(rows, 1), and any collator, so the two here are all that vision–language models need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from revise_captions.engines.model_files import find_model
from revise_captions.engines.transformers import paligemma_chat
from revise_captions.errors import UserError
from revise_captions.finetune.preferences.policy import REWARD_HEAD, load_processor
from revise_captions.pretrained import load_weights

if TYPE_CHECKING:
    from PIL.Image import Image


class CaptionRewardModel(torch.nn.Module):
    """Scores captions at their last token.

    Args:
        backbone: A vision–language model without its language-model head.
    """

    def __init__(self, backbone: Any) -> None:
        super().__init__()
        self.backbone, self.config = backbone, backbone.config
        self.config.num_labels = 1
        width = int(backbone.config.get_text_config().hidden_size)
        self.score = torch.nn.Linear(width, 1, bias=False)
        torch.nn.init.normal_(self.score.weight, std=(width + 1) ** -0.5)

    def forward(self, *, use_cache: bool = False, **inputs: Any) -> Any:
        """Rewards of rows padded at the end.

        Args:
            use_cache: Ignored; TRL passes it.
            inputs: The processor's output for images and texts.

        Returns:
            `logits`, (rows, 1).
        """
        from transformers.modeling_outputs import SequenceClassifierOutput

        hidden = self.backbone(**inputs, use_cache=False).last_hidden_state
        last = inputs["attention_mask"].sum(1) - 1
        at_end = hidden[torch.arange(len(hidden), device=hidden.device), last]
        return SequenceClassifierOutput(logits=self.score(at_end.to(self.score.weight.dtype)))

    def add_model_tags(self, tags: Sequence[str]) -> None:
        """TRL calls this to tag the models that it trains."""
        self.backbone.add_model_tags(tags)

    def write(self, out: Path, processor: Any) -> None:
        """Writes backbone, head and processor."""
        from safetensors.torch import save_file

        self.backbone.save_pretrained(out, safe_serialization=True)
        save_file({"weight": self.score.weight.detach().contiguous().cpu()}, out / REWARD_HEAD)
        processor.save_pretrained(out)


@dataclass(frozen=True, slots=True)
class ConversationEncoder:
    """Images and whole conversations to a reward model's inputs, and a collator for its trainer."""

    processor: Any

    def inputs(
        self, images: Sequence[Image], conversations: Sequence[list[dict[str, Any]]]
    ) -> dict[str, torch.Tensor]:
        """A batch, padded at the end; each conversation is about its image."""
        from trl.data_utils import prepare_multimodal_messages

        texts = [
            self.processor.apply_chat_template(
                prepare_multimodal_messages(turns, [image]), tokenize=False
            )
            for image, turns in zip(images, conversations, strict=True)
        ]
        found = self.processor(
            images=[[image] for image in images],
            text=texts,
            padding=True,
            padding_side="right",
            return_tensors="pt",
            add_special_tokens=False,
        )
        return dict(found)

    def __call__(self, examples: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Chosen conversations of a batch, then the rejected ones, as TRL's trainer expects."""
        images = [example["images"][0] for example in examples]
        turns = [
            [*example["prompt"], *example[side]]
            for side in ("chosen", "rejected")
            for example in examples
        ]
        return self.inputs(images * 2, turns)


class ModelReward:
    """A trained reward model as a reward of GRPO."""

    def __init__(self, model: CaptionRewardModel, encoder: ConversationEncoder) -> None:
        self.model, self.encoder = model.eval(), encoder

    @torch.inference_mode()
    def __call__(
        self,
        prompts: list[list[dict[str, Any]]],
        completions: list[list[dict[str, Any]]],
        images: list[list[Image]],
        **_: Any,
    ) -> list[float]:
        turns = [[*p, *c] for p, c in zip(_plain(prompts), completions, strict=True)]
        inputs = self.encoder.inputs([pictures[0] for pictures in images], turns)
        device = self.model.score.weight.device
        dtype = self.model.score.weight.dtype
        moved = {
            name: value.to(device, dtype) if value.is_floating_point() else value.to(device)
            for name, value in inputs.items()
        }
        rewards: list[float] = self.model(**moved).logits[:, 0].float().tolist()
        return rewards


def _plain(prompts: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    """Prompts as plain texts, as TRL has already inserted the images."""
    return [
        [
            {
                "role": turn["role"],
                "content": turn["content"]
                if isinstance(turn["content"], str)
                else "".join(part.get("text") or "" for part in turn["content"]),
            }
            for turn in prompt
        ]
        for prompt in prompts
    ]


def load_reward_model(name: str, *, device: str, dtype: str) -> ModelReward:
    """A reward model that `captions train-preferences reward` wrote.

    Args:
        name: Its folder.
        device: Where it runs.
        dtype: What it computes in.

    Raises:
        UserError: The folder holds no reward model.
    """
    from safetensors.torch import load_file
    from transformers import AutoModel

    folder = find_model(name, "--reward")
    if not (folder / REWARD_HEAD).is_file():
        raise UserError(
            f"--reward {name}: the folder holds no reward model: no {REWARD_HEAD}",
            hint="train one: captions train-preferences reward PAIRS --policy MODEL --out FOLDER",
        )
    processor = load_processor(folder, name)
    backbone = load_weights(AutoModel, folder, name=name, dtype=getattr(torch, dtype))
    model = CaptionRewardModel(backbone)
    model.score.load_state_dict(load_file(folder / REWARD_HEAD))
    if backbone.config.model_type == paligemma_chat.MODEL_TYPE:
        paligemma_chat.find_prefix(model.backbone, processor.tokenizer)
    return ModelReward(model.to(device, getattr(torch, dtype)), ConversationEncoder(processor))
