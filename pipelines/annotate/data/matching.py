"""`annotate match`: training data from unlabeled captions: does a sentence belong to the image?

A sentence of an image's own caption is more often true of it than a sentence of another image's
caption. So unlabeled captions teach a small critic the vocabulary of a domain before labeled
sentences teach it what is wrong and why. These labels are not judgments: `factual` marks the
image's own sentences (some are wrong), `nonfactual` those of other images (some are true). A critic
trained on nothing else ranks sentences; its P(factual) is not a probability.

A row's caption mixes both kinds in random order, so that context gives nothing away; its auxiliary
sentences (`asides`) are more of both. Only sentences without anaphora are used: in another caption,
“she” would be somebody else. Most of the other images' sentences (`MatchOptions.contrasts`) differ
from one of the image's own in one place, if there are such (`minimal_pairs`).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.perceptual_hash import groups
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow
from revise_captions.io.source import Source
from revise_captions.io.writing import check_new_folder
from revise_captions.pipelines.annotate.data.minimal_pairs import Contrasts
from revise_captions.pipelines.annotate.options import MatchOptions
from revise_captions.text.sentences import split
from revise_captions.training_data.folder import (
    Provenance,
    SplitCounts,
    open_training_folder,
    splits,
    write_about,
)
from revise_captions.training_data.images import ImageFolder

NO_RECORD = "rows that are no caption of an image"
NO_IMAGE = "rows whose image cannot be read"
NOTHING = "captions without a sentence that speaks of itself"
REFERS = "sentences that refer to what was said before"
#: So many sentences of other images are kept to draw from.
POOL = 100_000
#: A possessive behind the second word mostly means one of the sentence: “A man and his dog.”
_REFERS = re.compile(
    r"\b(?:it|he|him|she|hers|they|them|theirs|these|those|others?|another|both|former|latter)\b"
    r"|^\W*(?:\w+\W+)?(?:its|his|her|their)\b",
    re.IGNORECASE,
)
_LABEL = {True: "factual", False: "nonfactual"}
ABOUT = Provenance(
    "matched",
    "Captions that nobody judged",
    "",
    "the captions'",
    "",
    note="no judgements: factual is what an image's own caption says, nonfactual another's",
    judged=False,
)


@dataclass(frozen=True, slots=True)
class Matched:
    counts: Mapping[str, SplitCounts]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class OwnSentences:
    """The sentences of one caption that make sense without context."""

    id: str
    image: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentencePool:
    """Sentences to sample from, each with its caption; `contrasts` indexes their texts."""

    said: Sequence[tuple[OwnSentences, str]]
    contrasts: Contrasts

    @classmethod
    def of(cls, said: Sequence[tuple[OwnSentences, str]]) -> SentencePool:
        return cls(said, Contrasts([text for _, text in said]))


def match(options: MatchOptions) -> Matched:
    """Writes training data. The captions are read three times: for images, the pool, and rows.

    Raises:
        UserError: `options.out` is not empty, or fewer than two images have usable sentences.
    """
    check_new_folder(options.out)
    source = open_source(options.captions, fields=options.fields, limit=options.limit)
    left_out: Counter[str] = Counter()
    store = ImageFolder(options.out)
    images = _images(options, source, store, left_out)
    drawn = _drawn(_said(source, images, left_out), options.seed)
    if len({own.image for own, _ in drawn}) < 2:
        raise UserError(
            f"{options.captions}: fewer than two images have usable sentences",
            hint="check --image-root (folder of the images) and --caption-field",
        )
    sides, pool = splits(groups(store.prints), options.validation), SentencePool.of(drawn)
    with open_training_folder(options.out, sides) as folder:
        for own in _said(source, images, Counter()):
            folder.add(row_of(own, pool, options))
    names = ("others", "contrasts", "validation", "seed")
    made_by = " ".join(f"--{name} {getattr(options, name):g}" for name in names)
    write_about(options.out, ABOUT, folder, f"captions annotate match {made_by}", left_out)
    return Matched(folder.counts, left_out)


def _images(
    options: MatchOptions, source: Source, store: ImageFolder, left_out: Counter[str]
) -> dict[int, str]:
    """The stored name of each image, by line."""
    found: dict[int, str] = {}
    for record in source:
        if isinstance(record, BadRow):
            left_out[NO_RECORD] += 1
            continue
        try:
            found[record.line] = store.add(
                record.image, image_root=options.image_root, folder=source.folder
            )
        except BadRecord:
            left_out[NO_IMAGE] += 1
    return found


def _said(
    source: Source, images: Mapping[int, str], left_out: Counter[str]
) -> Iterator[OwnSentences]:
    """Captions with their usable sentences."""
    for record in source:
        if isinstance(record, BadRow) or record.line not in images:
            continue
        for field, caption in record.captions.items():
            texts = [span.of(caption) for span in split(caption)]
            kept = tuple(text for text in texts if not _REFERS.search(text))
            left_out[REFERS] += len(texts) - len(kept)
            if kept:
                yield OwnSentences(f"{record.line}-{field}", images[record.line], kept)
            else:
                left_out[NOTHING] += 1


def _drawn(captions: Iterable[OwnSentences], seed: int) -> list[tuple[OwnSentences, str]]:
    """At most `POOL` sentences with their captions, by reservoir sampling."""
    rng, pool = random.Random(f"{seed}.pool"), list[tuple[OwnSentences, str]]()
    for number, said in enumerate((own, text) for own in captions for text in own.sentences):
        if len(pool) < POOL:
            pool.append(said)
        elif (place := rng.randrange(number + 1)) < POOL:
            pool[place] = said
    return pool


def row_of(own: OwnSentences, pool: SentencePool, options: MatchOptions) -> dict[str, Any]:
    """A caption that mixes an image's own sentences with as many of other images."""
    rng = random.Random(f"{options.seed}.{own.id}")
    theirs = _others(own, pool, len(own.sentences) + options.others, options.contrasts, rng)
    first = [(text, True) for text in own.sentences]
    first += [(text, False) for text in theirs[: len(own.sentences)]]
    rng.shuffle(first)
    asides = [(text, True) for text in own.sentences]
    asides += [(text, False) for text in theirs[len(own.sentences) :]]
    rng.shuffle(asides)
    caption, sentences = "", []
    for text, is_own in first:
        start = len(caption) + bool(caption)
        caption = f"{caption} {text}" if caption else text
        span = {"start": start, "end": len(caption)}
        sentences.append({**span, "label": _LABEL[is_own], "needs_context": False})
    return {
        "id": own.id,
        "image": own.image,
        "caption": caption,
        "sentences": sentences,
        "asides": [{"text": text, "label": _LABEL[is_own]} for text, is_own in asides],
    }


def _others(
    own: OwnSentences, pool: SentencePool, count: int, contrasts: float, rng: random.Random
) -> list[str]:
    """Up to `count` sentences of other images that the image's own caption does not contain."""
    said, found = {text.casefold() for text in own.sentences}, list[str]()
    for _ in range(20 * count):
        if len(found) == count:
            break
        number = None
        if rng.random() < contrasts:
            number = pool.contrasts.draw(rng.choice(own.sentences), rng)
        whose, text = pool.said[rng.randrange(len(pool.said)) if number is None else number]
        if whose.image != own.image and text.casefold() not in said:
            said.add(text.casefold())
            found.append(text)
    return found
