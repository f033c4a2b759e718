"""Revisers by name."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from revise_captions.engines.model_spec import HUB_ID, ModelSpec, resolve_model
from revise_captions.engines.placement import device_and_dtype
from revise_captions.engines.smollm2 import NAME as SMOLLM2
from revise_captions.engines.smollm2 import check_installed, is_installed
from revise_captions.errors import UserError
from revise_captions.reviser.protocol import Reviser

#: The checkpoints in the package: a small model, and an adapter of SmolLM2.
BUNDLED = Path(__file__).parent / "bundled"
ADAPTER = Path(__file__).parent / "smollm2"
NAMES = ("bundled", "charts", "drop", SMOLLM2)
_EXPECTED = (
    "expected `bundled`, `charts`, `drop`, a folder, a hub id such as Qwen/Qwen3-14B, or a "
    "server's model (MODEL@http://host:8000/v1)"
)


def resolve_reviser(
    name: str = "bundled",
    *,
    engine: str = "transformers",
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
) -> ModelSpec:
    """What a reviser's name stands for, by looking at files only.

    Args:
        name: `bundled`, `charts`, `drop`, `smollm2` (with the bundled adapter), a folder, a
            hub id (`@revision` behind it if wanted), or a server's model.
        engine: What computes an instruct model; the bundled reviser is always computed here.
        device: See `ModelSpec`.
        dtype: See `ModelSpec`.
        trust_remote_code: See `ModelSpec`.

    Raises:
        UserError: The name stands for nothing.
    """
    if name in ("drop", "charts") and not Path(name).is_dir():
        return ModelSpec(name, "drop" if name == "drop" else "charts", "")
    if name in ("bundled", SMOLLM2):
        source = BUNDLED if name == "bundled" else ADAPTER
        if not (source / "reviser.json").is_file():
            raise UserError(
                f"the reviser {name} is missing from {source}",
                hint="install the package again, or use --reviser drop",
            )
        if name == SMOLLM2:
            check_installed()
        return ModelSpec(name, "edit", str(source), None, "transformers", device, dtype)
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        spec = resolve_model(name, device=device, dtype=dtype)
        if _is_edit_model(folder):
            return replace(spec, kind="edit")
    elif "://" not in name:
        _check_hub_id(name, folder)
    return resolve_model(
        name,
        engine=engine,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        option="--reviser",
    )


def _check_hub_id(name: str, folder: Path) -> None:
    """Raises `UserError` where a name is neither a folder nor a hub id."""
    if folder.is_file() or name.startswith((".", "/", "~")) or name.count("/") > 1:
        found = "a file" if folder.exists() else "not there"
        raise UserError(f"--reviser {name}: {folder} is {found}", hint=_EXPECTED)
    if not HUB_ID.fullmatch(name):
        near = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else _EXPECTED
        raise UserError(f"there is no reviser {name!r}, and no folder of that name", hint=hint)


def _is_edit_model(folder: Path) -> bool:
    """Whether a folder holds a reviser of the bundled kind. Raises `UserError` where it holds no
    model."""
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


def load_reviser(
    reviser: str | ModelSpec = "bundled",
    *,
    engine: str = "transformers",
    device: str = "auto",
    dtype: str = "auto",
    batch_size: int | None = None,
    trust_remote_code: bool = False,
) -> Reviser:
    """Loads a reviser.

    Args:
        reviser: A name, or what `resolve_reviser` made of one: then its engine, device, dtype and
            trust are its own.
        engine: What computes an instruct model.
        device: See `ModelSpec`.
        dtype: See `ModelSpec`.
        batch_size: Sentences at a time (16, or 8 in this process); the bundled reviser takes four
            times as many.
        trust_remote_code: See `ModelSpec`.

    Raises:
        UserError: The reviser cannot be loaded as asked. Raised before any data is read.
    """
    spec = reviser
    if isinstance(spec, str):
        spec = resolve_reviser(
            spec, engine=engine, device=device, dtype=dtype, trust_remote_code=trust_remote_code
        )
    if spec.kind == "drop":
        from revise_captions.reviser.scripted import DropReviser

        return DropReviser()
    if spec.kind == "charts":
        from revise_captions.reviser.charts import ChartReviser

        return ChartReviser()
    if spec.kind == "instruct" and spec.engine != "transformers":
        from revise_captions.engines.load import load_engine
        from revise_captions.reviser.chat import ChatReviser

        return ChatReviser(load_engine(spec, option="--reviser", batch_size=batch_size or 16))
    where, number = device_and_dtype(spec.device, spec.dtype)
    kind = str(number).removeprefix("torch.")
    if spec.kind == "edit":
        return _load_edit(spec, device=where, dtype=kind, batch_size=batch_size or 16)
    from revise_captions.reviser.instruct import load_instruct

    return load_instruct(
        spec.source,
        name=spec.name,
        device=where,
        dtype=kind,
        batch_size=batch_size or 8,
        revision=spec.revision,
        trusted=spec.trust_remote_code,
    )


def _load_edit(spec: ModelSpec, *, device: str, dtype: str, batch_size: int) -> Reviser:
    """A reviser of the bundled kind; `bundled` with SmolLM2 behind it where that is installed."""
    from revise_captions.reviser.bundled_model.reviser import (
        BundledReviser,
        load_bundled,
        read_card,
    )
    from revise_captions.reviser.bundled_model.routed import RoutedReviser

    def load(folder: Path, name: str) -> BundledReviser:
        # so small a model spends its time on steps, not on rows
        count = batch_size if folder == ADAPTER else 4 * batch_size
        return load_bundled(folder, device=device, dtype=dtype, batch_size=count, name=name)

    found = load(Path(spec.source).expanduser(), spec.name)
    if spec.name != "bundled" or not is_installed() or not (ADAPTER / "reviser.json").is_file():
        return found
    other = f"{SMOLLM2}@{read_card(ADAPTER).revision}"
    settings = {**found.settings, "reviser-of-other-words": other}
    return RoutedReviser(found, lambda: load(ADAPTER, SMOLLM2), settings)
