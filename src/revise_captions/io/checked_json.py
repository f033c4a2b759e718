"""JSON files that others may have written, read as the dataclass that they should hold.

pydantic checks types field by field: a card determines verdicts, so a number given as text, or a
key that nothing reads, should be found here rather than somewhere in a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from revise_captions.errors import UserError
from revise_captions.outside_text import on_one_line

T = TypeVar("T")


def read_checked(kind: type[T], path: Path, *, what: str, hint: str = "", more: bool = False) -> T:
    """Reads a JSON file.

    Args:
        kind: The type of its value: a dataclass, or any type that an annotation can express.
        path: The file.
        what: What it should be, for the message: "a critic's card".
        hint: What the user may do instead.
        more: Whether the file may hold keys that `kind` does not name; they are ignored.

    Returns:
        The value.

    Raises:
        UserError: The file cannot be read, is not JSON, or a value has another type, is missing, or
            has an unknown name: in one line, with the file and the key.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", hint=hint) from None
    return checked(kind, content, f"{path} is not {what}", hint=hint, more=more)


def checked(
    kind: type[T], content: bytes | str, wrong: str, *, hint: str = "", more: bool = False
) -> T:
    """JSON parsed as a type; see `read_checked`. `wrong`: the beginning of the message."""
    from pydantic import ValidationError

    extra = "ignore" if more else "forbid"
    try:
        value: T = _adapter(cast(Any, kind)).validate_json(content, strict=True, extra=extra)
    except ValidationError as error:
        raise UserError(f"{wrong}: {_said(error)}", hint=hint) from None
    return value


def checked_row(kind: type[T], row: Mapping[str, Any], wrong: str) -> T:
    """A parsed row as a type, ignoring its other keys; see `checked`."""
    from pydantic import ValidationError

    try:
        value: T = _adapter(cast(Any, kind)).validate_python(dict(row), extra="ignore")
    except ValidationError as error:
        raise UserError(f"{wrong}: {_said(error)}") from None
    return value


def json_lines(path: Path, what: str, hint: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file that a run wrote, each with its line number, from 1.

    Raises:
        UserError: A line is not an object. `what`: what it should be, for the message.
    """
    import jsonlines

    with jsonlines.open(path, loads=json.loads) as lines:
        rows = enumerate(lines.iter(type=dict), 1)
        while True:
            try:
                found = next(rows, None)
            except jsonlines.InvalidLineError as error:
                wrong = f"{path}, line {error.lineno}: not {what}: {error}"
                raise UserError(wrong, hint=hint) from None
            if found is None:
                return
            yield found


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _said(error: Any) -> str:
    """The first problem, on one line: where it is, what was expected, what was found."""
    first, *more = error.errors(include_url=False, include_context=False)
    key = ".".join(str(part) for part in first["loc"])
    text = " ".join(str(first["msg"]).split())
    text = text[:1].lower() + text[1:]
    if key:
        found = "" if first["type"] == "missing" else f", not {on_one_line(repr(first['input']))}"
        text = f"`{on_one_line(key)}`: {text}{found}"
    return f"{text} (and {len(more)} more)" if more else text
