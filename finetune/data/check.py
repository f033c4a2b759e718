"""The data check before training.

It refuses malformed rows (`data.records`), missing or undecodable images, a single class, wrong
sentences without a rationale, duplicate rows, and images shared with an evaluation split: the same
file, or the same by perceptual hash (`io.perceptual_hash`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.image_cache import upright
from revise_captions.finetune.data.records import (
    Examples,
    add_replay,
    open_split,
    provenance,
)
from revise_captions.io.perceptual_hash import (
    Fingerprint,
    alike,
    candidates,
    fingerprint,
)
from revise_captions.io.rows import parse_json
from revise_captions.text.formatting import plural

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"}
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Prints:
    """Images by name: the file's SHA-256 and its perceptual hash."""

    names: tuple[str, ...]
    content: tuple[str, ...]
    sight: tuple[Fingerprint, ...]


def _print(path: Path) -> tuple[str, Fingerprint]:
    data = path.read_bytes()
    try:
        image = upright(data)
    except UserError as error:
        raise UserError(f"{path}: {error.message}", hint=error.hint) from None
    return hashlib.sha256(data).hexdigest(), fingerprint(image)


def fingerprints(paths: Sequence[Path], names: Sequence[str]) -> Prints:
    """Fingerprints, in the given order. Raises UserError for a missing or undecodable image."""
    if missing := [path for path in paths if not path.is_file()]:
        more = f" (and {len(missing) - 1:,} more)" * (len(missing) > 1)
        raise UserError(
            f"image {missing[0]} does not exist{more}",
            hint="image paths are relative to the folder of the JSONL file",
        )
    if len(paths) > 200:
        with ProcessPoolExecutor() as pool:
            made = list(pool.map(_print, paths, chunksize=64))
    else:
        made = [_print(path) for path in paths]
    return Prints(tuple(names), tuple(c for c, _ in made), tuple(sight for _, sight in made))


def shared(a: Prints, b: Prints) -> list[tuple[str, str, str]]:
    """(name in a, name in b, kind of match) for every image of `a` also in `b`, one match each."""
    known = {content: name for name, content in zip(b.names, b.content, strict=True)}
    found: dict[str, tuple[str, str, str]] = {}
    for name, content in zip(a.names, a.content, strict=True):
        if content in known:
            found[name] = (name, known[content], "the same file")
    for i, j in candidates(a.sight, b.sight):
        name = a.names[i]
        if name not in found and alike(a.sight[i], b.sight[j]):
            found[name] = (name, b.names[j], "the same by sight")
    return list(found.values())


def images_of(path: Path) -> Iterator[Path]:
    """The images of a held-out set: those in a folder, or those named by a JSONL file's rows."""
    if path.is_dir():
        yield from sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES)
        return
    from revise_captions.io.fields import IMAGES

    names = set()
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = parse_json(line)
                name = next(str(row[key]) for key in IMAGES if row.get(key))
            except (ValueError, AttributeError, StopIteration):
                raise UserError(
                    f"{path}, line {number}: no image",
                    hint="--held-out takes a folder of images, or JSONL rows that name them",
                ) from None
            if name not in names:
                names.add(name)
                yield path.parent / name


def check_data(
    data: Path, held_out: Sequence[Path], allow: Sequence[str], settings: TrainingSettings
) -> str:
    """Checks the data and describes it, one finding per line.

    Args:
        allow: Names of problems to report instead of raising.

    Raises:
        UserError: The data has a problem that is not allowed.
    """
    train, validation = open_split(data, "train"), open_split(data, "validation")
    lines = [*_described("train", train), *_described("validation", validation)]
    _both_classes(train)
    found: list[tuple[str, str, str]] = []
    found += _unexplained(train, settings)
    found += _duplicates(train)
    add_replay(train, settings.data.replay, settings.data.replay_share)
    if settings.data.replay:
        lines += [
            f"replayed: {plural(len(train) - train.own, 'caption')} of {settings.data.replay}"
        ]
    prints = fingerprints([train.root / i for i in train.images], train.images)
    others = [("validation", [validation.root / i for i in validation.images])]
    others += [(str(path), list(images_of(path))) for path in held_out]
    for name, paths in others:
        pairs = shared(prints, fingerprints(paths, [str(p) for p in paths]))
        lines.append(
            f"{name}: {plural(len(paths), 'image')}, {len(pairs):,} of them also trained on"
        )
        found += _shared_images(name, pairs)
    for kind, what, hint in found:
        if kind not in allow:
            raise UserError(what, hint=f"{hint}, or add --allow {kind}")
        lines.append(f"allowed: {what}")
    return "\n".join(lines)


def _described(name: str, examples: Examples) -> list[str]:
    sentences = [s for example in examples for s in example.sentences]
    wrong = [s for s in sentences if not s.factual]
    explained = sum(bool(s.rationales) for s in wrong)
    return [
        f"{name}: {plural(len(examples), 'caption')} of {plural(len(examples.images), 'image')}, "
        f"{plural(len(sentences), 'sentence')}, {len(wrong):,} wrong "
        f"({len(wrong) / len(sentences):.0%}), {explained:,} of those explained"
    ]


def _both_classes(train: Examples) -> None:
    classes = {s.factual for example in train for s in example.sentences}
    if len(classes) == 1:
        kind = "factual" if classes == {True} else "nonfactual"
        raise UserError(
            f"every sentence in {train.path} is {kind}",
            hint="training needs sentences of both labels",
        )


def _unexplained(train: Examples, settings: TrainingSettings) -> Iterator[tuple[str, str, str]]:
    without = [
        (example.id or str(number), s)
        for number, example in enumerate(train, start=1)
        for s in example.sentences
        if not s.factual and not s.rationales
    ]
    if without and settings.losses.rationale and provenance(train.root).get("judged", True):
        yield (
            "missing-rationales",
            f"{len(without):,} wrong sentences have no rationale (first: caption {without[0][0]})",
            "explain them (in a file of labels, --rationale-field names where), train without "
            "(--rationale-weight 0)",
        )


def _duplicates(train: Examples) -> Iterator[tuple[str, str, str]]:
    counts = Counter((example.image, example.caption) for example in train)
    twice = [(image, count) for (image, _), count in counts.items() if count > 1]
    if twice:
        yield (
            "duplicates",
            f"{len(twice):,} captions occur more than once with the same image "
            f"(first: {twice[0][1]} times with {twice[0][0]})",
            "merge their rows (several rationales go into `rationales`)",
        )


def _shared_images(
    name: str, pairs: Sequence[tuple[str, str, str]]
) -> Iterable[tuple[str, str, str]]:
    if pairs:
        shown = "; ".join(f"{a} is {b} ({how})" for a, b, how in pairs[:SHOWN])
        yield (
            "shared-images",
            f"{len(pairs):,} training images are in {name} too: {shown}",
            "leave them out of train.jsonl",
        )
