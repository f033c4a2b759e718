"""Labeled sentences to measure a critic on: training data, or a benchmark as published."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.errors import UserError
from revise_captions.finetune.data.image_cache import upright
from revise_captions.finetune.data.records import (
    Examples,
    TrainingSentence,
    open_split,
    provenance,
)
from revise_captions.io.images import load_image
from revise_captions.records import ImageRef

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.benchmarks.types import Example

SPLITS = ("train", "validation")
#: The reviser's settings that say how it runs, not which one it is.
_COMPUTED = ("reviser-dtype", "reviser-device")


@dataclass(frozen=True, slots=True)
class LabeledCaption:
    """A caption with the labels of some of its sentences, in order and without overlap.

    Attributes:
        image: Where the image is.
        folder: What relative paths are relative to.
        caption: Its text.
        sentences: Labeled spans of it.
    """

    image: ImageRef
    folder: Path
    caption: str
    sentences: tuple[TrainingSentence, ...]

    @property
    def name(self) -> str:
        """The image's name: the same for all captions of an image."""
        if self.image.path is not None:
            return self.image.path
        content = self.image.data or (self.image.url or "").encode()
        return hashlib.sha256(content).hexdigest()

    def load(self) -> Image:
        """The image, upright. Raises `BadRecord`, or `UserError` for one in a training folder."""
        if self.image.path is not None and self.folder.is_dir():
            path = self.folder / self.image.path
            if path.is_file():
                return upright(path)
        return load_image(self.image, folder=self.folder)


@dataclass(frozen=True, slots=True)
class LabeledData:
    """Captions to measure on.

    Attributes:
        captions: Reread from the file each time.
        about: Their origin: name, files with digests, which part.
        reviser: Settings of the reviser that wrote the rewrites among them; {} for none.
    """

    captions: Sequence[LabeledCaption]
    about: Mapping[str, Any]
    reviser: Mapping[str, str]


def read_folder(data: Path, trained_on: Mapping[str, Any] | None) -> LabeledData:
    """The rows of a folder of `annotate import` or `annotate convert`, or of one JSONL file.

    Args:
        data: Folder or file.
        trained_on: The training data in the critic's card; None if we did not train it. If `data`
        is
            what it was trained on, only the validation split is read.
    """
    from revise_captions.signature import settings_of

    origin = provenance(data if data.is_dir() else data.parent)
    own = trained_on is not None and dict(trained_on) == dict(origin)
    splits = ["validation"] if own or data.is_file() else list(SPLITS)
    there = [name for name in splits if data.is_file() or (data / f"{name}.jsonl").is_file()]
    parts = [open_split(data, name) for name in there or splits[-1:]]
    said = settings_of(str(origin.get("signature") or ""))
    about = {
        "data": str(origin.get("name") or data.name),
        "files": [_file(part.path) for part in parts],
        **({"sample": origin["sample"]} if origin.get("sample") else {}),
    }
    captions = [caption for part in parts for caption in _captions(part)]
    reviser = {k: v for k, v in said.items() if k.startswith("reviser") and k not in _COMPUTED}
    return LabeledData(captions, about, reviser)


def _captions(part: Examples) -> Iterator[LabeledCaption]:
    for example in part:
        ref = ImageRef(path=example.image)
        yield LabeledCaption(ref, part.root, example.caption, example.sentences)


def with_rewrites(data: LabeledData, more: LabeledData) -> LabeledData:
    """The data with its rewrites replaced by those of other data.

    Raises:
        UserError: There are none.
    """
    own = [_only(caption, rewritten=False) for caption in data.captions]
    found = [_only(caption, rewritten=True) for caption in more.captions]
    if not any(caption.sentences for caption in found):
        raise UserError(
            f"no sentence of {more.about['data']} is marked as a rewrite",
            hint="--rewrites takes the output of `captions annotate import` for a run with "
            "rewrites",
        )
    captions = [caption for caption in (*own, *found) if caption.sentences]
    return LabeledData(captions, {**data.about, "rewrites_of": dict(more.about)}, more.reviser)


def _only(caption: LabeledCaption, *, rewritten: bool) -> LabeledCaption:
    kept = tuple(s for s in caption.sentences if s.rewritten is rewritten)
    return replace(caption, sentences=kept)


def read_benchmark(name: str, folder: Path) -> LabeledData:
    """The labeled sentences of a benchmark, read as published.

    Raises:
        UserError: There is no such benchmark, or it labels no sentences.
    """
    from revise_captions.benchmarks.catalog.table import benchmark
    from revise_captions.benchmarks.types import Example

    entry = benchmark(name)
    examples = (item for item in entry.read(folder) if isinstance(item, Example))
    found = [(example, _labeled(example)) for example in examples]
    captions = [
        LabeledCaption(example.record.image, folder, example.caption, sentences)
        for example, sentences in found
        if sentences
    ]
    if not captions:
        raise UserError(
            f"{name}: no caption in {folder} has a labeled sentence",
            hint="`captions benchmarks list` shows what is labeled",
        )
    digest = hashlib.sha256()
    for caption in captions:
        labels = [(s.span, s.factual) for s in caption.sentences]
        digest.update(repr((caption.name, caption.caption, labels)).encode("utf-8", "replace"))
    about = {"data": name, "labels_sha256": digest.hexdigest()}
    return LabeledData(captions, about, {})


def _labeled(example: Example) -> tuple[TrainingSentence, ...]:
    """Its labeled sentences, except any that overlap an earlier one.

    A sentence without a claim counts as factual, by VNLI-Critique's rule.
    """
    found: list[TrainingSentence] = []
    for one in sorted(example.sentences, key=lambda sentence: sentence.span):
        factual = True if one.factual is None and one.assessable is False else one.factual
        after = found[-1].span.end if found else 0
        if factual is None or one.span.start < after or not one.span.of(example.caption).strip():
            continue
        found.append(TrainingSentence(one.span, factual, one.assessable is not False, ()))
    return tuple(found)


def _file(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        return {"name": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
