"""Reads what is said about a thing: after its noun, its verb, and ", not …" after either."""

from __future__ import annotations

from dataclasses import replace

from revise_captions.picturebook.oracle.features import Read
from revise_captions.picturebook.oracle.nouns import OWNERS, NounReader
from revise_captions.picturebook.oracle.tokens import Phrases
from revise_captions.picturebook.semantics.claims import (
    NP,
    Constraint,
    Has,
    IsA,
    Not,
    Placed,
    Stands,
)
from revise_captions.picturebook.semantics.lexicon import (
    FOREIGN,
    PEOPLE,
    PICTURE_WORDS,
    PLACE_OF,
    PLURALS,
    POSE_PARTICIPLES,
    POSE_VERBS,
    POSES,
    RELATION_OF,
    REST_PARTICIPLES,
    REST_VERBS,
    STILL_POSES,
)
from revise_captions.picturebook.world.scene import KINDS

RELATION_PHRASES = Phrases(RELATION_OF)
PLACES = Phrases(PLACE_OF)
FILLERS = Phrases(
    dict.fromkeys(
        [
            f"{preposition} {article} {noun}"
            for preposition in ("in", "of")
            for article in ("the", "this")
            for noun in PICTURE_WORDS
        ]
        + ["here", "there", "instead", "as well", "too", "in view", "outside", "outdoors",
           "indoors", "together", "at all", "anywhere", "somewhere", "in fact", "nearby",
           "in her hand", "in his hand", "in their hands"],
        True,
    )
)  # fmt: skip
SIDES = Phrases(
    {
        f"{lead} {owner} {side}": (owner, side)
        for lead in ("to", "on")
        for owner in ("its", "his", "her", "their")
        for side in ("left", "right")
    }
)
PARTICIPLES = Phrases({"switched on": "on", "turned on": "on", "lit": "on", "lit up": "on",
                       "switched off": "off", "turned off": "off", "unlit": "off"})  # fmt: skip
#: pose -> the kinds of which it may be said, truly or not
POSED = {
    pose: tuple(
        kind
        for kind in (*KINDS, *FOREIGN)
        if kind in FOREIGN or "pose" in KINDS[kind].slots or kind in STILL_POSES.get(pose, ())
    )
    for pose in POSES
}
#: What may follow a comma after a verb: "stands by the tree, holding a balloon".
ASIDES = ("wearing", "holding", "carrying", "sitting", "standing", "waving")
SEPARATORS = (",", ";", "and", "but", "while", "whereas")


class PredicateReader(NounReader):
    """Adds modifiers after the noun, and verbs with all that belongs to them."""

    def postmodifiers(self, np: NP, i: int) -> tuple[NP, int]:
        """All that can be read as belonging to the noun phrase: the nearest noun takes it."""
        constraints = list(np.constraints)
        while True:
            joined = self.word(i) == "and" and self.word(i + 1) in (
                "wearing",
                "holding",
                "carrying",
            )
            more = self.postmodifier(np.kinds, i + (joined and bool(constraints)))
            if more is None:
                break
            constraints += more[0]
            i = more[1]
        return replace(np, constraints=tuple(constraints)), i

    def postmodifier(self, kinds: tuple[str, ...], i: int) -> Read | None:
        filler = FILLERS.at(self.words, i)
        if filler and not (self.word(filler[1]) == "of" and self.word(i) == "instead"):
            return (), filler[1]
        word = self.word(i)
        if word == "with":
            return self.features(kinds, i + 1)
        if word in ("wearing", "in", "dressed"):
            worn = self.worn(kinds, i)
            if worn:
                return worn
        if word in ("holding", "carrying"):
            return self.held(i + 1) if _may_be(kinds, (*PEOPLE, *FOREIGN)) else None
        if word == "who" and not _may_be(kinds, (*PEOPLE, *FOREIGN)):
            return None
        if word in ("that", "which", "who"):
            return self.predicate(kinds, i + 1)
        if word in ("saying", "reading", "bearing", "displaying"):
            return self.sign_word(i + 1)
        place = self.place_or_relation(i)
        if place:
            return (place[0],), place[1]
        if word in POSE_PARTICIPLES:
            pose = POSE_PARTICIPLES[word]
            fits = _may_be(kinds, POSED[pose])
            return ((Has("pose", pose),), i + 1) if fits else None
        if word in REST_PARTICIPLES:
            return (Has("rest", word),), i + 1
        if word == "perched":
            return (Has("pose", "standing"),), i + 1
        return None

    def place_or_relation(self, i: int) -> tuple[Constraint, int] | None:
        side = SIDES.at(self.words, i)
        if side:
            (owner, where), j = side
            return Stands(f"{where} of", NP(OWNERS[owner])), j
        relation = RELATION_PHRASES.at(self.words, i)
        place = PLACES.at(self.words, i)
        if place and (relation is None or place[1] > relation[1]):
            return Placed(place[0]), place[1]
        if relation:
            other = self.noun_phrase(relation[1])
            on_top = other and (other[0].part, relation[0]) in (("roof", "on"), ("top", "on"))
            if other and (not other[0].part or on_top):
                return Stands(relation[0], other[0].np), other[1]
        return (Placed(place[0]), place[1]) if place else None

    def predicate(self, kinds: tuple[str, ...], i: int) -> Read | None:
        """A verb with what belongs to it, and further verbs joined by "and"."""
        first = self.verb(kinds, i)
        if first is None:
            return None
        made, i = list(first[0]), first[1]
        while True:
            j = i + 1 if self.word(i) == "," else i
            j = j + 1 if self.word(j) in ("and", "but") else j
            more = self.verb(kinds, j) if j > i else None
            if more is None:
                return tuple(made), i
            made += more[0]
            i = more[1]

    def verb(self, kinds: tuple[str, ...], i: int) -> Read | None:
        while self.word(i) in ("also", "both", "all", "each", "actually", "clearly", "really"):
            i += 1
        word, after = self.word(i), self.word(i + 1)
        if word in ("is", "are"):
            return self.complements(kinds, i + 1)
        if word in ("appears", "appear", "seems", "seem") and self.words[i + 1 : i + 3] == (
            "to", "be",
        ):  # fmt: skip
            return self.complements(kinds, i + 3)
        if word == "can" and after == "be" and self.word(i + 2) in ("seen", "found", "spotted"):
            return self._trailing(kinds, [], i + 3)
        if word == "cannot" or (word == "can" and after == "not"):
            j = i + 1 + (word == "can")
            seen = self.words[j : j + 2] == ("be", "seen")
            return ((Not(Has("rest", "seen")),), j + 2) if seen else None
        if word in ("does", "do") and after == "not":
            return self._denied(kinds, i + 2)
        if word in ("has", "have"):
            return self.features(kinds, i + 1)
        if word in ("wears", "wear"):
            return self.features(kinds or ("girl",), i + 1) if self._clothes_ahead(i + 1) else None
        if word in ("holds", "hold", "carries", "carry"):
            held = self.held(i + 1)
            return self._trailing(kinds, list(held[0]), held[1]) if held else None
        if word in ("says", "say", "reads", "read", "bears", "bear", "displays", "shows"):
            found = self.sign_word(i + 1)
            return self._contrasted(kinds, list(found[0]), found[1]) if found else None
        if word in POSE_VERBS:
            return self._trailing(kinds, [Has("pose", POSE_VERBS[word])], i + 1)
        if word in REST_VERBS:
            return self._trailing(kinds, [Has("rest", REST_VERBS[word])], i + 1)
        return None

    def _denied(self, kinds: tuple[str, ...], i: int) -> Read | None:
        """After "does not"."""
        word = self.word(i)
        if word in ("have", "wear"):
            found = self.features(kinds or ("girl",) if word == "wear" else kinds, i + 1)
        elif word in ("hold", "carry"):
            found = self.held(i + 1)
        elif word in ("say", "read", "bear"):
            found = self.sign_word(i + 1)
        elif word in POSE_VERBS:
            found = (Has("pose", POSE_VERBS[word]),), i + 1
        elif word == "appear":
            filler = FILLERS.at(self.words, i + 1)
            found = (Has("rest", "visible"),), filler[1] if filler else i + 1
        else:
            return None
        return (tuple(Not(c) for c in found[0]), found[1]) if found else None

    def _trailing(self, kinds: tuple[str, ...], made: list[Constraint], i: int) -> Read:
        """Places, things held and worn after a verb, then ", not …"."""
        while True:
            aside = self.word(i) == "," and self.word(i + 1) in ASIDES
            more = self.postmodifier(kinds, i + aside)
            if more is None:
                return self._contrasted(kinds, made, i)
            made += more[0]
            i = more[1]

    def complements(self, kinds: tuple[str, ...], i: int) -> Read | None:
        """What follows "is": one or more complements, then ", not …"."""
        denied = False
        while self.word(i) in ("not", "also", "both", "all", "actually", "each", "currently",
                               "clearly", "really", "in fact"):  # fmt: skip
            denied = denied or self.word(i) == "not"
            i += 1
        first = self.complement(kinds, i)
        if first is None:
            return None
        if denied:
            # "not in the picture": a filler says nothing, and its denial that nothing is there
            denied_claims = first[0] or (Has("rest", "present"),)
            made: list[Constraint] = [Not(c) for c in denied_claims]
            if self.word(first[1]) == "but":
                better = self.complement(kinds, first[1] + 1)
                if better:
                    return (*made, *better[0]), better[1]
            return tuple(made), first[1]
        made, i = list(first[0]), first[1]
        while True:
            j = i + 1 if self.word(i) == "," else i
            j = j + 1 if self.word(j) == "and" else j
            more = self.complement(kinds, j) if j > i else None
            if more is None or any(isinstance(c, IsA) for c in more[0]):
                break
            made += more[0]
            i = more[1]
        return self._trailing(kinds, made, i)

    def complement(self, kinds: tuple[str, ...], i: int) -> Read | None:
        lit = PARTICIPLES.at(self.words, i)
        if lit:
            return (Has("light", lit[0]),), lit[1]
        adjective = self.adjective(i)
        if adjective:
            return (adjective[0],), adjective[1]
        word = self.word(i)
        if word in ("on", "off") and (i + 1 == self.end or self.word(i + 1) in SEPARATORS):
            return (Has("light", word),), i + 1
        more = self.postmodifier(kinds, i)
        if more:
            return more
        if word in ("a", "an", "the"):
            what = self.noun_phrase(i)
            if what and not what[0].part and what[0].np.count == 1:
                return (IsA(replace(what[0].np, det="a")),), what[1]
        if word in PLURALS:
            return (IsA(NP("plural", PLURALS[word], (), 0)),), i + 1
        return None

    def _contrasted(self, kinds: tuple[str, ...], made: list[Constraint], i: int) -> Read:
        """ ", not blue" / "rather than blue" / "instead of blue" after a complement."""
        j = self.not_at(i)
        if not j:
            return tuple(made), i
        wrong = self._wrong(kinds, made, j)
        if wrong is None:
            return tuple(made), i
        return (*made, *(Not(c) for c in wrong[0])), wrong[1]

    def _wrong(self, kinds: tuple[str, ...], made: list[Constraint], i: int) -> Read | None:
        """What a contrast denies; a bare relation is to the landmark that was just named."""
        last = next((c for c in reversed(made) if isinstance(c, Stands)), None)
        relation = RELATION_PHRASES.at(self.words, i)
        at_end = relation and (relation[1] == self.end or self.word(relation[1]) in SEPARATORS)
        if last and relation and at_end:
            return (Stands(relation[0], last.other),), relation[1]
        found = self.complement(kinds, i) or self.sign_word(i)
        if found and last and isinstance(found[0][0], Placed) and found[0][0].place in (
            "left", "right",
        ):  # fmt: skip
            return (Stands(f"{found[0][0].place} of", last.other),), found[1]
        return found


def _may_be(kinds: tuple[str, ...], some: tuple[str, ...]) -> bool:
    """Whether a noun that may denote `kinds` (() is any) may denote one of `some`."""
    return not kinds or not set(kinds).isdisjoint(some)
