"""Scene graphs written by hand: spans are found in the text by the words that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from revise_captions.graphs.graph import Attribute, AttributeKind, Graph, Object, Relation
from revise_captions.records import Span


def graph(
    text: str,
    objects: Mapping[str, Sequence[str]],
    attributes: Sequence[tuple[str, str]] = (),
    relations: Sequence[tuple[str, str, str]] = (),
) -> Graph:
    """`objects`: name to its mentions, in the text's order. "no dog" is denied, as is "not red";
    "dogs" is plural, and its lemma "dog".

    Mentions, values and relations are found one after the other: equal words need no numbers.
    """
    names = list(objects)
    found: list[Object] = []
    cursor: dict[str, int] = {}
    for name, mentions in objects.items():
        spans = []
        for mention in mentions:
            at = text.index(mention, cursor.get(mention, 0))
            cursor[mention] = at + len(mention)
            spans.append(Span(at, at + len(mention)))
        bare = name.removeprefix("no ").partition("#")[0]  # "dog#2" is another dog
        plural = bare.endswith("s")
        lemma = bare.removesuffix("s") if plural else bare
        denied = name.startswith("no ")
        found.append(Object(bare, lemma, spans[0], tuple(spans), plural, denied))
    said = []
    for name, value in attributes:
        bare = value.removeprefix("not ")
        kind = AttributeKind.COUNT if bare.isdigit() else AttributeKind.QUALITY
        word = {"2": "two", "3": "three"}.get(bare, bare)
        span = _next(text, word, cursor)
        said.append(Attribute(names.index(name), bare, span, kind, value.startswith("not ")))
    told = [
        Relation(names.index(a), name, names.index(b), _next(text, name[:2], cursor))
        for a, name, b in relations
    ]
    return Graph(text, tuple(found), tuple(said), tuple(told))


def _next(text: str, word: str, cursor: dict[str, int]) -> Span:
    at = text.lower().index(word, cursor.get(word, 0))
    cursor[word] = at + len(word)
    return Span(at, at + len(word))
