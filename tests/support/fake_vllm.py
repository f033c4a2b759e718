"""A stand-in for the package vllm: what vLLM 0.32 takes and gives, over a model that a test names.

`installed` puts it where `import vllm` finds it. Like vLLM it puts a PaliGemma's image tokens and
<bos> before the prompt and a newline behind it, keeps log-probabilities apart from what sampling
may choose, and shares the blocks of prompts that begin alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

BLOCK = 4
#: Log-probabilities of the whole vocabulary behind `ids`, given the request's images.
Network = Callable[[Sequence[int], Sequence[Any]], torch.Tensor]


class EngineDeadError(Exception):
    pass


@dataclass(kw_only=True)
class SamplingParams:
    """The options that are used here; vLLM's own has more."""

    temperature: float
    max_tokens: int
    top_p: float = 1.0
    seed: int | None = None
    logprob_token_ids: list[int] | None = None
    allowed_token_ids: list[int] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    detokenize: bool = True


@dataclass
class Fake:
    """What a test decides, and what was asked. `expand`: the prompt that vLLM makes of ids."""

    network: Network
    expand: Callable[[Sequence[int]], list[int]]
    device: str = "cpu"
    eos: int = -1
    decode: Callable[[Sequence[int]], str] = str
    prefix_lm: bool | None = False
    refuse: Callable[[Sequence[int]], Exception | None] = lambda ids: None
    started: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked: list[tuple[list[dict[str, Any]], Any]] = field(default_factory=list)
    ended: int = 0

    def shutdown(self) -> None:
        self.ended += 1

    def generate(
        self,
        prompts: list[dict[str, Any]],
        options: SamplingParams | list[SamplingParams],
        use_tqdm: bool,
    ) -> list[Any]:
        assert not use_tqdm
        own = options if isinstance(options, list) else [options] * len(prompts)
        self.asked.append((prompts, options))
        for prompt in prompts:
            assert prompt.keys() <= {"prompt_token_ids", "multi_modal_data"}
            if error := self.refuse(prompt["prompt_token_ids"]):
                raise error
        known: set[tuple[int, ...]] = set()
        return [self._output(prompt, one, known) for prompt, one in zip(prompts, own, strict=True)]

    def _output(self, prompt: dict[str, Any], options: SamplingParams, known: set[Any]) -> Any:
        pictures = prompt.get("multi_modal_data", {}).get("image", [])
        start = self.expand(prompt["prompt_token_ids"])
        places = range(BLOCK, len(start), BLOCK)
        cached = max((n for n in places if tuple(start[:n]) in known), default=0)
        known.update(tuple(start[:n]) for n in places)
        ids, logprobs, ended = list(start), [], False
        while len(ids) < len(start) + options.max_tokens and not ended:
            found = self.network(ids, pictures)
            allowed = options.allowed_token_ids or range(len(found))
            ids.append(max(allowed, key=lambda i: float(found[i])))
            wanted = {ids[-1], *(options.logprob_token_ids or [])}
            logprobs.append({i: SimpleNamespace(logprob=float(found[i])) for i in wanted})
            ends = {self.eos, *(options.stop_token_ids or [])}
            ended = not options.ignore_eos and ids[-1] in ends
        made = ids[len(start) :]
        completion = SimpleNamespace(
            token_ids=made,
            text=self.decode(made) if options.detokenize else "",
            logprobs=logprobs if options.logprob_token_ids else None,
            finish_reason="stop" if ended else "length",
        )
        return SimpleNamespace(
            prompt_token_ids=start, num_cached_tokens=cached, outputs=[completion]
        )


def installed(patch: pytest.MonkeyPatch, fake: Fake) -> Fake:
    def llm(model: str, **options: Any) -> Any:
        fake.started.append((model, options))
        asked = (options.get("hf_overrides") or {}).get("is_mm_prefix_lm", fake.prefix_lm)
        config = SimpleNamespace(
            max_model_len=options.get("max_model_len", 4096),
            dtype=f"torch.{options['dtype']}",
            is_mm_prefix_lm=asked if fake.prefix_lm is not None else None,
        )
        engine = SimpleNamespace(
            model_config=config,
            engine_core=SimpleNamespace(shutdown=fake.shutdown),
            cache_config=SimpleNamespace(block_size=BLOCK),
        )
        return SimpleNamespace(llm_engine=engine, generate=fake.generate)

    package: Any = ModuleType("vllm")
    package.LLM, package.SamplingParams, package.__version__ = llm, SamplingParams, "0.32.0"
    platforms: Any = ModuleType("vllm.platforms")
    platforms.current_platform = SimpleNamespace(device_type=fake.device)
    exceptions: Any = ModuleType("vllm.v1.engine.exceptions")
    exceptions.EngineDeadError = EngineDeadError
    for name in ("vllm.v1", "vllm.v1.engine"):
        patch.setitem(sys.modules, name, ModuleType(name))
    patch.setitem(sys.modules, "vllm", package)
    patch.setitem(sys.modules, "vllm.platforms", platforms)
    patch.setitem(sys.modules, "vllm.v1.engine.exceptions", exceptions)
    return fake


def paligemma(model: Any, *, block: bool) -> Network:
    """Plain transformers under a 4D mask: causal, with `block` but for the image."""
    size = model.config.vision_config
    tokens = (size.image_size // size.patch_size) ** 2

    @torch.inference_mode()
    def network(ids: Sequence[int], pictures: Sequence[Any]) -> torch.Tensor:
        visible = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
        if block:
            visible[:tokens, :tokens] = True
        lowest = torch.finfo(torch.float32).min
        mask = torch.zeros(visible.shape).masked_fill(~visible, lowest)[None, None]
        (picture,) = pictures
        assert picture.size == (size.image_size, size.image_size)
        pixels = torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1)[None] / 127.5 - 1
        ids_there = torch.tensor([list(ids)])
        output = model(input_ids=ids_there, pixel_values=pixels, attention_mask=mask)
        return output.logits[0, -1].log_softmax(-1)

    return network


def expand_paligemma(tokenizer: Any, tokens: int) -> Callable[[Sequence[int]], list[int]]:
    def expand(ids: Sequence[int]) -> list[int]:
        end = [] if ids[-1] == tokenizer.special("\n")[0] else list(tokenizer.special("\n"))
        return [*[tokenizer.image] * tokens, tokenizer.bos, *ids, *end]

    return expand
