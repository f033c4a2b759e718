"""WebDataset tars: consecutive members with one key (the name up to its first dot) are a row."""

from __future__ import annotations

import json
import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from revise_captions.errors import Reason, UserError
from revise_captions.io.rows import BadRow, Row

MAX_MEMBER = 256 << 20
"""Bytes; a group with a larger member goes to the quarantine."""
_NAME = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)")
_TEXTS = ("txt", "text", "caption", "json", "revised_caption", "revision")
_OURS = {  # what an earlier stage wrote
    "revised.txt": "revised_caption",
    "revised.json": "revised_caption",
    "revision.json": "revision",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Members in order, each with its bytes (None: no regular file, or too large).

    A group with `key` None is one member that belongs to no row: a folder, a link, a README.
    """

    key: str | None
    members: list[tuple[tarfile.TarInfo, bytes | None]] = field(default_factory=list)


def tar_groups(path: Path, name: str) -> Iterator[Group]:
    """Raises `UserError` for a damaged or truncated archive."""
    group: Group | None = None
    suffixes: set[str] = set()
    try:
        # Streaming ("|"): one pass, also through compression.
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                match = _NAME.fullmatch(member.name) if member.isfile() else None
                key = match[1] if match else None
                suffix = match[2].lower() if match else ""
                # The same suffix again is the next row, even under the same key.
                if group is not None and (key != group.key or key is None or suffix in suffixes):
                    yield group
                    group = None
                if group is None:
                    group, suffixes = Group(key), set()
                suffixes.add(suffix)
                group.members.append((member, _bytes(archive, member)))
                archive.members = []  # type: ignore[attr-defined]  # tarfile remembers all of them
        if group is not None:
            yield group
    except (tarfile.TarError, EOFError, zlib.error) as error:
        hint = "is the file whole? `tar -tf` will tell"
        raise UserError(f"{name} is no whole tar archive: {error}", hint=hint) from None
    except OSError as error:
        raise UserError(f"cannot read {name}: {error.strerror or error}") from None


def tar_rows(path: Path, name: str) -> Iterator[Row | BadRow]:
    """Rows `{"__key__": …, "jpg": bytes, "txt": text, "json": object, …}`, suffixes in lower case;
    `line` is the row's number in the archive."""
    rows = (group for group in tar_groups(path, name) if group.key is not None)
    for number, group in enumerate(rows, 1):
        yield group_row(group, name, number)


def count_groups(path: Path) -> int:
    return sum(group.key is not None for group in tar_groups(path, str(path)))


def _bytes(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes | None:
    if not member.isfile() or member.size > MAX_MEMBER:
        return None
    file = archive.extractfile(member)
    data = file.read() if file else b""
    if len(data) < member.size:
        raise tarfile.ReadError(f"{member.name} ends too early")
    return data


def group_row(group: Group, name: str, number: int) -> Row | BadRow:
    data: dict[str, object] = {"__key__": group.key}
    for member, content in group.members:
        suffix = member.name[len(group.key or "") + 1 :].lower()
        if content is None:
            detail = f"{member.name} has {member.size:,} bytes; the limit is {MAX_MEMBER:,}"
            return BadRow(name, number, Reason.IMAGE_TOO_LARGE, detail, member.name)
        suffix = _OURS.get(suffix, suffix)
        if suffix not in _TEXTS:
            data[suffix] = content
            continue
        try:
            text = content.decode("utf-8-sig")
            parse = member.name.lower().endswith(".json")
            data[suffix] = json.loads(text) if parse else text
        except UnicodeDecodeError as error:
            detail = f"{member.name}, byte {error.start}: {error.reason}"
            return BadRow(name, number, Reason.INVALID_UTF8, detail, content)
        except (ValueError, RecursionError) as error:
            detail = f"{member.name}: {error}"
            return BadRow(name, number, Reason.MALFORMED_JSON, detail, content.decode("utf-8"))
    return Row(number, data)
