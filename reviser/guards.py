"""Guards: checks that every rewrite must pass before a critic judges it, whoever wrote it."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from revise_captions.charts.claims.edits import with_fixes
from revise_captions.records import CLAUSE, DOUBTED_CLAUSE, Fix, Why
from revise_captions.reviser.losses import lost_content
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.clauses import in_place_of
from revise_captions.text.content_words import (
    content_keys,
    known_keys,
    new_content,
    repeated_content,
    words,
)
from revise_captions.text.denials import denied

MODES = ("strict", "warn")
#: Of the rules that hold in every mode; part of the signature.
VERSION = "4"

#: Pieces of prompts, chat formats and markup. Allowed where the sentence has the same piece.
_MARKUP = re.compile(
    r"""
    <\|[^\n]{0,40}?\|?>                     # <|im_end|>
    | <</?[A-Z]{2,12}>>                     # <<SYS>>
    | </?[A-Za-z_][^<>\n]{0,60}>            # <PREFIX>, </sentence>, <start_of_turn>, <b>
    | \[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|IMG|UNK|MASK|SEP|CLS|PAD)\]
    | `+ | \*\*|__ | ^\#{1,6}\s | ^[-*•]\s | \{\{|\}\} | &(?:lt|gt|amp|quot|\#\d+); | \\["nu]
    | \b(?:rationale|context|(?:re)?written\ sentence|rewrite|revision|revised(?:\ sentence)?
        |corrected(?:\ sentence)?|original(?:\ sentence)?|failed(?:\ rewrites?)?|sentence
        |answer|output|note|explanation|assistant|user|system)\s*:
    | ^(?:sure|certainly|of\ course|okay|here\ is|here's|here’s)\b[^.!?]*[:,!]
    | ^(?:i'm|i’m|i\ am)\ sorry\b | ^as\ an\ ai\b | ^i\ (?:cannot|can't|can’t|am\ unable)\b
    | ^delete\W*$ | \b(?:the|this|given|provided)\ rationale\b
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
#: Format characters that belong to ordinary text: joiners (emoji, Persian, Indic), soft hyphen,
#: the direction marks of bidirectional text.
_FORMATS = frozenset("\u200c\u200d\u00ad\u200e\u200f\u061c")
_TAGS = range(0xE0020, 0xE0080)  # the letters of regional flags


class GuardResult(NamedTuple):
    """A guard's decision.

    Attributes:
        why: Why the rewrite is refused; None where it may go to the critic.
        warning: What a person should look at, in a rewrite that passed.
    """

    why: Why | None
    warning: str = ""


def check(request: RewriteRequest, rewrite: str, *, mode: str) -> GuardResult:
    """Checks a rewrite.

    Refused, in this order: text without a letter or digit, a copy of the sentence, control
    characters and markup that the sentence does not have, more sentences than the original; where
    all that is wrong is named as data, what changes that and nothing else passes; otherwise a claim
    that another thing is absent (`other_absence`), words lost of which the rationale does not speak
    (`losses.lost_content`), and, in `strict` mode, content words (by lemma,
    with numbers and negations) that are in neither the sentence nor the rationale, or more often
    than these account for. Where clauses are named as wrong, the others have to stay as they are,
    and what stands in the places of these is compared with them; any of them may go.

    Args:
        request: The sentence, and what the critic said is wrong with it.
        rewrite: The proposal; "", a deletion, passes.
        mode: `strict`, or `warn`, in which these pass with a warning that names the words.

    Raises:
        ValueError: There is no such mode.
    """
    if mode not in MODES:
        raise ValueError(f"no guard mode {mode!r}: expected one of {', '.join(MODES)}")
    if not rewrite:
        return GuardResult(None)
    text, sentence, rationale = rewrite.strip(), request.sentence, request.rationale
    if not text or not any(character.isalnum() for character in text):
        return GuardResult(Why.EMPTY)
    if _plain(text) == _plain(sentence):
        return GuardResult(Why.UNCHANGED)
    if leaked(text, sentence):
        return GuardResult(Why.LEAKED_MARKUP)
    if _sentences(text) > max(1, _sentences(sentence)):
        return GuardResult(Why.NOT_ONE_SENTENCE)
    places = [fix.span for fix in wrong_clauses(request)]
    if places:
        changed = in_place_of(sentence, places, text)
        if changed is None:
            return GuardResult(Why.LOST_CONTENT)
        sentence, text = changed
    as_named = None if places else _as_named(request, text)
    if as_named and _plain(with_fixes(sentence, _named(request))) == _plain(text):
        return GuardResult(None)
    if other_absence(text, sentence, rationale):
        return GuardResult(Why.OTHER_ABSENCE)
    absent = [word for fault in request.read_faults for word in fault.denied]
    if not places and lost_content(text, sentence, rationale, absent):
        return GuardResult(Why.LOST_CONTENT)
    why, found = Why.NEW_CONTENT, new_content(text, sentence, rationale)
    if not found:
        why, found = Why.REPEATED, repeated_content(text, sentence, rationale)
    if not found and as_named is not False:
        return GuardResult(None)
    if not found:
        why, found = Why.NOT_AS_NAMED, [fix.right for fix in _named(request)]
    return GuardResult(why) if mode == "strict" else GuardResult(None, f"{why}: {', '.join(found)}")


def wrong_clauses(request: RewriteRequest) -> list[Fix]:
    """The fixes that say which clauses are wrong; none where the critic names no clause."""
    return [fix for fix in request.fixes if fix.kind in (CLAUSE, DOUBTED_CLAUSE)]


def _as_named(request: RewriteRequest, text: str) -> bool | None:
    """Whether a rewrite says all that the rationale names as data; None where some of it is in
    words only. What else it changes is for the other guards, unless it changes nothing else."""
    fixes = _named(request)
    if not fixes or not all(fault.fixes for fault in request.read_faults):
        return None
    if not all(fix.certain for fix in fixes):
        return None
    known = known_keys(text)
    return all(keys & known for fix in fixes for _, keys in content_keys(fix.right))


def _named(request: RewriteRequest) -> list[Fix]:
    return [fix for fault in request.read_faults for fix in fault.fixes]


def other_absence(text: str, sentence: str, rationale: str) -> list[str]:
    """What `text` says is absent and `sentence` does not, where that is no way to mend it.

    A sentence that denies the wrong thing is not mended by denying another ("There are no dogs."
    by "There are no lamps."), and no other sentence by denying what the rationale does not name.
    """
    before, now = (" ".join(denied(of).values()) for of in (sentence, text))
    return new_content(now, before or rationale)


def leaked(text: str, sentence: str) -> list[str]:
    """Markup, prompt pieces and control characters in `text` that `sentence` does not contain."""
    pieces = [match.group().strip() for match in _MARKUP.finditer(text)]
    pieces += [character for character in text if _control(character)]
    known = sentence.casefold()
    # Each once: a megabyte of the same tag would search the sentence a quarter of a million times.
    return [piece for piece in dict.fromkeys(pieces) if piece.casefold() not in known]


def _control(character: str) -> bool:
    """Control, private or unassigned code points, stray formats, and U+FFFD from broken bytes."""
    if character in "\n\r\u2028\u2029":
        return False  # counted with the sentences
    category = unicodedata.category(character)
    if category == "Cf":
        return character not in _FORMATS and ord(character) not in _TAGS
    return category in ("Cc", "Co", "Cs", "Cn") or character == "\ufffd"


def _sentences(text: str) -> int:
    """The number of sentences; every line counts as at least one."""
    from revise_captions.text.sentences import split

    return sum(len(split(line)) for line in text.splitlines())


def _plain(text: str) -> tuple[str, ...]:
    """A text without case, white space and punctuation."""
    return tuple(words(text)) or (text,)
