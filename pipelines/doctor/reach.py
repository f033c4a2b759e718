"""Whether a named model or server can be had, without loading it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from revise_captions import registry
from revise_captions.engines.model_spec import HUB_ID, served
from revise_captions.engines.server_options import DEFAULT, ServerOptions
from revise_captions.errors import UserError
from revise_captions.registry import Kind

if TYPE_CHECKING:
    from revise_captions.critic.load import NamedCritic
    from revise_captions.reviser.load import NamedReviser


def reachable(
    name: str,
    kind: Kind,
    resolve: Callable[[], NamedCritic | NamedReviser],
    server: ServerOptions = DEFAULT,
) -> str:
    """What a model's name leads to, in a few words. A server is asked, a hub is looked at.

    Args:
        name: As the user gave it.
        kind: Of model, in the registry.
        resolve: Finds a local folder; its `UserError` passes.
        server: How a server is asked.

    Raises:
        UserError: It cannot be had.
    """
    if (found := served(name)) is not None:
        from revise_captions.engines.openai.probe import connect

        asked = kind == registry.CRITICS
        can = connect(*found, in_flight=1, scores=asked, images=asked, options=server).can
        return (
            f"the server answers; {can.line}; reports {'' if can.caching else 'no '}cached tokens"
        )
    folder = registry.is_folder(kind, name)
    if folder or not HUB_ID.fullmatch(name):
        entry = resolve().entry
        return f"a folder, for {entry}" if folder else "installed"
    return _on_hub(name)


def _on_hub(name: str) -> str:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError

    place, _, revision = name.partition("@")
    try:
        snapshot_download(place, revision=revision or None, local_files_only=True)
        return "downloaded already"
    except (LocalEntryNotFoundError, ValueError, OSError):
        pass
    try:
        info = HfApi().model_info(place, revision=revision or None, timeout=5, files_metadata=True)
    except GatedRepoError:
        raise UserError(
            f"{name} is gated: its license must be accepted first",
            hint="accept it on the hub, then log in",
        ) from None
    except Exception as error:  # whatever the HTTP library of the day raises
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(
            f"{name} is neither a folder nor available from the hub: {reason[:200]}",
            hint="check the name and the network, or download it and name its folder",
        ) from None
    size = sum(file.size or 0 for file in info.siblings or [])
    return f"on the hub, {size / 1e9:.1f} GB to download"
