"""Parses written by hand, and the scene graphs of them: no parser is involved."""

from __future__ import annotations

from spacy.tokens import Doc
from spacy.vocab import Vocab

from revise_captions.graphs.dependencies.nodes import nodes
from revise_captions.graphs.extract import extract
from revise_captions.graphs.graph import Graph


def document(parse: str) -> Doc:
    """Words as `word|lemma/POS/label~features/head/tag`, heads from 1, 0 for a root. What may be
    left out: the lemma, features, the tag. A word that ends in `+` has no space after it.
    """
    rows = [item.split("/") for item in parse.split()]
    forms = [row[0].removesuffix("+").partition("|") for row in rows]
    labels = [row[2].partition("~") for row in rows]
    return Doc(
        Vocab(),
        words=[form for form, _, _ in forms],
        spaces=[not row[0].endswith("+") for row in rows],
        lemmas=[lemma or form.lower() for form, _, lemma in forms],
        pos=[row[1] for row in rows],
        tags=[row[4] if len(row) > 4 else "" for row in rows],
        morphs=[feature for _, _, feature in labels],
        deps=[label for label, _, _ in labels],
        heads=[int(row[3]) - 1 if int(row[3]) else i for i, row in enumerate(rows)],
        sent_starts=[i == 0 for i in range(len(rows))],
    )


def graph(parse: str) -> Graph:
    doc = document(parse)
    return extract(doc.text, nodes(doc))


def told(parse: str) -> set[tuple[str, str, str]]:
    return set(graph(parse).triples())
