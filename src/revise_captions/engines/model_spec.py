"""A model's name, resolved once into its location, and the placement: where and how it runs.

A name is a folder, a hub id (`owner/name`, `owner/name@revision`), a server's model
(`MODEL@http://host:8000/v1`), another provider's (`litellm/PROVIDER/MODEL`), or `smollm2`
(`engines.smollm2`). Critics and revisers also have names of their own (`registry.CRITICS`,
`registry.REVISERS`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from revise_captions import registry
from revise_captions.command_line.options import group
from revise_captions.command_line.shared import shared_option
from revise_captions.engines.server_options import ServerOptions
from revise_captions.errors import UserError

TRANSFORMERS, VLLM, OPENAI = "transformers", "vllm", "openai"
#: Used in place of the address for a model that LiteLLM reaches.
LITELLM = "litellm"
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*(?:@[\w./-]+)?")
_SERVED = re.compile(r"(?P<model>.*?)@(?P<url>https?://.*)")


@dataclass(frozen=True, slots=True)
class Placement:
    """Inference engine, device and server.

    Attributes:
        engine: `transformers`, `vllm`, `openai` (a server; a name with an address needs no
            engine), or one that another package adds.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, …; a server and vLLM choose their own.
        dtype: `auto`, `float32`, `bfloat16` or `float16`.
        batch_size: Most captions, prompts or sentences at a time; for a server, requests in
            flight. None: each model's default.
        trust_remote_code: Whether code that comes with a model may run.
        server: How a server is asked.
    """

    engine: str = shared_option("--engine")
    device: str = shared_option("--device")
    dtype: str = shared_option("--dtype")
    batch_size: int | None = shared_option(
        "--batch-size", default=None, help="Captions or prompts per forward pass."
    )
    trust_remote_code: bool = shared_option("--trust-remote-code")
    server: ServerOptions = group(ServerOptions)


HERE = Placement()


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A resolved model; nothing of it is loaded yet.

    Attributes:
        name: As the user gave it. Messages and signatures use this name.
        source: A folder, a hub id without its revision, or a server's address.
        revision: Of a hub id; None: its default branch.
        placement: Its engine is `openai` for a server's model, whatever was asked for.
    """

    name: str
    source: str
    revision: str | None = None
    placement: Placement = HERE

    @property
    def folder(self) -> Path | None:
        """Where its files are; None on a hub or a server."""
        folder = Path(self.source).expanduser()
        local = self.source and self.placement.engine != OPENAI and folder.is_dir()
        return folder if local else None


def resolve_model(name: str, placement: Placement = HERE, *, option: str = "--model") -> ModelSpec:
    """An instruct model by name.

    Args:
        name: A folder, a hub id, a server's model, or `smollm2`.
        placement: Where and how it runs, unless it is on a server.
        option: The option that gave the name, for messages.

    Raises:
        UserError: The engine is unknown, or needs a server's address that the name lacks.
    """
    if placement.engine not in registry.entries(registry.ENGINES):
        raise registry.unknown(registry.ENGINES, placement.engine)
    if (found := served(name)) is not None:
        return ModelSpec(name, found[1], None, replace(placement, engine=OPENAI))
    if placement.engine == OPENAI:
        raise UserError(
            f"--engine openai needs a server's address, and {option} {name} has none",
            hint="name it as MODEL@http://host:8000/v1",
        )
    place, revision = name, ""
    if not Path(name).expanduser().is_dir():
        place, _, revision = name.partition("@")
    return ModelSpec(name, place, revision or None, placement)


def served(name: str) -> tuple[str, str] | None:
    """Model and base address of `MODEL@http://host:port/v1`; None for other kinds of name.

    The model of `@http://host:port/v1` is "", meaning the server's only one.
    `litellm/PROVIDER/MODEL` has the address `LITELLM`.
    """
    if name.startswith("litellm/"):
        if model := name.removeprefix("litellm/"):
            return model, LITELLM
        raise UserError(
            "litellm/ names no model", hint="for example litellm/anthropic/claude-sonnet-4-5"
        )
    found = _SERVED.fullmatch(name)
    if found is None:
        return None
    if not re.match(r"https?://[^/@\s]+(/\S*)?$", found["url"]):
        raise UserError(
            f"{name}: expected a server's address after the @",
            hint="for example Qwen/Qwen3-VL-8B-Instruct@http://localhost:8000/v1",
        )
    return found["model"], found["url"].rstrip("/")
