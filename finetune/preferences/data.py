"""Preference pairs and images for TRL's trainers, with this package's image decoding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.errors import BadRecord, Reason, UserError, own_step
from revise_captions.io.fields import said
from revise_captions.io.images import load_image, parse_image
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import BadRow, Row
from revise_captions.records import ImageRef

if TYPE_CHECKING:
    from PIL.Image import Image

    from datasets import Dataset

#: Possible names of a row's image field; pairs have `images`.
IMAGE_FIELDS = ("images", "image", "image_path", "image_file", "file_name", "path", "url")


#: How many decoded images are kept.
RECENT = 64


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How rows become examples.

    Attributes:
        prompts: Prompts for the policy, rotating over rows; (): each row's own.
        by: Selects pairs decided by this score; "": all.
        reference_field: Holds the reference caption, for rewards that need one.
        image_root: Relative image paths start here; None: beside the file.
        allow_urls: Whether URLs are fetched.
        limit: Rows to read; None: all.
        added: Matches what the policy's tokenizer would take for one of its special tokens.
    """

    prompts: tuple[str, ...] = ()
    by: str = ""
    reference_field: str | None = None
    image_root: Path | None = None
    allow_urls: bool = False
    limit: int | None = None
    added: re.Pattern[str] = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class PreferenceExamples:
    """The examples in a file.

    Attributes:
        rows: In TRL's format, without their images.
        images: Their images, in the same order.
        bad: Rows that cannot be examples, each with its reason.
        folder: The file's folder.
        options: How they were read.
    """

    rows: list[dict[str, Any]]
    images: list[ImageRef]
    bad: list[BadRow]
    folder: Path
    options: ReadingOptions

    def image(self, number: int) -> Image:
        """The image of an example. Raises `BadRecord`."""
        return load_image(
            self.images[number],
            root=self.options.image_root,
            folder=self.folder,
            allow_urls=self.options.allow_urls,
        )

    def dataset(self) -> Dataset:
        """The data set for a trainer; an image is decoded when a batch needs it."""
        from datasets import Dataset

        numbered = [{**row, "images": number} for number, row in enumerate(self.rows)]
        # an image's captions are sampled together, so they share one object, encoded once
        image = lru_cache(maxsize=RECENT)(self.image)

        def decoded(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
            return {**batch, "images": [[image(number)] for number in batch["images"]]}

        return Dataset.from_list(numbered).with_transform(decoded)


def read_pairs(path: Path, options: ReadingOptions) -> PreferenceExamples:
    """Preference pairs: rows with `images`, `prompt`, `chosen` and `rejected`.

    Raises:
        UserError: No row is a pair decided by the chosen score.
    """
    return _read(path, options, _pair, "a preference pair: see captions preferences")


def read_images(path: Path, options: ReadingOptions) -> PreferenceExamples:
    """Images to caption, each once, from rows of any kind that have an image.

    Raises:
        UserError: No row has a readable image.
    """
    return _read(path, options, _prompt, "an image")


def _read(
    path: Path,
    options: ReadingOptions,
    example: Callable[[Mapping[str, Any], ReadingOptions, int], dict[str, Any]],
    wanted: str,
) -> PreferenceExamples:
    with closing(open_rows(str(path))) as source:
        found = PreferenceExamples([], [], [], source.folder, options)
        checked: dict[ImageRef, BadRecord | None] = {}
        for row in islice(source.rows(), options.limit):
            if isinstance(row, BadRow):
                found.bad.append(row)
            elif options.by and row.data.get("by", options.by) != options.by:
                continue
            else:
                _add(found, row, str(path), example, checked)
    if not found.rows:
        said = f": {found.bad[0].detail}" if found.bad else ""
        raise UserError(f"{path}: no row is {wanted}{said}")
    return found


def _add(
    found: PreferenceExamples,
    row: Row,
    name: str,
    example: Callable[[Mapping[str, Any], ReadingOptions, int], dict[str, Any]],
    checked: dict[ImageRef, BadRecord | None],
) -> None:
    """Adds a row to the examples, or to the bad rows. `checked`: images already looked at."""
    try:
        with own_step(Reason.UNEXPECTED_ERROR):
            made = example(row.data, found.options, len(found.rows))
            image = parse_image(_first(row.data, IMAGE_FIELDS))
            if image in checked and "chosen" not in made:
                return  # each image is captioned only once
            found.rows.append(made)
            found.images.append(image)
            if image not in checked:
                checked[image] = None
                checked[image] = _fault(found)
            if (fault := checked[image]) is not None:
                found.rows.pop()
                found.images.pop()
                raise fault
    except BadRecord as error:
        found.bad.append(BadRow.of(row, name, error))


def _fault(found: PreferenceExamples) -> BadRecord | None:
    """What is wrong with the last example's image."""
    try:
        found.image(len(found.images) - 1)
    except BadRecord as error:
        return error
    return None


def _pair(row: Mapping[str, Any], options: ReadingOptions, number: int) -> dict[str, Any]:
    """Raises `BadRecord` if the row is not a pair."""
    texts = {name: said(row.get(name)) for name in ("chosen", "rejected")}
    for name, text in texts.items():
        if not text.strip():
            raise BadRecord(Reason.MISSING_CAPTION, f'"{name}" holds no text of an assistant')
        if found := options.added.search(text):
            detail = f'"{name}" holds the special token {found[0]} of the policy'
            raise BadRecord(Reason.CAPTION_NOT_TEXT, detail)
    if texts["chosen"] == texts["rejected"]:
        raise BadRecord(Reason.BAD_REVISION, "`chosen` and `rejected` are the same text")
    return {
        "prompt": _question(row, options, number),
        **{name: [{"role": "assistant", "content": text}] for name, text in texts.items()},
    }


def _prompt(row: Mapping[str, Any], options: ReadingOptions, number: int) -> dict[str, Any]:
    """Raises `BadRecord` if the row lacks a required reference."""
    made: dict[str, Any] = {"prompt": _question(row, options, number)}
    if options.reference_field is not None:
        reference = row.get(options.reference_field)
        if not isinstance(reference, str) or not reference.strip():
            raise BadRecord(Reason.MISSING_CAPTION, f'no text in "{options.reference_field}"')
        made["reference"] = reference
    return made


def _question(row: Mapping[str, Any], options: ReadingOptions, number: int) -> list[dict[str, Any]]:
    own = said(row.get("prompt"))
    text = options.prompts[number % len(options.prompts)] if options.prompts else own
    if not text:
        detail = "the row has no `prompt`: give one with --prompt"
        raise BadRecord(Reason.MISSING_CAPTION, detail)
    return [{"role": "user", "content": text}]


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> object:
    """The value of the first field that the row has."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def columns(examples: PreferenceExamples, name: str) -> Iterator[str]:
    """The texts of one side of all pairs."""
    return (said(row[name]) for row in examples.rows)
