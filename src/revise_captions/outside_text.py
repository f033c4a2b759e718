"""Text from outside, made safe to print, log and write: no secrets, no terminal controls.

`masked` is applied where text enters (a server's answers, errors) and `plain` where it leaves
(`commands.echo`, the log, reports).
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from functools import cache
from html import escape
from urllib.parse import quote

# Controls, line and paragraph separators, bidi embeddings, overrides and isolates, byte-order
# marks, lone surrogates: they would change how the text reads, or cannot be encoded at all.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\ufffe\uffff]"
)
MASK = "***"
#: Shorter values are placeholders (`EMPTY`), which occur in harmless text.
SHORTEST = 8
_SECRET_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$")
#: Also in full width: spreadsheets take these for the same signs.
_FORMULA = tuple("=+-@＝＋－＠|%")
# Within a word an underscore means nothing.
_MARKUP = re.compile(r"[\\`*\[\]~|]|(?<![^\W_])_|_(?![^\W_])")
# What follows `Bearer` or a name like `api_key=`, if it holds a digit; keys with a known prefix
# (OpenAI, Hugging Face, GitHub, GitLab, Slack, AWS, Google); JSON web tokens.
_LOOKS_SECRET = re.compile(
    r"""(?P<name>(?i:\bbearer\s+|(?:api[-_ ]?key|token|secret|password|signature|authorization)"""
    r"""["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?))(?=[^\s"'<>&,;]*\d)[^\s"'<>&,;]{8,}"""
    r"""|\b(?:(?:sk|pk|rk)-|hf_|gh[opsu]_|github_pat_|glpat-|xox[abp]-|AKIA|AIza)"""
    r"""(?=[\w-]*\d)[\w-]{10,}"""
    r"""|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"""
)


def plain(text: str) -> str:
    """Text on a terminal, in an attribute or a label; invisible characters become `U+202E`."""
    return UNSEEN.sub(lambda found: f"U+{ord(found.group()):04X}", text)


def on_one_line(name: str) -> str:
    """A name from a file inside a line of a message, which it neither breaks nor fills."""
    short = name if len(name) <= 80 else f"{name[:79]}…"
    return plain(re.sub("[\t\n]", lambda found: f"U+{ord(found.group()):04X}", short))


_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """The text as a tokenizer or a server takes it, with U+FFFD for every lone surrogate.

    JSON may hold halves of a pair (`"\\ud83d"`), which UTF-8 cannot. Offsets stay the same.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def markdown_cell(text: str) -> str:
    """Text in a cell of a Markdown table: no markup, HTML, link or further cell comes of it."""
    return _MARKUP.sub(r"\\\g<0>", escape(text, quote=False).replace("\n", " "))


def csv_cell(text: str) -> str:
    """Text as a cell that no spreadsheet takes for a formula (CWE-1236): with a `'` before it."""
    risky = text.lstrip().startswith(_FORMULA) or text.startswith(("\t", "\r", "\n"))
    return f"'{text}" if risky else text


def csv_name(name: str) -> str:
    """A name as a cell: as `csv_cell`, and nothing in it that would hide or turn the text."""
    spelled = re.sub("[\u061c\u200e\u200f]", lambda found: f"U+{ord(found.group()):04X}", name)
    return csv_cell(plain(spelled))


def masked(text: str, *secrets: str | None) -> str:
    """A message with `***` for secrets and for whatever looks like a key or bearer token.

    `secrets`: known ones, besides those in the environment (`OPENAI_API_KEY`, `HF_TOKEN`, …). In
    data, mask with `without_secrets`, which guesses nothing.
    """
    stored = (value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name))
    found = without_secrets(text, *secrets, *stored)
    return _LOOKS_SECRET.sub(lambda match: (match["name"] or "") + MASK, found)


def without_secrets(text: str, *secrets: str | None) -> str:
    """The text with `***` for these secrets, however a server may spell them."""
    spelled = {one for s in secrets if s and len(s) >= SHORTEST for one in _spellings(s)}
    # the longest first: one may be part of another
    for secret in sorted(spelled, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


@cache
def _spellings(secret: str) -> frozenset[str]:
    """A secret as it is, backward, percent-encoded, in hexadecimal digits, and inside base64.

    In base64 three bytes make four letters, so a text that stands in another one is spelled in one
    of three ways, but for letters at its ends that hold bits of its neighbors.
    """
    data = secret.encode("utf-8", "surrogatepass")
    found = {secret, secret[::-1], quote(data, safe=""), data.hex(), data.hex().upper()}
    for before in range(3):
        letters = b64encode(bytes(before) + data).decode()
        own = letters[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
        found |= {own, own.replace("+", "-").replace("/", "_")}
    return frozenset(found)
