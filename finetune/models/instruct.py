"""An instruct model under training: one sequence per sentence, through its chat template.

A sequence is the prompt's ids, from the same encoder as at inference, the answer's ids, and the end
of the turn. Only the latter two contribute to the loss.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL.Image import Image

from revise_captions.critic import chat_prompts, prompts
from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.hub_names import write_hub_names
from revise_captions.critic.instruct import InstructCritic
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.protocol import Critic
from revise_captions.engines.answer_words import word_ids
from revise_captions.engines.transformers.engine import TransformersEngine
from revise_captions.engines.transformers.inputs import EncodedPrompt, collate
from revise_captions.errors import UserError
from revise_captions.finetune.data.image_cache import upright
from revise_captions.finetune.data.records import TrainingExample
from revise_captions.finetune.data.targets import Choice, TokenTask, auxiliary_questions
from revise_captions.finetune.models.protocol import ForwardInputs, ForwardOutputs, Images
from revise_captions.records import Span


@dataclass(frozen=True, slots=True)
class _Sequence:
    """A prompt with its answer; the first answer token's task is `first`, the others' `rest`."""

    owner: int
    row: EncodedPrompt
    answer: list[int]
    first: TokenTask
    rest: TokenTask


class ChatLearner:
    """See `protocol.Learner`. Made by `bases.load_base`."""

    def __init__(self, engine: TransformersEngine, max_length: int) -> None:
        self.engine, self.max_length = engine, min(max_length, engine.longest)
        self.model, self.encoder = engine.model, engine.encoder
        vocabulary = self.encoder.tokenizer.get_vocab()
        self.words = word_ids(vocabulary, chat_prompts.WORDS, self.encoder.name)
        self.end = _end_of_turn(engine)
        self._keeps = "logits_to_keep" in inspect.signature(engine.model.forward).parameters
        self.yes, self.no = self._answer(prompts.YES), self._answer(prompts.NO)

    def _answer(self, word: str) -> list[int]:
        ids = self.encoder.plain(word)
        if len(ids) != 1:
            raise UserError(
                f"the tokenizer of {self.encoder.name} spells {word!r} in {len(ids)} tokens",
                hint="choose another base model: the answers of this one cannot be scored",
            )
        return ids

    def encode(
        self, examples: Sequence[TrainingExample], choices: Sequence[Choice], images: Images
    ) -> ForwardInputs | None:
        made = [
            sequence
            for k, (example, choice) in enumerate(zip(examples, choices, strict=True))
            for sequence in self._sequences(k, example, choice, _image(images, k))
        ]
        fits = [s for s in made if len(s.row) + len(s.answer) <= self.max_length]
        if not fits:
            return None
        # an answer's last token is only predicted, never an input
        rows = [_extended(s.row, s.answer[:-1]) for s in fits]
        places = [
            (r, len(s.row) - 1 + k, token, s.first if k == 0 else s.rest, s.owner)
            for r, s in enumerate(fits)
            for k, token in enumerate(s.answer)
        ]
        table = np.array(places, dtype=np.int64)
        width = max(map(len, rows))
        return ForwardInputs(
            (rows, table[:, :2]),
            table[:, 2],
            table[:, 3],
            table[:, 4],
            np.empty(0, dtype=np.int64),
            width,
            width,
            len(made) - len(fits),
        )

    def _sequences(
        self, owner: int, example: TrainingExample, choice: Choice, image: Image
    ) -> Iterator[_Sequence]:
        caption, spans = example.caption, example.spans
        asked: list[tuple[Any, list[int], TokenTask, TokenTask]] = []
        for index, sentence in enumerate(example.sentences):
            answer = self.yes if sentence.factual else self.no
            prompt = chat_prompts.classification(image, caption, spans, index)
            asked.append((prompt, [*answer, self.end], TokenTask.CLASSIFY, TokenTask.FOLLOW))
        for index in choice.rewrites:
            told = caption[: spans[index].start] + example.sentences[index].rewrite
            there = (*spans[:index], Span(spans[index].start, len(told)))
            prompt = chat_prompts.classification(image, told, there, index)
            asked.append((prompt, [*self.yes, self.end], TokenTask.CLASSIFY, TokenTask.FOLLOW))
        for one in auxiliary_questions(example, choice):
            told = caption[: spans[one.after].start if one.after else 0] + one.text
            there = (*spans[: one.after], Span(len(told) - len(one.text), len(told)))
            prompt = chat_prompts.classification(image, told, there, one.after)
            answer = self.yes if one.factual else self.no
            asked.append((prompt, [*answer, self.end], TokenTask.CLASSIFY, TokenTask.FOLLOW))
        for index, text in choice.rationales:
            answer = [*self.encoder.plain(text.strip()), self.end]
            prompt = chat_prompts.rationale(image, caption, spans, index)
            asked.append((prompt, answer, TokenTask.RATIONALE, TokenTask.RATIONALE))
        rows = self.encoder.rows([prompt for prompt, *_ in asked])
        for row, (_, answer, first, rest) in zip(rows, asked, strict=True):
            yield _Sequence(owner, row, answer, first, rest)

    def forward(self, asked: ForwardInputs) -> ForwardOutputs:
        rows, places = asked.inputs
        device, dtype = self.model.device, self.model.dtype
        inputs = {
            name: value.to(device, dtype) if value.is_floating_point() else value.to(device)
            for name, value in collate(rows, self.engine.pad, left=False).items()
        }
        at = torch.from_numpy(places).to(device)
        kept, column = at[:, 1].unique(return_inverse=True)
        if self._keeps:
            logits = self.model(**inputs, logits_to_keep=kept, use_cache=False).logits
            return ForwardOutputs(logits[at[:, 0], column].float())
        logits = self.model(**inputs, use_cache=False).logits
        return ForwardOutputs(logits[at[:, 0], at[:, 1]].float())

    @property
    def wrong_ids(self) -> list[int]:
        return self.no

    def p_factual(self, logits: torch.Tensor) -> torch.Tensor:
        yes, no = (logits[:, ids].logsumexp(-1) for ids in self.words)
        return torch.sigmoid(yes - no)

    def critic(self, card: CriticCard) -> Critic:
        self.model.eval()
        return InstructCritic(self.engine, threshold=card.threshold)

    def card(self) -> CriticCard:
        return CriticCard(
            AttentionMode.CAUSAL, prompt=chat_prompts.VERSION, max_length=self.max_length
        )

    def write(self, folder: Path, card: CriticCard) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save_pretrained(folder, safe_serialization=True)
        write_hub_names(folder)
        self.write_small(folder, card)

    def write_small(self, folder: Path, card: CriticCard) -> None:
        assert self.encoder.processor is not None
        self.encoder.processor.save_pretrained(folder)
        card.write(folder)


def _image(images: Images, number: int) -> Image:
    return upright(images.split.root / images.split.images[images.index[number]])


def _extended(row: EncodedPrompt, answer: Sequence[int]) -> EncodedPrompt:
    kinds = {name: [*kind, *[0] * len(answer)] for name, kind in row.kinds.items()}
    return EncodedPrompt([*row.ids, *answer], kinds, row.pictures)


def _end_of_turn(engine: TransformersEngine) -> int:
    """The id that the chat template puts after an assistant turn, if generation stops at it;
    otherwise the model's first end token.
    """
    speaker, mark = engine.encoder.processor or engine.encoder.tokenizer, "\ue000"
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": mark}]},
    ]
    text = str(speaker.apply_chat_template(turns, tokenize=False))
    behind = engine.encoder.tokenizer(text.rpartition(mark)[2], add_special_tokens=False)
    ids = [int(i) for i in behind["input_ids"]]
    return ids[0] if ids and ids[0] in engine.ends else engine.ends[0]
