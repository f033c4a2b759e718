"""The offline decomposer against hand-made units, and its descriptive flag against FaithScore.

**DeCapBench**: a unit of ours covers one made by hand where it has more than half of its content
lemmas, and is supported by one likewise: the measure of `scripts.research.posh.graphs`, fixed
before either was tuned. A second one, not tuned on, takes the cosine of the two sentences under
all-MiniLM-L6-v2, at 0.75 or more. Images are split into two halves: the first was looked at while
the decomposer was made, the second is reported.

**FaithScore**: stage 1 says which sub-sentences are descriptive. The cues were made with the images
in even places (by id), and are reported on those in odd places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from revise_captions.dcscore.descriptive import is_descriptive
from revise_captions.dcscore.graph_decomposer import GraphDecomposer
from revise_captions.dcscore.units import Decomposition
from revise_captions.graphs.parse import parse
from revise_captions.posh.components import components
from revise_captions.text.sentence_encoder import SentenceEncoder
from revise_captions.text.sentences import split
from scripts.research.posh.figures import ReportedFigure, share_of
from scripts.research.posh.graphs import content, share

#: Images of the first half.
TUNED = 106
#: Cosine from which two units say the same.
ALIKE = 0.75
Maker = Callable[[Sequence[str]], list[list[str]]]


def by_sentences(texts: Sequence[str]) -> list[list[str]]:
    """The floor with the widest units."""
    return [[span.of(text) for span in split(text)] for text in texts]


def by_words(count: int) -> Maker:
    """The floor without structure: every so many words next to each other, by single words."""

    def made(texts: Sequence[str]) -> list[list[str]]:
        return [
            [
                " ".join(part)
                for span in split(text)
                for words in [span.of(text).split()]
                for part in zip(*(islice(words, k, None) for k in range(count)), strict=False)
            ]
            for text in texts
        ]

    return made


def by_triples(texts: Sequence[str]) -> list[list[str]]:
    """Components of scene graphs, POSH's units."""
    graphs = [graph.present() for graph in parse(texts)]
    return [[part.phrase(graph) for part in components(graph)] for graph in graphs]


def by_decomposer(texts: Sequence[str]) -> list[list[str]]:
    return [[unit.text for unit in one.units] for one in decomposed(texts)]


def decomposed(texts: Sequence[str]) -> list[Decomposition]:
    return GraphDecomposer().decompose(texts)


#: What is compared; the last one is ours.
SIZES: dict[str, Maker] = {
    "sentences": by_sentences,
    "2-grams": by_words(2),
    "4-grams": by_words(4),
    "triples of the scene graph": by_triples,
    "units: objects, qualities, clauses": by_decomposer,
}


def halves(folder: Path) -> tuple[list[str], list[list[str]]]:
    """The captions of the reported half, and the units that people made of them."""
    with (folder / "oracle_facts.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][TUNED:]
    return [row["oracle_caption"] for row in rows], [row["oracle_facts"] for row in rows]


def decapbench(folder: Path, encoder: SentenceEncoder) -> Iterator[ReportedFigure]:
    """Coverage and support of every size, on the reported half."""
    texts, gold = halves(folder)
    theirs = [[content(unit) for unit in units] for units in gold]
    for name, maker in SIZES.items():
        made = maker(texts)
        ours = [list({words for unit in units if (words := content(unit))}) for units in made]
        target = 0.8 if maker is by_decomposer else None
        count = sum(map(len, made)) / sum(map(len, gold))
        yield share_of(
            f"DeCapBench, {name}: covered",
            [share(their, our) for their, our in zip(theirs, ours, strict=True)],
            target=target,
            note=f"{count:.2f} for one made by hand",
        )
        yield share_of(
            f"DeCapBench, {name}: supported",
            [share(our, their) for their, our in zip(theirs, ours, strict=True)],
            target=0.9 if target else None,
        )
        if maker in (by_sentences, by_triples, by_decomposer):
            yield from _alike(name, made, gold, encoder)


def _alike(
    name: str, made: list[list[str]], gold: list[list[str]], encoder: SentenceEncoder
) -> Iterator[ReportedFigure]:
    """The second measure: cosines of sentences."""
    covered, supported = [], []
    for ours, theirs in zip(made, gold, strict=True):
        cosines = encoder(theirs) @ encoder(ours).T
        covered.append(float((cosines.max(1) >= ALIKE).mean()))
        supported.append(float((cosines.max(0) >= ALIKE).mean()))
    yield share_of(f"DeCapBench, {name}: covered, by cosine", covered)
    yield share_of(f"DeCapBench, {name}: supported, by cosine", supported)


def faithscore(path: Path) -> Iterator[ReportedFigure]:
    """Macro-F1 of the descriptive flag on images in odd places, with an interval over images."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    images = sorted({row["id"] for row in rows})[1::2]
    found: dict[str, list[tuple[bool, bool]]] = {image: [] for image in images}
    for row in rows:
        before = True
        for part, label in row["stage 1"].items():
            before = is_descriptive(part, before)
            if row["id"] in found:
                found[row["id"]].append((bool(label), before))
    rng = np.random.default_rng(0)
    drawn = [
        _macro_f1(
            [pair for k in rng.integers(0, len(images), len(images)) for pair in found[images[k]]]
        )
        for _ in range(1000)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    pairs = [pair for image in images for pair in found[image]]
    majority = _macro_f1([(label, False) for label, _ in pairs])
    yield ReportedFigure(
        "FaithScore, descriptive or not: macro-F1",
        _macro_f1(pairs),
        float(low),
        float(high),
        len(pairs),
        floor=majority,
        floor_name="one class",
        target=0.8,
    )


def _macro_f1(pairs: Sequence[tuple[bool, bool]]) -> float:
    from sklearn.metrics import f1_score

    labels, said = zip(*pairs, strict=True)
    return float(f1_score(labels, said, average="macro"))
