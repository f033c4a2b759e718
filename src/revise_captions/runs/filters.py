"""Filters for records not worth judging, off by default; the quarantine gives the reasons.

Duplicates are found in a pass over the captions before the run, by exact text or by MinHash (Broder
1997) over runs of three words; languages by py3langid; images by their size, shape and colors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.decoding import full_size
from revise_captions.records import Record

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.io.source import Source

#: Near duplicates are compared by runs of this many words.
SHINGLE = 3
_PERMUTATIONS = 128
#: A caption goes if another language is likelier than all the rest together.
SURE = 0.5
#: The most that two channels of a gray image differ, of 255: JPEG shifts them a little.
_GRAY = 10
_THUMBNAIL = (64, 64)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which records to exclude; None and False switch a filter off.

    Attributes:
        drop_duplicates: See `duplicates`.
        language: Code of the only language allowed for captions.
        min_side: Least pixels of an image's shorter side.
        max_ratio: Largest ratio of an image's longer side to its shorter.
        drop_gray: Whether to exclude images without color.
    """

    drop_duplicates: float | None = None
    language: str | None = None
    min_side: int | None = None
    max_ratio: float | None = None
    drop_gray: bool = False


def filtered(source: Source, filters: Filters) -> Source:
    """The source with the filters on captions; unchanged if there are none."""
    checks = [*_unlike_earlier(source, filters.drop_duplicates), *_in_language(filters.language)]
    if not checks:
        return source

    def check(record: Record) -> None:
        for one in checks:
            one(record)

    return replace(source, check=check)


def check_image(image: Image, filters: Filters) -> None:
    """Raises `BadRecord` for an excluded image. Uses the size that it has in its file."""
    width, height = full_size(image)
    short, long = sorted((width, height))
    if filters.min_side is not None and short < filters.min_side:
        detail = f"{width} × {height} pixels: a side has fewer than {filters.min_side}"
        raise BadRecord(Reason.IMAGE_TOO_SMALL, detail)
    if filters.max_ratio is not None and long > filters.max_ratio * short:
        detail = f"{width} × {height} pixels: one side is more than {filters.max_ratio:g} times"
        raise BadRecord(Reason.IMAGE_TOO_LONG, f"{detail} the other")
    if filters.drop_gray and is_gray(image):
        raise BadRecord(Reason.IMAGE_GRAY, "it has no colors")


def is_gray(image: Image) -> bool:
    """Whether an image, divided into 64 by 64 parts, has no part with color."""
    import numpy as np

    small = np.asarray(image.convert("RGB").resize(_THUMBNAIL), dtype=np.int16)
    return bool((small.max(axis=2) - small.min(axis=2)).max() <= _GRAY)


def _unlike_earlier(source: Source, share: float | None) -> Iterator[Callable[[Record], None]]:
    if share is None:
        return

    @cache
    def found() -> Mapping[int, int]:
        # over the whole input, so that shards exclude what an undivided run does
        limit = source.limit if source.shard == (0, 1) else None
        whole = replace(source, shard=(0, 1), limit=limit)
        return duplicates((record for record in whole if isinstance(record, Record)), share)

    if share < 1:
        import datasketch  # noqa: F401  # report it before the run if missing

    def check(record: Record) -> None:
        if (line := found().get(record.line)) is not None:
            detail = f"the caption is line {line}'s" if share == 1 else f"nearly line {line}'s"
            raise BadRecord(Reason.DUPLICATE_CAPTION, detail)

    yield check


def duplicates(records: Iterable[Record], share: float) -> dict[int, int]:
    """Finds captions that an earlier record has too.

    Args:
        records: In order; of duplicates, the first stays.
        share: The share of runs of three words that two captions must have in common, estimated by
            MinHash; 1: the texts must be equal except for case and white space.

    Returns:
        By the line of each duplicate, that of the first record. About 1 KB is held for each record
        that stays, or 30 bytes if `share` is 1.
    """
    texts = ((r.line, " ".join("\n".join(r.captions.values()).casefold().split())) for r in records)
    return _same(texts) if share == 1 else _near(texts, share)


def _same(texts: Iterable[tuple[int, str]]) -> dict[int, int]:
    first: dict[bytes, int] = {}
    found = {}
    for line, text in texts:
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if (earlier := first.setdefault(key, line)) != line:
            found[line] = earlier
    return found


def _near(texts: Iterable[tuple[int, str]], share: float) -> dict[int, int]:
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=share, num_perm=_PERMUTATIONS)
    hashes: dict[int, Any] = {}
    found = {}
    for line, text in texts:
        own = MinHash(_PERMUTATIONS)
        own.update_batch(_shingles(text))
        near = [one for one in sorted(index.query(own)) if own.jaccard(hashes[one]) >= share]
        if near:
            found[line] = near[0]
        else:
            index.insert(line, own)
            hashes[line] = own
    return found


def _shingles(text: str) -> list[bytes]:
    words = text.encode("utf-8", "surrogatepass").split()
    starts = range(max(1, len(words) - SHINGLE + 1))
    return [b" ".join(words[start : start + SHINGLE]) for start in starts]


def _in_language(code: str | None) -> Iterator[Callable[[Record], None]]:
    """Refuses captions that are likely in another language."""
    if code is None:
        return
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if code not in identifier.labels:
        known = ", ".join(sorted(identifier.labels))
        raise UserError(f"--language {code}: not a known code", hint=f"known codes: {known}")

    def check(record: Record) -> None:
        for text in record.captions.values():
            found, sure = identifier.classify(text)
            if found != code and sure >= SURE:
                detail = f"it is “{found}”, with probability {sure:.2f}"
                raise BadRecord(Reason.WRONG_LANGUAGE, detail)

    yield check
