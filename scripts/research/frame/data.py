"""Words and templates that recipes draw from, as TOML beside them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def beside(module: str, name: str) -> dict[str, Any]:
    """The tables of the file `name` beside a module, lists as tuples. `module`: its `__file__`."""
    text = Path(module).with_name(name).read_text(encoding="utf-8")
    return {key: _frozen(value) for key, value in tomllib.loads(text).items()}


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(part) for key, part in value.items()}
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
