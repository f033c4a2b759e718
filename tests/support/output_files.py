"""Rows for the writers, and what a run would hand over."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from revise_captions.errors import Reason
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow
from revise_captions.io.source import Source
from revise_captions.pipelines.output import writers
from revise_captions.runs import outputs
from revise_captions.runs.journal import RowResult

REVISION = {"sentences": [{"span": [0, 2], "p_factual": 0.5}], "signature": "s"}


def revised(source: Source, bad: Iterable[int] = ()) -> list[RowResult | BadRow]:
    """What a run that shouts would hand over."""
    results: list[RowResult | BadRow] = []
    for item in source:
        if isinstance(item, BadRow):
            results.append(item)
        elif item.line in bad:
            results.append(BadRow("", item.line, Reason.IMAGE_NOT_FOUND, "a.jpg does not exist"))
        else:
            text = next(iter(item.captions.values())).upper()
            results.append(RowResult(item.line, {"revised_caption": text, "revision": REVISION}))
    return results


def run(
    path: Path, out: Path | str, bad: Iterable[int] = (), *, force: bool = False, **options: object
) -> outputs.OutputCounts:
    source = open_source(str(path), **options)
    writers.check_output(source, str(out), force=force)
    return writers.write(source, revised(source, bad), str(out))


def write_lines(path: Path, lines: Iterable[object]) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(text + "\n" for text in texts))
    return path


def rows(count: int) -> list[dict[str, object]]:
    return [{"image": f"{i}.jpg", "caption": f"Cat {i}."} for i in range(count)]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
