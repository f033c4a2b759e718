"""A reviser by name.

    bundled                        the picture book's small model; for other text SmolLM2, if there
    smollm2                        an adapter of SmolLM2, for any English
    fixes                          applies the critic's fixes
    drop                           deletes flagged sentences
    a folder with reviser.json     a model of the bundled kind
    any other instruct model       in process, through vLLM, or MODEL@http://host:port/v1
    NAME or NAME=ARGUMENT          added by another package (`registry.REVISERS`)

An entry point is a function `load(argument, placement)` that returns a `Reviser`; the argument is
the text after `=`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revise_captions import registry
from revise_captions.engines.model_spec import HERE, HUB_ID, Placement, served
from revise_captions.errors import UserError
from revise_captions.reviser.protocol import Reviser

#: Entries that load a model by name: one of the bundled kind, and any other.
EDIT, INSTRUCT = "edit", "instruct"


@dataclass(frozen=True, slots=True)
class NamedReviser:
    """What a reviser's name stands for: an entry of `registry.REVISERS`, and its argument."""

    name: str
    entry: str
    argument: str = ""


def resolve_reviser(name: str = "bundled") -> NamedReviser:
    """What a reviser's name stands for. Only looks at files.

    Raises:
        UserError: It stands for nothing.
    """
    entry, _, argument = name.partition("=")
    if served(name) is not None:
        return NamedReviser(name, INSTRUCT, name)
    if entry in registry.entries(registry.REVISERS):
        return NamedReviser(name, entry, argument)
    if registry.is_folder(registry.REVISERS, name):
        return NamedReviser(name, EDIT if _is_edit_model(name) else INSTRUCT, name)
    if not HUB_ID.fullmatch(name):
        raise registry.unknown(
            registry.REVISERS, name, hint="or name a folder, a hub id, or MODEL@http://host:8000/v1"
        )
    return NamedReviser(name, INSTRUCT, name)


def _is_edit_model(name: str) -> bool:
    """Whether a folder holds a reviser of the bundled kind. Raises `UserError` without a model."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise UserError(f"--reviser {name}: there is no such folder")
    if (folder / "reviser.json").is_file():
        return True
    if (folder / "config.json").is_file():
        return False
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


def load_reviser(name: str = "bundled", placement: Placement = HERE) -> Reviser:
    """Loads a reviser.

    Args:
        name: See the module.
        placement: Where and how to run it, if it is a model.

    Raises:
        UserError: The reviser cannot be loaded as asked. Raised before any data is read.
    """
    named = resolve_reviser(name)
    loaded: Reviser = registry.load(registry.REVISERS, named.entry)(named.argument, placement)
    return loaded
