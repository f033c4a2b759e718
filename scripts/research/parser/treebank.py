"""Universal Dependencies treebanks: CoNLL-U to spaCy, and the standard attachment scores.

A CoNLL-U file is read one sentence at a time. Words, not surface tokens, are the units, as in
spaCy; a multiword token ("don't") whose words spell it out has no space between them, and of one
whose words do not ("wanna") the words are taken as they are. Empty nodes are left out.

Scores: UAS is the share of words with the right head, LAS with the right head and relation
(subtypes included: `nsubj:pass` is not `nsubj`), both over all words or, as spaCy reports them,
without punctuation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a treebank. `head` counts words from 1; 0 is the root."""

    form: str
    lemma: str
    upos: str
    xpos: str
    morph: str
    head: int
    relation: str
    space: bool


@dataclass(frozen=True, slots=True)
class AttachmentScores:
    """Shares in [0, 1]; the counts are of words, `scored` of those without punctuation."""

    uas: float
    las: float
    uas_plain: float
    las_plain: float
    upos: float
    lemma: float
    words: int
    scored: int


def sentences(path: Path) -> Iterator[list[Word]]:
    """The sentences of a CoNLL-U file, in order."""
    with path.open(encoding="utf-8") as lines:
        rows: list[list[str]] = []
        for line in lines:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                rows.append(line.split("\t"))
            elif not line and rows:
                yield _words(rows)
                rows = []
        if rows:
            yield _words(rows)


def _words(rows: Iterable[list[str]]) -> list[Word]:
    words: list[Word] = []
    inside, last_space = 0, True
    for number, form, lemma, upos, xpos, morph, head, relation, _, misc in rows:
        if "." in number:
            continue
        space = "SpaceAfter=No" not in misc
        if "-" in number:
            inside, last_space = int(number.split("-")[1]), space
            continue
        if int(number) < inside:
            space = False
        elif int(number) == inside:
            space = last_space
        morph = "" if morph == "_" else morph
        words.append(Word(form, lemma, upos, xpos, morph, int(head), relation, space))
    return words


def document(vocab: Vocab, parts: Sequence[Sequence[Word]], *, gold: bool = True) -> Doc:
    """Sentences as one spaCy document; without `gold`, nothing but the words and their spaces."""
    from spacy.tokens import Doc

    flat = [word for part in parts for word in part]
    plain: dict[str, Any] = {
        "words": [word.form for word in flat],
        "spaces": [word.space for word in flat],
    }
    if not gold:
        return Doc(vocab, **plain)
    heads: list[int] = []
    starts: list[bool | int | None] = []
    offset = 0
    for part in parts:
        for index, word in enumerate(part):
            heads.append(offset + (word.head - 1 if word.head else index))
            starts.append(index == 0)
        offset += len(part)
    return Doc(
        vocab,
        **plain,
        lemmas=[word.lemma for word in flat],
        pos=[word.upos for word in flat],
        tags=[word.xpos for word in flat],
        morphs=[word.morph for word in flat],
        heads=heads,
        deps=["ROOT" if word.relation == "root" else word.relation for word in flat],
        sent_starts=starts,
    )


def score(parsed: Iterable[Doc], gold: Iterable[Sequence[Word]]) -> AttachmentScores:
    """Compares documents of one sentence each with the treebank's. Words must be the same ones.

    Raises `ValueError` where they are not.
    """
    counts = dict.fromkeys(("head", "both", "head_plain", "both_plain", "upos", "lemma"), 0)
    words = scored = 0
    for doc, sentence in zip(parsed, gold, strict=True):
        if len(doc) != len(sentence):
            raise ValueError(f"{len(doc)} words parsed, {len(sentence)} in the treebank")
        for token, word in zip(doc, sentence, strict=True):
            head = 0 if token.dep_ in ("ROOT", "root") else token.head.i + 1
            relation = "root" if token.dep_ == "ROOT" else token.dep_
            right = head == word.head
            both = right and relation == word.relation
            counts["head"] += right
            counts["both"] += both
            counts["upos"] += token.pos_ == word.upos
            counts["lemma"] += token.lemma_.lower() == word.lemma.lower()
            words += 1
            if word.relation != "punct":
                counts["head_plain"] += right
                counts["both_plain"] += both
                scored += 1
    return AttachmentScores(
        counts["head"] / words,
        counts["both"] / words,
        counts["head_plain"] / scored,
        counts["both_plain"] / scored,
        counts["upos"] / words,
        counts["lemma"] / words,
        words,
        scored,
    )
