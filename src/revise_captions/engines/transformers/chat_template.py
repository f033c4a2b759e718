"""A prompt rendered in a model's chat format, with its untrusted parts kept separate.

The template is rendered around placeholders, never around data, and the text is then split at the
placeholders: nothing in the data can change how a turn is rendered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from revise_captions.engines.protocol import Data, Picture, Prompt, Template
from revise_captions.errors import UserError

_OPEN, _CLOSE = "\ue000", "\ue001"
_HOLE = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
Render = Callable[[list[dict[str, Any]]], str]


@dataclass(frozen=True, slots=True)
class Rendered:
    """Text of the chat format in pieces. `head`: up to the end of `Prompt.shared`, including
    pictures; `tail`: the rest, template and data in order.
    """

    head: str
    tail: tuple[Template | Data, ...]


class ChatFormat:
    """One model's chat template. `pictures`: whether its turns are lists that may hold images.

    `render`: messages to text, with the assistant turn opened. Each prompt shape is rendered once.
    """

    def __init__(self, render: Render, name: str, *, pictures: bool) -> None:
        self._render, self.name, self._lists = render, name, pictures
        self._shapes: dict[tuple[object, ...], str] = {}

    def rendered(self, prompt: Prompt) -> Rendered:
        """The rendered prompt. Raises UserError if the template loses a part of it."""
        shape = (
            prompt.system,
            *(p.text if isinstance(p, Template) else type(p) for p in prompt.parts),
        )
        if shape not in self._shapes:
            if len(self._shapes) > 256:  # templates are few, but a caller might vary them
                self._shapes.clear()
            self._shapes[shape] = self._checked(prompt)
        pieces = _HOLE.split(self._shapes[shape])
        head, tail = [pieces[0]], list[Template | Data]()
        for number, text in zip(pieces[1::2], pieces[2::2], strict=True):
            index = int(number)
            part = prompt.parts[index]
            if index < prompt.shared:
                head += [part.text if isinstance(part, Template) else "", text]
                continue
            assert isinstance(part, Template | Data)
            tail += [part, Template(text)]
        return Rendered("".join(head), tuple(part for part in tail if part.text))

    def _checked(self, prompt: Prompt) -> str:
        """The turn with a numbered placeholder for every text part, in order."""
        from jinja2 import TemplateError

        try:
            text = self._render(self._messages(prompt, prompt.system))
            if prompt.system and prompt.system not in text:
                text = self._render(self._messages(prompt, "", prompt.system))
        except TemplateError:
            text = self._render(self._messages(prompt, "", prompt.system))
        expected = [k for k, p in enumerate(prompt.parts) if not isinstance(p, Picture)]
        if [int(number) for number in _HOLE.findall(text)] != expected:
            raise UserError(f"the chat template of {self.name} drops the user's message")
        return text

    def _messages(self, prompt: Prompt, system: str, before: str = "") -> list[dict[str, Any]]:
        """`before`: the instruction for templates without a system turn."""
        content: list[dict[str, str]] = []
        text = f"{before}\n\n" if before else ""
        for index, part in enumerate(prompt.parts):
            if isinstance(part, Picture):
                if text:
                    content.append({"type": "text", "text": text})
                content.append({"type": "image"})
                text = ""
            else:
                text += f"{_OPEN}{index}{_CLOSE}"
        content.append({"type": "text", "text": text})
        if not self._lists:
            turns = [("user", text)] if not system else [("system", system), ("user", text)]
            return [{"role": role, "content": said} for role, said in turns]
        user = {"role": "user", "content": content}
        told = {"role": "system", "content": [{"type": "text", "text": system}]}
        return [told, user] if system else [user]


def added_tokens(vocabulary: Sequence[str]) -> re.Pattern[str]:
    """Matches what a tokenizer would take for one of its added tokens (special or not)."""
    tokens = sorted((t for t in vocabulary if len(t) > 1 and not t.isspace()), key=len)
    return re.compile("|".join(map(re.escape, reversed(tokens))) or r"(?!)")


def is_safe(parts: Sequence[Template | Data], added: re.Pattern[str]) -> bool:
    """Whether the joined parts contain no added tokens but those in the template's own text."""
    whole = len(added.findall("".join(part.text for part in parts)))
    return whole == sum(len(added.findall(p.text)) for p in parts if isinstance(p, Template))
