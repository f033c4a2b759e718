"""What `captions benchmarks` prints, and its export of captions."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.benchmarks.catalog.table import benchmarks
from revise_captions.benchmarks.checks import Checked
from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError
from revise_captions.io.writing import check_writable, write_json_lines
from revise_captions.outside_text import plain
from revise_captions.records import ImageRef


def listed() -> str:
    """One line for each benchmark: name, labels."""
    known = benchmarks()
    width = max(map(len, known))
    return "\n".join(f"{name:<{width}}  {known[name].labels}" for name in sorted(known))


def described(entry: Benchmark) -> str:
    """Everything that is known about one benchmark."""
    lines = [entry.title, "", entry.citation, ""]
    lines += [
        f"labels   {entry.labels}",
        f"license  {entry.licence}",
        f"get it   {entry.source} (nothing is fetched for you)",
        *(f"file     {pattern.replace('|', ' or ')}" for pattern in entry.files),
    ]
    for subset, counts in entry.expected.items():
        lines += ["", f"{subset}:", *(f"  {n:>9,}  {name}" for name, n in counts.items())]
    if entry.published:
        lines += ["", "published figures:"]
        lines += [f"  {value:>9}  {name}" for name, value in entry.published.items()]
    if entry.note:
        lines += ["", f"note: {entry.note}"]
    return "\n".join(lines)


def checked_text(entry: Benchmark, found: Checked) -> str:
    """The counts, and the published subset that they match or how they differ."""
    lines = [f"{n:>9,}  {plain(name)}" for name, n in found.counts.items()]
    if found.matches is not None:
        return "\n".join([*lines, "", f"these are the counts of: {entry.name}, {found.matches}"])
    for subset, wrong in found.differences.items():
        lines += ["", f"not {subset}:"]
        lines += [f"  {name}: {n:,} found, {want:,} expected" for name, (want, n) in wrong.items()]
    if not found.differences:
        lines += ["", "no counts are known to compare with"]
    return "\n".join(lines)


def row_of(example: Example, folder: Path) -> dict[str, Any]:
    """A caption as input of the other commands; image paths are relative to `folder`."""
    row: dict[str, Any] = {"id": example.id, "image_id": example.image}
    row |= _image(example.record.image, folder)
    row |= {"model": example.captioner, "subset": example.subset, "caption": example.caption}
    references = list(example.references)
    row["reference"] = references[0] if len(references) == 1 else references
    row["context"] = example.context
    sentences = [
        {
            "start": s.span.start,
            "end": s.span.end,
            "label": "factual" if s.factual else "nonfactual",
            "assessable": s.assessable is not False,
            "rationale": s.rationale,
            "error_types": list(s.error_types),
        }
        for s in example.sentences
        if s.factual is not None
    ]
    return {key: value for key, value in row.items() if value not in ("", None, [])} | (
        {"sentences": sentences} if sentences else {}
    )


def _image(image: ImageRef, folder: Path) -> dict[str, Any]:
    if image.path:
        path = Path(image.path)
        return {"image": str(path.relative_to(folder) if path.is_relative_to(folder) else path)}
    return {key: value for key, value in asdict(image).items() if value is not None}


def export(entry: Benchmark, folder: Path, out: Path, limit: int | None = None) -> int:
    """Writes a benchmark's captions as JSON Lines; returns how many."""
    if out.suffix != ".jsonl":
        raise UserError(
            f"{out}: the output is JSON Lines", hint="choose a name that ends in .jsonl"
        )
    check_writable(out, [folder], force=None)
    examples = (item for item in entry.read(folder) if isinstance(item, Example))
    return write_json_lines(out, (row_of(example, folder) for example in islice(examples, limit)))
