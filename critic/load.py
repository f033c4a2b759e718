"""A critic by name, whatever computes it.

    bundled, a folder with critic.json     our own PaliGemma 2     in process, packed, or vLLM
    a PaliGemma 2 without one              prefix attention        in process, one prompt a sentence
    any other vision–language model        through its chat format in process, or through vLLM
    MODEL@http://host:port/v1              whatever a server has   OpenAI's protocol

A PaliGemma's answers depend on its attention mode (`packing.AttentionMode`): an engine that does
not compute the checkpoint's refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from revise_captions.critic import chat_prompts
from revise_captions.critic.adapters import check_base, with_adapter
from revise_captions.critic.checkpoints import (
    CARD,
    CriticCard,
    asks_by_chat,
    read_card,
)
from revise_captions.critic.paligemma.load import (
    BUNDLED,
    chosen_threshold,
    critic_folders,
    load_critic,
    weights_digest,
)
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.vllm import expect_attention_mode, load_vllm_critic
from revise_captions.critic.protocol import Critic
from revise_captions.engines.model_files import model_type
from revise_captions.engines.names import ENGINES, served
from revise_captions.errors import UserError

#: What is known of a model that nobody calibrated as a critic.
UNCALIBRATED = CriticCard(AttentionMode.CAUSAL)


@dataclass(frozen=True, slots=True)
class CriticSource:
    """What computes a critic. `own`: a PaliGemma 2, asked as it was trained; `instruct`: a chat
    model; `engine`: through what. `place`: its folder, None where it is on a hub or a server.
    """

    kind: Literal["own", "instruct"]
    engine: str
    place: Path | None = None


def find_critic(
    name: str, engine: str = "transformers", *, fetch: bool = True, any_attention_mode: bool = False
) -> CriticSource | None:
    """What a critic's name stands for; loads no weights. Raises UserError for what does not fit.

    `fetch=False` downloads nothing, and gives None for a hub id. `any_attention_mode`: its
    attention mode will be overruled.
    """
    if engine not in ENGINES:
        raise UserError(f"there is no engine {engine!r}", hint=f"expected {', '.join(ENGINES)}")
    if served(name) is not None:
        return CriticSource("instruct", "openai")
    if engine == "openai":
        raise UserError(
            f"--engine openai needs a server's address, and --critic {name} has none",
            hint="name it as MODEL@http://host:8000/v1",
        )
    if name != "bundled" and not fetch and not Path(name).expanduser().is_dir():
        return None
    card, folder, _ = critic_folders(name)
    chat = asks_by_chat(card)
    own = not chat and (
        name == "bundled" or (card / CARD).exists() or model_type(folder) == "paligemma"
    )
    if own and engine == "vllm" and not any_attention_mode:
        expect_attention_mode(read_card(card).attention_mode, folder)
    return CriticSource(
        "own" if own else "instruct", engine, BUNDLED if name == "bundled" else folder
    )


def load(
    name: str = "bundled",
    *,
    engine: str = "transformers",
    adapter: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    batch_size: int = 16,
    threshold: float | None = None,
    target_precision: float | None = None,
    packed: bool = True,
    attention_mode: str | None = None,
    samples: int = 0,
    compiled: bool = False,
) -> Critic:
    """The critic of that name, ready to judge. See the module, and `critic.load_critic`.

    `samples`: for servers without log-probabilities, so many sampled answers instead. Raises
    UserError, before any data is read, where it cannot be had.
    """
    asked = find_critic(name, engine, any_attention_mode=attention_mode is not None)
    assert asked is not None
    if compiled:
        _may_compile(asked, name)
    if asked.kind == "own" and asked.engine == "vllm":
        return load_vllm_critic(
            name,
            adapter=adapter,
            dtype=dtype,
            threshold=threshold,
            target_precision=target_precision,
            attention_mode=attention_mode,
        )
    if asked.kind == "own":
        return load_critic(
            name,
            adapter=adapter,
            dtype=dtype,
            device=device,
            batch_size=batch_size,
            threshold=threshold,
            target_precision=target_precision,
            packed=packed,
            attention_mode=attention_mode,
            compiled=compiled,
        )
    if attention_mode is not None:
        raise UserError("only PaliGemma 2 critics have an attention mode to choose")
    return _instruct(
        name,
        asked,
        adapter,
        threshold=threshold,
        target_precision=target_precision,
        dtype=dtype,
        device=device,
        batch_size=batch_size,
        samples=samples,
    )


def _may_compile(asked: CriticSource, name: str) -> None:
    if (asked.kind, asked.engine) != ("own", "transformers"):
        raise UserError(
            f"--compile is for PaliGemma 2 critics in this process, and {name} is none",
            hint="leave it out: vLLM and servers compile what they compute by themselves",
        )


def _instruct(
    name: str,
    asked: CriticSource,
    adapter: str | None,
    *,
    threshold: float | None,
    target_precision: float | None,
    dtype: str,
    device: str,
    batch_size: int,
    samples: int,
) -> Critic:
    """An instruct model as a critic, as it is or as finetune-critic left it."""
    from revise_captions.critic.instruct import InstructCritic
    from revise_captions.engines.load import load_engine
    from revise_captions.engines.transformers.engine import TransformersEngine

    own, added, model = None, None, name
    if asked.place is not None:
        own, folder, added = critic_folders(name, adapter)
        if added is not None:
            model = str(folder)
            check_base(added, weights_digest(folder), folder)
    if (adapter is not None or added is not None) and asked.engine != "transformers":
        raise UserError(
            f"--engine {asked.engine} cannot add an adapter to a model",
            hint="train with --merge and name the merged folder",
        )
    card = UNCALIBRATED
    if own is not None and asks_by_chat(own):
        card = read_card(own, chat_prompts.VERSION)
    limit = chosen_threshold(card, threshold, target_precision)
    loaded = load_engine(
        model,
        engine=asked.engine,
        option="--critic",
        dtype=dtype,
        device=device,
        batch_size=batch_size,
        samples=samples,
        scores=True,
    )
    if added is not None:
        assert isinstance(loaded, TransformersEngine)
        loaded.model = with_adapter(loaded.model, added).eval()
        digest = weights_digest(added)
        loaded.settings = {**loaded.settings, "adapter": f"{added.name}@{digest}"}
    return InstructCritic(loaded, threshold=limit)
