"""Revisers by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from revise_captions.engines.names import served
from revise_captions.errors import UserError
from revise_captions.reviser.protocol import Reviser

#: The checkpoint in the package.
BUNDLED = Path(__file__).parent / "bundled"
NAMES = ("bundled", "drop")
_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*(?:@[\w./-]+)?")
_EXPECTED = (
    "expected `bundled`, `drop`, a folder, a hub id such as Qwen/Qwen3-14B, or a server's model "
    "(MODEL@http://host:8000/v1)"
)


@dataclass(frozen=True, slots=True)
class ReviserSource:
    """Where a reviser comes from; nothing has been loaded. `place`: a folder or a hub id."""

    name: str
    kind: Literal["drop", "own", "instruct", "served"]
    place: str = ""
    revision: str | None = None


def find_reviser(name: str = "bundled") -> ReviserSource:
    """What `name` stands for, by looking at files only. Raises UserError for what is none."""
    if name == "drop":
        return ReviserSource(name, "drop")
    if name == "bundled":
        if not (BUNDLED / "reviser.json").is_file():
            raise UserError(
                f"the bundled reviser is missing from {BUNDLED}",
                hint="install the package again, or use --reviser drop",
            )
        return ReviserSource(name, "own", str(BUNDLED))
    if (server := served(name)) is not None:
        return ReviserSource(name, "served", server[1])
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return _in_folder(name, folder)
    if (name and folder.is_file()) or name.startswith((".", "/", "~")) or name.count("/") > 1:
        found = "a file" if folder.exists() else "not there"
        raise UserError(f"--reviser {name}: {folder} is {found}", hint=_EXPECTED)
    if not _HUB_ID.fullmatch(name):
        near = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else _EXPECTED
        raise UserError(f"there is no reviser {name!r}, and no folder of that name", hint=hint)
    place, _, revision = name.partition("@")
    return ReviserSource(name, "instruct", place, revision or None)


def _in_folder(name: str, folder: Path) -> ReviserSource:
    if (folder / "reviser.json").is_file():
        return ReviserSource(name, "own", str(folder))
    if (folder / "config.json").is_file():
        return ReviserSource(name, "instruct", str(folder))
    if (folder / "adapter_config.json").is_file():
        raise UserError(
            f"{folder} holds a LoRA adapter, not a whole model",
            hint="merge it into its base model first (peft: merge_and_unload), and save that",
        )
    files = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
    raise UserError(
        f"{folder} holds no model: no config.json (found {files})",
        hint="name a folder in transformers' format (config.json, *.safetensors, tokenizer.json)",
    )


def load_reviser(
    name: str = "bundled",
    *,
    engine: str = "transformers",
    device: str = "auto",
    dtype: str = "auto",
    batch_size: int | None = None,
) -> Reviser:
    """Loads a reviser by name.

    Args:
        name: `bundled`, `drop` (delete what is flagged), a folder (a reviser of our own, or an
            instruct model in transformers' format), a hub id with or without `@revision`, or a
            server's model, `MODEL@http://host:port/v1`.
        engine: `transformers`, `vllm` or `openai`: computes instruct models.
        device: `auto` takes a GPU if there is one.
        dtype: `auto` is bfloat16 on a GPU, else float32.
        batch_size: Sentences rewritten together; by default 16, or 8 for an instruct model in this
            process. Our own small models take four times as many.

    Returns:
        The reviser, ready to rewrite.

    Raises:
        UserError: The model cannot be found or loaded.
    """
    source = find_reviser(name)
    if source.kind == "drop":
        from revise_captions.reviser.scripted import DropReviser

        return DropReviser()
    if engine == "openai" and source.kind == "instruct":
        raise UserError(
            f"--engine openai needs a server's address, and --reviser {name} has none",
            hint="name it as MODEL@http://host:8000/v1",
        )
    if source.kind == "served" or (engine == "vllm" and source.kind == "instruct"):
        from revise_captions.engines.load import load_engine
        from revise_captions.reviser.chat import ChatReviser

        loaded = load_engine(
            name, engine=engine, option="--reviser", dtype=dtype, batch_size=batch_size or 16
        )
        return ChatReviser(loaded)
    where, kind = _device(device), dtype
    if kind == "auto":
        kind = "float32" if where == "cpu" else "bfloat16"
    if source.kind == "own":
        from revise_captions.reviser.bundled_model.reviser import load_bundled

        count = 4 * (batch_size or 16)  # what so small a model costs is mostly its steps
        return load_bundled(
            Path(source.place), device=where, dtype=kind, batch_size=count, name=name
        )
    from revise_captions.reviser.instruct import load_instruct

    return load_instruct(
        source.place,
        name=name,
        device=where,
        dtype=kind,
        batch_size=batch_size or 8,
        revision=source.revision,
    )


def _device(device: str) -> str:
    """`auto` resolved. Raises UserError for a device that torch does not have."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise UserError(f"--device {device} cannot be used: {first}", hint="try cpu") from None
    return device
