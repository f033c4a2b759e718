"""The hub's names for a PaliGemma's weights, which transformers and vLLM both load.

transformers 5 writes the tower as `vision_tower.…`. The hub's PaliGemma checkpoints, and vLLM's
loader (vllm/model_executor/models/siglip.py, whose parameters are `vision_model.…`), have
`vision_tower.vision_model.…`, which transformers reads as well.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

TOWER, MODEL = "vision_tower.", "vision_tower.vision_model."
INDEX = "model.safetensors.index.json"


def hub_name(name: str) -> str:
    """The name of one tensor; the hub's own stay as they are."""
    if name.startswith(TOWER) and not name.startswith(MODEL):
        return MODEL + name.removeprefix(TOWER)
    return name


def write_hub_names(folder: Path) -> None:
    """Renames the tower's tensors in a PaliGemma's folder; other models' folders stay as they are.

    Only headers are rewritten: the memory needed does not grow with the weights.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "paligemma":
        return
    for path in sorted(folder.glob("model*.safetensors")):
        _rename(path)
    index = folder / INDEX
    if index.exists():
        found = json.loads(index.read_text(encoding="utf-8"))
        found["weight_map"] = {hub_name(key): file for key, file in found["weight_map"].items()}
        index.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _rename(path: Path) -> None:
    """A safetensors file: eight bytes of length, a JSON header, the tensors."""
    new = path.with_name(f"{path.name}.renamed")
    with path.open("rb") as old:
        size = int.from_bytes(old.read(8), "little")
        header: dict[str, Any] = json.loads(old.read(size))
        renamed = {hub_name(key): value for key, value in header.items()}
        if renamed == header:
            return
        text = json.dumps(renamed, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with new.open("wb") as file:
            file.write(len(text).to_bytes(8, "little"))
            file.write(text)
            shutil.copyfileobj(old, file, 1 << 22)
    os.replace(new, path)
