"""From words to claims: reads any sentence made of known pieces, whoever wrote it.

`parse` answers only for sentences that it has read to the last word. If a sentence can be split
into clauses in more than one way, the longest first clause that lets the rest be read wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from revise_captions.picturebook.oracle.nonvisual import says_nothing
from revise_captions.picturebook.oracle.nouns import PRONOUN_KINDS, Phrase
from revise_captions.picturebook.oracle.predicates import FILLERS
from revise_captions.picturebook.oracle.scenes import (
    PICTURES,
    TIME_PHRASES,
    Clauses,
    SceneReader,
)
from revise_captions.picturebook.oracle.tokens import Phrases, words_of
from revise_captions.picturebook.semantics.claims import (
    NP,
    Clause,
    Constraint,
    Has,
    Not,
    SceneClaim,
    Statement,
)
from revise_captions.picturebook.semantics.lexicon import (
    COLOR_SET,
    EXISTS,
    NUMBERS,
    PLAIN_SHOW_VERBS,
    SHOW_VERBS,
)

#: Openers that may precede a clause without saying anything.
OPENERS = Phrases(
    dict.fromkeys(
        [
            "in addition", "additionally", "also", "furthermore", "moreover", "here", "overall",
            "in fact", "actually", "instead", "meanwhile", "then", "in reality", "rather",
            "as for the rest", "in total", "besides", "finally", "notably", "besides that",
        ],
        True,
    )
)  # fmt: skip
#: The same, when it denies what follows.
BLIND_VIEWS = Phrases(
    dict.fromkeys(
        [f"{who} {cannot} see" for who in ("you", "we", "one")
         for cannot in ("cannot", "can not", "do not", "does not")],
        True,
    )
)  # fmt: skip
VIEWS = Phrases(
    dict.fromkeys(
        [f"{who} can {also}see" for who in ("you", "we", "one") for also in ("", "also ")]
        + ["we see", "you see", "we also see", "visible is", "visible are", "it shows",
           "it also shows", "it depicts"],
        True,
    )
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def parse(sentence: str) -> tuple[Clause, ...] | None:
    """The claims of one sentence; () if it makes none; None if it cannot be fully read."""
    if says_nothing(sentence):
        return ()
    words = words_of(sentence)
    if not words.lower:
        return None
    return next(_clauses(ClauseReader(words), 0), None)


def _clauses(reader: ClauseReader, i: int) -> Iterator[tuple[Clause, ...]]:
    for made, j in reader.clause(i):
        if j == reader.end:
            yield made
            continue
        k = j
        while reader.word(k) in (",", ";", "and", "but", "while", "whereas"):
            k += 1
        if k > j:
            for rest in _clauses(reader, k):
                yield (*made, *rest)


class ClauseReader(SceneReader):
    """Reads clauses; each method yields or returns what it read with the place after it."""

    def clause(self, i: int) -> Clauses:
        opener = OPENERS.at(self.words, i)
        if opener:
            i = opener[1] + (self.word(opener[1]) == ",")
        filler = FILLERS.at(self.words, i)
        if filler and self.word(filler[1]) == ",":
            i = filler[1] + 1
        elif filler and self.word(filler[1]) in ("there", "you", "we"):
            i = filler[1]
        yield from self.scene_clause(i)
        yield from self.existential(i)
        yield from self.fronted(i)
        yield from self.spoken(i)

    def existential(self, i: int) -> Clauses:
        """ "there is a dog", "the image shows a dog and a cat", "we can see two dogs"."""
        word, after = self.word(i), self.word(i + 1)
        if word == "there" and after in ("is", "are"):
            j = i + 2
            while self.word(j) in ("also", "only", "actually", "clearly", "in fact"):
                if self.word(j) == "only" and self.word(j + 1) in (*NUMBERS, "a", "an"):
                    break
                j += 1
            if self.word(j) == "not" and self.word(j + 1) in ("a", "an", *NUMBERS):
                for made, k in self.listed(j + 1):
                    yield tuple(replace(c, negated=True) for c in made[:1]), k
                return
            yield from self.listed(j)
            return
        view = VIEWS.at(self.words, i)
        if view:
            yield from self.listed(view[1])
        blind = BLIND_VIEWS.at(self.words, i)
        if blind:
            yield from self._denied_list(blind[1])
        picture = PICTURES.at(self.words, i)
        if picture:
            j = picture[1] + (self.word(picture[1]) == "also")
            if self.word(j) in SHOW_VERBS:
                yield from self.listed(j + 1)
            denied = self.words[j : j + 2] == ("does", "not")
            if denied and self.word(j + 2) in PLAIN_SHOW_VERBS:
                yield from self._denied_list(j + 3)

    def _denied_list(self, i: int) -> Clauses:
        """After "the image does not show" or "you cannot see": none of what is listed exists."""
        for made, k in self.listed(i):
            yield tuple(replace(c, negated=True) for c in made), k

    def fronted(self, i: int) -> Clauses:
        """ "To the left of the house, there is a dog", "Behind it stands a tree"."""
        front = self.place_or_relation(i)
        time = TIME_PHRASES.at(self.words, i)
        if time and self.word(time[1]) == ",":
            for made, k in self.clause(time[1] + 1):
                yield (SceneClaim(*time[0]), *made), k
        if front is None:
            return
        place, j = front
        j += self.word(j) == ","
        word = self.word(j)
        verb: tuple[Constraint, ...] = ()
        if word in ("is", "are", "stands", "stand", "sits", "sit", "lies", "lie", "hangs"):
            found = (Has("rest", "located"),) if word in ("is", "are") else None
            if found is None:
                read = self.verb((), j)
                if read is None or len(read[0]) != 1:
                    return
                found = read[0]  # type: ignore[assignment]
            verb, j = found or (), j + 1
            for made, k in self.listed(j):
                yield self._put_in_front(made, place, verb), k
            return
        for made, k in self.existential(j):
            if all(isinstance(clause, Statement) for clause in made):
                yield self._put_in_front(made, place, ()), k
        for made, k in self.spoken(j):
            yield self._put_in_front(made, place, ()), k

    def _put_in_front(
        self, made: tuple[Clause, ...], place: Constraint, verb: tuple[Constraint, ...]
    ) -> tuple[Clause, ...]:
        """The statements with `place` added to each: to what exists, or as another predicate."""
        placed: list[Clause] = []
        for clause in made:
            if not isinstance(clause, Statement):
                placed.append(clause)
            elif clause.subject.det in ("a", "number", "plural", "some", "no", "another"):
                constraints = (*clause.subject.constraints, place, *verb)
                subject = replace(clause.subject, constraints=constraints)
                placed.append(replace(clause, subject=subject))
            else:
                placed.append(replace(clause, preds=(*clause.preds, place, *verb)))
        return tuple(placed)

    def spoken(self, i: int) -> Clauses:
        """A subject (or several, joined by "and") with its predicate."""
        yield from self._none_is(i)
        if self.words[i : i + 6] == ("the", "word", "on", "the", "sign", "is"):
            word = self.sign_word(i + 6)
            if word:
                yield (Statement(NP("the", ("sign",)), word[0]),), word[1]
        for phrases, j in self.list_of(i):
            owners = [PRONOUN_KINDS.get(p.np.det, p.np.kinds) for p in phrases]
            kinds = tuple(dict.fromkeys(k for own in owners for k in own))
            if not all(owners):
                kinds = ()
            if len(phrases) == 1 and phrases[0].part:
                yield from self._part_is(phrases[0], j)
                continue
            if any(phrase.part for phrase in phrases):
                continue
            found = self.predicate(kinds, j)
            if found:
                made = tuple(_said_of(phrase.np, found[0]) for phrase in phrases)
                yield made, found[1]

    def _none_is(self, i: int) -> Clauses:
        """ "none of them is red", "neither of them wears a hat": nothing of it is true of any."""
        if self.word(i) not in ("none", "neither") or self.words[i + 1 : i + 3] != ("of", "them"):
            return
        found = self.predicate((), i + 3)
        if found and not any(isinstance(claim, Not) for claim in found[0]):
            det = "both" if self.word(i) == "neither" else "they"
            group = NP(det, count=2) if det == "both" else NP(det)
            yield (Statement(group, tuple(Not(claim) for claim in found[0])),), found[1]

    def _part_is(self, phrase: Phrase, i: int) -> Clauses:
        """After "its roof": "is red, not blue", "says STOP" never comes here."""
        if self.word(i) not in ("is", "are"):
            return
        i += 1
        denied = self.word(i) == "not"
        i += denied
        color = self.word(i)
        if phrase.part == "windows" or color not in COLOR_SET:
            return
        claim: Constraint = Has(phrase.part, color)
        i += 1
        preds: tuple[Constraint, ...] = (Not(claim),) if denied else (claim,)
        if denied and self.word(i) == "but" and self.word(i + 1) in COLOR_SET:
            preds, i = (*preds, Has(phrase.part, self.word(i + 1))), i + 2
        contrast = self.not_at(i)
        if not denied and contrast and self.word(contrast) in COLOR_SET:
            preds = (*preds, Not(Has(phrase.part, self.word(contrast))))
            i = contrast + 1
        yield (Statement(phrase.np, preds),), i


_NOWHERE = tuple(Not(Has("rest", word)) for word in EXISTS)


def _said_of(np: NP, preds: tuple[Constraint, ...]) -> Statement:
    """A statement; "no dog is sleeping" counts, "it is a cat" names."""
    if np.det == "no":
        return Statement(replace(np, constraints=(*np.constraints, *preds)))
    if np.det == "a" and preds and all(p in _NOWHERE for p in preds):
        return Statement(np, negated=True)  # "a dog is not visible": there is none
    return Statement(np, tuple(preds))
