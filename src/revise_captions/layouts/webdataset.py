"""WebDataset tars: consecutive members with the same key (name up to the first dot) are a row."""

from __future__ import annotations

import io
import itertools
import logging
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.fields import place_of
from revise_captions.io.jsonl import chunks, parse
from revise_captions.io.rows import BadRow, Row, dumps
from revise_captions.io.source import Layout, Source
from revise_captions.layouts.json_rows import with_caption
from revise_captions.layouts.style import OutputStyle
from revise_captions.runs.journal import RowResult
from revise_captions.runs.pairing import Pairing
from revise_captions.text.formatting import plural

logger = logging.getLogger(__name__)

MAX_ROW = 128 << 20
"""Bytes of all members under one key; a larger row goes to the quarantine without being read."""
MAX_MEMBERS = 1000
"""Under one key."""
MAX_HEADER = 1 << 20
"""Bytes of a long name or a PAX header, which tarfile holds in memory."""
FREE_BYTES, MAX_RATIO = 1 << 30, 100
"""An archive that inflates to more than the first and more than so many times its size is a bomb:
images hardly compress, and text in JSON by ten or twenty."""
_NAME = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)")
#: The members that a run adds, by suffix.
ADDED = {
    "revised.txt": "revised_caption",
    "revised.json": "revised_caption",
    "original.txt": "caption_original",
    "original.json": "caption_original",
    "revision.json": "revision",
}
_TEXTS = ("txt", "text", "caption", "json", *set(ADDED.values()))


@dataclass(slots=True)
class Group:
    """Members in order, each with its bytes (None: not a regular file).

    A group with `key` None is one member that belongs to no row: a folder, a link, a README; its
    content is a file that can be read until the next group is requested.

    Attributes:
        key: The key that the row's members share.
        members: For a row that is too large, the first ones without their bytes.
        size: Bytes of all members together.
        count: How many there are.
    """

    key: str | None
    members: list[tuple[tarfile.TarInfo, bytes | IO[bytes] | None]] = field(default_factory=list)
    size: int = 0
    count: int = 0

    @property
    def too_large(self) -> bool:
        return self.key is not None and (self.size > MAX_ROW or self.count > MAX_MEMBERS)

    def add(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Reads the next member, unless the row is, or would become, too large."""
        self.size += member.size
        self.count += 1
        if self.key is None:
            self.members.append((member, archive.extractfile(member) if member.isfile() else None))
        elif not self.too_large:
            self.members.append((member, _bytes(archive, member)))
        elif self.members and self.members[0][1] is not None:
            self.members = [(known, None) for known, _ in self.members]
        else:
            self.members = self.members or [(member, None)]


#: Takes a message about what an archive lacks, or what was not read; may raise `UserError`.
Lacking = Callable[[str], None]


def tar_groups(path: Path, name: str, lacking: Lacking = logger.warning) -> Iterator[Group]:
    """The groups of an archive, in order.

    Args:
        path: The archive.
        name: Its name in messages.
        lacking: Called after the last group if rows may be missing: there is no end-of-archive
            mark, as after truncation between two members, or there is more after it.

    Raises:
        UserError: It is damaged or truncated within a member, or inflates beyond reason.
    """
    rows = 0
    try:
        with _opened(_Inflated(path, name)) as archive:
            for group in _groups(archive):
                rows += group.key is not None
                yield group
            if not archive.ended:
                found = "has no end-of-archive mark: it may have been cut after row"
                lacking(f"{name} {found} {rows:,}")
            elif behind := _behind(archive.fileobj):
                found = f"has {behind} behind its end-of-archive mark, after row {rows:,}"
                lacking(f"{name} {found}: they are not read")
    except (UserError, MemoryError):
        raise
    except Exception as error:  # tarfile raises many types on damaged headers
        hint = "is the file whole? `tar -tf` will tell"
        raise UserError(f"{name} is not a complete tar archive: {error}", hint=hint) from None


def _groups(archive: _Archive) -> Iterator[Group]:
    """Groups consecutive members by key; a repeated suffix starts a new row with the same key."""
    group: Group | None = None
    suffixes: set[str] = set()
    for member in archive:
        match = _NAME.fullmatch(member.name) if member.isfile() else None
        key = match[1] if match else None
        suffix = match[2].lower() if match else ""
        if group is not None and (key != group.key or key is None or suffix in suffixes):
            yield group
            group = None
        if group is None:
            group, suffixes = Group(key), set()
        if group.count < MAX_MEMBERS:
            suffixes.add(suffix)
        group.add(archive, member)
        if key is None:  # while its content is still readable
            yield group
            group = None
        archive.members = []  # type: ignore[attr-defined]  # tarfile keeps all of them
    if group is not None:
        yield group


def _behind(stream: Any) -> str:
    """What follows an end-of-archive mark: a number of rows or bytes; "" for only zeros."""
    rows = size = 0
    while block := stream.read(tarfile.BLOCKSIZE):
        if not block.strip(b"\0"):
            continue
        stream = _Joined(block, stream)
        try:
            with _opened(stream) as archive:
                rows += sum(group.key is not None for group in _groups(archive))
                stream = archive.fileobj
        except (tarfile.TarError, ValueError):
            size += len(block)
            while block := stream.read(1 << 20):
                size += len(block)
    if rows:
        return plural(rows, "more row")
    return plural(size, "more byte") if size else ""


def _opened(stream: Any) -> _Archive:
    """Opens the archive for streaming: one pass, even through compression."""
    return _Archive.open(fileobj=stream, mode="r|", bufsize=1 << 20)


class _Joined:
    """A block read ahead, followed by the rest of its stream."""

    def __init__(self, first: bytes, rest: Any) -> None:
        self._first, self._rest = first, rest

    def read(self, size: int) -> bytes:
        block, self._first = self._first, b""
        return block or bytes(self._rest.read(size))


class _Inflated(io.RawIOBase):
    """The archive's decompressed bytes, for tarfile, whose own decompression copies megabytes for
    each block of a highly compressible file."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._size = path.stat().st_size
        self._given = 0
        self._pieces = chunks(path, name)

    def read(self, size: int = -1) -> bytes:
        """The next piece; its length does not depend on `size`, which tarfile's stream allows."""
        piece = next(self._pieces, b"")
        self._given += len(piece)
        if self._given > max(FREE_BYTES, MAX_RATIO * self._size):
            found = f"{self.name} inflates to more than {MAX_RATIO} times its size"
            hint = "if it is what it should be, unpack it and pack it again without compression"
            raise UserError(found, hint=hint)
        return piece


class _Header(tarfile.TarInfo):
    """Refuses overlong names and attributes, which tarfile would read whole."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        long = self.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
        pax = self.type in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
        if (long or pax) and self.size > MAX_HEADER:
            found = f"a header of {self.size:,} bytes; the limit is {MAX_HEADER:,}"
            raise tarfile.ReadError(found)
        return super()._proc_member(archive)  # type: ignore[misc]

    @classmethod
    def fromtarfile(cls, archive: Any) -> Any:
        """The next header. tarfile takes a damaged one after others for the archive's end."""
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            archive.ended = True
            raise
        except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError) as error:  # type: ignore[attr-defined]
            raise tarfile.ReadError(str(error)) from None


class _Archive(tarfile.TarFile):
    """`ended`: whether the end-of-archive mark was read."""

    tarinfo = _Header
    ended = False


def tar_rows(path: Path, name: str, lacking: Lacking = logger.warning) -> Iterator[Row | BadRow]:
    """Rows `{"__key__": …, "jpg": bytes, "txt": text, "json": object, …}`, suffixes in lower case;
    `line` is the row's number in the archive."""
    rows = (group for group in tar_groups(path, name, lacking) if group.key is not None)
    for number, group in enumerate(rows, 1):
        yield group_row(group, name, number)


def count_groups(path: Path, name: str, lacking: Lacking = logger.warning) -> int:
    return sum(group.key is not None for group in tar_groups(path, name, lacking))


def _bytes(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    data = file.read() if file else b""
    if len(data) < member.size:
        raise tarfile.ReadError(f"{member.name} ends too early")
    return data


def group_row(group: Group, name: str, number: int) -> Row | BadRow:
    if group.too_large:
        return _too_large(group, name, number)
    data: dict[str, object] = {"__key__": group.key}
    for member, content in group.members:
        assert isinstance(content, bytes)
        suffix = member.name[len(group.key or "") + 1 :].lower()
        suffix = ADDED.get(suffix, suffix)
        if suffix not in _TEXTS:
            data[suffix] = content
            continue
        try:
            text = content.decode("utf-8-sig")
            data[suffix] = parse(text) if member.name.lower().endswith(".json") else text
        except UnicodeDecodeError as error:
            detail = f"{member.name}, byte {error.start}: {error.reason}"
            return BadRow(name, number, Reason.INVALID_UTF8, detail, content)
        except BadRecord as error:
            detail = f"{member.name}: {error.detail}"
            return BadRow(name, number, error.reason, detail, text)
    return Row(number, data)


def _too_large(group: Group, name: str, number: int) -> BadRow:
    detail = f"{group.count:,} members under {group.key}; the limit is {MAX_MEMBERS:,}"
    if group.count <= MAX_MEMBERS:
        detail = f"{group.size:,} bytes under {group.key}; the limit is {MAX_ROW:,}"
    original = group.members[0][0].name
    return BadRow(name, number, Reason.IMAGE_TOO_LARGE, detail, original)


# --- Writing --------------------------------------------------------------------------------------


def write_tar(source: Source, pairs: Pairing, file: IO[bytes], style: OutputStyle) -> None:
    """Copies the members of good rows, and those that belong to no row; adds the new members."""
    # The numbers of the archive's rows in this run's shard and limit, in order.
    mine = source.select(itertools.count(1))
    following = next(mine, 0)
    number = 0
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for group in tar_groups(source.path, source.name, lambda _: None):  # already reported
            if group.key is None:
                ((member, content),) = group.members
                archive.addfile(member, content)  # type: ignore[arg-type]  # a file, as it has no key
                continue
            number += 1
            if number != following:
                continue
            following = next(mine, 0)
            row = group_row(group, source.name, number)
            result = pairs.result_for(row)
            if result is not None:
                assert isinstance(row, Row)
                _copy(archive, group, _in_place(row, result), style)
                _add(archive, group, result)


def _in_place(row: Row, result: RowResult) -> dict[str, tuple[Sequence[str | int], str]]:
    """The captions to write into members: by suffix, the place in its JSON, and the caption."""
    places = {name: place_of(row.data, name) or (name,) for name in result.captions}
    return {str(p[0]): (p[1:], result.captions[name]) for name, p in places.items()}


def _copy(
    archive: tarfile.TarFile,
    group: Group,
    captions: Mapping[str, tuple[Sequence[str | int], str]],
    style: OutputStyle,
) -> None:
    for member, content in group.members:
        assert isinstance(content, bytes)
        suffix = member.name[len(group.key or "") + 1 :].lower()
        if ADDED.get(suffix) in style.replaced:
            continue
        if suffix in captions:
            content = with_caption(content, *captions[suffix])
            member.size = len(content)
        archive.addfile(member, io.BytesIO(content))


_STEMS = {"revised_caption": "revised", "caption_original": "original", "revision": "revision"}


def _add(archive: tarfile.TarFile, group: Group, result: RowResult) -> None:
    for name, value in result.revised.items():
        stem = _STEMS[name]
        text = value if isinstance(value, str) else dumps(value)
        suffix = "txt" if isinstance(value, str) else "json"
        content = text.encode("utf-8", "replace")
        member = tarfile.TarInfo(f"{group.key}.{stem}.{suffix}")
        member.size = len(content)
        member.mtime = group.members[0][0].mtime
        archive.addfile(member, io.BytesIO(content))


def _open(name: str, path: Path, lacking: Lacking) -> Source:
    read, count = partial(tar_rows, path, name, lacking), partial(count_groups, path, name, lacking)
    return Source(name, WEBDATASET, path, path.parent, read, count)


def _takes(path: Path, head: bytes) -> bool:
    return head[257:262] == b"ustar"


WEBDATASET = Layout("WebDataset tar", _open, write_tar, (".tar", ".tgz"), _takes, only_its_own=True)
