"""Training data from a file of labels: its rows merged by caption, and split by image."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from revise_captions.errors import BadRecord, UserError, described
from revise_captions.finetune.data.labeled_rows import LabeledText, LabelKind, RowOptions, kind_of
from revise_captions.finetune.data.records import MALFORMED, parse, provenance
from revise_captions.io.fields import look_up
from revise_captions.io.images import parse_image
from revise_captions.io.perceptual_hash import groups
from revise_captions.io.readers import FIRST_ROWS, open_rows
from revise_captions.io.rows import BadRow, Row
from revise_captions.records import ImageRef
from revise_captions.text.formatting import plural
from revise_captions.training_data.folder import (
    Provenance,
    open_training_folder,
    splits,
    write_about,
)
from revise_captions.training_data.images import ImageFolder

BOTH = "sentences that are labeled right and wrong"
OVERLAP = "sentences that overlap another"
BEHIND = "auxiliary sentences (asides) `after` more than there are"


@dataclass(slots=True)
class _Gathered:
    """All labels, by image and caption."""

    captions: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)

    def leave_out(self, why: str, line: int) -> None:
        self.left_out[why] += 1
        self.first.setdefault(why, line)

    def add(self, image: str, text: LabeledText) -> None:
        """Adds a row's labels; raises one of `MALFORMED` if training could not read them."""
        row = {"image": image, "caption": text.caption, "sentences": text.sentences}
        parse({**row, **text.more})
        new: dict[str, Any] = {"sentences": {}, **text.more}
        about = self.captions.setdefault((image, text.caption), new)
        for item in text.sentences:
            place = int(item["start"]), int(item["end"])
            if not 0 <= place[0] < place[1] <= len(text.caption):
                raise ValueError(f"span {place} is empty or out of bounds")
            read = {**item, "start": place[0], "end": place[1]}
            about["sentences"].setdefault(place, []).append(read)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Training rows; labels that cannot be in one are counted."""
        for number, ((image, caption), about) in enumerate(self.captions.items(), start=1):
            sentences: list[dict[str, Any]] = []
            for place, items in sorted(about["sentences"].items()):
                if len({item["label"] for item in items}) > 1:
                    self.left_out[BOTH] += len(items)
                elif sentences and place[0] < sentences[-1]["end"]:
                    self.left_out[OVERLAP] += len(items)
                else:
                    sentences.append(_merged(items))
            if sentences:
                row = {"id": str(number), "image": image, "caption": caption}
                asides = self._placed(about.get("asides") or (), len(sentences))
                kept = {**about, "asides": asides, "sentences": sentences}
                yield {**row, **{name: value for name, value in kept.items() if value}}

    def _placed(self, asides: Sequence[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
        """The auxiliary sentences that follow one of `count` sentences, or none."""
        placed = [one for one in asides if 0 <= int(one.get("after") or 0) < count]
        self.left_out[BEHIND] += len(asides) - len(placed)
        return placed


def _merged(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Merges several people's labels of a sentence, with all their rationales."""
    given = [told for item in items for told in (item.get("rationales") or [item.get("rationale")])]
    if rationales := list(dict.fromkeys(filter(None, given))):
        return items[0] | {"rationale": max(rationales, key=len), "rationales": rationales}
    return items[0]


def is_split(data: Path) -> bool:
    """Whether the data are ready to train on; a folder without train.jsonl is refused later."""
    return data.is_dir() and (
        (data / "validation.jsonl").is_file() or not (data / "train.jsonl").is_file()
    )


@contextmanager
def ready(data: Path, options: RowOptions) -> Iterator[tuple[Path, str]]:
    """A folder to train on, and a message about it: `data`, or a temporary one made from it.

    The same file gives the same split, in every process and in a resumed run.

    Raises:
        UserError: No label can be read from `data`.
    """
    if is_split(data):
        yield data, ""
        return
    with tempfile.TemporaryDirectory(prefix="finetune-data-") as made:
        folder = Path(made)
        yield folder, split_file(data / "train.jsonl" if data.is_dir() else data, folder, options)


def split_file(data: Path, out: Path, options: RowOptions) -> str:
    """Writes train.jsonl, validation.jsonl and data.json, and describes their origin.

    Images stay where they are, except those that are not files: these go to `out`/images.

    Raises:
        UserError: No row can be used, or the fields are not known.
    """
    store, found = ImageFolder(out), _Gathered()
    with closing(open_rows(str(data))) as source:
        first = islice((row.data for row in source.read() if isinstance(row, Row)), FIRST_ROWS)
        kind = kind_of(list(first), options)
        stored: dict[ImageRef, str] = {}
        for row in source.rows():
            if isinstance(row, BadRow):
                found.leave_out(row.detail, row.line)
                continue
            try:
                ref = parse_image(look_up(row.data, kind.image))
                texts = kind.read(row.data)
                if ref not in stored:
                    stored[ref] = _image(store, ref, source.folder, options)
                for text in texts:
                    found.add(stored[ref], text)
            except BadRecord as error:
                found.leave_out(error.detail, row.line)
            except MALFORMED as error:
                plain = type(error) is ValueError
                found.leave_out(str(error) if plain else described(error), row.line)
    rows = list(found.rows())
    if not rows:
        why, line = next(iter(found.first.items()), ("it has none", 0))
        raise UserError(f"{data}: no row is usable for training; line {line}: {why}")
    used = {row["image"] for row in rows}
    prints = {name: seen for name, seen in store.prints.items() if name in used}
    sides = splits(groups(prints), options.validation_share)
    with open_training_folder(out, sides) as folder:
        for made in rows:
            folder.add(made)
    made_by = f"captions finetune {data.name} --validation-share {options.validation_share:g}"
    write_about(out, _about(data, kind), folder, made_by, found.left_out)
    return "\n".join(_said(data, kind, found))


def _image(store: ImageFolder, ref: ImageRef, folder: Path, options: RowOptions) -> str:
    root = options.image_root
    if ref.path is not None:
        return store.look_at(ref, image_root=root, folder=folder)
    return store.add(ref, image_root=root, folder=folder, allow_urls=options.allow_urls)


def _about(data: Path, kind: LabelKind) -> Provenance:
    """The provenance file beside it, if there is one; else its name."""
    stated: Mapping[str, Any] = provenance(data.parent)
    own = {name: stated[name] for name in Provenance.__slots__ if name in stated}
    if own.keys() >= {"name", "title", "citation", "licence", "source"}:
        return Provenance(**own)
    return Provenance(data.stem, data.name, "", "", "", note=kind.title, judged=kind.judged)


def _said(data: Path, kind: LabelKind, found: _Gathered) -> Iterator[str]:
    yield f"{data.name}: {kind.title}; split by image"
    for why, count in (+found.left_out).most_common(5):
        where = f" (first: line {found.first[why]})" if why in found.first else ""
        of = "" if why in (BOTH, OVERLAP, BEHIND) else f"{plural(count, 'row')}: "
        yield f"left out: {of or f'{count:,} '}{why}{where}"
