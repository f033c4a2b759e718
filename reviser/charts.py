"""A reviser of sentences about charts: puts in what the critic's rationale says the chart shows.

It understands the rationales of the critic `charts` (`charts.claims`) and no others, changes
nothing but what the rationale is about, and needs no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from revise_captions.reviser.protocol import RewriteRequest

_VALUE = re.compile(r"^.+ is at (?P<right>(?:about )?[\d.,]+), not (?P<wrong>[\d.,]+)\.$")
_EXTREME = re.compile(
    r"^(?P<right>.+) is the (?:\w+ )?(?:highest|lowest), at (?P<value>.+); (?P<wrong>.+) is at "
    r"(?P<said>.+)\.$"
)
_PERIOD = re.compile(
    r"^The chart spans (?P<first>\d{4}) to (?P<last>\d{4}), not (?P<a>\d{4}) to (?P<b>\d{4})\.$"
)
_DIRECTION = re.compile(r"^It (?P<verb>rose|fell) from ")
_ORDER = re.compile(r"^.+ is at .+ and .+ at [^:]+\.$")
_OPPOSITES = (
    ("increased", "decreased"), ("increase", "decrease"), ("increasing", "decreasing"),
    ("increases", "decreases"), ("rose", "fell"), ("grew", "declined"), ("risen", "fallen"),
    ("rising", "falling"), ("growing", "declining"), ("growth", "decline"), ("rise", "fall"),
    ("upward", "downward"), ("upwards", "downwards"), ("climbed", "dropped"),
    ("went up", "went down"), ("positive", "negative"), ("grow", "shrink"),
)  # fmt: skip
_COMPARED = (
    ("higher", "lower"), ("more", "less"), ("greater", "smaller"), ("larger", "smaller"),
    ("above", "below"), ("exceeds", "falls short of"), ("ahead of", "behind"),
    ("longer", "shorter"), ("fewer", "more"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChartReviser:
    """The reviser `charts`."""

    strict: bool = False

    @property
    def settings(self) -> Mapping[str, str]:
        return {"reviser": "charts-1"}

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        """The sentence with what the rationale names put right; None where it names nothing that
        can be put in."""
        return [self._rewrite(request) for request in requests]

    def by_rule(self, request: RewriteRequest) -> bool:
        """Whether the rationale is one of the critic of charts that a rule is for."""
        return any(pattern.match(request.rationale) for pattern, _ in _RULES)

    def _rewrite(self, request: RewriteRequest) -> str | None:
        for pattern, rule in _RULES:
            found = pattern.match(request.rationale)
            if found is not None:
                rewrite = rule(request.sentence, found)
                same = rewrite == request.sentence or rewrite in request.failed
                return None if same else rewrite
        return None


def _value(sentence: str, found: re.Match[str]) -> str:
    """The stated number replaced, with "about" where it was measured and nothing says so yet."""
    wrong = _plain(found["wrong"])
    for match in re.finditer(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?", sentence):
        if _plain(match[0]) != wrong:
            continue
        right, before = found["right"], sentence[: match.start()]
        hedge = re.search(
            r"\b(?:(?:just|slightly) )?(?:about|around|approximately|roughly|nearly|almost|over"
            r"|under|above|below|close to|more than|less than) $",
            before,
        )
        if hedge:
            before, right = before[: hedge.start()], f"about {right.removeprefix('about ')}"
        return before + right + sentence[match.end() :]
    return sentence


def _plain(number: str) -> float:
    return float(number.replace(",", "").rstrip("."))


def _extreme(sentence: str, found: re.Match[str]) -> str:
    """The category replaced by the one that has the rank, and its value, where it is stated."""
    right, wrong = (re.sub(r" \([^()]*\)$", "", found[name]) for name in ("right", "wrong"))
    changed = re.sub(rf"\b{re.escape(wrong)}(?!\w)", lambda _: right, sentence, count=1)
    said, value = (found[name].removeprefix("about ") for name in ("said", "value"))
    return changed if changed == sentence else changed.replace(said, value)


def _period(sentence: str, found: re.Match[str]) -> str:
    changed = sentence.replace(found["a"], found["first"], 1)
    head, last, tail = changed.rpartition(found["b"])
    return head + found["last"] + tail if last else changed


def _direction(sentence: str, found: re.Match[str]) -> str:
    """Words for the wrong direction replaced by their opposites."""
    pairs = _OPPOSITES if found["verb"] == "fell" else [(b, a) for a, b in _OPPOSITES]
    return _swapped(sentence, pairs)


def _order(sentence: str, found: re.Match[str]) -> str:
    return _swapped(sentence, [*_COMPARED, *((b, a) for a, b in _COMPARED)], count=1)


def _swapped(sentence: str, pairs: Sequence[tuple[str, str]], count: int = 0) -> str:
    table = dict(reversed(pairs))
    words = "|".join(sorted(map(re.escape, table), key=len, reverse=True))
    return re.sub(rf"\b(?:{words})\b", lambda match: table[match[0]], sentence, count=count)


_RULES: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], str]], ...] = (
    (_VALUE, _value), (_EXTREME, _extreme), (_PERIOD, _period), (_DIRECTION, _direction),
    (_ORDER, _order),
)  # fmt: skip
