"""What `captions posh` does: a file of pairs in, a file of scores out, a window at a time.

A line without a pair becomes a line with the reason in `error`; their number is printed. OUT
appears under its name when it is complete.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import click

from revise_captions.command_line.printing import echo
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import Reason, UserError, described
from revise_captions.graphs.grading.judge import Judge
from revise_captions.graphs.parse import load_pipeline
from revise_captions.io.readers import Source, open_rows
from revise_captions.io.rows import BadRow, Row, dumps
from revise_captions.io.signature_file import as_text, is_signatures, signatures_path
from revise_captions.io.writing import cannot_write, check_writable, replacing, write_text
from revise_captions.isolation import Raised, isolated
from revise_captions.posh.corpus import CRITERIA, PairStatistics, mean, row_of
from revise_captions.posh.display import for_terminal
from revise_captions.posh.load import load_coreference, load_judge
from revise_captions.posh.page import render
from revise_captions.posh.scoring import (
    Graded,
    Pair,
    Score,
    score_captions,
    signature_of,
)
from revise_captions.signature import digest

_WINDOW = 256
#: What can always be scored.
_PLAIN = Pair("A dog stands near the tree.", ("A dog stands near the tree.",))
Scorer = Callable[[Iterable[Pair]], Iterator[Score]]


@dataclass(frozen=True, slots=True)
class PoshOptions:
    """The command's arguments; see `captions posh --help`."""

    source: Path
    out: Path
    generation_field: str = "generation"
    reference_field: str = "reference"
    group_field: str = ""
    judge: str = "offline"
    encoder: str = ""
    parser: str = "bundled"
    coreference: str = "rules"
    engine: str = "transformers"
    device: str = "auto"
    batch_size: int = 16
    trust_remote_code: bool = False
    no_rewriting: bool = False
    unreadable_is_absent: bool = False
    html: Path | None = None
    show: int = 0
    force: bool = False


@dataclass(slots=True)
class PoshCounts:
    """What a run found: a row per scored pair, and how many lines were none."""

    rows: list[PairStatistics] = field(default_factory=list)
    failed: int = 0
    shown: int = 0


def run(job: PoshOptions, judge: Judge | None = None) -> PoshCounts:
    """Scores the file and prints the means. Raises UserError before anything is written."""
    with closing(open_rows(str(job.source))) as source:
        return _run(job, source, judge)


def _run(job: PoshOptions, source: Source, judge: Judge | None) -> PoshCounts:
    reads: list[Path | str] = [job.source, job.judge, job.parser, job.coreference]
    reads += [job.encoder] if job.encoder else []
    check_writable(job.out, reads, force=job.force)
    beside = signatures_path(job.out)
    check_writable(beside, reads, force=None, ours=is_signatures)
    if job.html is not None:
        check_writable(job.html, reads, force=job.force)
        if job.html.resolve() == job.out.resolve():
            raise UserError(f"--html {job.html} is OUT", hint="name another file")
    load_pipeline(job.parser)  # what is missing is said before a judge is loaded
    if judge is None:
        judge = load_judge(
            job.judge,
            Placement(
                job.engine,
                job.device,
                batch_size=job.batch_size,
                trust_remote_code=job.trust_remote_code,
            ),
            encoder=job.encoder,
            rewriting=not job.no_rewriting,
            unreadable_is_absent=job.unreadable_is_absent,
        )
    coreference = load_coreference(job.coreference, job.device)
    signature = signature_of(judge, job.parser, coreference)
    outcome = PoshCounts()

    def score(pairs: Iterable[Pair]) -> Iterator[Score]:
        return score_captions(pairs, judge, job.parser, coreference)

    with ExitStack() as files:
        lines = files.enter_context(_whole(job.out))
        page = files.enter_context(_whole(job.html)) if job.html is not None else None
        scored = _scored(job, source, score, digest(signature), lines, outcome)
        if page is not None:
            page.write(render(scored, job.source.name, signature))
        else:
            for _ in scored:
                pass
        write_text(beside, as_text({digest(signature): signature}))
    _print(outcome, signature)
    return outcome


@contextmanager
def _whole(path: Path) -> Iterator[IO[str]]:
    """A text file that appears under its name only when it is complete."""
    try:
        with replacing(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
            yield text
            text.flush()
            text.detach()
    except OSError as error:
        raise cannot_write(path, error) from error


def _scored(
    job: PoshOptions,
    source: Source,
    scorer: Scorer,
    signature: str,
    out: IO[str],
    outcome: PoshCounts,
) -> Iterator[tuple[str, Score]]:
    """Writes a line for each of the source's, in order; yields what was scored, with its name.

    A pair that raises where it is scored alone becomes a line with the exception.
    """
    rows = source.rows()
    while window := list(islice(rows, _WINDOW)):
        read = [_read(job, row) for row in window]
        for found in _together(read, scorer):
            if isinstance(found, _Failed):
                outcome.failed += 1
                out.write(json.dumps({"line": found.line, "error": found.why}) + "\n")
                continue
            item, score = found
            row = row_of(score, item.group)
            outcome.rows.append(row)
            out.write(_line(item, row, score, signature))
            if outcome.shown < job.show:
                outcome.shown += 1
                click.echo(for_terminal(score, color=sys.stdout.isatty()) + "\n")
            yield item.group, score
        echo(f"{len(outcome.rows)} pairs scored", err=True)


def _together(
    read: Sequence[_Read | _Failed], scorer: Scorer
) -> Iterator[tuple[_Read, Score] | _Failed]:
    """A window's pairs with their scores, or why they have none."""

    def score(items: Sequence[_Read]) -> list[Score]:
        return list(scorer(item.pair for item in items))

    pairs = [item for item in read if isinstance(item, _Read)]
    found = iter(isolated(pairs, score, lambda: score([_Read(0, "", _PLAIN)])))
    for item in read:
        if isinstance(item, _Failed):
            yield item
            continue
        scored = next(found)
        if isinstance(scored, Raised):
            yield _Failed(item.line, described(scored.error))
        else:
            yield item, scored


@dataclass(frozen=True, slots=True)
class _Read:
    line: int
    group: str
    pair: Pair


@dataclass(frozen=True, slots=True)
class _Failed:
    line: int
    why: str


_NOT_JSON = {Reason.MALFORMED_JSON: "not JSON", Reason.NOT_AN_OBJECT: "not a JSON object"}


def _read(job: PoshOptions, found: Row | BadRow) -> _Read | _Failed:
    number = found.line
    if isinstance(found, BadRow):
        return _Failed(number, _NOT_JSON.get(found.reason, found.detail))
    row = found.data
    generation, references = row.get(job.generation_field), row.get(job.reference_field)
    if isinstance(references, str):
        references = [references]
    if not isinstance(generation, str) or not generation.strip():
        return _Failed(number, f"no text in the field {job.generation_field!r}")
    if not isinstance(references, list) or not references:
        return _Failed(number, f"no text in the field {job.reference_field!r}")
    if not all(isinstance(text, str) and text.strip() for text in references):
        return _Failed(number, f"the field {job.reference_field!r} holds what is no text")
    group = row.get(job.group_field) if job.group_field else None
    name = str(group) if group is not None else f"line {number}"
    return _Read(number, name, Pair(generation, tuple(references)))


def _line(item: _Read, row: PairStatistics, score: Score, signature: str) -> str:
    """One line of OUT. Spans are `[start, end)` in code points of their text."""
    found: dict[str, Any] = {"line": item.line}
    found |= {name: _rounded(row.value(name)) for name in CRITERIA}
    found["statistics"] = row.as_json()
    found["generation"] = _graded(score.generation)
    found["references"] = [_graded(graded) for graded in score.references]
    found["signature"] = signature
    return dumps(found) + "\n"


def _graded(graded: Graded) -> list[dict[str, Any]]:
    return [
        {
            "part": str(part.part),
            "component": part.phrase(graded.graph),
            "span": list(part.span),
            "grade": _rounded(grade.score),
            **({"unscored": grade.unscored} if grade.unscored else {}),
        }
        for part, grade in zip(graded.parts, graded.grades, strict=True)
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _print(outcome: PoshCounts, signature: str, echo: Callable[[str], None] = echo) -> None:
    for criterion in CRITERIA:
        echo(mean(outcome.rows, criterion).line(criterion, "pairs"))
    parts = [side for row in outcome.rows for side in (row.mistakes, row.omissions)]
    unscored = sum(side.unscored for side in parts)
    asked = unscored + sum(side.scored for side in parts)
    echo(f"{len(outcome.rows)} pairs, {asked} components, {unscored} of them unscored")
    if outcome.failed:
        echo(f"{outcome.failed} lines of IN hold no pair: see `error` in OUT")
    echo(signature)
