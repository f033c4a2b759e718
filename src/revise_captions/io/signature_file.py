"""`OUT.signatures.json`: the full lines behind the short signatures in OUT's rows.

    {"5f1d0c2a9b3e4d67": "attention:image-prefix|critic:bundled@…|…|revise-captions:0.1.0"}

A row names its settings by a digest; the line itself, the same in most rows, is stored here once.
Reading a file through `io.readers` restores the lines, so only readers and writers know about this.
Rows of earlier versions, and those on standard output, hold the line itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revise_captions.io.checked_json import read_checked
from revise_captions.io.rows import BadRow, Row, Unparsed
from revise_captions.signature import digest, is_digest, settings_of


def signatures_path(out: str | Path) -> Path:
    """`revised.jsonl.signatures.json` for `revised.jsonl`."""
    path = Path(out)
    return path.with_name(f"{path.name}.signatures.json")


def is_signatures(head: bytes) -> bool:
    """Whether a file begins like a file of signatures."""
    return re.match(rb'\{\n "[0-9a-f]{16}": "', head) is not None


def as_text(lines: Mapping[str, str]) -> str:
    """The file's content: a line for each signature, by digest."""
    return json.dumps(dict(sorted(lines.items())), ensure_ascii=False, indent=1) + "\n"


def read_signatures(path: Path) -> dict[str, str]:
    """The lines stored beside a file, by digest; {} if there are none.

    Raises:
        UserError: The file beside it is not a file of signatures.
    """
    beside = signatures_path(path)
    if not beside.is_file():
        return {}
    hint = "restore the file that was written with it, or move this one away"
    found = read_checked(dict[str, str], beside, what="a file of signatures", hint=hint)
    return {short: line for short, line in found.items() if digest(line) == short}


def with_lines(rows: Iterator[Row | BadRow], lines: Mapping[str, str]) -> Iterator[Row | BadRow]:
    """The rows with signatures in full; rows not parsed yet stay as they are."""
    for row in rows:
        if isinstance(row, Row) and not isinstance(row.data, Unparsed):
            revision = row.data.get("revision")
            if isinstance(revision, Mapping):
                row = Row(row.line, {**row.data, "revision": _in_full(revision, lines)}, row.raw)
        yield row


def _in_full(part: Mapping[str, Any], lines: Mapping[str, str]) -> dict[str, Any]:
    """A revision, or one for each caption field, or a verification."""
    found = dict(part)
    for name, value in part.items():
        if name == "signature" and isinstance(value, str):
            found[name] = lines.get(value, value)
        elif isinstance(value, Mapping):
            found[name] = _in_full(value, lines)
    return found


#: An object's key. It cannot occur inside a text, where quotation marks are escaped.
_SIGNATURE = re.compile(r'"signature": ("(?:[^"\\]|\\.)*")')


@dataclass(slots=True)
class Shortener:
    """Replaces signatures in rows with digests, and remembers what they stand for.

    Attributes:
        lines: The signatures so far, by digest.
    """

    lines: dict[str, str] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        """A row's JSON, as written by `rows.dumps`, with digests as signatures."""
        return _SIGNATURE.sub(self._short, text)

    def _short(self, match: re.Match[str]) -> str:
        quoted = match[1]
        if quoted not in self._known:
            line = json.loads(quoted)
            if is_digest(line) or not settings_of(line):
                self._known[quoted] = quoted
            else:
                short = digest(line)
                self.lines[short] = line
                self._known[quoted] = f'"{short}"'
        return f'"signature": {self._known[quoted]}'
