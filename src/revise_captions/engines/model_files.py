"""Finding a model, identifying it, and explaining in one line why it is not available."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.engines import smollm2
from revise_captions.engines.model_spec import HUB_ID
from revise_captions.errors import UserError
from revise_captions.io.checked_json import read_checked
from revise_captions.pretrained import code_refused

FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]


def find_model(name: str, option: str) -> Path:
    """The folder of a model by folder, hub id (`owner/name`, `owner/name@revision`), or `smollm2`.

    What is only on the hub is downloaded. `option`: the option that gave the name, for messages.
    Raises UserError saying what was asked for, where it was looked for, and how to get it.
    """
    if name == smollm2.NAME:
        return smollm2.smollm2_folder()
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        if not (folder / "config.json").is_file():
            files = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
            raise UserError(
                f"{option} {name}: the folder holds no model: no config.json (found {files})",
                hint="name a folder in transformers' format (config.json, *.safetensors, …)",
            )
        return folder
    if not HUB_ID.fullmatch(name):
        raise UserError(
            f"{option} {name}: there is no such folder, and it is no hub id",
            hint="name a folder, a hub id (owner/name), a server's model (MODEL@http://…/v1), or "
            "smollm2",
        )
    from huggingface_hub import snapshot_download

    place, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(place, revision=revision or None, allow_patterns=FILES))
    except Exception as error:
        raise explained(place, error) from error


def model_type(folder: Path) -> str:
    """`model_type` in a folder's config.json; "" if there is none."""
    what = "a model's configuration"
    return read_checked(_ModelConfig, folder / "config.json", what=what, more=True).model_type


@dataclass(frozen=True, slots=True)
class _ModelConfig:
    """The part of transformers' configuration that is read here."""

    model_type: str = ""


def digest(folder: Path) -> str:
    """The first 12 hex digits of a SHA-256 over weights, configuration, tokenizer and template."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".safetensors", ".json", ".jinja", ".model"):
            continue
        total.update(f"{path.name}\0".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                total.update(block)
    return total.hexdigest()[:12]


def named(name: str, folder: Path) -> str:
    """`name@digest`; for a folder, its last part, so that a model may be moved."""
    is_folder = name != smollm2.NAME and Path(name).expanduser().is_dir()
    own = folder.resolve().name if is_folder else name
    return f"{own}@{digest(folder)}"


def answer_ends(model: Any, tokenizer: Any, name: str) -> tuple[int, ...]:
    """Ids that end an answer: the tokenizer's and all in the model's generation settings."""
    listed = getattr(model.generation_config, "eos_token_id", None)
    ids = listed if isinstance(listed, list) else [listed]
    ends = dict.fromkeys(i for i in (tokenizer.eos_token_id, *ids) if i is not None)
    if not ends:
        raise UserError(f"{name} defines no end-of-sequence token (eos_token)")
    return tuple(int(i) for i in ends)


def explained(name: str, error: BaseException, expected: str = "AutoModelForCausalLM") -> UserError:
    """A one-line error with what to do about a model that did not load."""
    kinds: set[str] = set()
    cause: BaseException | None = error
    while cause is not None:
        kinds |= {kind.__name__ for kind in type(cause).__mro__}
        cause = cause.__cause__ or cause.__context__
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if "GatedRepoError" in kinds or "gated repo" in str(error):
        return UserError(
            f"{name} is gated by a license that you have not accepted",
            hint=f"accept it at https://huggingface.co/{name}, then run: hf auth login",
        )
    if kinds & {"LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectionError", "Timeout"}:
        return UserError(
            f"{name} is not on this machine, and the hub cannot be reached",
            hint=f"download it where there is a network (hf download {name}), then name the folder",
        )
    if "RepositoryNotFoundError" in kinds or "is not a valid model identifier" in str(error):
        return UserError(
            f"there is no model {name} on the hub, or it is private",
            hint="check the spelling, or log in with: hf auth login",
        )
    if "trust_remote_code" in str(error):
        return code_refused(name)
    if isinstance(error, ImportError):
        missing = error.name or _library(str(error))
        hint = f"pip install {missing}" if missing else first
        return UserError(f"{name} needs a package that is not installed: {first}", hint=hint)
    return UserError(
        f"{name} does not load as a text-generating model: {first}",
        hint=f"expected an instruct model that transformers' {expected} knows",
    )


def _library(text: str) -> str | None:
    """The package that transformers names when a class of its own cannot be used."""
    found = re.search(r"requires the (\w+) library", text, re.IGNORECASE)
    return found[1].lower() if found else None
