"""`annotate match`: captions that nobody judged as training data – is a sentence the image's own?

A sentence of an image's caption is more often true of it than one from another image's caption. So
captions as they are teach a small critic what the words of a domain look like, before judged
sentences teach it what is wrong and why. Nothing here was judged: `factual` is what stands in the
image's own caption (some of it is wrong), `nonfactual` what was taken from another's (some of it is
true). A critic that learned nothing else ranks sentences, and its P is no probability.

In a row's caption, sentences of both kinds stand in random order, so that nothing around a sentence
tells; its asides are more of both. Only sentences that speak of themselves are taken: in another
caption, “she” would be somebody else. Of the others, most (`MatchOptions.contrasts`) differ from an
own one in one place, where there are such (`contrasts`).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.fields import Fields
from revise_captions.io.perceptual_hash import groups
from revise_captions.io.readers import NO_FIELDS, Source, open_source
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.annotate.data.folder import (
    Provenance,
    SplitCounts,
    open_training_folder,
    splits,
    write_about,
)
from revise_captions.pipelines.annotate.data.images import ImageFolder
from revise_captions.pipelines.annotate.data.minimal_pairs import Contrasts
from revise_captions.text.sentences import split

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
class MatchOptions:
    """As the options of the command say. `others`: of other images, in each caption's asides;
    `contrasts`: the share of these, and of those in the caption, that differ in one place.
    """

    captions: str
    out: Path
    others: int = 6
    contrasts: float = 0.8
    validation: float = 0.02
    seed: int = 0
    fields: Fields = NO_FIELDS
    image_root: Path | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Matched:
    counts: Mapping[str, SplitCounts]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class OwnSentences:
    """What one caption says of its image: sentences that speak of themselves."""

    id: str
    image: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentencePool:
    """Sentences to draw from, each with whose it is; `contrasts` of their texts, in this order."""

    said: Sequence[tuple[OwnSentences, str]]
    contrasts: Contrasts

    @classmethod
    def of(cls, said: Sequence[tuple[OwnSentences, str]]) -> SentencePool:
        return cls(said, Contrasts([text for _, text in said]))


def match(options: MatchOptions) -> Matched:
    """Raises `UserError`. The captions are read for their images, for a pool, and for the rows."""
    if options.out.exists() and any(options.out.iterdir()):
        raise UserError(f"{options.out} is not empty", hint="choose a new folder")
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
    write_about(options.out, ABOUT, folder, f"annotate match {made_by}", left_out)
    return Matched(folder.counts, left_out)


def _images(
    options: MatchOptions, source: Source, store: ImageFolder, left_out: Counter[str]
) -> dict[int, str]:
    """By line, each image as rows name it."""
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
    """Captions that say something that can be asked of another image."""
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
    """At most `POOL` sentences and whose they are, drawn alike from all (reservoir sampling)."""
    rng, pool = random.Random(f"{seed}.pool"), list[tuple[OwnSentences, str]]()
    for number, said in enumerate((own, text) for own in captions for text in own.sentences):
        if len(pool) < POOL:
            pool.append(said)
        elif (place := rng.randrange(number + 1)) < POOL:
            pool[place] = said
    return pool


def row_of(own: OwnSentences, pool: SentencePool, options: MatchOptions) -> dict[str, Any]:
    """A caption of an image's own sentences and as many of others, and asides of both."""
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
    """`count` sentences of other images that are not said of this one, fewer if hard to find."""
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
