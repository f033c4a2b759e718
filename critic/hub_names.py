"""Weight names of a SigLIP tower that transformers and vLLM both load.

transformers 5 writes the tower of PaliGemma, Gemma 3 and LLaVA-OneVision as `vision_tower.…`.
Checkpoints on the hub have `vision_tower.vision_model.…`, which transformers reads too and which
vLLM's loader needs (vllm/model_executor/models/siglip.py).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.io.writing import write_text

TOWER, MODEL = "vision_tower.", "vision_tower.vision_model."
INDEX = "model.safetensors.index.json"
SIGLIP = "siglip_vision_model"


def hub_name(name: str) -> str:
    """The hub's name for a tensor."""
    if name.startswith(TOWER) and not name.startswith(MODEL):
        return MODEL + name.removeprefix(TOWER)
    return name


def write_hub_names(folder: Path) -> None:
    """Renames the tensors of a SigLIP tower in a model's folder; leaves other models alone.

    Rewrites file headers only, so it needs little memory whatever the size of the model.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("vision_config", {}).get("model_type") != SIGLIP:
        return
    for path in sorted(folder.glob("model*.safetensors")):
        _rename(path)
    index = folder / INDEX
    if index.exists():
        found = json.loads(index.read_text(encoding="utf-8"))
        found["weight_map"] = {hub_name(key): file for key, file in found["weight_map"].items()}
        write_text(index, json.dumps(found, indent=2, sort_keys=True) + "\n")


def check_hub_names(folder: Path) -> None:
    """Raises UserError where a PaliGemma's weights have names that vLLM does not load."""
    for path in sorted(folder.glob("model*.safetensors")):
        with path.open("rb") as file:
            header = _header(file)
        if old := next((name for name in header if hub_name(name) != name), None):
            raise UserError(
                f"vLLM does not load {path}: its names of the tower's weights are from an older "
                f"version of revise-captions ({old}, expected {hub_name(old)})",
                hint=f"python -m revise_captions.critic.hub_names {folder}",
            )


def _header(file: Any) -> dict[str, Any]:
    """The header of a safetensors file; leaves the file at its first tensor."""
    header: dict[str, Any] = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return header


def _rename(path: Path) -> None:
    """A safetensors file: eight bytes of length, a JSON header, the tensors."""
    new = path.with_name(f"{path.name}.renamed")
    with path.open("rb") as old:
        header = _header(old)
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


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python -m revise_captions.critic.hub_names CHECKPOINT…")
    for given in sys.argv[1:]:
        write_hub_names(Path(given))
