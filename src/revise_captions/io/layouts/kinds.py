"""Which format an input has, by its name and its first bytes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.io.layouts.coco import is_coco
from revise_captions.io.layouts.delimited import looks_delimited
from revise_captions.io.layouts.image_folder import has_captions_beside, metadata_of


class InputKind(StrEnum):
    """The formats of input."""

    JSONL = "JSON Lines"
    JSON = "JSON array"
    COCO = "COCO JSON"
    CSV = "CSV"
    PARQUET = "Parquet"
    TAR = "WebDataset tar"
    METADATA = "image folder with a metadata file"
    SIDECARS = "folder of images with captions beside them"
    HUB = "Hugging Face dataset"


FOLDERS = (InputKind.METADATA, InputKind.SIDECARS, InputKind.HUB)
"""What is written as a folder, too."""
_KINDS = {
    ".jsonl": InputKind.JSONL,
    ".ndjson": InputKind.JSONL,
    ".json": InputKind.JSON,
    ".csv": InputKind.CSV,
    ".tsv": InputKind.CSV,
    ".tab": InputKind.CSV,
    ".parquet": InputKind.PARQUET,
    ".pq": InputKind.PARQUET,
    ".tar": InputKind.TAR,
    ".tgz": InputKind.TAR,
}


def kind_of_name(name: str) -> InputKind | None:
    """The kind that a file name asks for (`.json` for an array), None where it does not say."""
    return _KINDS.get(suffix_of(Path(name)))


def suffix_of(path: Path) -> str:
    """The name's suffix in lower case, before that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst", ".zstd"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def kind_of_file(path: Path) -> InputKind:
    """By the name; by the content where the name leaves a choice. Raises `UserError`."""
    kind = kind_of_name(path.name)
    return kind_of_content(path, str(path)) if kind in (None, InputKind.JSON) else kind


def kind_of_content(path: Path, name: str) -> InputKind:
    """By a file's first bytes. Raises `UserError` for a format that cannot be read."""
    from revise_captions.io.jsonl import chunks

    head = next(chunks(path, name), b"")
    if head.startswith(b"PAR1"):
        return InputKind.PARQUET
    if head[257:262] == b"ustar":
        return InputKind.TAR
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return InputKind.JSON
    if text.startswith(b"{") and is_coco(path, name):
        return InputKind.COCO
    if text.startswith((b"{", b"\xff\xfe", b"\xfe\xff")) or not text:
        return InputKind.JSONL
    if suffix_of(path) == ".json":
        return InputKind.JSONL
    if looks_delimited(head):
        return InputKind.CSV
    hint = "expected JSON Lines, a JSON array, COCO JSON, CSV, Parquet or a tar, or a folder"
    raise UserError(f"{name} has a format that cannot be read", hint=hint)


def kind_of_folder(folder: Path) -> InputKind:
    """Images with captions, unless it is what `datasets` saved or a repository of its files."""
    if any((folder / name).is_file() for name in ("state.json", "dataset_dict.json")):
        return InputKind.HUB
    if metadata_of(folder) is not None:
        return InputKind.METADATA
    return InputKind.SIDECARS if has_captions_beside(folder) else InputKind.HUB
