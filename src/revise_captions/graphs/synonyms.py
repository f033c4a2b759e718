"""WordNet's synonyms, and how tuples of graphs compare under them, as SPICE does (section 3).

Two words are the same if their lemmas are equal or if WordNet files them in one synset, of any part
of speech; so are phrases ("traffic light"). Synonymous objects are combined ("a car … the auto" is
one object), then attributes of one object, then relations of one pair of objects, each with the
most similar before it. Two tuples match if they are of one length and match in each place.

As SPICE's released code, this combines in the caption's graph, too, and takes the number of the
caption's tuples that match one of the references for both precision and recall. Where that exceeds
the number of the references' tuples, the code's recall exceeds 1, and this one is 1.

WordNet is data of its own, which nothing here downloads. Of its files only `index.noun`,
`index.verb`, `index.adj` and `index.adv` are read, by their documented format (wndb(5WN)).
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from revise_captions.errors import UserError, mended_by_user
from revise_captions.graphs.triples import Triple, lemmas

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
#: Where Debian's package `wordnet-base` has it.
SYSTEM = Path("/usr/share/wordnet")
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WordNet:
    """Which synsets hold a word or phrase.

    Attributes:
        synsets: By lemma, words between single spaces; a synset is a part of speech and an offset.
        digest: Of the files, so that scores by different editions are not compared unawares.
    """

    synsets: Mapping[str, frozenset[str]]
    digest: str

    def of(self, phrase: str) -> frozenset[str]:
        """The synsets of a phrase of lemmas; none where WordNet does not have it."""
        return self.synsets.get(phrase, _NOTHING)


def find_wordnet(given: str = "") -> WordNet:
    """WordNet from a folder, or from where it is usually installed.

    Args:
        given: A folder with WordNet's `index.*`, or NLTK's `wordnet.zip`; "": `$WNHOME/dict`,
            Debian's folder, or what NLTK has downloaded, whichever is there first.

    Raises:
        UserError: It is not there, or not in WordNet's format.
    """
    places = [Path(given)] if given else list(_usual_places())
    for place in places:
        if (root := _root(place)) is not None:
            return read_wordnet(root, str(place))
    raise UserError(
        f"{given} holds no WordNet: no index.noun" if given else "WordNet's data is not installed",
        hint="python -m nltk.downloader wordnet, or apt install wordnet-base, or give its folder",
    )


def _usual_places() -> Iterator[Path]:
    if home := os.environ.get("WNHOME"):
        yield Path(home) / "dict"
    yield SYSTEM
    if find_spec("nltk") is None:
        return
    import nltk

    for folder in nltk.data.path:
        yield Path(folder) / "corpora" / "wordnet"
        yield Path(folder) / "corpora" / "wordnet.zip"


def _root(place: Path) -> Path | zipfile.Path | None:
    """Where the index files are in a folder or an archive; None where there are none."""
    root: Path | zipfile.Path = place
    if place.is_file() and zipfile.is_zipfile(place):
        root = zipfile.Path(place, "wordnet/")
    return root if (root / "index.noun").is_file() else None


def read_wordnet(root: Path | zipfile.Path, source: str) -> WordNet:
    """Reads WordNet's index files.

    Args:
        root: Holds `index.noun` and the others.
        source: What errors call it.

    Raises:
        UserError: One is missing or not in WordNet's format.
    """
    found: dict[str, set[str]] = {}
    digest = hashlib.sha256()
    for part in PARTS_OF_SPEECH:
        name = f"index.{part}"
        with mended_by_user(f"{source}: {name} is not WordNet's"):
            content = (root / name).read_bytes()
            for line in content.decode().splitlines():
                if line.strip() and not line.startswith("  "):  # the license is indented by two
                    lemma, synsets = _entry(line, part)
                    found.setdefault(lemma, set()).update(synsets)
        digest.update(content)
    every = {lemma: frozenset(own) for lemma, own in found.items()}
    return WordNet(every, digest.hexdigest()[:12])


def _entry(line: str, part: str) -> tuple[str, list[str]]:
    """A line's lemma and synsets: their number is its third field, their offsets are its last."""
    fields = line.split()
    count = int(fields[2])
    if count < 1 or len(fields) < count + 6:
        raise ValueError(line)
    # a lemma is hyphenated or not; `lemmas` has spaces for both
    lemma = fields[0].lower().replace("_", " ").replace("-", " ")
    return lemma, [f"{part} {int(offset)}" for offset in fields[-count:]]


@dataclass(frozen=True, slots=True)
class Concept:
    """Words that are the same, and all synsets of any of them."""

    words: frozenset[str]
    synsets: frozenset[str]

    def likeness(self, other: Concept) -> float:
        """1 for a word in common, else the share of synsets that both have of those either has."""
        if self.words & other.words:
            return 1.0
        shared = len(self.synsets & other.synsets)
        return shared / len(self.synsets | other.synsets) if shared else 0.0

    def with_words(self, other: Concept) -> Concept:
        return Concept(self.words | other.words, self.synsets | other.synsets)


def _placed(concept: Concept, among: list[Concept]) -> int:
    """Where a concept is in a list: with the most similar one, or at the end."""
    likeness = [concept.likeness(known) for known in among]
    best = max(range(len(among)), key=likeness.__getitem__, default=0)
    if not among or not likeness[best]:
        among.append(concept)
        return len(among) - 1
    among[best] = among[best].with_words(concept)
    return best


def combined(triples: Iterable[Triple], wordnet: WordNet) -> list[tuple[Concept, ...]]:
    """The tuples of a graph, its synonyms combined.

    Args:
        triples: As `graphs.triples.convention` gives them, of one text or several.
        wordnet: Knows the synonyms.
    """

    def concept(phrase: str) -> Concept:
        lemma = lemmas(phrase)
        return Concept(frozenset({lemma}), wordnet.of(lemma))

    objects: list[Concept] = []
    attributes: dict[int, list[Concept]] = {}
    relations: dict[tuple[int, int], list[Concept]] = {}
    for triple in triples:
        first = _placed(concept(triple[0]), objects)
        if len(triple) == 3 and triple[1] == "is":
            _placed(concept(triple[2]), attributes.setdefault(first, []))
        elif len(triple) == 3:
            last = _placed(concept(triple[2]), objects)
            _placed(concept(triple[1]), relations.setdefault((first, last), []))
    return [
        *((one,) for one in objects),
        *((objects[k], value) for k, own in attributes.items() for value in own),
        *((objects[k], name, objects[j]) for (k, j), own in relations.items() for name in own),
    ]


def synonym_f1(found: Sequence[tuple[Concept, ...]], gold: Sequence[tuple[Concept, ...]]) -> float:
    """F1 of combined tuples; 1 where both are empty."""
    if not found or not gold:
        return 1.0 if not found and not gold else 0.0
    matches = sum(any(_match(one, other) for other in gold) for one in found)
    precision, recall = matches / len(found), min(matches, len(gold)) / len(gold)
    return 2 * precision * recall / (precision + recall) if matches else 0.0


def _match(one: tuple[Concept, ...], other: tuple[Concept, ...]) -> bool:
    return len(one) == len(other) and all(
        a.likeness(b) > 0 for a, b in zip(one, other, strict=True)
    )
