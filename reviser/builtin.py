"""The revisers of this package, as entry points load them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.engines.model_spec import TRANSFORMERS, Placement, resolve_model
from revise_captions.engines.placement import device_and_dtype
from revise_captions.engines.smollm2 import NAME as SMOLLM2
from revise_captions.engines.smollm2 import check_usable, is_installed
from revise_captions.errors import UserError
from revise_captions.reviser.protocol import Reviser

if TYPE_CHECKING:
    from revise_captions.reviser.bundled_model.reviser import BundledReviser

#: The checkpoints in the package: a small model, and an adapter of SmolLM2.
BUNDLED = Path(__file__).parent / "bundled"
ADAPTER = Path(__file__).parent / "smollm2"
#: Default batch sizes, in sentences: for the adapter, and for a language model in this process.
_EDITS, _INSTRUCT = 16, 8


def load_bundled(argument: str, placement: Placement) -> Reviser:
    """The picture book's small model; other English goes to SmolLM2, if installed."""
    from revise_captions.reviser.bundled_model.reviser import read_card
    from revise_captions.reviser.bundled_model.routed import RoutedReviser

    found = _edit(_shipped("bundled", BUNDLED, argument), "bundled", placement)
    if not is_installed() or not (ADAPTER / "reviser.json").is_file():
        return found
    other = f"{SMOLLM2}@{read_card(ADAPTER).revision}"
    settings = {**found.settings, "reviser-of-other-words": other}
    return RoutedReviser(found, lambda: _edit(ADAPTER, SMOLLM2, placement), settings)


def load_smollm2(argument: str, placement: Placement) -> Reviser:
    """An adapter of SmolLM2-135M, for any English; needs SmolLM2."""
    check_usable()
    return _edit(_shipped(SMOLLM2, ADAPTER, argument), SMOLLM2, placement)


def load_edit(argument: str, placement: Placement) -> Reviser:
    """A model of the bundled kind [=FOLDER]."""
    return _edit(Path(argument).expanduser(), argument, placement)


def load_drop(argument: str, placement: Placement) -> Reviser:
    """Deletes every flagged sentence."""
    from revise_captions.reviser.scripted import DropReviser

    return DropReviser()


def load_fixes(argument: str, placement: Placement) -> Reviser:
    """Applies the critic's fixes and changes nothing else."""
    from revise_captions.reviser.fixes import FixReviser

    return FixReviser()


def load_instruct(argument: str, placement: Placement) -> Reviser:
    """Any language model that follows instructions [=FOLDER, hub id or server's model]."""
    spec = resolve_model(argument, placement, option="--reviser")
    if spec.placement.engine != TRANSFORMERS:
        from revise_captions.engines.load import load_engine
        from revise_captions.reviser.chat import ChatReviser

        return ChatReviser(load_engine(spec, option="--reviser"))
    from revise_captions.reviser.instruct import load_instruct as load

    return load(spec, batch_size=placement.batch_size or _INSTRUCT)


def _edit(folder: Path, name: str, placement: Placement) -> BundledReviser:
    from revise_captions.reviser.bundled_model.reviser import load_bundled as load

    device, dtype = device_and_dtype(placement.device, placement.dtype)
    # so small a model's time goes into decoding steps, not rows
    small = folder != ADAPTER
    count = placement.batch_size or _EDITS
    return load(
        folder,
        device=device,
        dtype=str(dtype).removeprefix("torch."),
        batch_size=4 * count if small else count,
        name=name,
    )


def _shipped(name: str, folder: Path, argument: str) -> Path:
    if argument:
        raise UserError(f"the reviser {name} takes no argument, but was given {argument!r}")
    if not (folder / "reviser.json").is_file():
        raise UserError(
            f"the reviser {name} is missing from {folder}",
            hint="reinstall the package, or use --reviser drop",
        )
    return folder
