"""Records that are not worth judging, by options that are off by default; the quarantine says why.

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

#: Words that near duplicates are compared by, in a row.
SHINGLE = 3
_PERMUTATIONS = 128
#: A caption of another language goes where that is likelier than all others together.
SURE = 0.5
#: Two channels of a gray image differ by no more, of 255: JPEG moves them a little.
_GRAY = 10
_THUMBNAIL = (64, 64)


@dataclass(frozen=True, slots=True)
class Filters:
    """What leaves records out; None and False: nothing does.

    Attributes:
        drop_duplicates: See `duplicates`.
        language: Code of the only one that captions may be of.
        min_side: Least pixels of an image's shorter side.
        max_ratio: Most that an image's longer side may be of the shorter.
        drop_gray: Whether images without colors go.
    """

    drop_duplicates: float | None = None
    language: str | None = None
    min_side: int | None = None
    max_ratio: float | None = None
    drop_gray: bool = False


def filtered(source: Source, filters: Filters) -> Source:
    """The source with the filters on captions; as it is where there are none."""
    checks = [*_unlike_earlier(source, filters.drop_duplicates), *_in_language(filters.language)]
    if not checks:
        return source

    def check(record: Record) -> None:
        for one in checks:
            one(record)

    return replace(source, check=check)


def check_image(image: Image, filters: Filters) -> None:
    """Raises `BadRecord` for an image that is left out, by the size that it had in its file."""
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
    """Whether no part of an image, of 64 by 64, has a color."""
    import numpy as np

    small = np.asarray(image.convert("RGB").resize(_THUMBNAIL), dtype=np.int16)
    return bool((small.max(axis=2) - small.min(axis=2)).max() <= _GRAY)


def _unlike_earlier(source: Source, share: float | None) -> Iterator[Callable[[Record], None]]:
    if share is None:
        return

    @cache
    def found() -> Mapping[int, int]:
        # of the whole input, so that shards leave out what an undivided run does
        limit = source.limit if source.shard == (0, 1) else None
        whole = replace(source, shard=(0, 1), limit=limit)
        return duplicates((record for record in whole if isinstance(record, Record)), share)

    if share < 1:
        import datasketch  # noqa: F401  # missing, it is said before the run

    def check(record: Record) -> None:
        if (line := found().get(record.line)) is not None:
            detail = f"the caption is line {line}'s" if share == 1 else f"nearly line {line}'s"
            raise BadRecord(Reason.DUPLICATE_CAPTION, detail)

    yield check


def duplicates(records: Iterable[Record], share: float) -> dict[int, int]:
    """Which captions an earlier record has, too.

    Args:
        records: In the order in which the first of several stays.
        share: Of the runs of three words that two captions have, how many both must have, as
            MinHash estimates it; 1: the texts must be the same but for case and white space.

    Returns:
        By the record's line, that of the first one. About 1 KB is held for each record that stays,
        30 bytes where `share` is 1.
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
    """Refuses captions that are likely of another language; what is not stays."""
    if code is None:
        return
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if code not in identifier.labels:
        known = ", ".join(sorted(identifier.labels))
        raise UserError(f"--language {code}: not a known code", hint=f"there are: {known}")

    def check(record: Record) -> None:
        for text in record.captions.values():
            found, sure = identifier.classify(text)
            if found != code and sure >= SURE:
                detail = f"it is “{found}”, with probability {sure:.2f}"
                raise BadRecord(Reason.WRONG_LANGUAGE, detail)

    yield check
