"""Finding a critic's files by name (`bundled`, a folder, or a hub id), and reading its card."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from revise_captions.critic.adapters import base_of
from revise_captions.critic.checkpoints import CARD, CriticCard, read_card
from revise_captions.critic.profile import CriticProfile
from revise_captions.engines.model_files import FILES
from revise_captions.engines.model_spec import HUB_ID
from revise_captions.errors import UserError
from revise_captions.registry import did_you_mean
from revise_captions.stats.calibration import threshold_for

BUNDLED = Path(__file__).parent / "bundled"
#: Names of checkpoints in the package.
SHIPPED = {"bundled": BUNDLED, "picturebook": BUNDLED}


def find_checkpoint(name: str, what: str = "critic", named: Sequence[str] = ()) -> Path:
    """The folder of a critic or adapter; a hub id is downloaded first.

    Args:
        name: `bundled`, a folder, or a hub id.
        what: `critic`, `base` or `adapter`, for messages.
        named: Names that the option accepts besides folders and ids.

    Raises:
        UserError: There is none, or it cannot be downloaded.
    """
    if (shipped := SHIPPED.get(name)) is not None:
        if (shipped / "config.json").exists():
            return shipped
        raise UserError(
            f"this installation has no {name} critic: {shipped} is empty",
            hint="train one with captions finetune and name its folder, or install a release",
        )
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if not HUB_ID.fullmatch(name):
        near = did_you_mean(name, named) or ": there is no such folder"
        takes = ", ".join([*named, "a folder or a hub id (google/paligemma2-3b-pt-448)"])
        raise UserError(f"no {what} at {name!r}{near}", hint=f"--{what} takes {takes}")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError

    place, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(place, revision=revision or None, allow_patterns=FILES))
    except GatedRepoError:
        reason, hint = "its license must be accepted first", "accept it on the hub, then log in"
    except LocalEntryNotFoundError:
        reason, hint = "the hub cannot be reached and it is not in the local cache", ""
    except (HfHubHTTPError, OSError) as error:
        reason, hint = str(error).strip().splitlines()[0], ""
    raise UserError(
        f"no {what} at {name!r}: neither a folder nor available from the hub ({reason})",
        hint=hint or "check the name and the network, or download it and name the folder",
    )


def critic_folders(name: str, adapter: str | None = None) -> tuple[Path, Path, Path | None]:
    """The folders of a critic's card, of its weights, and of the adapter to add to them, if any.

    An adapter that captions finetune wrote has its own card.
    """
    folder = find_checkpoint(name)
    base = base_of(folder)
    if base is not None:
        if adapter is not None:
            raise UserError(
                f"--critic {name} is already an adapter",
                hint="leave --adapter out, or name the base model with --critic",
            )
        return folder, find_checkpoint(base, "critic"), folder
    if adapter is None:
        return folder, folder, None
    added = find_checkpoint(adapter, "adapter")
    return (added if (added / CARD).exists() else folder), folder, added


def stored_card(name: str = "bundled") -> CriticCard:
    """The card of a checkpoint. Loads no weights."""
    return read_card(find_checkpoint(name))


def chosen_threshold(
    card: CriticCard | CriticProfile, threshold: float | None, precision: float | None
) -> float:
    """The threshold given, directly or through a target precision; by default the card's."""
    if threshold is not None and precision is not None:
        raise UserError(
            "both a threshold and a target precision are given",
            hint="give only one of them: the target precision determines a threshold",
        )
    if threshold is not None:
        if not 0 <= threshold <= 1:
            raise UserError(f"threshold {threshold:g} is not a probability; expected 0…1")
        return threshold
    if precision is None:
        return card.threshold
    curve = card.calibration.get("curve")
    if not curve:
        raise UserError(
            "this critic's checkpoint stores no precision–recall curve",
            hint="make a profile of it (captions calibrate) and give --critic-profile, or use "
            "--threshold instead of --target-precision",
        )
    return threshold_for(curve, precision)


def weights_digest(folder: Path) -> str:
    """The first 12 hex digits of the SHA-256 of a folder's safetensors and tokenizer."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.safetensors"), *folder.glob("tokenizer.json")]):
        with path.open("rb") as file:
            digest.update(f"{path.name}\0".encode())
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:12]
