"""Finds the server's model that a name means: by id, alias, or the last part of a path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from revise_captions.engines.openai.http import Http, Refused, Unanswered
from revise_captions.errors import UserError


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of a server.

    Attributes:
        id: Used in requests.
        name: Used in messages and signatures: the last part of the id if that is a path.
    """

    id: str
    name: str


def model_at(http: Http, asked: str) -> ServedModel:
    """The server's model of this name; "" means the only one.

    For a server that lists no models, such as Azure's deployments, the name is used as given.

    Raises:
        UserError: There is no server, no such model, or several when none is named.
        Refused: The server requires a key.
    """
    listed = _listed(http, asked)
    names = [_base(entry["id"]) for entry in listed]
    if not asked and len(listed) != 1:
        raise UserError(
            f"the server at {http.base} has {len(listed) or 'no list of'} models: name one",
            hint=f"{names[0] if names else 'MODEL'}@{http.base}",
        )
    if not asked:
        return ServedModel(listed[0]["id"], names[0])
    if not listed:
        return ServedModel(asked, asked)
    for known in (_exact, _loose):
        found = [entry["id"] for entry in listed if known(asked) in map(known, _names(entry))]
        if len(set(found)) == 1:
            return ServedModel(found[0], asked)
    if asked in [entry["id"].partition("@")[0] for entry in listed]:  # transformers' own server
        return ServedModel(asked, asked)
    raise UserError(
        f"the server at {http.base} has no model {asked!r}",
        hint=f"it has {', '.join(names[:5])}",
    )


def _listed(http: Http, asked: str) -> list[Mapping[str, Any]]:
    try:
        known = http.get("models").get("data")
    except Unanswered as error:
        hint = f"start one (vllm serve {asked or 'MODEL'}), or correct the address"
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            hint = "--ca-bundle names a PEM file of certificates to trust"
        raise UserError(f"no server answers at {http.base}: {error}", hint=hint) from None
    except Refused as error:
        if error.status in (404, 405):
            return []
        raise
    entries = known if isinstance(known, list) else []
    return [e for e in entries if isinstance(e, dict) and isinstance(e.get("id"), str)]


def _names(entry: Mapping[str, Any]) -> Iterator[str]:
    """The server's names for a model: its id, vLLM's `root`, llama.cpp's `aliases`."""
    aliases = entry.get("aliases")
    more = [entry.get("root"), entry.get("alias"), *(aliases if isinstance(aliases, list) else [])]
    yield from (name for name in (entry["id"], *more) if isinstance(name, str))


def _base(name: str) -> str:
    """The last part of a path; a name with one slash, as on hubs, is kept whole."""
    path = PureWindowsPath(name) if "\\" in name else PurePosixPath(name)
    return path.name if path.is_absolute() or name.endswith(".gguf") else name


def _exact(name: str) -> str:
    return name


def _loose(name: str) -> str:
    """The last part, without a file extension, in lower case."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return last.removesuffix(".gguf").casefold()
