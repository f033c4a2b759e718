"""A signature: everything that determines a number, in one printable line (after sacreBLEU)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version

from revise_captions.errors import UserError

PACKAGE = "revise-captions"


def signature(settings: Mapping[str, str]) -> str:
    """`key:value|key:value|…` by key, ending in this package's version.

    `|` and line breaks inside a value become `/` and a space, so that the line can be parsed.
    """
    plain = {key: " ".join(value.split()).replace("|", "/") for key, value in settings.items()}
    return _line(plain | {PACKAGE: version(PACKAGE)})


def digest(line: str) -> str:
    """A row's short form of a signature: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_digest(text: str) -> bool:
    """Whether a row's signature is the digest of the line rather than the line itself."""
    return re.fullmatch("[0-9a-f]{16}", text) is not None


def settings_of(line: str) -> dict[str, str]:
    """The settings that a signature names; {} for a line that is not a signature.

    Raises:
        UserError: The line is a digest: the file beside the rows that explains it is missing.
    """
    if is_digest(line):
        raise UserError(
            f"no settings are recorded for the signature {line}",
            hint="put the file NAME.signatures.json, written along with NAME, beside it",
        )
    pairs = (item.partition(":") for item in line.split("|"))
    return {key: value for key, colon, value in pairs if colon}


def of_expert(settings: Mapping[str, str], expert: str) -> dict[str, str]:
    """The settings that determined an expert's answers; in a panel they are named `expert.key`.

    Args:
        settings: Of a signature.
        expert: Its name; "" where one critic judges everything.
    """
    if not expert:
        return dict(settings)
    mark = f"{expert}."
    own = {k.removeprefix(mark): v for k, v in settings.items() if k.startswith(mark)}
    return {k: v for k, v in settings.items() if "." not in k} | own


@lru_cache(maxsize=64)
def merged(earlier: str, own: str) -> str:
    """The signature of work done in two stages: all of ours, plus what only the earlier one names.

    Running a critic's stage, a reviser's and a critic's again thus gives one whole run's signature.
    """
    return _line(settings_of(earlier) | settings_of(own))


def fingerprint(settings: Mapping[str, str]) -> str:
    """A hash of all settings: two runs with the same one give the same answers."""
    return hashlib.sha256(signature(settings).encode()).hexdigest()[:16]


def _line(settings: Mapping[str, str]) -> str:
    order = sorted(settings, key=lambda key: (key == PACKAGE, key))
    return "|".join(f"{key}:{settings[key]}" for key in order)
