"""Prompts as OpenAI's chat messages; texts and log-probabilities from completions."""

from __future__ import annotations

import base64
import io
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from revise_captions.engines.answer_words import ROUNDING
from revise_captions.engines.openai.plain_text import defused
from revise_captions.engines.protocol import Picture, Prompt, Template
from revise_captions.io.decoding import LARGEST, reduced

if TYPE_CHECKING:
    from PIL.Image import Image

_LEAST = -1e300  # JSON may hold integers that no float can


def messages_of(
    prompt: Prompt, *, system: bool = True, pixels: int = LARGEST
) -> list[dict[str, Any]]:
    """The system turn, if any, and the user turn; pictures as PNG data URIs, data defused.

    A turn without pictures is a plain string, which every server accepts. `system`: whether the
    server accepts a system turn; otherwise the user turn begins with its text. `pixels`: of the
    largest image that it accepts.
    """
    content: list[dict[str, Any]] = []
    text = f"{prompt.system}\n\n" if prompt.system and not system else ""
    for part in prompt.parts:
        if isinstance(part, Picture):
            if text:
                content.append({"type": "text", "text": text})
                text = ""
            url = data_uri(reduced(part.image, pixels))
            content.append({"type": "image_url", "image_url": {"url": url}})
        else:
            text += part.text if isinstance(part, Template) else defused(part.text)
    if text:
        content.append({"type": "text", "text": text})
    first = [{"role": "system", "content": prompt.system}] if prompt.system and system else []
    return [*first, {"role": "user", "content": content if prompt.pictures else text}]


def data_uri(image: Image) -> str:
    """The image, losslessly encoded, so that the server sees the same pixels."""
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def is_completion(found: dict[str, Any]) -> bool:
    """Whether a server's answer has a first choice with a message."""
    choices = found.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return False
    message = choices[0].get("message")
    return isinstance(message, dict) and isinstance(message.get("content", ""), str | list | None)


def text_of(choice: dict[str, Any]) -> str:
    """The message's text, given whole or in parts of type `text`."""
    content = choice["message"].get("content") or ""
    if isinstance(content, str):
        return content
    texts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def first_logprobs(choice: dict[str, Any]) -> dict[str, float]:
    """Log-probabilities for the answer's first token, by token text (or `token_id:…`).

    Includes the chosen token. Empty if the server gave none.

    Raises ValueError for a number that cannot be a log-probability.
    """
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict):
        return {}
    first = _first(logprobs.get("content")) or _older(logprobs)
    found: dict[str, float] = {}
    listed = first.get("top_logprobs")
    for entry in listed if isinstance(listed, list) else []:
        value = _entry(entry)
        if value is not None:
            found[value[0]] = value[1]
    chosen = _entry(first)
    if chosen is not None and listed:
        found.setdefault(*chosen)
    return found


def _first(listed: Any) -> dict[str, Any]:
    found = listed[0] if isinstance(listed, list) and listed else None
    return found if isinstance(found, dict) else {}


def _older(logprobs: dict[str, Any]) -> dict[str, Any]:
    """Converts the first token from the form of OpenAI's older completions to that of its chat."""
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    listed = [
        {"token": token, "logprob": value}
        for token, value in _first(logprobs.get("top_logprobs")).items()
    ]
    if not (isinstance(tokens, list) and isinstance(values, list) and tokens and values):
        return {"top_logprobs": listed}
    return {"token": tokens[0], "logprob": values[0], "top_logprobs": listed}


def _entry(entry: Any) -> tuple[str, float] | None:
    if not isinstance(entry, dict):
        return None
    token, value = entry.get("token"), entry.get("logprob")
    if not isinstance(token, str) or not isinstance(value, int | float | Decimal):
        return None
    if value != value:  # NaN
        return None
    if value > ROUNDING:
        raise ValueError(f"{str(value)[:40]} is no log-probability")
    return token, min(float(value), 0.0) if value > _LEAST else -math.inf


def begins_with(text: str, word: str) -> bool:
    """Whether an answer's first word is this one, ignoring quotation marks and asterisks."""
    first = re.search(r"\w+", text)
    return first is not None and first[0].casefold() == word.casefold()
