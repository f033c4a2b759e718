"""A reviser of sentences about charts: puts in what the critic's rationale says the chart shows.

It understands the rationales of the critic `charts` (`charts.claims`) and no others, changes
nothing but what the rationale is about, and needs no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from revise_captions.reviser.protocol import RewriteRequest

_VALUE = re.compile(r"^(?P<name>.+) is at (?P<right>(?:about )?[\d.,]+.*), not (?P<wrong>.+)\.$")
_GAP = re.compile(r"^.+: the difference is (?P<right>[\d.,]+.*), not (?P<wrong>.+)\.$")
_RATIO = re.compile(r"^.+ is at .+ and .+ at .+: (?P<ratio>[\d.]+) times as high\.$")
_HIGHEST = re.compile(
    r"^No value is as high as (?P<wrong>.+): the highest is (?P<right>(?:about )?[\d.,]+)\.$"
)
_EXTREME = re.compile(
    r"^(?P<right>.+) is the (?:\w+ )?(?:highest|lowest), at (?P<value>.+?); "
    r"(?:the chart does not show )?(?P<wrong>.+?)(?: is at .+)?\.$"
)
_PERIOD = re.compile(
    r"^The chart spans (?P<first>\d{4}) to (?P<last>\d{4}), not (?P<a>\d{4}) to (?P<b>\d{4})\.$"
)
_DIRECTION = re.compile(
    r"^It (?P<verb>rose|fell) from (?:(?P<from>(?:about )?[\d.,]+) in (?P<first>\d{4})\S* to "
    r"(?P<to>(?:about )?[\d.,]+) in (?P<last>\d{4}))?"
)
_COUNT = re.compile(r"^There are (?P<right>\w+) [\w ]+, not (?P<wrong>\w+)\.$")
_SUBJECT = re.compile(r"^The chart is about (?P<right>.+), not (?P<wrong>.+)\.$")
_SUM = re.compile(r"^.+ together are at (?P<right>[\d.,]+.*), not (?P<wrong>.+)\.$")
_RANGES = re.compile(r"^It ranges from (?P<low>.+) \(.+?\) to (?P<high>.+) \(.+\)\.$")
_END = re.compile(r"^The (?:lowest|highest) value is (?P<right>.+), not (?P<wrong>.+)\.$")
_MANNER = re.compile(r"^It (?:rose|fell) from .+, not (?P<wrong>[a-z ]+)\.$")
_TURN = re.compile(r"^It (?:rose|fell) until \S+ and (?:rose|fell) after that\.$")
_SETBACKS = re.compile(r"^It does not go one way: ")
_ORDER = re.compile(r"^.+ is at .+ and .+ at [^:]+\.$")
#: Rationales of sentences of which nothing can stay.
_REMOVED = re.compile(r"^(?:The chart does not say this|The sentence makes no sense)\.$")
_OPPOSITES = (
    ("increased", "decreased"), ("increase", "decrease"), ("increasing", "decreasing"),
    ("increases", "decreases"), ("rose", "fell"), ("grew", "declined"), ("risen", "fallen"),
    ("rising", "falling"), ("growing", "declining"), ("growth", "decline"), ("rise", "fall"),
    ("upward", "downward"), ("upwards", "downwards"), ("climbed", "dropped"),
    ("went up", "went down"), ("positive", "negative"), ("grow", "shrink"),
)  # fmt: skip
_COMPARED = (
    ("higher", "lower"), ("more", "less"), ("greater", "smaller"), ("larger", "smaller"),
    ("above", "below"), ("exceeds", "is below"), ("ahead of", "behind"),
    ("longer", "shorter"), ("fewer", "more"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChartReviser:
    """The reviser `charts`."""

    strict: bool = False

    @property
    def settings(self) -> Mapping[str, str]:
        return {"reviser": "charts-3"}

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        """The sentence with what the rationale names put right; None where it names nothing that
        can be put in."""
        return [self._rewrite(request) for request in requests]

    def by_rule(self, request: RewriteRequest) -> bool:
        """Whether the rationale has a sentence of the critic of charts that a rule is for."""
        return any(rule.match(part) for part in _parts(request.rationale) for rule, _ in _RULES)

    def _rewrite(self, request: RewriteRequest) -> str | None:
        rewrite = request.sentence
        # values first: where they are told in the wrong order, directions look at them
        parts = sorted(_parts(request.rationale), key=lambda part: bool(_DIRECTION.match(part)))
        for part in parts:
            if _REMOVED.match(part):
                return None if "" in request.failed else ""
            for pattern, rule in _RULES:
                found = pattern.match(part)
                if found is not None:
                    rewrite = rule(rewrite, found)
                    break
        same = rewrite == request.sentence or rewrite in request.failed
        return None if same else rewrite


def _parts(rationale: str) -> list[str]:
    """The sentences of a rationale; each has a claim's own mending."""
    return re.split(r"(?<=[\w)%”*†‡]\.)(?<!\b[A-Z]\.) (?=\S)", rationale)


_HEDGE = re.compile(
    r"\b(?:(?:just|slightly) )?(?:about|around|approximately|roughly|nearly|almost|over"
    r"|under|above|below|close to|more than|less than|at least|up to) $",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


def _value(sentence: str, found: re.Match[str]) -> str:
    """The stated number replaced, with "about" where it was measured and nothing says so yet."""
    wrong, right = found["wrong"], found["right"]
    places = [
        place.span()
        for place in re.finditer(rf"(?<![\w.,]){re.escape(wrong)}(?!\w|[.,]\d)", sentence)
    ]
    start, end = _nearest(sentence, places, found) if places else _place_of(sentence, wrong)
    if start == end:
        return sentence
    before, after = sentence[:start], sentence[end:]
    hedge = _HEDGE.search(before)
    if hedge:
        before = _joined(before[: hedge.start()], hedge[0])
        right = f"about {right.removeprefix('about ')}"
    if not before:
        right = right[0].upper() + right[1:]
    return before + right + re.sub(r"^ or (?:more|less|fewer)\b", "", after)


def _nearest(
    sentence: str, places: Sequence[tuple[int, int]], found: re.Match[str]
) -> tuple[int, int]:
    """Of several equal numbers, the one that is nearest to what the value is of."""
    name = re.sub(r" \([^()]*\)$", "", found.groupdict().get("name") or "")
    at = sentence.find(name) if name else -1
    if at < 0:
        return places[0]
    return min(places, key=lambda place: max(at - place[1], place[0] - at - len(name)))


_PLACED = re.compile(r"\b(?:above|below|over|under|up to)\b", re.IGNORECASE)
_MOVES = re.compile(
    r"\b(?:drop|f[ae]ll|ris|rose|climb|declin|decreas|increas|gr[eo]w|dip|jump)\w* $", re.IGNORECASE
)
_STARTS = re.compile(r"\b(?:starts?|started|starting|begins?|began|ends?|ended)(?: off| out)? $")
_AMOUNTS = re.compile(
    r"\b(?:rate|value|share|level|count|total|figure|height|number|percentage|score|price)s? $",
    re.IGNORECASE,
)


def _joined(before: str, hedge: str) -> str:
    """What comes before a number whose "below" is gone: "dropping to", "a rate of"."""
    if not _PLACED.search(hedge):
        return before
    if _MOVES.search(before):
        return f"{before}to "
    if _STARTS.search(before):
        return f"{before}at "
    return f"{before}of " if _AMOUNTS.search(before) else before


def _place_of(sentence: str, wrong: str) -> tuple[int, int]:
    """Where a number stands that is written otherwise; (0, 0) if nowhere."""
    if not _NUMBER.fullmatch(wrong):
        return 0, 0
    same = (m.span() for m in _NUMBER.finditer(sentence) if _plain(m[0]) == _plain(wrong))
    return next(same, (0, 0))


def _highest(sentence: str, found: re.Match[str]) -> str:
    """The highest value put in where the sentence speaks of a range or an extreme."""
    speaks = re.search(r"\brang|\bup to\b|\b(?:high|larg|great)est\b|\bpeak|\bmaximum\b", sentence)
    return _value(sentence, found) if speaks else sentence


_TIMES = re.compile(
    r"\b(?:(?:more than|less than|over|nearly|almost|about|roughly|around|approximately) )?"
    r"(?:twice|half|double|(?:two|three|four|five|six|ten|\d+(?:\.\d+)?) times)\b",
    re.IGNORECASE,
)


_DEGREE = re.compile(
    r"\b(?:slightly|marginally|a little|somewhat|just|considerably|much|far|significantly"
    r"|substantially|notably) (?=(?:higher|more|greater|larger|lower|less|smaller|fewer)\b)"
)


def _ratio(sentence: str, found: re.Match[str]) -> str:
    """The factor replaced by the right one, or no longer called little or great."""
    said = f"about {found['ratio'].removesuffix('.0')} times"
    if not _TIMES.search(sentence):
        return _DEGREE.sub("", sentence, count=1)
    return _TIMES.sub(said, sentence, count=1)


def _setbacks(sentence: str, _: re.Match[str]) -> str:
    """Without the word that denies every setback."""
    words = r"steadily|consistently|continuously|constantly|without interruption|steady|continuous"
    return re.sub(rf" (?:{words})\b", "", sentence, count=1)


def _plain(number: str) -> float:
    return float(number.replace(",", "").rstrip("."))


#: Names that "the" stands before.
_WITH_ARTICLE = re.compile(
    r"\b(?:of|States|Kingdom|Republic|Islands|Netherlands|Philippines|Emirates|Union|Tower|Bridge"
    r"|Coast|Sea|River|Bank)\b|s$"
)


def _is_doubtful(label: str, sentence: str) -> bool:
    """Whether the reader cut a label or ran it together, or the sentence has it already."""
    odd = len(label.split()) > 7 or re.search(r"\.\.|…|\[|\b(?P<word>\w+) (?P=word)\b", label)
    again = re.search(rf"(?<!\w){re.escape(label)}(?!\w)", sentence)
    return bool(odd or again)


def _extreme(sentence: str, found: re.Match[str]) -> str:
    """The category replaced by the one that has the rank, and the number, if there is but one."""
    right, wrong = (re.sub(r" \([^()]*\)$", "", found[name]) for name in ("right", "wrong"))
    at = re.search(rf"\b{re.escape(wrong)}(?!\w)", sentence)
    if at is None or _is_doubtful(right, sentence):
        return sentence
    before, after = sentence[: at.start()], sentence[at.end() :]
    if wrong[0].isupper() and right[0].isupper() and not _WITH_ARTICLE.search(right):
        before = re.sub(r"\b[Tt]he $", "", before)
    stated = [
        (part, n)
        for part in (before, after)
        for n in _NUMBER.finditer(part)
        if not re.fullmatch(r"(?:1[6-9]|20)\d\d", n[0])
    ]
    value = found["value"].removeprefix("about ")
    for part, number in stated if len(stated) == 1 else ():
        if abs(_plain(number[0]) - _plain(value)) > 0.03 * abs(_plain(value)):
            ahead, hedge = part[: number.start()], _HEDGE.search(part[: number.start()])
            if hedge:
                ahead = f"{_joined(ahead[: hedge.start()], hedge[0])}about "
            changed = ahead + value + part[number.end() :]
            before, after = (changed, after) if part is before else (before, changed)
    return before + right + after


def _period(sentence: str, found: re.Match[str]) -> str:
    changed = sentence.replace(found["a"], found["first"], 1)
    head, last, tail = changed.rpartition(found["b"])
    return head + found["last"] + tail if last else changed


def _instead(sentence: str, found: re.Match[str]) -> str:
    """The right words in the place of the wrong ones, where these first stand."""
    wrong = rf"(?<!\w){re.escape(found['wrong'])}(?!\w)"
    return re.sub(wrong, lambda _: found["right"], sentence, count=1)


def _without(sentence: str, found: re.Match[str]) -> str:
    """Without the word for how far something goes."""
    return _agreeing(re.sub(rf" {re.escape(found['wrong'])}(?!\w)", "", sentence, count=1))


def _turned(sentence: str, _: re.Match[str]) -> str:
    """Both directions of a turn swapped."""
    return _swapped(sentence, [*_OPPOSITES, *((b, a) for a, b in _OPPOSITES)])


_FLAT = re.compile(
    r"\b(?:(?:has |have )?(?:remain|stay)(?:ed|s)?|was|has been) (?:\w+ly )?"
    r"(?:stable|constant|unchanged|flat|steady|the same|consistent)\b",
    re.IGNORECASE,
)


def _ranges(sentence: str, found: re.Match[str]) -> str:
    """Where something is said not to change, how far it does."""
    return _FLAT.sub(f"ranged from {found['low']} to {found['high']}", sentence, count=1)


def _direction(sentence: str, found: re.Match[str]) -> str:
    """Words for the wrong direction, or for none, replaced by those for the right one."""
    moved = _FLAT.sub(found["verb"], sentence, count=1)
    if moved != sentence:
        return moved
    pairs = _OPPOSITES if found["verb"] == "fell" else [(b, a) for a, b in _OPPOSITES]
    return _with_ends(_swapped(sentence, pairs), found)


def _with_ends(sentence: str, found: re.Match[str]) -> str:
    """The values of both years put right, where they were told in the wrong order."""
    if found["from"] is None:
        return sentence
    told = _ENDS.search(sentence)
    true = _plain(found["from"].removeprefix("about ")), _plain(found["to"].removeprefix("about "))
    if told is None or (told["first"], told["last"]) != (found["first"], found["last"]):
        return sentence
    said = _plain(told["a"]), _plain(told["b"])
    if (said[0] < said[1]) == (true[0] < true[1]) or not _same_scale(said, true):
        return sentence
    start, end = told.start("a"), told.end("b")
    middle = sentence[told.end("a") : told.start("b")]
    values = [found[name].removeprefix("about ") for name in ("from", "to")]
    return sentence[:start] + values[0] + middle + values[1] + sentence[end:]


def _same_scale(said: tuple[float, float], true: tuple[float, float]) -> bool:
    """Whether the sentence counts as the chart does."""
    return all(0.2 * b <= a <= 5 * b for a, b in zip(sorted(said), sorted(true), strict=True))


_ENDS = re.compile(
    r"\bfrom \D{0,20}?(?P<a>\d[\d,]*(?:\.\d+)?)(?:%| [\w. ]+?)? in (?P<first>\d{4})\S* to "
    r"\D{0,20}?(?P<b>\d[\d,]*(?:\.\d+)?)(?:%| [\w. ]+?)? in (?P<last>\d{4})"
)


def _order(sentence: str, found: re.Match[str]) -> str:
    return _swapped(sentence, [*_COMPARED, *((b, a) for a, b in _COMPARED)], count=1)


def _swapped(sentence: str, pairs: Sequence[tuple[str, str]], count: int = 0) -> str:
    table = dict(reversed(pairs))
    words = "|".join(sorted(map(re.escape, table), key=len, reverse=True))
    swapped = re.sub(rf"\b(?:{words})\b", lambda match: table[match[0]], sentence, count=count)
    return swapped if swapped == sentence else _agreeing(swapped)


_HAVE = re.compile(r"\b(?P<have>has|have|had|having)(?P<how> \w+ly)? (?P<verb>grew|rose|fell)\b")
_PARTICIPLES = {"grew": "grown", "rose": "risen", "fell": "fallen"}


def _agreeing(sentence: str) -> str:
    """Participles behind "has", and the right article before a word that was put in."""
    formed = _HAVE.sub(lambda m: f"{m['have']}{m['how'] or ''} {_PARTICIPLES[m['verb']]}", sentence)
    formed = re.sub(r"\b([Aa]) (?=(?:upward|increas|incline))", r"\1n ", formed)
    return re.sub(r"\b([Aa])n (?=(?:downward|decreas|declin|ris|fall|drop|growth))", r"\1 ", formed)


_RULES: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], str]], ...] = (
    (_REMOVED, lambda sentence, _: sentence), (_EXTREME, _extreme), (_COUNT, _instead),
    (_SUBJECT, _instead), (_GAP, _value), (_SUM, _value), (_RANGES, _ranges), (_END, _value),
    (_MANNER, _without), (_RATIO, _ratio), (_HIGHEST, _highest), (_VALUE, _value),
    (_PERIOD, _period), (_TURN, _turned), (_DIRECTION, _direction), (_SETBACKS, _setbacks),
    (_ORDER, _order),
)  # fmt: skip
