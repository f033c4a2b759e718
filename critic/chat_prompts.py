"""The critic's prompts for instruct models: VNLI-Critique's text (section 4.1) as a user's turn.

The text is that of `prompts.py`, followed by the form of answer expected, since an instruct model
was not trained to answer in one word or one sentence. Delimiters are plain text here, so any in the
caption itself are broken up with a space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from PIL.Image import Image

from revise_captions.critic import prompts
from revise_captions.engines.protocol import Data, Part, Picture, Prompt, Template
from revise_captions.records import Span

VERSION = "vnli-4.1-chat/1"

#: `prompts.OPEN`, split between two words: all prompts about an image share the first part.
OPEN = ("Given the image", " and the prompt prefix <PREFIX>")
ASK_YES_NO = "Answer with one word: Yes or No."
ASK_SENTENCE = (
    "Answer with one short sentence: what is wrong, and what the image shows instead. "
    "Do not repeat the text."
)
WORDS = (prompts.YES, prompts.NO)
_DELIMITER = re.compile(r"<(?=\s*/?\s*(?:PREFIX|TARGET)\s*>)", re.IGNORECASE)


def contained(text: str) -> str:
    """Untrusted text, changed so that it cannot close the template's delimiters."""
    return _DELIMITER.sub("< ", text)


def classification(
    image: Image, caption: str, spans: Sequence[Span], index: int, instead: str | None = None
) -> Prompt:
    """“…does the following text align with the image: <TARGET>…</TARGET>?” Yes or No.

    `instead`: text to ask about in place of the sentence.
    """
    end = prompts.END_FACTUAL + ASK_YES_NO
    return _prompt(image, caption, spans[index], prompts.ASK_FACTUAL, end, instead)


def rationale(image: Image, caption: str, spans: Sequence[Span], index: int) -> Prompt:
    """“…the text <TARGET>…</TARGET> is considered inaccurate. Explain…” in one sentence."""
    end = prompts.END_RATIONALE + ASK_SENTENCE
    return _prompt(image, caption, spans[index], prompts.ASK_RATIONALE, end)


def _prompt(
    image: Image, caption: str, span: Span, ask: str, end: str, instead: str | None = None
) -> Prompt:
    context = contained(caption[: span.start])
    parts: tuple[Part, ...] = (
        Picture(image),
        Template(OPEN[0]),
        Template(OPEN[1]),
        *([Data(context)] if context else []),
        Template(ask),
        Data(contained(span.of(caption) if instead is None else instead)),
        Template(end),
    )
    return Prompt(parts, shared=2)
