"""A stratified sample of a run's sentences, drawn in one pass in constant memory.

Each stratum keeps the sentences with the smallest hashes (“bottom k”): a simple random sample
without replacement, the same for a seed in any order of reading. Once the sizes of the strata are
known, the sample is allocated to them. A sentence's weight is the size of its stratum over the
number sampled from it (Horvitz & Thompson 1952), so the sample estimates figures of the run.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

from revise_captions.errors import UserError

#: More strata than these are a mistake in what is stratified by, not a design.
MAX_STRATA = 500
KEYS = ("p", "rewrite", "error")
UNSCORED = "unscored"
Stratum = tuple[str, ...]


class SentenceLocation(NamedTuple):
    """A sentence of a run: line of the row, field of the caption if several, index."""

    line: int
    field: str
    sentence: int


@dataclass(frozen=True, slots=True)
class SampledLocation:
    """A sampled sentence. `weight`: the number of sentences that it stands for."""

    place: SentenceLocation
    stratum: str
    weight: float


@dataclass(frozen=True, slots=True)
class SamplingDesign:
    """Stratification keys (of `KEYS`), bin edges of P(factual), and allocation."""

    by: tuple[str, ...] = KEYS
    bins: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)
    allocation: str = "equal"
    size: int = 300
    seed: int = 0

    def check(self) -> None:
        """Raises `UserError` for unknown keys or bins that do not increase."""
        unknown = [key for key in self.by if key not in KEYS]
        if unknown:
            raise UserError(f"cannot stratify by {unknown[0]}", hint=f"expected {', '.join(KEYS)}")
        rising = all(a < b for a, b in pairwise(self.bins))
        if not rising or any(not 0 < edge < 1 for edge in self.bins):
            shown = ", ".join(f"{edge:g}" for edge in self.bins)
            raise UserError(f"bins {shown}: expected increasing numbers between 0 and 1")


def stratum_of(
    sentence: Mapping[str, Any],
    errors: Sequence[str],
    design: SamplingDesign,
    own_bins: Sequence[str],
) -> Stratum:
    """The stratum of a sentence of a run; the first of its error types counts."""
    named = {
        "p": own_bins[_bin(sentence["p_factual"], design.bins)],
        "rewrite": _rewrite(sentence),
        "error": errors[0] if errors else "",
    }
    return tuple(named[key] for key in design.by)


def bin_names(bins: Sequence[float]) -> tuple[str, ...]:
    """“P 0.0–0.2”, …, and last the unscored. A bin includes its lower edge."""
    edges = [0.0, *bins, 1.0]
    texts = [text if "." in (text := f"{edge:g}") else f"{text}.0" for edge in edges]
    return (*(f"P {a}–{b}" for a, b in pairwise(texts)), UNSCORED)


def _bin(p: float | None, bins: Sequence[float]) -> int:
    return len(bins) + 1 if p is None else bisect_right(bins, p)


def _rewrite(sentence: Mapping[str, Any]) -> str:
    if not sentence["attempts"]:
        return "no rewrite"
    return "rewrite accepted" if sentence["accepted"] else "rewrite rejected"


def name_of(stratum: Stratum) -> str:
    return ", ".join(filter(None, stratum)) or "all"


class StratifiedSampler:
    """Takes locations one by one; holds at most `design.size` per stratum."""

    def __init__(self, design: SamplingDesign) -> None:
        self.design = design
        self.sizes: Counter[Stratum] = Counter()
        self._kept: dict[Stratum, list[tuple[int, SentenceLocation]]] = {}

    def add(self, stratum: Stratum, place: SentenceLocation) -> None:
        """Adds a sentence. Raises `UserError` beyond `MAX_STRATA` strata."""
        self.sizes[stratum] += 1
        if stratum not in self._kept:
            if len(self._kept) == MAX_STRATA:
                raise UserError(
                    f"more than {MAX_STRATA} strata, the last of them {name_of(stratum)[:80]!r}",
                    hint="stratify by fewer keys, such as --by p,rewrite",
                )
            self._kept[stratum] = []
        heap = self._kept[stratum]
        ranked = (-rank(self.design.seed, place), place)
        if len(heap) < self.design.size:
            heapq.heappush(heap, ranked)
        elif ranked > heap[0]:
            heapq.heapreplace(heap, ranked)

    def allocation(self) -> dict[Stratum, int]:
        """How many sentences each stratum gives."""
        share = equal if self.design.allocation == "equal" else proportional
        names = sorted(self.sizes)
        given = share([self.sizes[name] for name in names], self.design.size)
        return dict(zip(names, given, strict=True))

    def drawn(self) -> Iterator[SampledLocation]:
        """The sample, by stratum, in the order of hashes."""
        for stratum, number in self.allocation().items():
            chosen = sorted(self._kept[stratum], reverse=True)[:number]
            for _, place in chosen:
                yield SampledLocation(place, name_of(stratum), self.sizes[stratum] / number)


def rank(seed: int, place: SentenceLocation) -> int:
    """A hash of seed and place, below 2**64."""
    text = f"{seed}\0{place.line}\0{place.field}\0{place.sentence}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def equal(sizes: Sequence[int], total: int) -> list[int]:
    """Equal numbers; what small strata lack goes to the others."""
    given = [0] * len(sizes)
    left = total
    while left and (open_ := [k for k, size in enumerate(sizes) if given[k] < size]):
        share, extra = divmod(left, len(open_))
        if not share:
            open_, share = open_[:extra], 1
        for k in open_:
            more = min(share, sizes[k] - given[k])
            given[k] += more
            left -= more
    return given


def proportional(sizes: Sequence[int], total: int) -> list[int]:
    """In proportion to size (largest remainders), with at least one of each if possible.

    The sample says nothing about a stratum without a sampled sentence.
    """
    whole = sum(sizes)
    total = min(total, whole)
    if not total:
        return [0] * len(sizes)
    least = 1 if total >= len(sizes) else 0
    given = [max(least, size * total // whole) for size in sizes]
    by_need = sorted(range(len(sizes)), key=lambda k: (given[k] - sizes[k] * total / whole, k))
    while (missing := total - sum(given)) != 0:
        step = 1 if missing > 0 else -1
        for k in by_need if step > 0 else reversed(by_need):
            if total == sum(given):
                break
            if least <= given[k] + step <= sizes[k]:
                given[k] += step
    return given
