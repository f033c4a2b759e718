"""A model's name, resolved once into what it is, where it is, and what computes it.

A name is `bundled`, a folder, a hub id (`owner/name`, `owner/name@revision`), a server's model
(`MODEL@http://host:8000/v1`), or `smollm2` (`engines.smollm2`). `critic.load` and `reviser.load`
resolve the names that are theirs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from revise_captions.errors import UserError

ENGINES = ("transformers", "vllm", "openai")
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*(?:@[\w./-]+)?")
_SERVED = re.compile(r"(?P<model>[^@]*)@(?P<url>https?://.*)")

#: `paligemma`: a critic that is asked as it was trained; `charts`: critic and reviser of charts;
#: `edit`: a reviser of the bundled kind; `instruct`: a model with a chat template; `drop`: the
#: reviser that deletes.
ModelKind = Literal["paligemma", "charts", "edit", "instruct", "drop"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A resolved model; nothing of it is loaded yet.

    Attributes:
        name: As the user gave it. Messages and signatures name it so.
        kind: What it is, and so how it is asked.
        source: A folder, a hub id without its revision, or a server's address; "" for `drop`.
        revision: Of a hub id; None: its default branch.
        engine: What computes it: `transformers`, `vllm`, or `openai` (a server).
        device: `auto`, `cpu`, `cuda`, `cuda:1`, …; a server and vLLM choose their own.
        dtype: `auto`, `float32`, `bfloat16` or `float16`.
        trust_remote_code: Whether code that comes with it may run.
    """

    name: str
    kind: ModelKind
    source: str
    revision: str | None = None
    engine: str = "transformers"
    device: str = "auto"
    dtype: str = "auto"
    trust_remote_code: bool = False

    @property
    def folder(self) -> Path | None:
        """Where its files are; None on a hub or a server."""
        folder = Path(self.source).expanduser()
        return folder if self.source and self.engine != "openai" and folder.is_dir() else None


def resolve_model(
    name: str,
    *,
    engine: str = "transformers",
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
    option: str = "--model",
) -> ModelSpec:
    """An instruct model by name.

    Args:
        name: A folder, a hub id, a server's model, or `smollm2`.
        engine: What computes it, unless its name is a server's.
        device: See `ModelSpec`.
        dtype: See `ModelSpec`.
        trust_remote_code: See `ModelSpec`.
        option: The option that the user gave the name to, for messages.

    Raises:
        UserError: The engine is unknown, or needs a server's address that the name has not.
    """
    if engine not in ENGINES:
        raise UserError(f"there is no engine {engine!r}", hint=f"expected {', '.join(ENGINES)}")
    if (found := served(name)) is not None:
        return ModelSpec(name, "instruct", found[1], None, "openai", device, dtype)
    if engine == "openai":
        raise UserError(
            f"--engine openai needs a server's address, and {option} {name} has none",
            hint="name it as MODEL@http://host:8000/v1",
        )
    place, revision = name, ""
    if not Path(name).expanduser().is_dir():
        place, _, revision = name.partition("@")
    return ModelSpec(
        name, "instruct", place, revision or None, engine, device, dtype, trust_remote_code
    )


def served(name: str) -> tuple[str, str] | None:
    """Model and base address of `MODEL@http://host:port/v1`; None for a name of another kind."""
    found = _SERVED.fullmatch(name)
    if found is None:
        return None
    if not found["model"] or not re.match(r"https?://[^/@\s]+(/\S*)?$", found["url"]):
        raise UserError(
            f"{name}: expected a model and a server's address",
            hint="for example Qwen/Qwen3-VL-8B-Instruct@http://localhost:8000/v1",
        )
    return found["model"], found["url"].rstrip("/")
