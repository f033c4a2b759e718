"""Puts back what a rewrite changes though its rationale does not speak of it.

A small model that copies sixty words slips on one of them: "to the right" becomes "in the right",
"dark green" loses its "dark". Compared with the sentence word by word, such a change is one of its
own, so it can be undone and the others kept.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from revise_captions.records import Complaint
from revise_captions.text.content_words import NEGATION, content_keys, known_keys, words

#: Of the rules here; part of the signature.
VERSION = "restore/2"
#: A word or a mark, with the white space before it.
_PIECE = re.compile(r"\s*(?:[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_)")
#: So many words from a named change, articles and endings may follow it ("two dogs are").
REACH = 4
_FOLLOWS = frozenset(
    "a an the and or is are was were has have does do it its itself they their them he she his her "
    "him this these that those there which who".split()
)


#: Function words that may go by themselves.
_OTHERS = frozenset("other others another each every some any".split())
_ARTICLES = frozenset(("a", "an", "the"))
#: The words of a replacement that goes into the place of fewer words than a model took out.
_SHORT = 2
_MARKS = " ,;:."
#: What a clause begins with that a sentence can do without.
LOOSE = re.compile(
    r"(?:(?:\w+ing|with|in|on|at|by|from|near|next|behind|beside|under|above|over|for|to|of|that|"
    r"which|who|and|while|as)\b)",
    re.IGNORECASE,
)
_CONNECTORS = frozenset("along well next together addition several".split())


@dataclass(frozen=True, slots=True)
class _Change:
    """Pieces [start, end) of the sentence, replaced by `new`."""

    start: int
    end: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def keys(self) -> tuple[set[str], set[str]]:
        """Keys of the content words taken out and put in."""
        old, new = ("".join(pieces) for pieces in (self.old, self.new))
        return (
            {key for _, keys in content_keys(old) for key in keys},
            {key for _, keys in content_keys(new) for key in keys},
        )


def restored(text: str, sentence: str, fault: Complaint, *, beside: bool = True) -> str:
    """A rewrite without the changes that the rationale gives no reason for.

    A change stays if the rationale names one of the content words that it takes out or puts in; one
    of function words, if the rationale names both sides. One of articles, auxiliaries, marks or
    endings also stays within `REACH` words of one that is named. Where a change puts what the
    rationale names in the place of more words than it names, the others stay ("spiral bikes" with
    "stairs, not bikes": "spiral stairs"); where it takes out more than is called wrong, that stays.
    What the rationale praises does not count as named.

    Args:
        text: The rewrite; "", a deletion, stays.
        sentence: The original.
        fault: What is wrong with it.
        beside: Whether words that stand beside a change stay, too; not where such a rewrite failed.
    """
    old, new = _PIECE.findall(sentence), _PIECE.findall(text)
    if not text or "".join(old) != sentence.rstrip() or "".join(new) != text.rstrip():
        return text
    claim = fault.claim
    changes = _changes(old, new)
    named = {i for i, change in enumerate(changes) if _is_named(change, fault)}
    kept = [
        change
        for i, change in enumerate(changes)
        if i in named
        or (_is_small(change) and any(_distance(change, changes[k]) <= REACH for k in named))
    ]
    keys, known = _piece_keys(old), known_keys(claim)
    meant = [change for change in kept if not _is_elsewhere(change, keys, known)]
    pieces, at = [], 0
    for change in meant or kept:
        put = _narrowed(change, fault) if beside else change.new
        pieces += [*old[at : change.start], *put]
        at = change.end
    return "".join([*pieces, *old[at:]]).strip()


def _narrowed(change: _Change, fault: Complaint) -> tuple[str, ...]:
    """What a change puts in, among those of the words it takes out that the claim does not name."""
    claim = fault.claim
    known, said = known_keys(claim), set(words(claim))
    new = [piece for piece in change.new if piece.strip().casefold() not in _ARTICLES]
    out, put = change.keys
    named = [k for k, piece in enumerate(change.old) if _is_said(piece, known, said)]
    counts = any(key.isdigit() for key in out | put)
    if named and not "".join(new).strip(_MARKS):
        return _trimmed(change, named, fault)
    if not named or counts or put & out or len(new) > _SHORT:
        return change.new
    if not all(_is_said(piece, known, said) for piece in new):
        return change.new
    head, tail = change.old[: named[0]], change.old[named[-1] + 1 :]
    rest = [word for piece in (*head, *tail) for word in words(piece)]
    determined = any(piece.strip().casefold() in _ARTICLES for piece in head)
    if not set(rest) - _ARTICLES or (head and len(new) < len(change.new) and not determined):
        return change.new
    first = new[0].strip() if head else change.new[0].strip()
    kept = new if head else list(change.new)
    if head and first.lower() in re.findall(r"\w+", claim):
        first = first.lower()
    space = change.old[named[0]][: -len(change.old[named[0]].strip())]
    return (*head, space + first, *kept[1:], *tail)


def _trimmed(change: _Change, named: list[int], fault: Complaint) -> tuple[str, ...]:
    """What stays of a run of words that a change takes out.

    A quoted clause goes alone; of a thing that is said not to be there, the phrase that it stands
    in; of what is said wrongly of a thing, the words for that.
    """
    run = "".join(change.old)
    for quoted in fault.quoted:
        before, found, after = run.partition(quoted.rstrip(" .…"))
        if found:
            after = "" if quoted.endswith(("...", "…")) else after
            return (before.rstrip(" ,") if content_keys(before) else "", *change.new, after)
    unnamed = [k for k, piece in enumerate(change.old) if content_keys(piece) and k not in named]
    unnamed = [k for k in unnamed if change.old[k].strip().casefold() not in _CONNECTORS]
    first, last = named[0], named[-1]
    if fault.absent:
        loose = [k for k in range(1, first + 1) if LOOSE.match(change.old[k].strip())]
        start = max((k for k in loose if sum(j < k for j in unnamed) > _SHORT), default=0)
        return (*change.old[:start], *change.new)
    thing = re.escape(change.old[last].strip())
    if [first, last] == named and last == first + 1 and not [k for k in unnamed if k > last]:
        if re.search(rf"\bthe\s+{thing}\b", fault.claim, re.IGNORECASE):
            return (*change.old[:first], *change.old[last:])
        return change.new
    if first < last:
        return change.new
    start = max((k for k in unnamed if k < first), default=-1) + 1
    end = min((k for k in unnamed if k > last), default=len(change.old))
    return (*change.old[:start], *change.new, *change.old[end:])


def _is_said(piece: str, known: set[str], said: set[str]) -> bool:
    """Whether a claim says a word: in any form, or an article or the like as it is."""
    own = words(piece)
    content = any(keys & known for _, keys in content_keys(piece))
    return content or (bool(own) and set(own) <= said - _ARTICLES)


def strays(text: str, sentence: str, fault: Complaint) -> bool:
    """Whether a rewrite changes only what is far from all that the rationale names, or one of equal
    words of which another is nearer to it, or where the rationale ("Three, not one.") leaves open
    which of many is meant.

    "The sign is bright." is said of the sign's color rather than of a plank's at the other end.
    """
    old, new = _PIECE.findall(sentence), _PIECE.findall(text)
    claim = fault.claim
    if text and _leaves_open(claim, old):
        return True
    known, keys = known_keys(claim), _piece_keys(old)
    changes = _changes(old, new)
    named = [_Change(at, at + 1, (), ()) for at, own in enumerate(keys) if own & known]
    if not (text and changes and named):
        return False
    far = not any(_distance(c, place) <= REACH for c in changes for place in named)
    return far or any(_is_elsewhere(change, keys, known) for change in changes)


def _leaves_open(claim: str, old: list[str]) -> bool:
    """Whether a claim is of numbers only, and one of them, or an article, stands three times."""
    named = {key for _, keys in content_keys(claim) for key in keys} - {NEGATION}
    if not named or not all(key.isdigit() for key in named):
        return False
    return any(sum(key in known_keys(piece) for piece in old) > 2 for key in named)


def _piece_keys(pieces: list[str]) -> list[set[str]]:
    """The keys of each piece's content words."""
    return [{key for _, found in content_keys(piece) for key in found} for piece in pieces]


def _is_elsewhere(change: _Change, keys: list[set[str]], known: set[str]) -> bool:
    """Whether the words of a change stand again nearer to other words that are named."""
    out, put = change.keys
    if not out or not out <= known or out & put:
        return False
    width = change.end - change.start
    anchors = [
        _Change(at, at + 1, (), ())
        for at, own in enumerate(keys)
        if own & known and not own & (out | put)
    ]
    if not anchors:
        return False
    own = min(_distance(change, anchor) for anchor in anchors)
    others = [
        _Change(at, at + width, (), ())
        for at in range(len(keys) - width + 1)
        if at != change.start and set().union(*keys[at : at + width]) == out
    ]
    return any(min(_distance(other, anchor) for anchor in anchors) < own for other in others)


def _changes(old: list[str], new: list[str]) -> list[_Change]:
    matcher = SequenceMatcher(None, [p.strip() for p in old], [p.strip() for p in new], False)
    changes = []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            # the white space before what follows is part of it: "well-lit", "dimly lit"
            more = int(j < len(old) and m < len(new) and old[j] != new[m])
            changes.append(_Change(i, j + more, tuple(old[i : j + more]), tuple(new[k : m + more])))
    return changes


def _is_named(change: _Change, fault: Complaint) -> bool:
    out, put = change.keys
    if (out | put) - (out & put):
        affirmed = not put and not fault.denies
        return bool((out | put) & known_keys(fault.claim)) and not affirmed
    said = set(words(fault.claim))
    sides = [set(words("".join(pieces))) for pieces in (change.old, change.new)]
    gone = not change.new and sides[0] <= _OTHERS
    return all((side or gone) and side <= said for side in sides)


def _is_small(change: _Change) -> bool:
    """Whether it changes articles, pronouns, auxiliaries, marks or endings only."""
    out, put = change.keys
    if not out and not put:
        return set(words("".join((*change.old, *change.new)))) <= _FOLLOWS
    return bool(out & put) and len(change.old) == len(change.new)


def _distance(one: _Change, other: _Change) -> int:
    return max(one.start - other.end, other.start - one.end, 0)
