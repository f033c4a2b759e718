"""A decomposer without a language model: scene graphs, and the clauses around them.

A unit is an object ("There is a truck."), an attribute of one ("The truck is old."), a relation
between two ("The truck is in front of the structure."), or a clause with the heads of its arguments
("The windshield reflects the sunlight just in front of the seat."). Of units that say the same, the
first is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from revise_captions.dcscore.content import content_words
from revise_captions.dcscore.decomposers import descriptive
from revise_captions.dcscore.decomposers.clauses import ClauseSpeaker, SpokenClause, shown
from revise_captions.dcscore.units import Decomposition, InformationUnit, UnscoredSentence
from revise_captions.graphs.extract import TextReading
from revise_captions.graphs.graph import Graph
from revise_captions.graphs.parse import BUNDLED, Coreference, read_texts, settings
from revise_captions.graphs.statements import Speaker, sentence, speaker_of
from revise_captions.records import Span
from revise_captions.text.sentences import split

VERSION = "1"
NOT_ENGLISH = "not English: the offline decomposer reads no other language"
#: A sentence of at least this many words is in another language if fewer than this share of them
#: are English.
_WORDS, _ENGLISH = 3, 0.5


class GraphDecomposer:
    """Decomposes texts by their scene graphs.

    Args:
        pipeline: A spaCy pipeline, as for `graphs.parse.parse`.
        coreference: A resolver that runs before the rules.
    """

    def __init__(self, pipeline: str = BUNDLED, coreference: Coreference | None = None) -> None:
        self.pipeline, self.coreference = pipeline, coreference

    @property
    def settings(self) -> Mapping[str, str]:
        own = {"decomposer": f"graph-{VERSION}", "descriptive": f"cues-{descriptive.VERSION}"}
        resolver = self.coreference.settings if self.coreference is not None else {}
        return {**settings(self.pipeline), **resolver, **own}

    def decompose(self, texts: Sequence[str]) -> list[Decomposition]:
        """One decomposition per text; a sentence in another language is `unscored`."""
        readings = read_texts(texts, self.pipeline, coreference=self.coreference)
        return [_decomposed(text, reading) for text, reading in zip(texts, readings, strict=True)]


def _decomposed(text: str, reading: TextReading) -> Decomposition:
    sentences = tuple(split(text))
    foreign = [k for k, span in enumerate(sentences) if _is_foreign(span.of(text))]
    starts = [span.start for span in sentences]
    parts = [part for span in sentences for part in descriptive.parts_of(text, span)]
    part_starts = [span.start for span, _ in parts]
    units: dict[frozenset[str], InformationUnit] = {}
    for said in statements(reading, sentences):
        home = bisect_right(starts, said.span.start) - 1
        key = content_words(said.text)
        if home < 0 or home in foreign or not key or key in units:
            continue
        shows = parts[bisect_right(part_starts, said.span.start) - 1][1]
        shows = shows and descriptive.is_descriptive(said.text)
        units[key] = InformationUnit(said.text, home, said.span, shows)
    order = sorted(units.values(), key=lambda unit: (unit.sentence, unit.span))
    return Decomposition(
        text, sentences, tuple(order), tuple(UnscoredSentence(k, NOT_ENGLISH) for k in foreign)
    )


def statements(reading: TextReading, sentences: Sequence[Span]) -> Iterator[SpokenClause]:
    """Objects, attributes, denied objects, clauses, noun phrases, and relations not in a clause.

    A thing is "a dog" in the first sentence that mentions it, and "the dog" in later ones.
    """
    graph = reading.graph.present()
    speakers = _Speakers(graph, sentences)
    for i, item in enumerate(graph.objects):
        yield SpokenClause(speakers.at(item.span.start).exists(i), item.span)
    for said in graph.attributes:
        text = speakers.at(said.span.start).has(said.object, said.value, said.kind)
        yield SpokenClause(text, said.span)
    for item in reading.graph.objects:
        if item.denied:
            be = "are" if item.plural else "is"
            yield SpokenClause(sentence(f"there {be} no {item.name}"), item.span)
    said_words = defaultdict[int, list[tuple[Span, frozenset[str]]]](list)
    for one in ClauseSpeaker(reading, speakers.at, shown(reading.graph)).statements():
        yield one
        said_words[speakers.home(one.span.start)].append((one.span, content_words(one.text)))
    for edge in graph.relations:
        both = content_words(
            f"{graph.objects[edge.subject].lemma} {graph.objects[edge.target].lemma}"
        )
        near = said_words[speakers.home(edge.span.start)]
        if not any(both <= words and _overlap(span, edge.span) for span, words in near):
            text = speakers.at(edge.span.start).stands(edge.subject, edge.name, edge.target)
            yield SpokenClause(text, edge.span)


class _Speakers:
    """A speaker for each sentence: only what a text has mentioned before is called "the" dog."""

    def __init__(self, graph: Graph, sentences: Sequence[Span]) -> None:
        self.whole, self.made = speaker_of(graph), dict[int, Speaker]()
        self.starts = [span.start for span in sentences]
        self.first = [bisect_right(self.starts, item.span.start) for item in graph.objects]

    def home(self, place: int) -> int:
        """The number of the sentence at a place, from 1."""
        return bisect_right(self.starts, place)

    def at(self, place: int) -> Speaker:
        home = self.home(place)
        if home not in self.made:
            known = frozenset(i for i, first in enumerate(self.first) if first < home)
            self.made[home] = self.whole.after(known)
        return self.made[home]


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _is_foreign(text: str) -> bool:
    from simplemma import is_known

    words = [word for word in text.split() if any(c.isalpha() for c in word)]
    if len(words) < _WORDS:
        return any(ord(c) > 0x24F for c in text if c.isalpha())
    bare = [word.strip(".,;:!?()[]\"'“”‘’").lower() for word in words]
    return sum(is_known(word, lang="en") for word in bare) < _ENGLISH * len(bare)
