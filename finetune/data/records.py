"""Training data: captions with labeled and explained sentences.

A folder with `train.jsonl`, `validation.jsonl` and the images, or a JSONL file. A row:

    {"id": "…", "image": "images/000001.png", "image_index": 0, "caption": "…",
     "sentences": [{"start": 0, "end": 31, "label": "factual" | "nonfactual", "assessable": true,
                    "rationale": "…" | null, "rationales": ["…"], "rewrite": "…",
                    "weight": 1.0, "rewritten": false}],
     "description": "a dense true description of the image",
     "asides": [{"text": "…", "label": "factual" | "nonfactual", "rewrite": "…", "after": 0}]}

Spans are half-open code-point offsets into the caption, in order. `image_index` (optional) is the
image's row in `labels/<split>.npy`. `rewrite` is a true version of a wrong sentence, which training
asks about too; with `"needs_context": true` it is ignored, since its truth may depend on other
wrong sentences. `asides` are auxiliary sentences: labeled without context, they are asked about as
if a caption began with them, and share the image's row; alternatively, `after` says how many of the
caption's sentences they follow (fewer than all). Only span and label of a sentence, and text and
label of an auxiliary one, are required. `weight` (how many sentences of a run it stands for) and
`rewritten` (a reviser wrote it) are only used by captions calibrate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.io.checked_json import read_checked
from revise_captions.records import Span


@dataclass(frozen=True, slots=True)
class TrainingSentence:
    """A labeled sentence.

    Attributes:
        span: Half-open code-point offsets into the caption.
        factual: Its label.
        assessable: Whether the image shows enough to tell.
        rationales: What is wrong with it, in the words of each annotator.
        rewrite: A true version of a wrong sentence, or "".
        stands_alone: Whether it is known to need no context.
        weight: How many sentences of a run it stands for, as a sample of it.
        rewritten: Whether it is a reviser's rewrite.
    """

    span: Span
    factual: bool
    assessable: bool
    rationales: tuple[str, ...]
    rewrite: str = ""
    stands_alone: bool = False
    weight: float = 1.0
    rewritten: bool = False


@dataclass(frozen=True, slots=True)
class AuxiliaryExample:
    """A sentence labeled after the caption's first `after` ones. `rewrite`: a true version."""

    text: str
    factual: bool
    rewrite: str = ""
    after: int = 0


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A caption, its labeled sentences, and its image's path below the data folder."""

    id: str
    image: str
    caption: str
    sentences: tuple[TrainingSentence, ...]
    description: str
    auxiliary_sentences: tuple[AuxiliaryExample, ...] = ()

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(sentence.span for sentence in self.sentences)


class Examples(Sequence[TrainingExample]):
    """The rows of one JSONL file, kept as lines and parsed on access.

    Attributes:
        images: The distinct image paths.
        image_of: For each example, the index of its image.
        sizes: For each example, the approximate length of its packed row in characters; batches
            of similar lengths need little padding.
        own: How many examples are the file's own; replayed ones (`add`) follow.
        own_images: The same for images.
        replayed: The folder of the replayed data.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root = path, root
        self.lines: list[bytes] = []
        self.images: list[str] = []
        self.image_of: list[int] = []
        self.sizes: list[int] = []
        known: dict[str, int] = {}
        placed: dict[int, str] = {}
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                example, index = self._checked(line, number)
                index = known.setdefault(example.image, len(known) if index is None else index)
                if placed.setdefault(index, example.image) != example.image:
                    raise self._error(number, f"image_index {index} names two different images")
                self.lines.append(line)
                self.image_of.append(index)
                self.sizes.append(_size(example))
        if not self.lines:
            raise UserError(f"{path} has no rows")
        if sorted(placed) != list(range(len(placed))):
            raise UserError(f"{path}: image_index values are not 0…{len(placed) - 1} without gaps")
        self.images = [placed[index] for index in range(len(placed))]
        self.own = len(self.lines)
        self.own_images = len(self.images)
        self.replayed: Path | None = None

    def add(self, other: Examples) -> None:
        """Appends another file's examples, with absolute image paths."""
        before, self.replayed = len(self.images), other.root
        self.images += [str((other.root / image).resolve()) for image in other.images]
        self.image_of += [before + index for index in other.image_of]
        self.lines += other.lines
        self.sizes += other.sizes

    def _error(self, number: int, detail: str) -> UserError:
        return UserError(
            f"{self.path}, line {number}: {detail}",
            hint="see `captions finetune --help` for an example row",
        )

    def _checked(self, line: bytes, number: int) -> tuple[TrainingExample, int | None]:
        try:
            row = json.loads(line)
            example = parse(row)
        except (*MALFORMED, RecursionError) as error:
            raise self._error(number, f"not a training row: {error!r}") from None
        end = 0
        for sentence in example.sentences:
            if not end <= sentence.span.start < sentence.span.end <= len(example.caption):
                raise self._error(
                    number, f"span {tuple(sentence.span)} is empty, out of order or out of bounds"
                )
            end = sentence.span.end
        if not example.sentences:
            raise self._error(number, "no sentences")
        if any(not 0 <= a.after < len(example.sentences) for a in example.auxiliary_sentences):
            raise self._error(number, "an auxiliary sentence (asides) `after` more than there are")
        return example, row.get("image_index")

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> TrainingExample:  # type: ignore[override]
        example = parse(json.loads(self.lines[index]))
        if index < self.own:
            return example
        return replace(example, image=self.images[self.image_of[index]])

    def __iter__(self) -> Iterator[TrainingExample]:
        return (self[index] for index in range(len(self)))


def _size(example: TrainingExample) -> int:
    """Characters of a packed row with all rewrites, and rationales for two wrong sentences."""
    overhead = 30  # a question's template, in characters' worth of tokens
    size = 2 * len(example.caption) + overhead * len(example.sentences)
    size += sum(len(s.rewrite) + overhead for s in example.sentences if s.rewrite)
    size += sum(len(a.text) + len(a.rewrite) + overhead for a in example.auxiliary_sentences)
    wrong = [s for s in example.sentences if s.rationales][:2]
    return size + sum(s.span.end - s.span.start + len(s.rationales[0]) + overhead for s in wrong)


#: What a malformed row raises.
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, OverflowError)


def parse(row: Mapping[str, Any]) -> TrainingExample:
    """One row of training data. Raises one of `MALFORMED` on a malformed one."""
    sentences = []
    for item in row["sentences"]:
        factual = _factual(item)
        rationales = _rationales(item)
        rewrite = "" if factual or item.get("needs_context") else str(item.get("rewrite") or "")
        span = Span(int(item["start"]), int(item["end"]))
        assessable = bool(item.get("assessable", True))
        alone = item.get("needs_context") is False
        weight, rewritten = float(item.get("weight", 1.0)), item.get("rewritten") is True
        if not 0 < weight < float("inf"):
            raise ValueError(f"weight {weight}, expected a positive number")
        text = (rationales, rewrite, alone)
        sentences.append(TrainingSentence(span, factual, assessable, *text, weight, rewritten))
    return TrainingExample(
        str(row.get("id", "")),
        str(row["image"]),
        str(row["caption"]),
        tuple(sentences),
        str(row.get("description") or ""),
        tuple(_auxiliary(item) for item in row.get("asides") or ()),
    )


def _rationales(item: dict[str, Any]) -> tuple[str, ...]:
    told = item.get("rationales") or ([item["rationale"]] if item.get("rationale") else [])
    if not isinstance(told, list) or not all(isinstance(one, str) for one in told):
        raise TypeError(f"rationales {told!r:.80}, expected texts")
    return tuple(told)


def _factual(item: dict[str, Any]) -> bool:
    if item["label"] not in ("factual", "nonfactual"):
        raise ValueError(f"label {item['label']!r}, expected 'factual' or 'nonfactual'")
    return bool(item["label"] == "factual")


def _auxiliary(item: dict[str, Any]) -> AuxiliaryExample:
    text, factual = str(item["text"]).strip(), _factual(item)
    if not text:
        raise ValueError("an auxiliary sentence (asides) without text")
    rewrite = "" if factual else str(item.get("rewrite") or "")
    return AuxiliaryExample(text, factual, rewrite, int(item.get("after") or 0))


def open_split(data: Path, split: str) -> Examples:
    """`data/<split>.jsonl`. Raises UserError if it is missing or malformed."""
    path = data / f"{split}.jsonl" if data.is_dir() else data
    if not path.is_file():
        raise UserError(
            f"no {split} data: {path} does not exist",
            hint="DATA is a folder with train.jsonl, validation.jsonl and the images",
        )
    return Examples(path, path.parent)


def add_replay(train: Examples, replay: str, share: float) -> None:
    """Appends the train split of `replay` to `train`; "" adds nothing.

    Args:
        share: Share of replayed captions among all that are trained on.

    Raises:
        UserError: `share` is not between 0 and 1, or there is no such data.
    """
    if not replay:
        return
    if not 0 < share < 1:
        raise UserError(
            f"--replay-share {share:g}: expected a number between 0 and 1",
            hint="0.5 is as many replayed captions as the data has",
        )
    train.add(open_split(Path(replay), "train"))


def provenance(root: Path) -> dict[str, Any]:
    """The content of `data.json`: title, license, whether it is a benchmark; {} without the file.

    `captions annotate` writes it, and critic.json repeats it.
    """
    path = root / "data.json"
    if not path.is_file():
        return {}
    what = "a description of data"
    return read_checked(dict[str, Any], path, what=what, hint="mend it, or remove it")


def judged_texts(examples: Examples) -> Iterator[str]:
    """Every text that training asks about, or uses as context, except replayed ones."""
    for index in range(examples.own):
        example = examples[index]
        yield example.caption
        yield from (sentence.rewrite for sentence in example.sentences if sentence.rewrite)
        for auxiliary in example.auxiliary_sentences:
            yield from filter(None, (auxiliary.text, auxiliary.rewrite))


def texts(examples: Examples, limit: int = 20_000) -> Iterator[str]:
    """Captions, rationales and descriptions of about `limit` examples, for a new tokenizer.

    Replayed examples are left out: the base knows their words.
    """
    for index in range(0, examples.own, max(1, examples.own // limit)):
        example = examples[index]
        yield example.caption
        yield from (text for sentence in example.sentences for text in sentence.rationales)
        yield from (auxiliary.text for auxiliary in example.auxiliary_sentences)
        if example.description:
            yield example.description
