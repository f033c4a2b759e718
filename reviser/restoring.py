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

from revise_captions.reviser.content_words import content_keys, known_keys, words

#: Of the rules here; part of the signature.
VERSION = "restore/1"
#: A word or a mark, with the white space before it.
_PIECE = re.compile(r"\s*(?:[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_)")
#: So many words from a named change, articles and endings may follow it ("two dogs are").
REACH = 4
_FOLLOWS = frozenset(
    "a an the and or is are was were has have does do it its itself they their them he she his her "
    "him this these that those there which who".split()
)


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


def restored(text: str, sentence: str, rationale: str) -> str:
    """A rewrite without the changes that the rationale gives no reason for.

    A change stays if the rationale names one of the content words that it takes out or puts in; one
    of function words, if the rationale names both sides. One of articles, auxiliaries, marks or
    endings also stays within `REACH` words of one that is named.

    Args:
        text: The rewrite; "", a deletion, stays.
        sentence: The original.
        rationale: What is wrong with it.
    """
    old, new = _PIECE.findall(sentence), _PIECE.findall(text)
    if not text or "".join(old) != sentence.rstrip() or "".join(new) != text.rstrip():
        return text
    changes = _changes(old, new)
    named = {i for i, change in enumerate(changes) if _is_named(change, rationale)}
    kept = [
        change
        for i, change in enumerate(changes)
        if i in named
        or (_is_small(change) and any(_distance(change, changes[k]) <= REACH for k in named))
    ]
    pieces, at = [], 0
    for change in kept:
        pieces += [*old[at : change.start], *change.new]
        at = change.end
    return "".join([*pieces, *old[at:]]).strip()


def strays(text: str, sentence: str, rationale: str) -> bool:
    """Whether a rewrite changes only what is far from all that the rationale names.

    "The sign is bright." is said of the sign's color rather than of a plank's at the other end.
    """
    old, new = _PIECE.findall(sentence), _PIECE.findall(text)
    known = known_keys(rationale)
    named = [
        _Change(at, at + 1, (), ())
        for at, piece in enumerate(old)
        if any(keys & known for _, keys in content_keys(piece))
    ]
    changes = _changes(old, new)
    return bool(text and changes and named) and not any(
        _distance(change, place) <= REACH for change in changes for place in named
    )


def _changes(old: list[str], new: list[str]) -> list[_Change]:
    matcher = SequenceMatcher(None, [p.strip() for p in old], [p.strip() for p in new], False)
    changes = []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            # the white space before what follows is part of it: "well-lit", "dimly lit"
            more = int(j < len(old) and m < len(new) and old[j] != new[m])
            changes.append(_Change(i, j + more, tuple(old[i : j + more]), tuple(new[k : m + more])))
    return changes


def _is_named(change: _Change, rationale: str) -> bool:
    out, put = change.keys
    if (out | put) - (out & put):
        return bool((out | put) & known_keys(rationale))
    said = set(words(rationale))
    sides = [set(words("".join(pieces))) for pieces in (change.old, change.new)]
    return all(side and side <= said for side in sides)


def _is_small(change: _Change) -> bool:
    """Whether it changes articles, pronouns, auxiliaries, marks or endings only."""
    out, put = change.keys
    if not out and not put:
        return set(words("".join((*change.old, *change.new)))) <= _FOLLOWS
    return bool(out & put) and len(change.old) == len(change.new)


def _distance(one: _Change, other: _Change) -> int:
    return max(one.start - other.end, other.start - one.end, 0)
