"""A model in this process, through transformers: any VLM or LLM with a chat template.

Answers are scored in one forward pass per batch, which computes only the logits after each prompt's
last token. Prompts of similar length share a batch, padded at the end, where causal attention never
looks: a prompt's positions and its answer are those it has alone. A batch that fails, for lack of
memory or another reason, is cut in two and tried again, down to single prompts; what fails alone is
`Failed`, and its neighbors are not.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from revise_captions.engines.answer_words import answer_of, word_ids
from revise_captions.engines.model_files import (
    answer_ends,
    explained,
    find_model,
    named,
)
from revise_captions.engines.placement import device_and_dtype
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Failed,
    Prompt,
)
from revise_captions.engines.transformers.inputs import (
    EncodedPrompt,
    PromptEncoder,
    collate,
    load_prompt_encoder,
    try_out,
)
from revise_captions.errors import EngineDead
from revise_captions.pretrained import load_weights
from revise_captions.records import Unscored

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


class TransformersEngine:
    """Made by `load_engine`. `batch_size` counts prompts."""

    def __init__(
        self, model: Any, encoder: PromptEncoder, settings: Mapping[str, str], *, batch_size: int
    ) -> None:
        self.model, self.encoder, self.settings = model.eval(), encoder, settings
        self.batch_size = batch_size
        self.ends = answer_ends(model, encoder.tokenizer, encoder.name)
        pad = encoder.tokenizer.pad_token_id
        self.pad = int(self.ends[0] if pad is None else pad)
        text = model.config.get_text_config()
        self.longest = int(getattr(text, "max_position_embeddings", 0) or 1 << 20)
        self._words: dict[tuple[str, ...], list[list[int]]] = {}
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters

    def answer_logprobs(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> list[AnswerScores | Failed]:
        """See `protocol.Engine`. Raises UserError where a word is no single token."""
        asked = tuple(words)
        if asked not in self._words:
            vocabulary = self.encoder.tokenizer.get_vocab()
            self._words[asked] = word_ids(vocabulary, asked, self.encoder.name)
        ids = self._words[asked]
        return self._each(self._encoded(prompts), 1, lambda rows: self._score(rows, ids))

    def generate(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion | Failed]:
        """See `protocol.Engine`."""
        rows = self._encoded(prompts)
        return self._each(rows, max_tokens, lambda rows: self._write(rows, max_tokens))

    def given_logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str]
    ) -> list[tuple[float, ...] | Failed]:
        """See `protocol.ScoresAnswers`."""
        rows = self._encoded(prompts, answers)
        return self._each(rows, 0, self._score_given)

    def _each(
        self,
        rows: Sequence[EncodedPrompt | Failed],
        room: int,
        run: Callable[[Sequence[EncodedPrompt]], list[Result]],
    ) -> list[Result | Failed]:
        """Runs prompts in batches of like length, longest first; answers in the order asked."""
        results: list[Result | Failed] = [
            Failed(Unscored.TOO_LONG, f"over the model's {self.longest:,} tokens") for _ in rows
        ]
        fitting = []
        for k, row in enumerate(rows):
            if isinstance(row, Failed):
                results[k] = row
            elif len(row) + room <= self.longest:
                fitting.append((-len(row), k, row))
        fitting.sort(key=lambda item: item[:2])
        for start in range(0, len(fitting), self.batch_size):
            batch = fitting[start : start + self.batch_size]
            answers = self._guarded([row for _, _, row in batch], run)
            for (_, k, _), answer in zip(batch, answers, strict=True):
                results[k] = answer
        return results

    def _encoded(
        self, prompts: Sequence[Prompt], answers: Sequence[str] | None = None
    ) -> list[EncodedPrompt | Failed]:
        try:
            return list(self.encoder.rows(prompts, answers))
        except (ValueError, TypeError, IndexError, RuntimeError) as error:
            if len(prompts) == 1:
                return [Failed(Unscored.ENGINE_ERROR, _first_line(error))]
        parts = slice(len(prompts) // 2), slice(len(prompts) // 2, None)
        return [
            row
            for part in parts
            for row in self._encoded(prompts[part], answers[part] if answers else None)
        ]

    def _guarded(
        self, rows: Sequence[EncodedPrompt], run: Callable[[Sequence[EncodedPrompt]], list[Result]]
    ) -> list[Result | Failed]:
        """The batch, or its two halves where it fails. The order, and so each prompt's
        neighbors in length, stays.
        """
        import torch

        try:
            with torch.inference_mode():
                return list(run(rows))
        except (RuntimeError, ValueError, IndexError) as error:
            problem = _first_line(error)
            if not isinstance(error, torch.OutOfMemoryError) and "CUDA error" in str(error):
                raise EngineDead(f"the device stopped answering: {problem}") from error
            if len(rows) == 1:
                return [Failed(Unscored.ENGINE_ERROR, problem)]
        logger.info("a batch of %d prompts failed, trying its halves: %s", len(rows), problem)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        middle = len(rows) // 2
        return self._guarded(rows[:middle], run) + self._guarded(rows[middle:], run)

    def _inputs(self, rows: Sequence[EncodedPrompt], *, left: bool) -> dict[str, Any]:
        device, dtype = self.model.device, self.model.dtype
        return {
            name: value.to(device, dtype) if value.is_floating_point() else value.to(device)
            for name, value in collate(rows, self.pad, left=left).items()
        }

    def _score(
        self, rows: Sequence[EncodedPrompt], words: Sequence[Sequence[int]]
    ) -> list[AnswerScores]:
        import torch

        ends = torch.tensor([len(row) - 1 for row in rows])
        places, column = ends.unique(return_inverse=True)
        if not self._keeps:
            column = ends
        kept = {"logits_to_keep": places.to(self.model.device)} if self._keeps else {}
        output = self.model(**self._inputs(rows, left=False), **kept, use_cache=False)
        logits = output.logits[torch.arange(len(rows)), column].float()
        whole = logits.logsumexp(-1)
        masses = torch.stack([logits[:, list(ids)].logsumexp(-1) - whole for ids in words], dim=1)
        return [answer_of(mass) for mass in masses.double().tolist()]

    def _score_given(self, rows: Sequence[EncodedPrompt]) -> list[tuple[float, ...]]:
        import torch

        # the logits that predict a token stand one place before it
        starts = [len(row) - row.answer - 1 for row in rows]
        kept = torch.arange(min(starts), max(map(len, rows)))
        options = {"logits_to_keep": kept.to(self.model.device)} if self._keeps else {}
        output = self.model(**self._inputs(rows, left=False), **options, use_cache=False)
        logits = output.logits if self._keeps else output.logits[:, kept]
        found = []
        for row, start, own in zip(rows, starts, logits, strict=True):
            at = slice(start - min(starts), start - min(starts) + row.answer)
            ids = torch.tensor(row.ids[len(row) - row.answer :], device=own.device)
            chosen = own[at].float().log_softmax(-1).gather(1, ids[:, None])
            found.append(tuple(chosen[:, 0].double().tolist()))
        return found

    def _write(self, rows: Sequence[EncodedPrompt], limit: int) -> list[Completion]:
        import transformers

        settings: Callable[..., Any] = transformers.GenerationConfig
        config = settings(
            max_new_tokens=limit,
            do_sample=False,
            num_beams=1,
            pad_token_id=self.pad,
            eos_token_id=list(self.ends),
            use_cache=True,
        )
        inputs = self._inputs(rows, left=True)
        made = self.model.generate(**inputs, generation_config=config)
        new = made[:, inputs["input_ids"].shape[1] :].tolist()
        return [self._written(ids) for ids in new]

    def _written(self, ids: list[int]) -> Completion:
        end = next((k for k, i in enumerate(ids) if i in self.ends), None)
        text = self.encoder.tokenizer.decode(ids[:end], skip_special_tokens=True)
        return Completion(str(text).strip(), end is not None)


def load_engine(
    name: str,
    *,
    option: str,
    dtype: str = "auto",
    device: str = "auto",
    batch_size: int = 16,
    scores: bool = False,
    quantization: Any = None,
    trusted: bool = False,
) -> TransformersEngine:
    """Loads a model and asks it one question.

    Args:
        name: A folder or a hub id.
        option: The option that the user gave the name to, for messages.
        dtype: `auto` is float32 on a CPU, else bfloat16.
        device: `auto` is a GPU if there is one.
        batch_size: Prompts.
        scores: Whether it will be asked for log-probabilities.
        quantization: transformers' settings for weights in few bits.
        trusted: Whether code that comes with it may run.

    Raises:
        UserError: The model cannot be loaded, or does not answer.
    """
    import transformers

    began = time.monotonic()
    folder = find_model(name, option)
    place, number = device_and_dtype(device, dtype)
    bits = {"quantization_config": quantization, "device_map": {"": place}} if quantization else {}
    encoder, model = _loaded(folder, name, trusted, {"dtype": number, **bits})
    settings = {
        "engine": "transformers",
        "model": named(name, folder),
        "dtype": str(number).removeprefix("torch."),
        "device": place.split(":")[0],
        "attention": str(getattr(model.config, "_attn_implementation", "")),
        "transformers": transformers.__version__,
        **({"trust-remote-code": "yes"} if trusted else {}),
    }
    placed = model if bits else model.to(place)
    engine = TransformersEngine(placed, encoder, settings, batch_size=batch_size)
    encoder.check()
    try_out(engine, encoder, scores=scores)
    seconds = time.monotonic() - began
    logger.info("loaded %s from %s in %.1f s: %s", name, folder, seconds, settings)
    return engine


def _loaded(
    folder: Path, name: str, trusted: bool, options: Mapping[str, Any]
) -> tuple[PromptEncoder, Any]:
    """Encoder and model, the latter loaded with `options`."""
    import transformers

    try:
        encoder = load_prompt_encoder(folder, name, trusted=trusted)
        kind: Any = (
            transformers.AutoModelForCausalLM
            if encoder.processor is None
            else transformers.AutoModelForImageTextToText
        )
        return encoder, load_weights(kind, folder, name=name, trusted=trusted, **options)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(name, error, "AutoModelForImageTextToText") from error


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
