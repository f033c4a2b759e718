"""Edits of people's sentences, spoken of in wordings that are put together from parts.

What is wrong is what another person wrote of the same image (FACTUAL), a noun, a phrase or a verb
with what belongs to it from another sentence, a number, bound, unit, time or list
(`edits.sets.by_rule`), a small slip (`slips`), or one of the older faults; images and documents of
the sets that revisers are measured on are left out. Rationales name the words, or say what is true
in the sentence's words or in others (`otherwise`).
"""

from __future__ import annotations

import csv
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.reviser.protocol import RewriteRequest
from scripts.research.edits.sets import PersonEdit, by_rule, pairs, read_edits, treebank, written
from scripts.research.edits.strangers import read_strangers
from scripts.research.frame.data import beside
from scripts.research.reviser.synthetic import RewriteExample
from scripts.research.smollm2_reviser.faults import articled, capital, put, replacements
from scripts.research.smollm2_reviser.otherwise import OTHERWISE, otherwise, renamed
from scripts.research.smollm2_reviser.sentences import held_out
from scripts.research.smollm2_reviser.slips import SLIPS, slip
from scripts.research.smollm2_reviser.words import CLASSES, OF_WORD

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

    from scripts.research.smollm2_reviser.sentences import SourceSentence
    from scripts.research.smollm2_reviser.words import EditWords

SPOKEN = beside(__file__, "spoken.toml")
#: Ways of speaking with their share.
STYLES = {"named": 0.4, "truth": 0.13, "elsewise": 0.1, "otherwise": 0.32, "only": 0.05}
#: Edits of a kind that the measured sets take at most; so many are left out of training.
_MEASURED = 60
_LONGEST_PHRASE = 7
_CONTEXT = 200


def measured(folder: Path) -> list[PersonEdit]:
    """Edits that revisers are measured on, of either half."""
    return [
        edit
        for read in (read_edits, read_strangers)
        for half in (False, True)
        for edit in read(folder, reporting=half, each=_MEASURED)
    ]


def pairs_of_people(folder: Path, left_out: set[str]) -> list[PersonEdit]:
    """Region descriptions of one image that differ in one place."""
    texts: dict[str, list[str]] = defaultdict(list)
    with (folder / "factual_sg" / "train.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            texts[f"vg-{row['image_id']}"].append(row["caption"])
    return [
        edit
        for image, said in texts.items()
        if image not in left_out and not held_out(image)
        for edit in pairs(image, list(dict.fromkeys(map(written, said))))
    ]


def texts_of(
    folder: Path, data: Sequence[tuple[SourceSentence, Doc]], left_out: set[str]
) -> list[tuple[str, str]]:
    """Sentences about images and of the web treebank, with their image or document."""
    texts = [(said.image, said.text) for said, _ in data]
    texts += [(source, text) for source, text in treebank(folder) if not held_out(source)]
    return [(source, text) for source, text in texts if source not in left_out]


def phrases(docs: Sequence[Doc]) -> dict[str, list[str]]:
    """What can be put in the place of another phrase of its kind: "thing", "things", "place" with
    its preposition, "act"."""
    found: dict[str, list[str]] = defaultdict(list)
    for doc in docs:
        for kind, start, end in places(doc):
            found[kind].append(_plain(doc[start:end].text, start))
    return {kind: list(dict.fromkeys(texts)) for kind, texts in found.items()}


def places(doc: Doc) -> Iterator[tuple[str, int, int]]:
    """The phrases of a sentence: kind, and tokens, half open."""
    for token in doc:
        whole = list(token.subtree)
        first, last = whole[0].i, whole[-1].i + 1
        together = last - first == len(whole) and not any(t.is_punct for t in whole)
        if token.pos_ == "NOUN":
            left = [t.i for t in token.children if t.i < token.i and _belongs(t)]
            start = min([token.i, *left])
            kind = "things" if token.text != token.lemma_ else "thing"
            yield kind, start, token.i + 1
            if together and whole[0].dep_ == "case" and last - first <= _LONGEST_PHRASE:
                yield "place", first, last
        elif (
            _is_action(token) and together and first == token.i and last - first <= _LONGEST_PHRASE
        ):
            yield "act", first, last


def _is_action(token: Token) -> bool:
    return token.pos_ == "VERB" and token.text.endswith("ing") and token.text.islower()


def _belongs(token: Token) -> bool:
    return token.dep_ in ("det", "amod", "nummod", "compound", "nmod:poss")


def swapped(
    said: SourceSentence, doc: Doc, others: dict[str, list[str]], rng: random.Random
) -> PersonEdit | None:
    """The sentence with one of its phrases replaced by another sentence's."""
    found = list(places(doc))
    if not found:
        return None
    kind, first, last = rng.choice(found)
    span = doc[first:last]
    wrong = rng.choice(others[kind])
    if span.start_char == 0:
        wrong = capital(wrong)
    broken = put(doc.text, [(span.start_char, span.end_char, wrong)])
    shared = {word.lower() for word in wrong.split()} & {word.lower() for word in span.text.split()}
    content = shared - {"a", "an", "the", "of", "in", "on", "with", "and", "to", "at"}
    if wrong.lower() == span.text.lower() or content or articled(broken) != broken:
        return None
    return PersonEdit(said.image, f"swap: {kind}", broken, doc.text,
                      ((_plain(wrong, first), _plain(span.text, first)),))  # fmt: skip


def _plain(text: str, start: int) -> str:
    """A phrase without the capital of the sentence that it opens."""
    return text if start or text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def faulty(
    said: SourceSentence, doc: Doc, words: EditWords, rng: random.Random
) -> PersonEdit | None:
    """The sentence with one word replaced by another of its class."""
    found = [one for one in replacements(doc, words, rng) if one.wrong]
    if not found:
        return None
    one = rng.choice(found)
    broken = put(doc.text, [(one.start, one.end, one.wrong if one.start else capital(one.wrong))])
    if broken == doc.text:
        return None
    return PersonEdit(said.image, f"word: {one.kind}", broken, doc.text, ((one.wrong, one.right),))


def spoken(edit: PersonEdit, rng: random.Random) -> str:
    """A rationale for an edit, in a random way of speaking."""
    style = rng.choices(list(STYLES), list(STYLES.values()))[0]
    where = _place(edit)
    if len(edit.changes) > 1 or not where:
        style = "named" if len(edit.changes) > 1 else "truth"
    if style == "only" and not _is_closed(edit):
        style = "named"
    if style == "otherwise" and where:
        text = otherwise(edit, *where, rng)
        return _sentence(rng.choice(OTHERWISE["heads"]), text, OTHERWISE["tails"], rng)
    if style == "named":
        said = [_named(edit, change, rng) for change in edit.changes]
        rng.shuffle(said)
        text = rng.choice((". ", "; ", ", and ", ". Also, ", "\n")).join(said)
    elif style == "only":
        text = rng.choice(SPOKEN["only"]).format(r=_quoted([edit.changes[0][1]], rng)[0])
    else:
        text = _told(edit, style == "elsewise", rng)
    return _sentence(rng.choice(SPOKEN["heads"]), text, SPOKEN["tails"], rng)


def _sentence(head: str, text: str, tails: Sequence[str], rng: random.Random) -> str:
    if rng.random() < 0.3 and not text.endswith((".", "?")):
        text += rng.choice(tails)
    text = head + text
    if rng.random() < 0.85:
        text = capital(text)
    return text if text.endswith((".", "!", "?", "”.", '"')) or rng.random() < 0.25 else f"{text}."


def _quoted(parts: Sequence[str], rng: random.Random) -> list[str]:
    style = rng.choice(SPOKEN["quotes"]) if rng.random() < 0.4 else "{}"
    return [style.format(part) for part in parts]


def _named(edit: PersonEdit, change: tuple[str, str], rng: random.Random) -> str:
    """Wrong and right words, at times with what stands beside them."""
    wrong, right = change
    if rng.random() < 0.3 and len(edit.changes) == 1 and (where := _place(edit)):
        start, end = where
        before = edit.right[:start].split()[-rng.choice((0, 0, 1, 2)) or len(edit.right) :]
        after = edit.right[end:].split()[: rng.choice((0, 1, 1, 2))]
        wrong, right = (" ".join([*before, one, *after]).strip(" .,;") for one in change)
    w, r = _quoted([wrong, right], rng)
    if rng.random() < 0.7:
        text: str = rng.choice(SPOKEN["named"]).format(w=w, r=r)
        return text
    claim = f"{rng.choice(SPOKEN['bad'])} {rng.choice(SPOKEN['says'])} {w}"
    truth = f"{rng.choice(SPOKEN['good'])} {rng.choice(SPOKEN['shows'])} {r}"
    if rng.random() < 0.3:
        claim, truth = truth, claim
    return f"{claim}{rng.choice(SPOKEN['but'])}{truth}"


def _told(edit: PersonEdit, by_others: bool, rng: random.Random) -> str:
    """What is true, whole or around the change, in the sentence's words or in others."""
    start, end = _place(edit) or (0, len(edit.right))
    before, after = edit.right[:start], edit.right[end:]
    if by_others:
        before, after = renamed(before, rng), renamed(after, rng)
    if rng.random() < 0.5:
        before = " ".join(before.split()[-rng.randint(1, 5) :]) + (
            " " if before.endswith(" ") else ""
        )
        after = " ".join(after.split(" ")[: rng.randint(2, 6)])
    part = f"{before}{edit.right[start:end]}{after}".strip(" ,;")
    part = part if rng.random() < 0.5 else part.rstrip(".")
    part = f"{part[:1].lower()}{part[1:]}" if rng.random() < 0.7 else part
    if by_others and rng.random() < 0.3 and len(edit.changes) == 1:
        alias = renamed(edit.changes[0][0], rng)
        text: str = rng.choice(SPOKEN["denied"]).format(s=part.rstrip("."), a=alias)
        return text
    told: str = rng.choice(SPOKEN["truth"]).format(s=_quoted([part], rng)[0])
    return told


def _place(edit: PersonEdit) -> tuple[int, int] | None:
    """Where the right words of the first change stand in the right sentence, half open."""
    right = edit.changes[0][1]
    same = 0
    for one, other in zip(edit.right, edit.sentence, strict=False):
        if one.casefold() != other.casefold():
            break
        same += 1
    found = [m.start() for m in re.finditer(re.escape(right), edit.right, re.IGNORECASE)]
    best = min(found, key=lambda at: abs(at - same), default=None)
    return None if best is None else (best, best + len(right))


def _is_closed(edit: PersonEdit) -> bool:
    """Whether the right words have one place only: the sentence has one word of their class."""
    wrong, right = edit.changes[0]
    own = CLASSES.get(OF_WORD.get(wrong, ""), ())
    said = re.findall(r"[\w-]+", edit.sentence)
    return right in own and sum(word in own for word in said) == 1


def example(edit: PersonEdit, context: str, rng: random.Random) -> RewriteExample:
    """What the reviser reads of an edit, and what it should write."""
    said = context[-_CONTEXT:].lstrip() if rng.random() < 0.4 else ""
    return RewriteExample(RewriteRequest(said, edit.sentence, spoken(edit, rng)), edit.right)


def stream(
    data: Sequence[tuple[SourceSentence, Doc]],
    words: EditWords,
    folder: Path,
    seed: str,
) -> Iterator[RewriteExample]:
    """Examples without end: people's pairs, edits by rule, swapped phrases and single words."""
    rng = random.Random(seed)
    left_out = {edit.source for edit in measured(folder)}
    free = [(said, doc) for said, doc in data if said.image not in left_out]
    by_kind: dict[str, list[PersonEdit]] = defaultdict(list)
    texts = texts_of(folder, data, left_out)
    by_rules = (edit for source, text in texts for edit in by_rule(source, text))
    for edit in [*pairs_of_people(folder, left_out), *by_rules]:
        by_kind[edit.kind].append(edit)
    kinds = sorted(by_kind)
    shares = [len(by_kind[kind]) ** 0.5 for kind in kinds]  # none so often that it repeats itself
    others = phrases([doc for _, doc in free])
    while True:
        if rng.random() < 0.3:
            source, text = rng.choice(texts)
            if small := slip(source, text, rng.choice(list(SLIPS)), rng):
                yield example(small, "", rng)
            continue
        if rng.random() < 0.4:
            yield example(rng.choice(by_kind[rng.choices(kinds, shares)[0]]), "", rng)
            continue
        said, doc = rng.choice(free)
        if rng.random() < 0.5:
            made = swapped(said, doc, others, rng)
        else:
            made = faulty(said, doc, words, rng)
        if made is not None:
            yield example(made, said.context, rng)
