"""A model in this process, through vLLM (extra `vllm`): continuous batching on a GPU.

Prompts are token ids, so that data stays data; each picture is one placeholder that vLLM expands.
Answer words are requested by id (`logprob_token_ids`), so their log-probabilities are exact even if
they are far from the top. A caption's prompts are consecutive and share a prefix, which vLLM's
prefix cache computes once; `vllm.counts` says how much that saved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from revise_captions.engines.answer_words import answer_of, log_sum, word_ids
from revise_captions.engines.batches import in_batches
from revise_captions.engines.load import EngineUse
from revise_captions.engines.model_files import explained, find_model
from revise_captions.engines.model_spec import ModelSpec
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Failed,
    Prompt,
    Sampling,
)
from revise_captions.engines.transformers.inputs import PromptEncoder, load_prompt_encoder, try_out
from revise_captions.engines.vllm.requests import (
    TOGETHER,
    Vllm,
    VllmRequest,
    find_vllm,
    scoring,
    start,
)
from revise_captions.errors import UserError
from revise_captions.records import Unscored


class VllmEngine:
    """Made by `load_engine`."""

    def __init__(self, vllm: Vllm, encoder: PromptEncoder) -> None:
        self.vllm, self.encoder = vllm, encoder

    @property
    def settings(self) -> Mapping[str, str]:
        return self.vllm.settings

    def answer_logprobs(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> list[AnswerScores | Failed]:
        """See `protocol.Engine`. Raises UserError where a word is no single token."""
        ids = word_ids(self.encoder.tokenizer.get_vocab(), words, self.encoder.name)
        options = scoring([number for numbers in ids for number in numbers], max_tokens=1)

        def ask(some: Sequence[Prompt]) -> list[AnswerScores | Failed]:
            return [
                found if isinstance(found, Failed) else _answer(found.outputs[0], ids)
                for found in self.vllm.outputs(self._requests(some), options, 1)
            ]

        return in_batches(self.encoder.name, f"judging {words}", prompts, TOGETHER, ask)

    def generate(
        self, prompts: Sequence[Prompt], max_tokens: int, sampling: Sampling | None = None
    ) -> list[Completion | Failed]:
        """See `protocol.Engine`."""
        return self._completions(prompts, max_tokens, sampling)

    def generate_json(
        self, prompts: Sequence[Prompt], schema: Mapping[str, Any], max_tokens: int
    ) -> list[Completion | Failed]:
        """See `protocol.WritesJson`."""
        from vllm.sampling_params import StructuredOutputsParams

        guided = StructuredOutputsParams(json=dict(schema))
        return self._completions(prompts, max_tokens, None, schema, structured_outputs=guided)

    def _completions(
        self,
        prompts: Sequence[Prompt],
        max_tokens: int,
        sampling: Sampling | None = None,
        schema: Mapping[str, Any] | None = None,
        **guided: Any,
    ) -> list[Completion | Failed]:
        from vllm import SamplingParams

        def options(number: int) -> Any:
            if sampling is None:
                return SamplingParams(temperature=0.0, max_tokens=max_tokens, **guided)
            return SamplingParams(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                seed=sampling.seed + number,
                max_tokens=max_tokens,
            )

        def ask(some: Sequence[tuple[Prompt, int]]) -> list[Completion | Failed]:
            requests = self._requests([prompt for prompt, _ in some])
            own = options(0) if sampling is None else [options(number) for _, number in some]
            return [
                found if isinstance(found, Failed) else _written(found.outputs[0])
                for found in self.vllm.outputs(requests, own, max_tokens)
            ]

        numbered = [(prompt, number) for number, prompt in enumerate(prompts)]
        # samples have their own seed, so they may be kept too
        kind = f"writing {max_tokens} {sampling} {schema}"
        return in_batches(self.encoder.name, kind, numbered, TOGETHER, ask)

    def _requests(self, prompts: Sequence[Prompt]) -> list[VllmRequest]:
        return [VllmRequest(self.encoder.unexpanded(p), p.pictures) for p in prompts]


def _written(output: Any) -> Completion:
    return Completion(str(output.text).strip(), output.finish_reason == "stop")


def _answer(output: Any, ids: Sequence[Sequence[int]]) -> AnswerScores | Failed:
    first = output.logprobs[0] if output.logprobs else {}
    if any(number not in first for numbers in ids for number in numbers):
        return Failed(Unscored.NO_LOGPROBS, "vLLM left out a token that was asked for")
    return answer_of([log_sum(first[number].logprob for number in numbers) for numbers in ids])


def load_engine(spec: ModelSpec, use: EngineUse, **options: Any) -> VllmEngine:
    """A model in this process, run by vLLM and tried with one question.

    Args:
        spec: A folder or a hub id; `auto` as dtype is the checkpoint's own.
        use: What it is loaded for.
        options: Passed to `vllm.LLM`.

    Raises:
        UserError: The model cannot be loaded, does not answer, or vLLM would compute it wrongly.
    """
    find_vllm()
    name, trusted, dtype = spec.name, spec.placement.trust_remote_code, spec.placement.dtype
    folder = find_model(name, use.option)
    try:
        encoder = load_prompt_encoder(folder, name, trusted=trusted)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(name, error) from error
    sees = encoder.processor is not None
    pictures = {"limit_mm_per_prompt": {"image": 1}} if sees else {}
    vllm = start(name, folder, trusted=trusted, dtype=dtype, **{**pictures, **options})
    if sees and getattr(vllm.llm.llm_engine.model_config, "is_mm_prefix_lm", False):
        expect_whole_images(name, vllm.settings["device"])
    engine = VllmEngine(vllm, encoder)
    try_out(engine, encoder, scores=use.scores)
    return engine


def expect_whole_images(name: str, device: str) -> None:
    """Raises UserError if vLLM would silently compute a model whose images attend to themselves in
    both directions (Gemma 3) causally, as it does on a CPU."""
    if device == "cpu":
        raise UserError(
            f"vLLM on a CPU does not compute attention within an image as {name} does, so its "
            "answers would differ",
            hint="leave --engine out",
        )
