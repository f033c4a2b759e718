"""A model in this process, through vLLM (extra `vllm`): continuous batching on a GPU.

Prompts go in as token ids, so that data stays data, each picture as one placeholder that vLLM
expands. Answer words are asked for by id (`logprob_token_ids`): exact, whatever the top of the
distribution is. Prompts of a caption come one after the other and share their beginning, which
vLLM's prefix cache computes once; `cached` and `tokens` count what it saved.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from typing import Any

from revise_captions.engines.loading import explained, find_model, named
from revise_captions.engines.protocol import (
    Answer,
    Data,
    Failed,
    Part,
    Picture,
    Prompt,
    Template,
    Written,
)
from revise_captions.engines.transformers_inputs import Encoder
from revise_captions.engines.words import answer_of, log_sum, word_ids
from revise_captions.errors import EngineDead, UserError
from revise_captions.records import Unscored


class VllmEngine:
    """Made by `load_engine`. `cached` of `tokens` prompt tokens came from the prefix cache."""

    def __init__(self, llm: Any, encoder: Encoder, settings: Mapping[str, str]) -> None:
        self.llm, self.encoder, self.settings = llm, encoder, settings
        self.longest = int(llm.llm_engine.model_config.max_model_len)
        self.cached = self.tokens = 0

    def answer_logprobs(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> list[Answer | Failed]:
        """See `protocol.Engine`. Raises UserError where a word is no single token."""
        from vllm import SamplingParams

        ids = word_ids(self.encoder.tokenizer.get_vocab(), words, self.encoder.name)
        wanted = [number for numbers in ids for number in numbers]
        try:
            options = SamplingParams(temperature=0.0, max_tokens=1, logprob_token_ids=wanted)
        except TypeError as error:
            raise UserError(
                "this vLLM cannot give log-probabilities by token id",
                hint="pip install -U vllm",
            ) from error
        return [
            found if isinstance(found, Failed) else _answer(found, ids)
            for found in self._each(prompts, options, 1)
        ]

    def generate(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Written | Failed]:
        """See `protocol.Engine`."""
        from vllm import SamplingParams

        options = SamplingParams(temperature=0.0, max_tokens=max_tokens)
        return [
            found
            if isinstance(found, Failed)
            else Written(str(found.text).strip(), found.finish_reason == "stop")
            for found in self._each(prompts, options, max_tokens)
        ]

    def check(self, *, scores: bool) -> None:
        """One question: does the model run? Raises UserError where it does not."""
        from PIL import Image

        grey = Image.new("RGB", (224, 224), (127, 127, 127))
        picture: list[Part] = [Picture(grey)] if self.encoder.processor is not None else []
        parts: tuple[Part, ...] = (*picture, Template("Is this"), Template(" it: "), Data("grey?"))
        asked = [Prompt(parts, shared=2 if picture else 0)]
        found: Any = (
            self.answer_logprobs(asked, ("Yes", "No"))[0] if scores else self.generate(asked, 1)[0]
        )
        if isinstance(found, Failed):
            raise UserError(f"{self.encoder.name} loads but does not answer: {found.detail}")

    def _each(self, prompts: Sequence[Prompt], options: Any, room: int) -> list[Any]:
        """vLLM's output of each prompt, or `Failed`, in the order asked."""
        results: list[Any] = []
        asked: list[tuple[int, dict[str, Any]]] = []
        for k, prompt in enumerate(prompts):
            ids = self.encoder.unexpanded(prompt)
            results.append(Failed(Unscored.TOO_LONG, f"over the model's {self.longest:,} tokens"))
            if len(ids) + room > self.longest:
                continue
            inputs: dict[str, Any] = {"prompt_token_ids": ids}
            if prompt.pictures:
                inputs["multi_modal_data"] = {"image": prompt.pictures}
            asked.append((k, inputs))
        answers = self._run([inputs for _, inputs in asked], options) if asked else []
        for (k, _), answer in zip(asked, answers, strict=True):
            results[k] = answer
        return results

    def _run(self, inputs: Sequence[dict[str, Any]], options: Any) -> list[Any]:
        """The batch; where vLLM refuses it, its halves, down to the prompt that it refuses."""
        from vllm.v1.engine.exceptions import EngineDeadError

        try:
            outputs = self.llm.generate(list(inputs), options, use_tqdm=False)
        except EngineDeadError as error:
            raise EngineDead(f"vLLM stopped: {error}") from error
        except (ValueError, TypeError, RuntimeError) as error:
            if len(inputs) == 1:
                text = str(error).strip() or type(error).__name__
                long = "longer than the maximum" in text or "max_model_len" in text
                reason = Unscored.TOO_LONG if long else Unscored.ENGINE_ERROR
                return [Failed(reason, text.splitlines()[0])]
            middle = len(inputs) // 2
            return self._run(inputs[:middle], options) + self._run(inputs[middle:], options)
        self.tokens += sum(len(output.prompt_token_ids or []) for output in outputs)
        self.cached += sum(output.num_cached_tokens or 0 for output in outputs)
        return [output.outputs[0] for output in outputs]


def _answer(output: Any, ids: Sequence[Sequence[int]]) -> Answer | Failed:
    first = output.logprobs[0] if output.logprobs else {}
    if any(number not in first for numbers in ids for number in numbers):
        return Failed(Unscored.NO_LOGPROBS, "vLLM left out a token that was asked for")
    return answer_of([log_sum(first[number].logprob for number in numbers) for numbers in ids])


def load_engine(
    name: str, *, option: str, dtype: str = "auto", scores: bool = False, **options: Any
) -> VllmEngine:
    """The model of that name (a folder or a hub id) in vLLM, asked once whether it runs.

    `dtype` auto: the checkpoint's own. `options` go to `vllm.LLM`. Code that comes with a model is
    never run. Raises UserError where it cannot be had.
    """
    try:
        import vllm
    except ImportError as error:
        raise UserError(
            f"--engine vllm needs the package vllm ({error})",
            hint="pip install 'revise-captions[vllm]', on a machine with a GPU",
        ) from None
    import transformers
    from transformers.models.auto import modeling_auto

    folder = find_model(name, option)
    try:
        config = transformers.AutoConfig.from_pretrained(folder)
        sees = config.model_type in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
        processor: Any = transformers.AutoProcessor.from_pretrained(folder) if sees else None
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        encoder = Encoder(tokenizer, processor, name)
        pictures = {"limit_mm_per_prompt": {"image": 1}} if sees else {}
        llm = vllm.LLM(str(folder), dtype=dtype, seed=0, **{**pictures, **options})
        # its worker processes outlive the object, and Python waits for them at its end
        atexit.register(llm.llm_engine.engine_core.shutdown)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(name, error) from error
    settings = {
        "engine": "vllm",
        "model": named(name, folder),
        "dtype": str(llm.llm_engine.model_config.dtype).removeprefix("torch."),
        "device": str(vllm.platforms.current_platform.device_type),
        "vllm": vllm.__version__,
        "transformers": transformers.__version__,
    }
    engine = VllmEngine(llm, encoder, settings)
    engine.check(scores=scores)
    return engine
