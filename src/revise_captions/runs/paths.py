"""The names of files beside an output."""

from __future__ import annotations

from pathlib import Path


def journal_path(out: str) -> Path:
    """`out.jsonl.journal`; for standard output, in the current folder."""
    return Path("stdout.journal" if out == "-" else f"{out.rstrip('/')}.journal")


def quarantine_path(out: str) -> Path:
    """`out.quarantine.jsonl` for `out.jsonl`; for any other name, the whole name plus the suffix.

    So `out.jsonl` and `out.jsonl.gz` do not share one.
    """
    return Path("stdout.quarantine.jsonl" if out == "-" else f"{stem(out)}.quarantine.jsonl")


def stem(out: str) -> str:
    """The part of an output's name that its quarantine's begins with."""
    return out.rstrip("/").removesuffix(".jsonl")  # a folder's name may end in a slash
