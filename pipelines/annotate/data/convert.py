"""`annotate convert`: a public data set with labels of sentences as training data, by its name."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import Example, LabeledSentence
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.perceptual_hash import groups
from revise_captions.io.writing import check_new_folder
from revise_captions.pipelines.annotate.options import ConvertOptions
from revise_captions.records import ImageRef, Span
from revise_captions.training_data.folder import (
    TEST,
    Provenance,
    SplitCounts,
    open_training_folder,
    splits,
    write_about,
)
from revise_captions.training_data.images import ImageFolder

#: Held out: what the paper measures critics by, and ranks captioners with.
BENCHMARK_ITSELF = ("docci-critique",)
#: Published as parts; the other part is what others evaluate on.
TRAINING_SUBSETS = {"m-haldetect": "train"}
UNSURE = "sentences that people could not judge"
EMPTY = "spans of white space"
OVERLAP = "spans that overlap an earlier one"
NO_LABELS = "captions without a labelled sentence"
NO_IMAGE = "captions whose image cannot be read"
OTHER_SUBSET = "captions of other subsets"
AGAIN = "captions that an image has already"


@dataclass(frozen=True, slots=True)
class Converted:
    """What was written, what was left out (counts by kind), and unreadable images."""

    about: Provenance
    counts: Mapping[str, SplitCounts]
    left_out: Mapping[str, int]
    examples: tuple[str, ...]


def convert_data(options: ConvertOptions) -> Converted:
    """Converts a benchmark with sentence labels into training data.

    The data are read twice: first for the images, which decide the split, then for the rows.

    Raises:
        UserError: `options.out` is not empty, or there is nothing to convert.
    """
    entry = benchmark(options.name)
    about = _provenance(entry, options)
    check_new_folder(options.out)
    options = replace(
        options, folder=options.folder.resolve()
    )  # readers put the folder before image paths
    left_out: Counter[str] = Counter()
    store = ImageFolder(options.out)
    images, unreadable = _images(options, store, _chosen(entry, options, Counter()))
    if not images and not unreadable:
        raise UserError(
            f"{options.name}: no caption in {options.folder} has a labeled sentence",
            hint="`captions benchmarks list` shows what is labeled; --subset selects captions",
        )
    if not images:
        raise UserError(
            f"no image can be read: {unreadable[0]}",
            hint="set --image-root to the folder that image paths start from",
        )
    seen: set[bytes] = set()
    sides = splits(groups(store.prints), options.validation, options.test)
    with open_training_folder(options.out, sides) as folder:
        for example in _chosen(entry, options, left_out):
            if (image := images.get(_name(example))) is None:
                left_out[NO_IMAGE] += 1
                continue
            key = hashlib.blake2b(
                f"{image}\0{example.caption}".encode("utf-8", "surrogatepass"), digest_size=12
            ).digest()
            if key in seen:
                left_out[AGAIN] += 1
                continue
            seen.add(key)
            row = row_of(example, image, left_out)
            folder.add(row, {**row, "model": example.captioner or "unknown"})
    _move_test_images(options.out, sides)
    shares = f"--validation {options.validation:g} --test {options.test:g}"
    made_by = f"captions annotate convert {options.name} {shares}"
    write_about(options.out, about, folder, made_by, left_out)
    return Converted(about, folder.counts, left_out, tuple(unreadable))


def _provenance(entry: Benchmark, options: ConvertOptions) -> Provenance:
    held_out = entry.name in BENCHMARK_ITSELF
    if held_out and not options.allow_benchmark:
        raise UserError(
            f"critics are evaluated on {entry.name}: a critic trained on it cannot be evaluated",
            hint="--allow-benchmark converts it anyway and marks data.json for good",
        )
    note = entry.note
    if entry.published and not held_out:
        in_domain = "also an evaluation set: a critic's figures on it are in-domain now"
        note = "; ".join(filter(None, (note, in_domain)))
    return Provenance(
        entry.name, entry.title, entry.citation, entry.licence, entry.source, held_out, note
    )


def _chosen(entry: Benchmark, options: ConvertOptions, left_out: Counter[str]) -> Iterator[Example]:
    """The labeled captions of the selected subsets, at most `limit`."""
    own = TRAINING_SUBSETS.get(entry.name, "")
    examples = (item for item in entry.read(options.folder) if isinstance(item, Example))

    def wanted() -> Iterator[Example]:
        for example in examples:
            subset = example.subset
            if not (subset in options.subsets if options.subsets else subset.startswith(own)):
                left_out[OTHER_SUBSET] += 1
            elif all(_label(s) is None for s in example.sentences):
                left_out[NO_LABELS] += 1
            else:
                yield example

    return islice(wanted(), options.limit)


def _name(example: Example) -> str:
    ref = example.record.image
    return ref.path or example.image


def _images(
    options: ConvertOptions, store: ImageFolder, examples: Iterable[Example]
) -> tuple[dict[str, str], list[str]]:
    """The stored name of each image; descriptions of the unreadable ones."""
    stored: dict[str, str] = {}
    unreadable: list[str] = []
    for example in examples:
        name = _name(example)
        if name in stored:
            continue
        try:
            stored[name] = _image(options, example.record.image, store)
        except BadRecord as error:
            if error.detail not in unreadable:
                unreadable.append(error.detail)
    return stored, unreadable


def _image(options: ConvertOptions, ref: ImageRef, store: ImageFolder) -> str:
    if options.images == "copy":
        return store.add(ref, image_root=options.image_root, folder=options.folder)
    return store.look_at(ref, image_root=options.image_root, folder=options.folder)


def row_of(example: Example, image: str, left_out: Counter[str]) -> dict[str, Any]:
    """A caption as a training row; counts in `left_out` what cannot be a training sentence."""
    sentences: list[dict[str, Any]] = []
    end = 0
    for sentence in sorted(example.sentences, key=lambda s: s.span):
        label = _label(sentence)
        span = _trimmed(sentence.span, example.caption)
        if label is None:
            left_out[UNSURE] += 1
        elif span is None:
            left_out[EMPTY] += 1
        elif span.start < end:
            left_out[OVERLAP] += 1
        else:
            end = span.end
            sentences.append(_sentence(replace(sentence, span=span), label))
    return {"id": example.id, "image": image, "caption": example.caption, "sentences": sentences}


def _sentence(sentence: LabeledSentence, label: str) -> dict[str, Any]:
    row: dict[str, Any] = {"start": sentence.span.start, "end": sentence.span.end, "label": label}
    if sentence.assessable is not None:
        row["assessable"] = sentence.assessable
    if label == "nonfactual":
        texts = [rating.rationale for rating in sentence.ratings if rating.rationale]
        rationales = sorted(dict.fromkeys(texts), key=len, reverse=True)
        if rationale := sentence.rationale or (rationales[0] if rationales else None):
            row |= {"rationale": rationale, "rationales": rationales or [rationale]}
    if sentence.error_types:
        row["error_types"] = list(sentence.error_types)
    return row


def _label(sentence: LabeledSentence) -> str | None:
    """A sentence without a claim is factual, by the paper's rule; None if people were unsure."""
    if sentence.factual is None:
        return "factual" if sentence.assessable is False else None
    return "factual" if sentence.factual else "nonfactual"


def _trimmed(span: Span, caption: str) -> Span | None:
    text = span.of(caption)
    start = span.start + len(text) - len(text.lstrip())
    end = span.end - (len(text) - len(text.rstrip()))
    return Span(start, end) if start < end else None


def _move_test_images(out: Path, sides: Mapping[str, str]) -> None:
    """Copies of test images go below OUT/test, whose captions name them from there."""
    for name, side in sides.items():
        if side == TEST and not Path(name).is_absolute():
            place = out / "test" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            (out / name).rename(place)
