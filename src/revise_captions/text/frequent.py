"""Frequent items among millions of different ones, in constant memory.

Misra and Gries's counters (“Finding repeated elements”, 1982), merged as in Agarwal et al.,
“Mergeable summaries” (2012): whatever makes up more than 1 / (`COUNTERS` + 1) of everything is
found, and no count is too large, or too small by more than that share of everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

COUNTERS = 10_000
#: How many different places are counted for each text.
PLACES = 10


@dataclass(slots=True)
class _Counter:
    text: str
    count: int = 0
    places: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class FrequentTexts:
    """Counts of texts, each with the first `PLACES` different places where it occurred; `+=` adds
    another's.

    Attributes:
        total: How many texts were added, with repetitions.
        short: The most by which a count may be too small; 0 up to `COUNTERS` different texts.
    """

    longest: int = 200
    total: int = 0
    short: int = 0
    _counters: dict[bytes, _Counter] = field(default_factory=dict)

    def add(self, text: str, place: bytes) -> None:
        """Counts a text; only `longest` characters of long ones are kept."""
        self.total += 1
        key = digest(text)
        found = self._counters.get(key)
        if found is None:
            if len(self._counters) >= COUNTERS:
                self._lower(1)
                return
            found = self._counters[key] = _Counter(text[: self.longest])
        found.count += 1
        if len(found.places) < PLACES:
            found.places.add(place)

    def most(self, fewest: float) -> list[tuple[str, int, int]]:
        """Text, count and number of places (`PLACES` means that or more), most frequent first, of
        those counted at least `fewest` times."""
        known = [one for one in self._counters.values() if one.count >= fewest]
        known.sort(key=lambda one: (-one.count, one.text))
        return [(one.text, one.count, len(one.places)) for one in known]

    def __iadd__(self, other: FrequentTexts) -> FrequentTexts:
        self.total += other.total
        self.short += other.short
        for key, theirs in other._counters.items():
            mine = self._counters.setdefault(key, _Counter(theirs.text))
            mine.count += theirs.count
            mine.places = set(sorted(mine.places | theirs.places)[:PLACES])
        if len(self._counters) > COUNTERS:
            counts = sorted((one.count for one in self._counters.values()), reverse=True)
            self._lower(counts[COUNTERS])
        return self

    def _lower(self, by: int) -> None:
        self.short += by
        for one in self._counters.values():
            one.count -= by
        self._counters = {key: one for key, one in self._counters.items() if one.count > 0}


def digest(text: str) -> bytes:
    """Eight bytes that stand for a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
