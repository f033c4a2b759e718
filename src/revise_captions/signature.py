"""A signature names everything that decides a number, in one printable line (after sacreBLEU)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version

PACKAGE = "revise-captions"


def signature(settings: Mapping[str, str]) -> str:
    """`key:value|key:value|…` by key, ending in this package's version.

    `|` and line breaks inside a value become `/` and a space, so that the line can be split again.
    """
    plain = {key: " ".join(value.split()).replace("|", "/") for key, value in settings.items()}
    return _line(plain | {PACKAGE: version(PACKAGE)})


def settings_of(line: str) -> dict[str, str]:
    """The settings that a signature names; {} for a line that is not a signature."""
    pairs = (item.partition(":") for item in line.split("|"))
    return {key: value for key, colon, value in pairs if colon}


@lru_cache(maxsize=64)
def merged(earlier: str, own: str) -> str:
    """The signature of work done in two stages: what only the earlier one names, and all of ours.

    So a critic's stage, a reviser's and a critic's again end in the signature of one whole run.
    """
    return _line(settings_of(earlier) | settings_of(own))


def fingerprint(settings: Mapping[str, str]) -> str:
    """A hash of all settings: two runs with the same one give the same answers."""
    return hashlib.sha256(signature(settings).encode()).hexdigest()[:16]


def _line(settings: Mapping[str, str]) -> str:
    order = sorted(settings, key=lambda key: (key == PACKAGE, key))
    return "|".join(f"{key}:{settings[key]}" for key in order)
