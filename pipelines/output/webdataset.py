"""A WebDataset tar with two more members a row."""

from __future__ import annotations

import io
import itertools
import tarfile
from typing import IO

from revise_captions.io.readers import Source
from revise_captions.io.rows import dumps
from revise_captions.io.webdataset import Group, group_row, tar_groups
from revise_captions.runs.journal import RowResult
from revise_captions.runs.pairing import Pairing

ADDED = ("revised.txt", "revised.json", "revision.json")


def write_tar(source: Source, pairs: Pairing, file: IO[bytes]) -> None:
    """Copies the members of good rows, and what belongs to no row; adds each row's own."""
    # Which rows of the archive belong to this run's shard and limit, in order.
    mine = source.select(itertools.count(1))
    following = next(mine, 0)
    number = 0
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for group in tar_groups(source.path, source.name, lambda _: None):  # it was said
            result = None
            if group.key is not None:
                number += 1
                if number != following:
                    continue
                following = next(mine, 0)
                result = pairs.result_for(group_row(group, source.name, number))
                if result is None:
                    continue
            for member, content in group.members:
                if result is None or not member.name.lower().endswith(ADDED):
                    stream = io.BytesIO(content) if isinstance(content, bytes) else content
                    archive.addfile(member, stream)
            if result is not None:
                _add(archive, group, result)


def _add(archive: tarfile.TarFile, group: Group, result: RowResult) -> None:
    for name, value in result.revised.items():
        stem = "revised" if name == "revised_caption" else name
        text = value if isinstance(value, str) else dumps(value)
        suffix = "txt" if isinstance(value, str) else "json"
        content = text.encode("utf-8", "replace")
        member = tarfile.TarInfo(f"{group.key}.{stem}.{suffix}")
        member.size = len(content)
        member.mtime = group.members[0][0].mtime
        archive.addfile(member, io.BytesIO(content))
