"""vLLM itself: starting it, asking it, and counting what its prefix cache saved.

Requests are token ids and pictures, so that data stays data. A request that vLLM refuses costs only
its own answer: the batch is halved until that request is alone.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.engines.model_files import explained, named
from revise_captions.engines.protocol import Failed
from revise_captions.errors import EngineDead, UserError
from revise_captions.pretrained import check_files
from revise_captions.records import Unscored

if TYPE_CHECKING:
    from PIL.Image import Image

logger = logging.getLogger(__name__)
#: Prompts per call to vLLM: many times what it computes in a step; an interrupt loses this many.
TOGETHER = 128


@dataclass(frozen=True, slots=True)
class VllmRequest:
    """A prompt for vLLM, which inserts the pictures' tokens into `ids` itself."""

    ids: Sequence[int]
    pictures: Sequence[Image] = ()


@dataclass(slots=True)
class CacheCounts:
    """`cached` of `tokens` prompt tokens came from the prefix cache.

    `best` is what an unlimited cache would have saved within each call: each prompt's whole leading
    blocks that an earlier prompt about the same pictures also begins with.
    """

    cached: int = 0
    tokens: int = 0
    best: int = 0

    def add(self, outputs: Sequence[Any], pictures: Sequence[object], block: int) -> None:
        """Counts a batch: vLLM's outputs, and what identifies each prompt's pictures."""
        known: set[int] = set()
        for output, seen in zip(outputs, pictures, strict=True):
            ids = output.prompt_token_ids or []
            self.tokens += len(ids)
            self.cached += output.num_cached_tokens or 0
            chain, shares = hash(seen), True
            # the last token is always computed, to predict what follows
            for start in range(0, len(ids) - block, block):
                chain = hash((chain, *ids[start : start + block]))
                shares = shares and chain in known
                self.best += block if shares else 0
                known.add(chain)

    def __str__(self) -> str:
        return (
            f"{self.cached:,} of {self.tokens:,} prompt tokens from the prefix cache; the prompts "
            f"of each call share {self.best:,}"
        )


class Vllm:
    """Made by `start`. When the object is deleted or Python exits, vLLM is shut down, and what its
    prefix cache saved is logged."""

    def __init__(self, llm: Any, settings: Mapping[str, str]) -> None:
        self.llm, self.settings = llm, settings
        self.longest = int(llm.llm_engine.model_config.max_model_len)
        self.counts = CacheCounts()
        cache = getattr(llm.llm_engine, "cache_config", None) or getattr(
            getattr(llm.llm_engine, "vllm_config", None), "cache_config", None
        )
        self.block = int(getattr(cache, "block_size", None) or 16)
        # its worker processes outlive the object, and Python waits for them on exit
        weakref.finalize(self, _end, llm.llm_engine.engine_core, self.counts)

    def outputs(self, requests: Sequence[VllmRequest], options: Any, room: int) -> list[Any]:
        """vLLM's `RequestOutput` of each request, or `Failed`, in the order asked.

        `options`: vLLM's `SamplingParams`, one for all or one for each; `room`: how many tokens an
        answer may have. Raises EngineDead if vLLM has stopped.
        """
        results: list[Any] = []
        asked: list[tuple[int, dict[str, Any]]] = []
        for k, request in enumerate(requests):
            results.append(Failed(Unscored.TOO_LONG, f"over the model's {self.longest:,} tokens"))
            if len(request.ids) + room > self.longest:
                continue
            inputs: dict[str, Any] = {"prompt_token_ids": list(request.ids)}
            if request.pictures:
                inputs["multi_modal_data"] = {"image": list(request.pictures)}
            asked.append((k, inputs))
        if isinstance(options, list):
            options = [options[k] for k, _ in asked]
        answers = self._run([inputs for _, inputs in asked], options) if asked else []
        for (k, _), answer in zip(asked, answers, strict=True):
            results[k] = answer
        return results

    def _run(self, inputs: Sequence[dict[str, Any]], options: Any) -> list[Any]:
        """Runs the batch or, if vLLM refuses it, its halves, down to the prompt at fault."""
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
            logger.info("vLLM refused %d prompts, trying their halves: %s", len(inputs), error)
            middle = len(inputs) // 2
            first = last = options
            if isinstance(options, list):
                first, last = options[:middle], options[middle:]
            return self._run(inputs[:middle], first) + self._run(inputs[middle:], last)
        images = [item.get("multi_modal_data", {}).get("image", []) for item in inputs]
        pictures = [tuple(map(id, some)) for some in images]
        self.counts.add(outputs, pictures, self.block)
        return list(outputs)


def _end(core: Any, counts: CacheCounts) -> None:
    if counts.tokens:
        logger.info("vLLM: %s", counts)
    core.shutdown()


def scoring(ids: Sequence[int], **options: Any) -> Any:
    """`SamplingParams` that ask for the log-probabilities of exactly these ids, greedily.

    These are the model's own, whatever the options allow or forbid.
    """
    from vllm import SamplingParams

    try:
        return SamplingParams(temperature=0.0, logprob_token_ids=list(ids), **options)
    except TypeError as error:
        raise UserError(
            "this vLLM cannot return log-probabilities by token id", hint="pip install -U vllm"
        ) from error


def find_vllm() -> Any:
    """The module. Raises UserError if it is not installed."""
    # read on import; its log must not go to standard output, which is for results
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    try:
        import vllm
    except ImportError as error:
        raise UserError(
            f"--engine vllm needs the package vllm ({error})",
            hint="pip install 'revise-captions[vllm]', on a machine with a GPU",
        ) from None
    return vllm


def device_type() -> str:
    """The device that vLLM runs on: `cpu`, `cuda`, …"""
    find_vllm()
    from vllm.platforms import current_platform

    return str(current_platform.device_type)


def start(name: str, folder: Path, *, trusted: bool = False, **options: Any) -> Vllm:
    """Starts the model in a folder. `options` go to `vllm.LLM`; `trusted`: its own code may run.

    Raises UserError, with the name that the user gave, if vLLM does not load it.
    """
    import transformers

    began = time.monotonic()
    vllm = find_vllm()
    check_files(folder, name, trusted=trusted)
    options |= {"trust_remote_code": trusted, "load_format": "safetensors"}
    try:
        llm = vllm.LLM(str(folder), seed=0, **options)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(name, error) from error
    settings = {
        "engine": "vllm",
        "model": named(name, folder),
        "dtype": str(llm.llm_engine.model_config.dtype).removeprefix("torch."),
        "device": device_type(),
        "vllm": vllm.__version__,
        "transformers": transformers.__version__,
        **({"trust-remote-code": "yes"} if trusted else {}),
    }
    seconds = time.monotonic() - began
    logger.info("loaded %s from %s in %.1f s: %s", name, folder, seconds, settings)
    return Vllm(llm, settings)
