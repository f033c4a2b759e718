"""Reads a rationale in no known wording by what it has in common with the sentence.

A phrase that begins and ends like a part of the sentence is that part corrected, even with other
names for the same things. A count, color or time in a rationale about nothing else corrects the
sentence's only one. `TALK` holds words about captions, which say nothing about the image.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from revise_captions.critic.reading.faults import FRAME
from revise_captions.critic.reading.kinds import BOUND, CLASSES, COLORS, COUNT, TIMES
from revise_captions.critic.reading.wordings import NamedPair
from revise_captions.graphs.grading.senses import Kin, kin
from revise_captions.records import Fix, Span
from revise_captions.text.content_words import FUNCTION_WORDS, content_keys, known_keys

#: Function words that may be part of what is named.
_PARTS = frozenset(
    "a an the of to in on at by for with from into onto upon about off out up down and or his her "
    "its their my your our being there".split()
) - {"there"}
#: Words for captions, for seeing, and for being right or wrong.
_TALK = frozenset(
    """
    amount amounts figures quantity quantities
    absent accordingly accuracy accurate accurately again agree agrees although anywhere
    apparently appear appearing appears asserts author basically because believes better caption's
    captions careful carefully case certain certainly change changed check claim claimed claiming
    claims clear clearly close closer color colour comparing concerning confused confuses
    confusing contain contained containing contrary correctly count counted counting critic deduce
    definitely depict depicted depicting depicts described description's detail detailed details
    display displayed displays element else entry err erroneous erroneously everything evident
    evidently exact examination examined examining except exist expect expected fact factual
    factually falsely feature features figure find fine fix found get given going got ground
    hallucinates hard hmm however i'd i'm image's images imprecise inaccuracy inaccurately
    incorrectly indeed indicate indicated indicates individual inspecting inspection instead
    invented isn issue it'd it's judging just like listed literally look looked looking looks
    loosely matches matter mean means meant mischaracterized misdescribed misidentified
    misidentifies misreads misrepresents misses missing misstated misstates mistaken mistakenly
    mistakes mostly must named namely need needs nope nowhere number observe observed obviously
    off only oops otherwise ought pardon photos phrase phrasing pictured pictures place plainly
    please possibly precise precisely presence present presented presumably probable problem
    proper properly put puts quite rather read reader reading reads real reality really refers
    replace replaced report reported represent represented represents respectively rest revealed
    reveals rightly said saying seem seemingly seems sees show showing shown shows simply since
    single slightly so sorry speak speaking speaks specifically specified spelled stand stands
    state stated states still strictly substitute suppose supposed sure swap take taken takes talk
    talks term than that's then there's thing think though thought time total truly truth
    truthfully turn turned turns typo upon use used using view viewed visible visibly want wants
    whereas wording write writer writes written wrongly wrote yes yet
    """.split()
)
TALK = (FUNCTION_WORDS - _PARTS) | (FRAME - {"one"}) | _TALK
_WORD = re.compile(r"\w+(?:[’'.,:/-]\w+)*%?|[^\w\s]")
_COUNT = re.compile(COUNT, re.IGNORECASE)
_LEAST, _MOST, _GAP, _NEAR = 3, 16, 5, 3
#: Says that some of the words after or before it are wrong.
_WRONG = re.compile(
    r"\b(?:not?|never|nope|wrong\w*|incorrect\w*|inaccurat\w*|false\w*|mistak\w*"
    r"|instead|rather than|replace\w*|swap|substitute|confus\w*|contrary|err\w*|hallucinat\w*"
    r"|in place of|exchange"
    r"|mis\w+s|off)\b|n['’]t\b|->|=>|→",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not?|never|none|nothing|without|instead|rather)\b|n['’]t\b", re.I)


#: Asides before or beside a claim, which add nothing to it.
ASIDE = re.compile(
    r"^\W*(?:no|nope|wrong|error|incorrect)\b[,.:;!]\s*|\b(?:in|on|at) one (?:point|place|detail)\b"
    r"|\bone (?:thing|detail|point):|\bone (?=(?:can|could|might|should|would|sees?|finds?)\b)",
    re.IGNORECASE,
)
_COPULAS = frozenset("is are was were looks look appears".split())


def pairs_by_class(text: str, sentence: str) -> Iterator[NamedPair]:
    """A count, color or time that is all a rationale is about, for the sentence's only one."""
    if _DENIES.search(text) or re.search(r"[\"“”„«»]", text):
        return  # quoted words are named explicitly
    read = Span(0, 0)
    for members in CLASSES:
        timed = members in TIMES
        said, told = (list(members.finditer(one)) for one in (sentence, text))
        if len(told) != 1 or _is_cut_list(told[0], text):
            continue
        if read.start <= told[0].start() < read.end:
            continue  # of "10 days", the 10 alone
        read = Span(*told[0].span()) if said else read
        rest = text[: told[0].start()] + " . " + text[told[0].end() :]
        known = known_keys(sentence)
        spoken = [keys for word, keys in content_keys(rest) if word not in TALK]
        if timed and len(said) == 1 and len(spoken) <= 1:  # "Given the light, it must be dusk."
            yield from _unlike(said[0][0], told[0][0])
            continue
        if any(not keys & known for keys in spoken):
            continue
        other = [one for one in said if one[0].casefold() != told[0][0].casefold()]
        said = [one for one in said if _belongs(one, sentence, told[0][0], rest, len(other) == 1)]
        if len(said) == 1:
            yield from _unlike(said[0][0], told[0][0])


def _is_cut_list(told: re.Match[str], text: str) -> bool:
    """Whether a color is the first of several, as in "An orange and."."""
    one = COLORS.fullmatch(told[0]) is not None and " " not in told[0]
    return one and re.match(r",? (?:and|or)\b", text[told.end() :]) is not None


def without_as_with(text: str, sentence: str) -> Fix | None:
    """The fix for a sentence "without" something that a rationale only says is there."""
    places = list(re.finditer(r"\b(without)\b((?:\W+\w+){1,3})", sentence, re.IGNORECASE))
    if len(places) != 1 or _WRONG.search(text):
        return None
    told = [keys for word, keys in content_keys(ASIDE.sub("", text)) if word not in TALK]
    near = {key for word, keys in content_keys(places[0][2]) for key in keys}
    if not told or any(not keys & near for keys in told):
        return None
    right = "With" if places[0][1][0].isupper() else "with"
    return Fix(Span(*places[0].span(1)), right, basis="what is there, for what is denied")


def _unlike(wrong: str, right: str) -> Iterator[NamedPair]:
    """Two of a class as a pair, if they differ, without what the second does not mention."""
    if wrong.endswith("%") and right[-1:].isdigit():
        wrong = wrong[:-1]
    bound = re.match(rf"{BOUND} ", wrong, re.IGNORECASE)
    if bound and not re.match(rf"{BOUND} ", right, re.IGNORECASE):
        wrong = wrong[bound.end() :]
    if wrong.casefold() != right.casefold():
        yield NamedPair(wrong, right)


def _belongs(place: re.Match[str], sentence: str, told: str, rest: str, alone: bool) -> bool:
    """Whether a count or color belongs to all that a rationale is about; one of several does only
    if there is something that it is about, or it shares a word with what is said instead."""
    before, after = (
        re.findall(r"[\w’'-]+", part)
        for part in (sentence[: place.start()], sentence[place.end() :])
    )
    spoken = [keys for word, keys in content_keys(rest) if word not in TALK]
    near = known_keys(" ".join((*before[-_NEAR:], *after[:_NEAR])))
    if any(not keys & near for keys in spoken):
        return False
    own = known_keys(" ".join(after[:2]))
    if _COPULAS & set(before[-2:]):
        own |= known_keys(" ".join(before[-2 * _NEAR :]))
    same = set(place[0].casefold().split()) & set(told.casefold().split())
    return any(keys & own for keys in spoken) or (alone and not spoken) or bool(same)


def fix_of_part(text: str, sentence: str) -> Fix | None:
    """The fix by a phrase that begins and ends like a part of the sentence."""
    old, new = (list(_WORD.finditer(one.rstrip(" .;!"))) for one in (sentence, text))
    keys = [[match[0].casefold() for match in some] for some in (old, new)]
    if not _LEAST <= len(new) <= _MOST:
        return None
    found = [
        (before + after, a + before - b, a, b, before, after)
        for a in range(len(old))
        if (before := _shared(keys[0][a:], keys[1])) > 0 or (a == 0 and keys[1][0] not in keys[0])
        for b in range(a + before, min(len(old), a + before + _GAP + 1))
        if (after := _ends(keys[0], b, keys[1], before)) > 0
    ]
    found.sort(reverse=True)
    if not found or (len(found) > 1 and found[0][:2] == found[1][:2]):
        return None
    shared, _, a, b, before, after = found[0]
    if not before and (after < 2 or not b or TALK.intersection(keys[1][: len(new) - after])):
        return None  # not the sentence's beginning with a replacement
    gap = new[before : len(new) - after]
    anchors = [*keys[1][:before], *keys[1][len(new) - after :]]
    content = sum(key not in FUNCTION_WORDS and key[0].isalnum() for key in anchors)
    if any(match[0] in '.:;?!"' or match[0].casefold() in TALK - FUNCTION_WORDS for match in gap):
        return None
    if {",", ";"}.intersection(keys[0][a + before : b]).difference(keys[1]):
        return None  # "Pink and white hues" is not about ", their white hues"
    # "A kayak along the." leaves out what the sentence says about its boat
    least = 1 + (shared < _LEAST or (b - a - before > len(gap) > 0))
    if shared == len(new) == b - a + after or len(gap) > _GAP or content < least:
        return None
    if not before and b > len(gap) + 1:
        return None  # "2 weeks ago" begins later than a sentence with much before that
    if b == a + before or not gap:  # an insertion or deletion, with the word before it
        if not gap and (before < 2 or after < 2 or not content):
            return None
        before -= 1
    if gap and b > a + before and keys[1][before] == "only":  # "only" stresses what is right
        before, a = before + 1, a - 1
    if before == len(new) - after:
        return None
    if _COUNT.fullmatch(old[a + before][0]) and _COUNT.fullmatch(new[before][0]):
        b = min(b, a + len(new) - after)  # it may leave out an attribute
    span = Span(old[a + before].start(), old[b - 1].end())
    right = text[new[before].start() : new[len(new) - after - 1].end()]
    if span.of(sentence).casefold() == right.casefold():
        return None
    if span.start and right[:1].isupper() and span.of(sentence)[:1].islower():
        right = right[:1].lower() + right[1:]
    return Fix(span, right, basis="said of a part of the image word by word")


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """How many words both have in common at the beginning."""
    unlike = (k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    return next(unlike, min(len(old), len(new)))


def _ends(old: Sequence[str], at: int, new: Sequence[str], taken: int) -> int:
    """How many words the end of `new` shares with `old` from `at` on; 0 if these do not go back
    further than that."""
    for size in range(len(new) - taken, 0, -1):
        if list(old[at : at + size]) == list(new[len(new) - size :]):
            return size
    return 0


def in_the_words_of(sentence: str, text: str) -> str:
    """A text with its names for things replaced by the sentence's: "canine" by "dog"."""
    said = [match[0].casefold() for match in _WORD.finditer(sentence)]
    told = {match[0].casefold() for match in _WORD.finditer(text)}
    free = [word for word in dict.fromkeys(said) if word not in told | TALK and word.isalpha()]

    def name(match: re.Match[str]) -> str:
        word = match[0].casefold()
        if word in said or word in TALK or not word.isalpha():
            return match[0]
        same = [one for one in free if kin(one, word) in _ALIKE]
        if len(same) > 1:  # "brick structure" is the brick building, not the tower
            before = re.findall(r"\w+", text[: match.start()].casefold())[-1:]
            same = [one for one in same if before == said[: said.index(one)][-1:]]
        if len(same) != 1:
            return match[0]
        free.remove(same[0])
        return same[0]

    return _WORD.sub(name, text)


_ALIKE = (Kin.SAME, Kin.KIND, Kin.WIDER)


def without_talk(text: str) -> Iterator[str]:
    """What a rationale may state: itself, what it quotes, and itself without surrounding talk."""
    yield text
    text = ASIDE.sub("", text)
    if not _WRONG.search(_QUOTED.sub("", text)):  # “a red hat” is made up
        yield from (match[1].strip(" …") for match in _QUOTED.finditer(text))
    heads = [0, *(match.end() for match in _HEAD.finditer(text)), len(text)]
    tails = [*(match.start() for match in re.finditer(r",\s", text)), len(text)]
    heads = [end for end in heads if _only_talks(text[:end]) and not _DOUBTS.search(text[:end])]
    tails = [start for start in tails if _only_talks(text[start:])]
    for head in heads:
        yield from (text[head:tail].strip(" …") for tail in tails if head < tail)


_QUOTED = re.compile(r"[\"“„«‘'*_`]([^\"“”„«»*_`]{8,})[\"”“»’'*_`]")
_HEAD = re.compile(r"[:,;.!?–—-]\s+|\b(?:that|be|is|see|like|says?|read)\s+", re.IGNORECASE)


_DOUBTS = re.compile(r"\b(?:not|none|nothing|never|no \w+)\b|n['’]t\b", re.IGNORECASE)


def _only_talks(text: str) -> bool:
    return all(word.casefold() in TALK | _PARTS for word in re.findall(r"[\w’']+", text))
