"""A WebDataset tar with more members a row."""

from __future__ import annotations

import io
import itertools
import tarfile
from collections.abc import Mapping, Sequence
from typing import IO

from revise_captions.io.fields import place_of
from revise_captions.io.readers import Source
from revise_captions.io.rows import Row, dumps
from revise_captions.io.webdataset import ADDED, Group, group_row, tar_groups
from revise_captions.pipelines.output.lines import with_caption
from revise_captions.pipelines.output.style import OutputStyle
from revise_captions.runs.journal import RowResult
from revise_captions.runs.pairing import Pairing


def write_tar(source: Source, pairs: Pairing, file: IO[bytes], style: OutputStyle) -> None:
    """Copies the members of good rows, and what belongs to no row; adds each row's own."""
    # Which rows of the archive belong to this run's shard and limit, in order.
    mine = source.select(itertools.count(1))
    following = next(mine, 0)
    number = 0
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for group in tar_groups(source.path, source.name, lambda _: None):  # it was said
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
    """What goes into which member: by its suffix, where in its JSON, and the caption."""
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
