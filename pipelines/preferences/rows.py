"""Preference pairs as TRL reads them: an image, and a conversation with two endings."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

#: What a pair says of each side, chosen first.
SIDES = ("c_p", "c_r", "words")


def pair_row(
    image: object,
    prompt: str,
    chosen: Mapping[str, Any],
    rejected: Mapping[str, Any],
    *,
    by: str,
    margin: float,
) -> dict[str, Any]:
    """A pair of captions, with what decided it.

    Args:
        image: As it stands in the input's row.
        prompt: What the policy was asked.
        chosen: The better caption, as `Candidate.as_json`.
        rejected: The other.
        by: The score that decided.
        margin: By how much the scores differ.
    """
    return {
        **conversation(image, prompt, chosen["text"], rejected["text"]),
        "by": by,
        "margin": margin,
        **{name: [chosen[name], rejected[name]] for name in SIDES},
    }


def conversation(image: object, prompt: str, chosen: str, rejected: str) -> dict[str, Any]:
    """TRL's conversational preference format for vision–language models."""
    return {
        "images": [as_value(image)],
        "prompt": [{"role": "user", "content": prompt}],
        "chosen": [{"role": "assistant", "content": chosen}],
        "rejected": [{"role": "assistant", "content": rejected}],
    }


def as_value(image: object) -> object:
    """An image's value as JSON holds it: bytes become a data URI."""
    if isinstance(image, list) and len(image) == 1:
        return as_value(image[0])
    if isinstance(image, Mapping):
        found = image.get("bytes") or image.get("path") or image.get("url")
        return dict(image) if found is None else as_value(found)
    if isinstance(image, bytes):
        return f"data:application/octet-stream;base64,{base64.b64encode(image).decode()}"
    return image
