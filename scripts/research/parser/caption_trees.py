"""Synthetic captions with their trees, made from annotated scene graphs.

A treebank of letters and posts has no "bull standing in grass". FACTUAL's training graphs say what
a caption is about; a small grammar turns their triples into captions whose Universal Dependencies
are known because the grammar put them there. No parser and no real caption is involved.
"""

from __future__ import annotations

import csv
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from revise_captions.graphs.inflect import gerund, participle, third
from revise_captions.graphs.triples import read_triples
from revise_captions.graphs.words import listed
from scripts.research.parser.treebank import Word

#: Universal parts of speech by lower-cased form: the treebank's own most frequent.
Tags = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TreePhrase:
    """Words with heads counted within the phrase from 1; the word with head 0 is its head."""

    words: tuple[Word, ...]

    @property
    def top(self) -> int:
        return next(i for i, word in enumerate(self.words, 1) if word.head == 0)


def word(
    form: str, upos: str, relation: str, *, head: int = 0, lemma: str = "", morph: str = ""
) -> Word:
    return Word(form, lemma or form, upos, "", morph, head, relation, True)


def join(phrases: Sequence[tuple[TreePhrase, int, str]]) -> TreePhrase:
    """Phrases in order as one; each has the number of the phrase that it hangs on (-1: none) and
    the relation by which it does.
    """
    starts, total = [], 0
    for phrase, _, _ in phrases:
        starts.append(total)
        total += len(phrase.words)
    tops = [start + phrase.top for start, (phrase, _, _) in zip(starts, phrases, strict=True)]
    words: list[Word] = []
    for start, (phrase, above, relation) in zip(starts, phrases, strict=True):
        for item in phrase.words:
            if item.head:
                words.append(replace(item, head=item.head + start))
            else:
                head = tops[above] if above >= 0 else 0
                words.append(replace(item, head=head, relation=relation if head else "root"))
    return TreePhrase(tuple(words))


class TreeWriter:
    """Writes captions about one graph at a time."""

    def __init__(self, tags: Tags, seed: int = 0) -> None:
        self.tags, self.draw = tags, random.Random(seed)

    def noun(
        self, name: str, values: Sequence[str], *, det: str | None = None
    ) -> TreePhrase | None:
        """A noun phrase; None where a word of it is not in the tables."""
        names = name.split()
        if not all(part.isalpha() for part in names):
            return None
        plural = self._plural(names[-1])
        size = sum(1 for _ in names)
        left: list[tuple[str, str, str, str]] = []
        chosen = det if det is not None else self.draw.choice(("", "", "the", "the", "a"))
        if chosen == "a" and plural:
            chosen = ""
        numbers = [v for v in values if v in _DIGITS]
        if numbers and plural:
            left.append((_DIGITS[numbers[0]], "NUM", "nummod", "NumForm=Word|NumType=Card"))
            chosen = self.draw.choice(("", "the"))
        for value in values:
            tag = self.tags.get(value, "")
            if tag == "ADJ":
                left.append((value, "ADJ", "amod", "Degree=Pos"))
            elif tag == "NOUN" and " " not in value:
                left.append((value, "NOUN", "compound", "Number=Sing"))
        left.sort(key=lambda item: ("NUM", "ADJ", "NOUN").index(item[1]))
        for part in names[:-1]:
            adjective = self.tags.get(part) == "ADJ"
            left.append(
                (part, "ADJ", "amod", "Degree=Pos")
                if adjective
                else (part, "NOUN", "compound", "Number=Sing")
            )
        if chosen:
            first = (left[0][0] if left else names[-1])[0]
            form = "an" if chosen == "a" and first in "aeiou" else chosen
            kind = "Definite=Ind|PronType=Art" if chosen == "a" else "Definite=Def|PronType=Art"
            left.insert(0, (form, "DET", "det", kind))
        head = len(left) + 1
        words = [
            word(f, u, r, head=head, morph=m, lemma="a" if f == "an" else "") for f, u, r, m in left
        ]
        number = "Number=Plur" if plural else "Number=Sing"
        words.append(word(names[-1], "NOUN", "root", lemma=plural or names[-1], morph=number))
        return TreePhrase(tuple(words)) if size else None

    @staticmethod
    def _plural(noun: str) -> str:
        """The singular of a plural, "" of a singular."""
        import simplemma

        if noun in _PLURALS:
            return _PLURALS[noun]
        if not noun.endswith("s") or noun.endswith(("ss", "us", "is")):
            return ""
        stem = str(simplemma.lemmatize(noun, lang="en")).lower()
        return stem if stem != noun else ""

    def place(self, name: Sequence[str], noun: TreePhrase, relation: str) -> TreePhrase:
        """A prepositional phrase; "on top of the car" is built as the treebank builds it."""
        words = list(name)
        if len(words) >= 3 and words[-1] == "of" and self.tags.get(words[-2]) == "NOUN":
            inner = self._case(words[-1:], noun)
            outer = self._case(
                words[:-2], TreePhrase((word(words[-2], "NOUN", "root", morph="Number=Sing"),))
            )
            return join([(outer, -1, relation), (inner, 0, "nmod")])
        return self._case(words, noun)

    @staticmethod
    def _case(words: Sequence[str], noun: TreePhrase) -> TreePhrase:
        cases = [(TreePhrase((word(form, "ADP", "root"),)), len(words), "case") for form in words]
        return join([*cases, (noun, -1, "root")])

    def verb(self, lemma: str, form: str) -> TreePhrase:
        shapes = {
            "gerund": (gerund(lemma), "Tense=Pres|VerbForm=Part"),
            "participle": (participle(lemma), "Tense=Past|VerbForm=Part|Voice=Pass"),
            "third": (third(lemma), "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"),
            "plain": (lemma, "Mood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin"),
        }
        text, morph = shapes[form]
        return TreePhrase((word(text, "VERB", "root", lemma=lemma, morph=morph),))

    def be(self, plural: bool) -> TreePhrase:
        number = "Plur" if plural else "Sing"
        morph = f"Mood=Ind|Number={number}|Person=3|Tense=Pres|VerbForm=Fin"
        return TreePhrase(
            (word("are" if plural else "is", "AUX", "root", lemma="be", morph=morph),)
        )

    def sentence(self, triple: Sequence[str], values: Mapping[str, list[str]]) -> TreePhrase | None:
        """A caption of one triple and the qualities of its two objects."""
        subject, name, target = triple
        left = self.noun(subject, values.get(subject, []))
        right = self.noun(target, values.get(target, []))
        if left is None or right is None:
            return None
        plural = "Plur" in left.words[-1].morph
        if name == "have":
            return self._having(left, right, plural)
        first, *rest = name.split()
        if self.tags.get(first) == "ADP":
            return self._placed(left, name.split(), right, plural)
        if rest and not all(self.tags.get(part) in ("ADP", "NOUN") for part in rest):
            return None
        if "VERB" not in (self.tags.get(first), self.tags.get(gerund(first))):
            return None
        return self._acting(left, first, rest, right, plural)

    def _having(self, left: TreePhrase, right: TreePhrase, plural: bool) -> TreePhrase:
        way = self.draw.randrange(4)
        if way == 0:
            mark = TreePhrase((word("'" if plural else "'s", "PART", "root", lemma="'s"),))
            owner = join([(left, -1, "nmod:poss"), (mark, 0, "case")])
            bare = self._bare(right)
            return join([(owner, 1, "nmod:poss"), (bare, -1, "root")])
        if way == 1:
            return join([(right, -1, "root"), (self._case(["of"], left), 0, "nmod")])
        if way == 2:
            return join([(left, -1, "root"), (self._case(["with"], right), 0, "nmod")])
        verb = self.verb("have", "plain" if plural else "third")
        return join([(left, 1, "nsubj"), (verb, -1, "root"), (right, 1, "obj")])

    @staticmethod
    def _bare(noun: TreePhrase) -> TreePhrase:
        """Without its article."""
        if noun.words[0].upos != "DET":
            return noun
        kept = noun.words[1:]
        return TreePhrase(tuple(replace(w, head=max(0, w.head - 1)) for w in kept))

    def _placed(
        self, left: TreePhrase, name: list[str], right: TreePhrase, plural: bool
    ) -> TreePhrase:
        way = self.draw.randrange(4)
        if way == 0 and not (len(name) >= 3):
            place = self.place(name, right, "root")
            return join([(left, 2, "nsubj"), (self.be(plural), 2, "cop"), (place, -1, "root")])
        if way == 1:
            there = TreePhrase((word("there", "PRON", "root"),))
            be = replace(self.be(plural).words[0], upos="VERB")
            place = self.place(name, right, "nmod")
            return join(
                [
                    (there, 1, "expl"),
                    (TreePhrase((be,)), -1, "root"),
                    (left, 1, "nsubj"),
                    (place, 2, "nmod"),
                ]
            )
        return join([(left, -1, "root"), (self.place(name, right, "nmod"), 0, "nmod")])

    def _acting(
        self, left: TreePhrase, lemma: str, rest: list[str], right: TreePhrase, plural: bool
    ) -> TreePhrase:
        way = self.draw.randrange(5)
        end, relation = (self.place(rest, right, "obl"), "obl") if rest else (right, "obj")
        state = bool(rest) and lemma in _STATES
        if way == 0 and not rest:
            agent = self._case(["by"], left)
            verb = self.verb(lemma, "participle")
            return join([(right, -1, "root"), (verb, 0, "acl"), (agent, 1, "obl:agent")])
        if state:
            verb = self.verb(lemma, "participle")
            if way == 1:
                be = self.be(plural)
                return join(
                    [
                        (left, 2, "nsubj:pass"),
                        (be, 2, "aux:pass"),
                        (verb, -1, "root"),
                        (end, 2, relation),
                    ]
                )
            return join([(left, -1, "root"), (verb, 0, "acl"), (end, 1, relation)])
        if way == 1:
            be = self.be(plural)
            return join(
                [
                    (left, 2, "nsubj"),
                    (be, 2, "aux"),
                    (self.verb(lemma, "gerund"), -1, "root"),
                    (end, 2, relation),
                ]
            )
        if way == 2:
            verb = self.verb(lemma, "plain" if plural else "third")
            return join([(left, 1, "nsubj"), (verb, -1, "root"), (end, 1, relation)])
        return join(
            [(left, -1, "root"), (self.verb(lemma, "gerund"), 0, "acl"), (end, 1, relation)]
        )


_DIGITS = {"2": "two", "3": "three", "4": "four", "5": "five", "6": "six"}
_PLURALS = {"people": "person", "men": "man", "women": "woman", "children": "child", "feet": "foot",
            "teeth": "tooth", "sheep": "", "glass": "", "grass": "", "bus": ""}  # fmt: skip
_STATES = listed(
    "park attach tie fill cover make paint mount connect write print build stack scatter place "
    "hang strap pile plug tuck wrap line draw locate"
)


def tags_of(sentences: Sequence[Sequence[Word]]) -> dict[str, str]:
    """The most frequent part of speech of each form."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for item in sentence:
            seen[item.form.lower()][item.upos] += 1
    found = {form: counts.most_common(1)[0][0] for form, counts in seen.items()}
    places = dict.fromkeys(("top", "front", "side", "back", "middle", "edge"), "NOUN")
    return found | places | dict.fromkeys(_PREPOSITIONS, "ADP")


_PREPOSITIONS = listed(
    "in on at by with of over under above below behind beside near inside outside alongside next "
    "around across along through into onto against between among beneath underneath beyond from "
    "to toward towards atop off within amidst down up past"
)


def captions(graphs: Path, tags: Tags, count: int, seed: int = 0) -> Iterator[list[Word]]:
    """`count` captions with trees from FACTUAL's training file."""
    writer, made = TreeWriter(tags, seed), 0
    with graphs.open(encoding="utf-8", newline="") as file:
        rows = [read_triples(row["scene_graph"]) for row in csv.DictReader(file)]
    writer.draw.shuffle(rows)
    for triples in rows:
        values: defaultdict[str, list[str]] = defaultdict(list)
        for triple in triples:
            if len(triple) == 3 and triple[1] == "is":
                values[triple[0]].append(triple[2])
        told = [t for t in triples if len(t) == 3 and t[1] != "is"]
        for triple in told[:1]:
            phrase = writer.sentence(triple, values)
            if phrase is None:
                continue
            yield finished(phrase, writer.draw)
            made += 1
        if made >= count:
            return


def finished(phrase: TreePhrase, draw: random.Random) -> list[Word]:
    """A caption as people write them: sometimes with a capital, sometimes with a full stop."""
    words = list(phrase.words)
    if draw.random() < 0.4:
        words[0] = replace(words[0], form=words[0].form.capitalize())
    if draw.random() < 0.5:
        words[-1] = replace(words[-1], space=draw.random() < 0.3)
        words.append(word(".", "PUNCT", "punct", head=phrase.top))
    for i, item in enumerate(words[1:]):
        if item.form in ("'s", "'"):
            words[i] = replace(words[i], space=False)
    return words
