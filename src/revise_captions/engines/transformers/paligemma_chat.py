"""PaliGemma as a chat model, for engines and trainers that know no other kind.

PaliGemma has no chat template, its processor refuses text without images, and its attention
depends on `token_type_ids`, which say where the prompt ends. TRL's GRPO trainer extends them over
the answer with the prompt's value: every token of the answer then attends to those after it, which
makes the answer's log-probability meaningless. So this processor gives none, and the model
determines from the token ids where its bidirectional block ends.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.pretrained import load_pretrained

if TYPE_CHECKING:
    import torch

MODEL_TYPE = "paligemma"
#: The configuration's key for what attends in both directions: `prefix` (image and prompt, as
#: published), `image-prefix` (only the image) or `causal` (nothing).
ATTENTION_MODE = "attention_mode"
TEMPLATE = (
    "{%- for message in messages -%}"
    "{%- if message.content is string -%}"
    "{%- set parts = [{'type': 'text', 'text': message.content}] -%}"
    "{%- else -%}{%- set parts = message.content -%}{%- endif -%}"
    "{%- if message.role == 'assistant' -%}"
    "{%- for part in parts -%}{{- part.text -}}{%- endfor -%}{{- eos_token -}}"
    "{%- else -%}"
    "{%- for part in parts if part.type == 'image' -%}{{- '<image>' -}}{%- endfor -%}"
    "{{- bos_token -}}"
    "{%- for part in parts if part.type == 'text' -%}{{- part.text -}}{%- endfor -%}{{- '\\n' -}}"
    "{%- endif -%}"
    "{%- endfor -%}"
)


@cache
def _processor_class() -> Any:
    import transformers
    from transformers import BatchFeature

    class PaliGemmaProcessor(transformers.PaliGemmaProcessor):  # saved under this name
        """Takes text rendered by `TEMPLATE`, with images or without."""

        def __call__(self, images: Any = None, text: Any = None, **kwargs: Any) -> BatchFeature:
            if images is None:
                return self.tokenizer(text, **kwargs)
            found = super().__call__(images=images, text=text, **kwargs)
            for name in ("token_type_ids", "labels"):
                found.pop(name, None)
            return found

        def prepare_inputs_layout(self, images: Any = None, text: Any = None, **_: Any) -> Any:
            return images, [text] if isinstance(text, str) else text, None, None

    return PaliGemmaProcessor


def load_processor(folder: Path, *, name: str = "") -> Any:
    """A PaliGemma's processor with the chat template.

    Args:
        folder: The checkpoint.
        name: What the user called it, for messages.
    """
    from transformers import AutoImageProcessor, AutoTokenizer

    return _processor_class()(
        load_pretrained(AutoImageProcessor, folder, name=name),
        load_pretrained(AutoTokenizer, folder, name=name),
        chat_template=TEMPLATE,
    )


def find_prefix(model: Any, tokenizer: Any) -> None:
    """Makes a PaliGemma compute which tokens attend in both directions, if the caller does not say.

    The hook is on the inner model, which every caller runs: generation, trainers, PEFT's wrapper.

    Args:
        model: `PaliGemmaForConditionalGeneration`, or its inner `PaliGemmaModel`.
        tokenizer: Knows the newline that ends a prompt.
    """
    newline = int(tokenizer.convert_tokens_to_ids("\n"))
    mode = str(getattr(model.config, ATTENTION_MODE, "prefix"))
    image = int(model.config.image_token_id)

    def with_types(_: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        ids = kwargs.get("input_ids")
        if ids is not None and kwargs.get("token_type_ids") is None and mode != "causal":
            kwargs["token_type_ids"] = token_types(ids, mode, image, newline)
        return args, kwargs

    getattr(model, "model", model).register_forward_pre_hook(with_types, with_kwargs=True)


def token_types(ids: torch.Tensor, mode: str, image: int, newline: int) -> torch.Tensor:
    """0 if a token belongs to the bidirectional block, else 1.

    Args:
        ids: (rows, length).
        mode: `prefix` or `image-prefix`.
        image: Id of the image tokens.
        newline: Id of the newline that ends a prompt.

    Returns:
        Integers of the shape of `ids`.
    """
    if mode == "image-prefix":
        return (ids != image).long()
    ended = ((ids == newline) & (ids == image).any(1, keepdim=True)).long().cumsum(1)
    return (ended - (ids == newline).long()).clamp(min=0, max=1)
