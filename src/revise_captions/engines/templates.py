"""Prompts by others, in the format of Python's `str.format`: `{name}` marks data."""

from __future__ import annotations

import re
from collections.abc import Mapping

from revise_captions.engines.protocol import Data, Part, Template

_PLACE = re.compile(r"\{(\w+)\}")


def filled(template: str, values: Mapping[str, str]) -> tuple[Part, ...]:
    """A template's parts: names in braces become data, doubled braces become single ones."""
    parts: list[Part] = []
    for piece in re.split(r"(?<!\{)(\{\w+\})(?!\})", template):
        if (name := _PLACE.fullmatch(piece)) and name[1] in values:
            parts.append(Data(values[name[1]]))
        elif piece:
            parts.append(Template(piece.replace("{{", "{").replace("}}", "}")))
    return tuple(parts)
