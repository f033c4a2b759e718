"""Names of engines, and of models on servers."""

from __future__ import annotations

import re

from revise_captions.errors import UserError

ENGINES = ("transformers", "vllm", "openai")
_SERVED = re.compile(r"(?P<model>[^@]*)@(?P<url>https?://.*)")


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
