"""Whether a part of a sentence describes the image, or gives the writer's interpretation.

Objects, attributes, relations, counts and written text are descriptive: one can point at them.
Opinions ("a cozy atmosphere"), guesses ("likely a tourist"), effects ("adding a touch of color"),
purposes ("to stay dry"), general truths ("which is common in cities") and framing ("overall") are
not. Closed lists of cues decide, one part at a time; a part that continues an enumeration ("such as
a wedding, or a meeting") is of the same kind as the part before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from revise_captions.graphs.words import listed
from revise_captions.records import Span

VERSION = "1"

#: Guesses and possibilities, but not "can be seen".
_GUESSING = listed(
    "may might could would should must can will likely unlikely possibly perhaps probably "
    "presumably maybe potential potentially seemingly apparently supposedly imagine if whether "
    "expect expected appealing tempting"
)
#: Verbs whose object is the writer's conclusion.
_CONCLUDING = listed(
    "suggest suggests suggesting suggested indicate indicates indicating imply implies implying "
    "convey conveys conveying evoke evokes evoking evoked hinting symbolize "
    "symbolizes symbolizing symbolise symbolises represent represents representing exude exudes "
    "exuding emphasize emphasizes emphasizing emphasise emphasises highlight highlights "
    "highlighting showcasing contribute contributes contributing "
    "enhance enhances enhancing add adds adding create creates creating provide provides "
    "providing offer offers offering give gives giving lend lends lending make makes making "
    "allow allows allowing help helps helping ensure ensures ensuring invite invites inviting "
    "radiate radiates radiating serve serves serving foster fosters fostering promote promotes "
    "promoting cater caters catering demonstrate demonstrates demonstrating testify speaks "
    "bring brings bringing require requires affect affects affecting cause causes causing "
    "reduce reduces reducing improve improves improving prevent prevents "
    "preventing protect protects protecting shield shields shielding encourage encourages means "
    "mean belong belongs belonging enjoy enjoys enjoying relax relaxing ready prepared preparing "
    "prepare prepares suitable perfect ideal need needs want wants try tries trying used use uses"
)
#: Things that cannot be seen: feelings, judgments, times, reasons.
_UNSEEN = listed(
    "atmosphere mood ambiance ambience feeling feelings sense vibe charm beauty tranquility "
    "serenity joy happiness enthusiasm excitement playfulness warmth elegance simplicity harmony "
    "character personality importance significance benefits benefit impact impacts effects "
    "effect occasion occasions purpose reason reasons measures precautions safety comfort "
    "comfortable well-being health preference preferences taste tastes memory memories memorable "
    "experience culture history tradition testament reminder challenge challenges opportunity "
    "cozy cosy cheerful peaceful serene tranquil inviting welcoming lively playful romantic "
    "nostalgic charming delicious convenient essential important common commonly often typically "
    "usually generally always normally associated conclusion addition additionally "
    "furthermore moreover firstly secondly thirdly lastly finally "
    "however therefore thus making environment environmental behavior healthier "
    "event events events' interview meeting wedding activities activity enjoyable "
    "professional aesthetic moment interesting diverse picturesque captivating "
    "stunning mesmerizing dynamic dramatic joyful magical majestic feel feels felt calm relaxed "
    "friendly pleasant whimsical nostalgia innocence curiosity wonder peace stillness impression "
    "childhood quality style"
)
_GOING_ON = re.compile(r"\W*(?:such as|and|or|nor|as well as|like)\b", re.IGNORECASE)
_PURPOSE = re.compile(
    r"\W*(?:(?:in order )?to (?!(?:the|a|an|its|his|her|their|one|both|this|that)\b)\w+|"
    r"by \w+ing\b|so\b|as if\b|as though\b)",
    re.IGNORECASE,
)
_SEEN = re.compile(
    r"\bcan ?(?:not )?(?:also |clearly |just |barely )?(?:be )?(?:seen?|found|read|made out)\b"
)
_PLACE_ONLY = re.compile(
    r"\W*(?:in|of|at|on|from) (?:the|this) (?:image|picture|photo|photograph|scene|background|"
    r"foreground)\W*\Z"
)
_WORD = re.compile(r"[\w'’-]+")
_CUT = re.compile(r"[,;:]\s+|\s+[–—-]\s+")
_ORDER = listed("first second third fourth next then overall in total")
_VERB_LIKE = re.compile(r"\b(?:is|are|was|were|has|have|\w+ing|\w+ed|\w+s)\b")


def parts_of(text: str, sentence: Span) -> Iterator[tuple[Span, bool]]:
    """The parts of a sentence between commas, each with whether it is descriptive."""
    start, before = sentence.start, True
    for end, after in _cuts(text, sentence):
        before = is_descriptive(text[start:end], before)
        yield Span(start, end), before
        start = after


def _cuts(text: str, sentence: Span) -> Iterator[tuple[int, int]]:
    for found in _CUT.finditer(text, sentence.start, sentence.end):
        yield found.start(), found.end()
    yield sentence.end, sentence.end


@lru_cache(maxsize=1 << 15)
def is_descriptive(part: str, before: bool = True) -> bool:
    """Whether a part of a sentence says what can be seen.

    Args:
        part: Text between two commas, or a sentence.
        before: Whether the part before it was descriptive.
    """
    lowered = _SEEN.sub(" ", part.lower())
    words = [word.strip("'’") for word in _WORD.findall(lowered)]
    if not set(words) - _ORDER or _PLACE_ONLY.match(lowered):
        return False
    if any(w in _GUESSING or w in _CONCLUDING or w in _UNSEEN for w in words):
        return False
    if _PURPOSE.match(lowered):
        return False
    return before if _GOING_ON.match(lowered) and not _VERB_LIKE.search(lowered) else True
