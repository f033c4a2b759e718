"""Scene graphs against FACTUAL's and DiscoSG's gold, and the parser on English-EWT.

The floor needs no parser worth the name: every noun is an object. What compares was fixed before
the extractor was tuned, on FACTUAL's training part.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from revise_captions.graphs.parse import load_pipeline, parse
from revise_captions.graphs.triples import Tuples, convention, f1, lemmas, read_triples, tuples
from scripts.research.frame.figures import ReportedFigure, share_of
from scripts.research.parser.treebank import AttachmentScores, document, score, sentences
from scripts.research.posh.contrasts import REPORTING, half_of

_LONG = 10
_PEERS = "SPICE parser .{}, Flan-T5 .{} (random test)"


def factual(path: Path, pipeline: str) -> Iterator[ReportedFigure]:
    """FACTUAL's development part: set match and SPICE-style F1 (`triples`)."""
    rows = _table(path)
    gold = [tuples(read_triples(row["scene_graph"])) for row in rows]
    texts = [row["caption"] for row in rows]
    found = [tuples(convention(graph)) for graph in parse(texts, pipeline)]
    floor = [_nouns(text) for text in texts]
    for name, of, peers, target in (
        ("set match", _matches, _PEERS.format("193", "814"), None),
        ("SPICE-style F1", _f1s, _PEERS.format("648", "933"), 0.80),
    ):
        yield share_of(
            f"FACTUAL dev: {name}",
            of(found, gold),
            floor=of(floor, gold),
            floor_name="nouns",
            peers=peers,
            target=target,
        )


def long_captions(data: Path, pipeline: str) -> Iterator[ReportedFigure]:
    """The halves that no rule was made with of FACTUAL's sentences of more than ten words (its
    training part, whose words the lexicon counts) and of DiscoSG's captions.
    """
    folder = data / "factual_sg"
    known = {row["image_id"] for row in _table(folder / "dev.csv")}
    rows = [
        (row["caption"], row["scene_graph"])
        for row in _table(folder / "train.csv")
        if len(row["caption"].split()) > _LONG
        and row["image_id"] not in known
        and half_of(row["image_id"]) == REPORTING
    ]
    yield from _of_both("FACTUAL train, more than ten words", rows, pipeline)
    told = json.loads((data / "discosg" / "train_300.json").read_text(encoding="utf-8"))
    rows = [(row["caption"], row["scene_graph"]) for row in told[len(told) // 2 :]]
    yield from _of_both("DiscoSG, in FACTUAL's notation", rows, pipeline)


def _of_both(name: str, rows: Sequence[tuple[str, str]], pipeline: str) -> Iterator[ReportedFigure]:
    gold = [tuples(read_triples(graph)) for _, graph in rows]
    texts = [text for text, _ in rows]
    found = [tuples(convention(graph)) for graph in parse(texts, pipeline)]
    floor = [_nouns(text) for text in texts]
    note = f"reporting half, {len(rows)}"
    yield share_of(
        f"{name}: SPICE-style F1",
        _f1s(found, gold),
        floor=_f1s(floor, gold),
        floor_name="nouns",
        note=note,
    )
    triples = [f1(a.triples, b.triples) for a, b in zip(found, gold, strict=True)]
    yield share_of(f"{name}: F1 of triples", triples, note=note)


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _matches(found: Sequence[Tuples], gold: Sequence[Tuples]) -> list[float]:
    return [float(a.all == b.all) for a, b in zip(found, gold, strict=True)]


def _f1s(found: Sequence[Tuples], gold: Sequence[Tuples]) -> list[float]:
    return [f1(a.all, b.all) for a, b in zip(found, gold, strict=True)]


def _nouns(text: str) -> Tuples:
    """The floor: every word that names a thing, by the lexicon alone, is an object."""
    from revise_captions.graphs.lexicon import _lexicon

    known = _lexicon().objects
    heads = {lemmas(word) for word in text.lower().replace(".", " ").replace(",", " ").split()}
    return Tuples(frozenset((w,) for w in heads if w in known), frozenset(), frozenset())


def treebank(path: Path, pipeline: str) -> tuple[AttachmentScores, Iterator[ReportedFigure]]:
    """The parser on a treebank's words, sentence by sentence."""
    nlp = load_pipeline(pipeline)
    gold = list(sentences(path))
    docs = []
    for sentence in gold:
        doc = document(nlp.vocab, [sentence], gold=False)
        for token in doc:
            token.is_sent_start = token.i == 0
        docs.append(doc)
    found = score(nlp.pipe(docs, batch_size=256), gold)
    peers = "spaCy efficiency, 5 minutes .811/.768; spaCy XLM-R on UD 2.5 .919/.894"
    figures = [
        ReportedFigure("EWT test: UAS", found.uas_plain, n=found.scored, peers=peers),
        ReportedFigure("EWT test: LAS", found.las_plain, n=found.scored, target=0.82),
        ReportedFigure("EWT test: UAS with punctuation", found.uas, n=found.words),
        ReportedFigure("EWT test: LAS with punctuation", found.las, n=found.words),
        ReportedFigure(
            "EWT test: UPOS", found.upos, n=found.words, peers="spaCy XLM-R on UD 2.5 .969"
        ),
        ReportedFigure(
            "EWT test: lemmas", found.lemma, n=found.words, peers="spaCy XLM-R on UD 2.5 .974"
        ),
    ]
    return found, iter(figures)
