"""Prompts as inputs of a transformers model: token ids, and its processor's image tensors.

A prompt is encoded in two parts. Its head, which ends after the last picture and between two
words, goes through the model's own processor, once per picture. Its tail is text. If that holds
nothing that looks like a token of the chat format, it is encoded whole; otherwise piece by piece,
data with special tokens off and split inside whatever looks like an added token. When a model is
loaded, `PromptEncoder.check` verifies that the parts give the same ids as the whole.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Data,
    Engine,
    Failed,
    Picture,
    Prompt,
    Template,
)
from revise_captions.engines.transformers import paligemma_chat
from revise_captions.engines.transformers.chat_template import (
    ChatFormat,
    Rendered,
    added_tokens,
    is_safe,
)
from revise_captions.errors import UserError
from revise_captions.outside_text import encodable
from revise_captions.pretrained import load_pretrained
from revise_captions.text.tokens import plain_ids

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """One prompt, encoded. `kinds`: per-token inputs of the same length as the ids (which tokens
    are an image's); `pictures`: all other inputs, their first dimension running over images;
    `answer`: how many of the last ids are a given answer.
    """

    ids: list[int]
    kinds: Mapping[str, list[int]] = field(default_factory=dict)
    pictures: Mapping[str, torch.Tensor] = field(default_factory=dict)
    answer: int = 0

    def __len__(self) -> int:
        return len(self.ids)


class PromptEncoder:
    """Prompts to rows, for one model. `processor` None: a language model without pictures.

    With `plain`, such a model needs no chat format: an answer then follows the prompt's text after
    a space, and if there is no text, the whole row counts as the answer (`ScoresAnswers`).
    """

    def __init__(
        self, tokenizer: Any, processor: Any | None, name: str, *, plain: bool = False
    ) -> None:
        self.tokenizer, self.processor, self.name = tokenizer, processor, name
        speaker = processor if processor is not None else tokenizer
        self.chats = bool(speaker.chat_template)
        if not (self.chats or (plain and processor is None)):
            raise UserError(
                f"{name} has no chat template, so it is not an instruct model",
                hint="name its instruct version, for example Qwen/Qwen3-VL-8B-Instruct",
            )
        self._speaker = speaker
        self.format = ChatFormat(self._render, name, pictures=processor is not None)
        self._added = added_tokens(list(tokenizer.get_added_vocab()))
        bos = getattr(tokenizer, "bos_token", None)
        self._bos = str(bos) if bos else None

    def _render(self, messages: list[dict[str, Any]]) -> str:
        """Messages as text, with the assistant turn opened, and thinking off if possible."""
        if not self.chats:
            return "\n\n".join(message["content"] for message in messages)
        known = "enable_thinking" in str(self._speaker.chat_template)
        option = {"enable_thinking": False} if known else {}
        return str(
            self._speaker.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, **option
            )
        )

    def rows(
        self, prompts: Sequence[Prompt], answers: Sequence[str] | None = None
    ) -> list[EncodedPrompt]:
        """One row per prompt, with its untrusted answer if answers are given.

        Equal heads (with the same image objects) are made once.
        """
        heads: dict[tuple[object, ...], EncodedPrompt] = {}
        rows = []
        for prompt, answer in zip(prompts, answers or [""] * len(prompts), strict=True):
            rendered, pictures = self.format.rendered(prompt), prompt.pictures
            alone = not (self.chats or rendered.head or rendered.tail)
            space = " " if answers and not (self.chats or alone) else ""
            given = self.plain(space + answer)
            if self.processor is None:
                ids = self._text_only(rendered) + given
                rows.append(EncodedPrompt(ids, answer=len(ids) if alone else len(given)))
                continue
            key = (rendered.head, *map(id, pictures))
            if key not in heads:
                heads[key] = self._processed(rendered.head, pictures)
            head, tail = heads[key], [*self._tail(rendered.tail), *given]
            kinds = {name: [*kind, *[0] * len(tail)] for name, kind in head.kinds.items()}
            rows.append(EncodedPrompt([*head.ids, *tail], kinds, head.pictures, len(given)))
        return rows

    def unexpanded(self, prompt: Prompt) -> list[int]:
        """Ids with one placeholder per picture, for an engine that inserts pictures itself."""
        rendered = self.format.rendered(prompt)
        if self.processor is None:
            return self._text_only(rendered)
        return [*self._ids(rendered.head), *self._tail(rendered.tail)]

    def check(self) -> None:
        """Raises UserError if a prompt encoded in parts has other ids than the whole prompt."""
        if self.processor is None:
            return
        parts = (
            Picture(image := _gray()),
            Template("Given the image"),
            Template(" and a text:\n"),
            Data('A dog, and 2 cats. It\'s (not) "here"!'),
            Template("\nYes or No?"),
        )
        prompt = Prompt(parts, shared=2)
        rendered = self.format.rendered(prompt)
        whole = rendered.head + "".join(part.text for part in rendered.tail)
        if self.rows([prompt])[0].ids != self._processed(whole, [image]).ids:
            raise UserError(
                f"the tokenizer of {self.name} splits a prompt into different tokens in parts "
                "than as a whole",
                hint="serve the model instead, and name it as MODEL@http://host:8000/v1",
            )

    def trial(self) -> Prompt:
        """A question about a gray square, or about no image, to test whether a model answers."""
        seen = (Picture(_gray()),) if self.processor is not None else ()
        question = (Template("Is this"), Template(" it: "), Data("grey?"))
        return Prompt((*seen, *question), shared=2 if seen else 0)

    def trials(self) -> list[Prompt]:
        """Questions about a gray square with a common beginning, like those about a caption."""
        picture, parts = Picture(_gray()), (Template("Is this"), Template(" a text: "))
        said = "One thing is on the left. ", "Two more stand there. ", "It is gray."
        return [
            Prompt((picture, *parts, Data("".join(said[:k]) or "."), Data(one)), shared=2)
            for k, one in enumerate(said)
        ]

    def _text_only(self, rendered: Rendered) -> list[int]:
        parts = (Template(rendered.head), *rendered.tail)
        start = "" if self._bos is None or rendered.head.startswith(self._bos) else self._bos
        # add the tokenizer's own first token to text that does not have it yet
        if start and self.tokenizer("")["input_ids"][:1] != [self.tokenizer.bos_token_id]:
            start = ""
        return self._tail((Template(start), *parts))

    def _tail(self, parts: Sequence[Template | Data]) -> list[int]:
        if is_safe(parts, self._added):
            return self._ids("".join(part.text for part in parts))
        ids: list[int] = []
        for part in parts:
            ids += self._ids(part.text) if isinstance(part, Template) else self.plain(part.text)
        return ids

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def plain(self, text: str) -> list[int]:
        """Ids of untrusted text, never of an added token."""
        return plain_ids(self.tokenizer, self._added, text)

    def _processed(self, text: str, pictures: Sequence[Image]) -> EncodedPrompt:
        """Passes text with its pictures through the model's processor, without padding."""
        assert self.processor is not None
        # no second <bos>, as in transformers' own `apply_chat_template`
        extra = {"add_special_tokens": False} if self._bos and text.startswith(self._bos) else {}
        images = {"images": [list(pictures)]} if pictures else {}
        found = dict(self.processor(text=[encodable(text)], return_tensors="pt", **images, **extra))
        ids = found.pop("input_ids")
        found.pop("attention_mask", None)
        kinds = {k: v[0].tolist() for k, v in found.items() if tuple(v.shape) == tuple(ids.shape)}
        kinds = {k: v for k, v in kinds.items() if k.endswith("token_type_ids")}
        return EncodedPrompt(
            ids[0].tolist(), kinds, {k: v for k, v in found.items() if k not in kinds}
        )


def _gray() -> Image:
    from PIL import Image as pillow

    return pillow.new("RGB", (224, 224), (127, 127, 127))


def load_prompt_encoder(
    folder: Path, name: str, *, trusted: bool = False, plain: bool = False
) -> PromptEncoder:
    """The encoder of a model's folder, with its processor if the model sees images.

    Raises:
        UserError: It has no chat template, or lacks the processor's files.
        OSError, ValueError, KeyError, ImportError, RuntimeError: transformers cannot load it.
    """
    import transformers
    from transformers.models.auto import modeling_auto

    load = functools.partial(load_pretrained, source=folder, name=name, trusted=trusted)
    config = load(transformers.AutoConfig)
    if config.model_type not in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        return PromptEncoder(load(transformers.AutoTokenizer), None, name, plain=plain)
    if config.model_type == paligemma_chat.MODEL_TYPE:
        processor = paligemma_chat.load_processor(folder, name=name)
        return PromptEncoder(processor.tokenizer, processor, name)
    processor = load(transformers.AutoProcessor)
    if not hasattr(processor, "image_processor"):
        raise UserError(
            f"{name}: the folder has no image processor (preprocessor_config.json)",
            hint="copy the processor's files of the original model into it",
        )
    return PromptEncoder(processor.tokenizer, processor, name)


def try_out(engine: Engine, encoder: PromptEncoder, *, scores: bool) -> None:
    """Asks one question before any data is read. Raises UserError if there is no answer."""
    asked = [encoder.trial()]
    answer: AnswerScores | Completion | Failed = (
        engine.answer_logprobs(asked, ("Yes", "No"))[0] if scores else engine.generate(asked, 1)[0]
    )
    if isinstance(answer, Failed):
        raise UserError(
            f"{encoder.name} loads but does not answer: {answer.detail}",
            hint="try --dtype float32, or another model",
        )


def collate(rows: Sequence[EncodedPrompt], pad: int, *, left: bool) -> dict[str, torch.Tensor]:
    """Inputs of a batch: ids, mask and kinds of shape (rows, longest), pictures stacked.

    Pictures of different sizes are padded with zeros, as the processors do.
    """
    import torch

    width = max(map(len, rows))
    names = dict.fromkeys(name for row in rows for name in row.kinds)
    inputs = {
        "input_ids": torch.full((len(rows), width), pad),
        "attention_mask": torch.zeros((len(rows), width), dtype=torch.long),
        **{name: torch.zeros((len(rows), width), dtype=torch.long) for name in names},
    }
    for k, row in enumerate(rows):
        at = slice(width - len(row), width) if left else slice(0, len(row))
        inputs["input_ids"][k, at] = torch.tensor(row.ids)
        inputs["attention_mask"][k, at] = 1
        for name, kind in row.kinds.items():
            inputs[name][k, at] = torch.tensor(kind)
    for name in dict.fromkeys(name for row in rows for name in row.pictures):
        inputs[name] = stacked([row.pictures[name] for row in rows if name in row.pictures])
    return inputs


def stacked(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Concatenates along the first dimension, padding the others with zeros to the largest."""
    import torch

    inner = [max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True)]
    if all(list(part.shape[1:]) == inner for part in parts):
        return torch.cat(list(parts))
    joined = parts[0].new_zeros((sum(part.shape[0] for part in parts), *inner))
    start = 0
    for part in parts:
        at = (slice(start, start + part.shape[0]), *(slice(0, size) for size in part.shape[1:]))
        joined[at] = part
        start += part.shape[0]
    return joined
