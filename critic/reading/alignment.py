"""What a rationale in no known wording names, by what its words have in common with the sentence.

Words that speak about captions (`TALK`) part a rationale into phrases. One of them stands in the
sentence and another does not: that is what is wrong, and what is right. A phrase that begins and
ends as a part of the sentence does is that part, rightly. A count, color or time in a rationale
that speaks of nothing else is the sentence's only one. Where more than one reading is left, there
is none.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from revise_captions.critic.reading.faults import FRAME
from revise_captions.critic.reading.kinds import BOUND, CLASSES, COUNT, KINDS
from revise_captions.critic.reading.wordings import NamedPair
from revise_captions.records import Fix, Span
from revise_captions.text.content_words import FUNCTION_WORDS, content_keys, known_keys

#: Of function words these may be part of what is named.
_PARTS = frozenset(
    "a an the of to in on at by for with from into onto upon about off out up down and or his her "
    "its their my your our being there".split()
) - {"there"}
#: Words for captions, for seeing, and for being right or wrong.
_TALK = frozenset(
    """
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
#: Of these, nouns that may also be what is seen, unless they follow one of those.
_NOUNS = frozenset("picture photo image figure place text word view scene part point".split())
_DETERMINED = frozenset("the this that these given in whole entire of ground no".split())
_ARTICLES, _JOINTS = frozenset(("a", "an", "the", "and", "or")), frozenset(("and", "or"))
_WORD = re.compile(r"\w+(?:[’'.,:/-]\w+)*%?|[^\w\s]")
_COUNT = re.compile(COUNT, re.IGNORECASE)
_LEAST, _MOST, _GAP, _NEAR = 3, 16, 5, 3
#: What says that some of the words that follow or precede are wrong; that they are the caption's,
#: and that others are to be said.
_WRONG = re.compile(
    r"\b(?:not?|never|nope|wrong\w*|incorrect\w*|inaccurat\w*|false\w*|mistak\w*"
    r"|instead|rather than|replace\w*|swap|substitute|confus\w*|contrary|err\w*|hallucinat\w*"
    r"|in place of|exchange"
    r"|mis\w+s|off)\b|n['’]t\b|->|=>|→",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:describe[sd]?|described as|caption|text|description|author|writer|wrote|phrase"
    r"|word(?:s|ing)?|says?|states?|mentions?|speaks? of|expect)\b",
    re.IGNORECASE,
)
_MENDS = re.compile(
    r"\b(?:should|must|ought|but|yet|however|actually|in fact|turns? out|though|although|while"
    r"|whereas|truth|reality|want)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not?|never|none|nothing|without|instead|rather)\b|n['’]t\b", re.I)


def pairs_by_alignment(text: str, sentence: str) -> Iterator[NamedPair]:
    """Wrong and right words of a rationale, the likeliest reading first; none where it is open
    which they are."""
    text = _ASIDE.sub("", text)
    if _WRONG.search(text) or (_SAID.search(text) and _MENDS.search(text)):
        runs = [part for run in _runs(text) for part in _parted(run, sentence)]
        for trim in (_whole, _trimmed):
            found = list(dict.fromkeys(filter(None, map(trim, runs))))
            old = [phrase for phrase in found if _stands(phrase, sentence)]
            new = [phrase for phrase in found if phrase not in old]
            short, long = sorted(old, key=len) if len(old) == 2 else ("", "")
            if len(old) == 1 == len(new) and _is_exchange(old[0], new[0], text, sentence):
                yield NamedPair(old[0], new[0], bare=bool(KINDS.search(new[0])))
            elif short and not new and _stands(short, long):
                yield NamedPair(long, short)
    yield from _by_class(text, sentence)


def _is_exchange(old: str, new: str, text: str, sentence: str) -> bool:
    """Whether two phrases may stand for each other: the second says something new, and is not said
    of the first as its quality ("The lines are wavy.")."""
    said = known_keys(old)
    keys = [keys for _, keys in content_keys(new) if not keys & said]
    known = sum(bool(keys_ & known_keys(sentence)) for keys_ in keys)
    beside = any(word.casefold() in said for word in new.split())
    if 2 * known > len(keys) or not (keys or beside or KINDS.search(old)):
        return False
    if new.split()[-1].casefold() in _NOUNS and " " in new:
        return False  # "a night scene", for "day"
    subject = (
        rf"(?:the|his|her|its|their) [\w ]*?\b(?:{_HAS})\b(?! (?:a mistake|wrong|incorrect|false))"
    )
    if match := re.match(subject, text, re.IGNORECASE):
        said_of = match[0].casefold()
        if any(said_of.startswith(one.casefold()) for one in (old, new)):
            return False  # "The girl does not have a red hat."
    quality = (
        rf"{re.escape(old)}\W{{0,2}} (?:{_IS})(?: (?:really|actually|in fact|clearly|rather))?,? "
    )
    return re.search(quality + re.escape(new), text, re.IGNORECASE) is None


#: Said before or beside a claim, of which it says nothing.
_ASIDE = re.compile(
    r"^\W*(?:no|nope|wrong|error|incorrect)\b[,.:;!]\s*|\b(?:in|on|at) one (?:point|place|detail)\b"
    r"|\bone (?:thing|detail|point):|\bone (?=(?:can|could|might|should|would|sees?|finds?)\b)",
    re.IGNORECASE,
)
_COPULAS = frozenset("is are was were looks look appears".split())
_HAS = "is|are|was|were|does|do|did|has|have|can"
_IS = "is|are|was|were|looks?|appears?|should be|must be|ought to be"


def _runs(text: str) -> Iterator[list[str]]:
    """Runs of words that are not talk."""
    run: list[str] = []
    before = ""
    for match in [*_WORD.finditer(text), None]:
        word = match[0] if match else "."
        bound = word == "than" and run[-1:] and run[-1] in ("more", "less", "fewer")
        talk = word.casefold() in TALK or word.endswith(("n't", "n’t"))
        if word.casefold() in _NOUNS and before not in _DETERMINED:
            talk = False  # "I see a picture hanging there."
        before = word.casefold()
        if word[0].isalnum() and (bound or not talk):
            run.append(word)
        elif run:
            yield run
            run = []


def _parted(run: list[str], sentence: str) -> list[list[str]]:
    """A run as one, or its beginning, which the sentence has, and what a joint parts from it."""
    if not _stands(" ".join(run), sentence):
        for end in range(len(run) - 2, 0, -1):
            joined = run[end] in ("with", "for", "to")
            head = [word for word in run[:end] if word not in _PARTS]
            if joined and _stands(" ".join(run[:end]), sentence) and (head or end > 1):
                return [run[:end], run[end + 1 :]]
    return [run]


def _whole(run: list[str]) -> str:
    if len(run) > 2 and run[-1] == "one" and run[0] in ("a", "an", "the"):
        return " ".join(run[1:-1])  # "a blue one": what the sentence has a word for is blue
    start, end = int(run[0] in (*_JOINTS, "for", "of")), len(run) - (run[-1] in _JOINTS)
    joins = not any(word.casefold() not in _PARTS for word in run)
    return (
        "" if joins and _ARTICLES & {word.casefold() for word in run} else " ".join(run[start:end])
    )


def _trimmed(run: list[str]) -> str:
    """Without what only joins the words to others."""
    start, end = 0, len(run)
    while end and run[end - 1].casefold() in _PARTS:
        end -= 1
    while start < end and run[start].casefold() in ("and", "or", "of", "to", "for", "by", "from"):
        start += 1
    return " ".join(run[start:end])


def _stands(words: str, text: str) -> bool:
    plain = re.sub(r"^(?:an?|the) ", "", words, flags=re.IGNORECASE)
    return any(
        re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text, re.IGNORECASE) is not None
        for one in (words, plain)
    )


def _by_class(text: str, sentence: str) -> Iterator[NamedPair]:
    if _DENIES.search(text) or re.search(r"[\"“”„«»]", text):
        return  # what is quoted is named
    for members in CLASSES:
        said, told = (list(members.finditer(one)) for one in (sentence, text))
        if len(told) != 1:
            continue
        rest = text[: told[0].start()] + " . " + text[told[0].end() :]
        known = known_keys(sentence)
        if any(word not in TALK and not keys & known for word, keys in content_keys(rest)):
            continue
        said = [one for one in said if _belongs(one, sentence, told[0][0], rest, len(said) == 1)]
        if len(said) == 1 and said[0][0].casefold() != told[0][0].casefold():
            wrong, right = said[0][0], told[0][0]
            bound = re.match(rf"{BOUND} ", wrong, re.IGNORECASE)
            if bound and not re.match(rf"{BOUND} ", right, re.IGNORECASE):
                wrong = wrong[bound.end() :]
            yield NamedPair(wrong, right)


def _belongs(place: re.Match[str], sentence: str, told: str, rest: str, alone: bool) -> bool:
    """Whether a count or color is of all that a rationale speaks of; one of several is so only
    where that is something, or has a word in common with what is said instead."""
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
    """The fix by a phrase that begins and ends as a part of the sentence does."""
    old, new = list(_WORD.finditer(sentence.rstrip(" .;!"))), list(_WORD.finditer(text))
    keys = [[match[0].casefold() for match in some] for some in (old, new)]
    if not _LEAST <= len(new) <= _MOST:
        return None
    found = [
        (before + after, a + before - b, a, b, before, after)
        for a in range(len(old))
        if (before := _shared(keys[0][a:], keys[1])) > 0
        for b in range(a + before, min(len(old), a + before + _GAP + 1))
        if (after := _ends(keys[0], b, keys[1], before)) > 0
    ]
    found.sort(reverse=True)
    if not found or (len(found) > 1 and found[0][:2] == found[1][:2]):
        return None
    shared, _, a, b, before, after = found[0]
    gap = new[before : len(new) - after]
    anchors = [*keys[1][:before], *keys[1][len(new) - after :]]
    content = sum(key not in FUNCTION_WORDS and key[0].isalnum() for key in anchors)
    if any(match[0] in '.:;?!"' or match[0].casefold() in TALK - FUNCTION_WORDS for match in gap):
        return None
    if shared == len(new) == b - a + after or len(gap) > _GAP or content < 1 + (shared < _LEAST):
        return None
    if b == a + before or not gap:  # an insertion or deletion, with the word before it
        if not gap and (before < 2 or after < 2 or not content):
            return None
        before -= 1
    if gap and b > a + before and keys[1][before] == "only":  # it stresses what is right
        before, a = before + 1, a - 1
    if before == len(new) - after:
        return None
    if _COUNT.fullmatch(old[a + before][0]) and _COUNT.fullmatch(new[before][0]):
        b = min(b, a + len(new) - after)  # it may be silent of a quality
    span = Span(old[a + before].start(), old[b - 1].end())
    right = text[new[before].start() : new[len(new) - after - 1].end()]
    if span.of(sentence).casefold() == right.casefold():
        return None
    if span.start and right[:1].isupper() and span.of(sentence)[:1].islower():
        right = right[:1].lower() + right[1:]
    return Fix(span, right, basis="said of a part of the image word by word")


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """How many words both begin with."""
    unlike = (k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    return next(unlike, min(len(old), len(new)))


def _ends(old: Sequence[str], at: int, new: Sequence[str], taken: int) -> int:
    """How many words the end of `new` shares with `old` from `at` on; 0 where it goes no further
    back than that."""
    for size in range(len(new) - taken, 0, -1):
        if list(old[at : at + size]) == list(new[len(new) - size :]):
            return size
    return 0


def without_talk(text: str) -> Iterator[str]:
    """What a rationale may state: itself, what it quotes, and itself without the talk around."""
    yield text
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
