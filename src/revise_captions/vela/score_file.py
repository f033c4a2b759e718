"""What `captions vela` does: captions in, a file of scores out, a window at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from revise_captions.command_line.printing import echo
from revise_captions.errors import BadRecord
from revise_captions.io.fields import Fields
from revise_captions.io.images import load_image
from revise_captions.io.readers import Source, open_source
from revise_captions.io.rows import BadRow, dumps
from revise_captions.io.writing import check_writable, replacing, write_json_lines
from revise_captions.records import Record
from revise_captions.runs.paths import quarantine_path
from revise_captions.signature import signature
from revise_captions.stats.paired_tests import Floats, measured
from revise_captions.vela.branches import VelaItem
from revise_captions.vela.feature_cache import FeatureCache, check_cache
from revise_captions.vela.trained import Vela, VelaScore, load_vela


@dataclass(frozen=True, slots=True)
class ScoreJob:
    """The arguments of `captions vela`; see its `--help`."""

    metric: Path
    source: str
    out: Path
    image_field: str | None = None
    caption_field: str | None = None
    reference_field: str = "references"
    image_root: Path | None = None
    allow_urls: bool = False
    limit: int | None = None
    language: str = ""
    pair: str = ""
    cache: Path | None = None
    window: int = 64
    batch_size: int = 16
    device: str = "auto"
    force: bool = False


@dataclass(slots=True)
class ScoreCounts:
    """What a run found.

    Attributes:
        scores: Of each perspective, (image, score) of each scored caption.
        unscored: Captions without a score, by reason.
        cut_prompt: Captions whose prompt lost tokens.
        cut_pair: Captions that the text tower read in part.
        bad: Rows for the quarantine.
    """

    scores: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    unscored: Counter[str] = field(default_factory=Counter)
    cut_prompt: int = 0
    cut_pair: int = 0
    bad: list[BadRow] = field(default_factory=list)


def run(job: ScoreJob) -> ScoreCounts:
    """Scores the file and prints the means. Raises UserError before anything is written."""
    quarantine = quarantine_path(str(job.out))
    reads: list[Path | str] = [job.metric, job.source, job.language, job.pair]
    for path in (job.out, quarantine):
        check_writable(path, reads, force=job.force)
    check_cache(job.cache, reads)
    captions = tuple(filter(None, (job.caption_field or "").split(",")))
    counts = ScoreCounts()
    with FeatureCache(job.cache) as cache:
        vela = load_vela(
            job.metric,
            language=job.language,
            pair=job.pair,
            device=job.device,
            batch_size=job.batch_size,
            cache=cache,
        )
        source = open_source(
            job.source,
            fields=Fields(job.image_field, captions),
            need_image=vela.branches.sees,
            limit=job.limit,
        )
        own = signature(vela.settings)
        try:
            with replacing(job.out) as file:
                for row in _rows(job, source, vela, counts):
                    file.write(dumps({**row, "signature": own}).encode() + b"\n")
        finally:
            source.close()
    if counts.bad:
        write_json_lines(quarantine, (row.as_json() for row in counts.bad))
    for line in summary(counts, quarantine):
        echo(line)
    echo(own)
    return counts


def _rows(
    job: ScoreJob, source: Source, vela: Vela, counts: ScoreCounts
) -> Iterator[dict[str, Any]]:
    """A line for each caption, in order."""
    records = iter(source)
    while window := list(islice(records, job.window)):
        found = list(_captions(job, window, source, vela, counts))
        scores = vela.score([item for *_, item in found])
        for (record, name, _), score in zip(found, scores, strict=True):
            _count(counts, record, score)
            yield _line(record, name, score, several=len(record.captions) > 1)
        done = sum(map(len, counts.scores.values())) // max(1, len(counts.scores))
        echo(f"{done:,} captions scored", err=True)


def _captions(
    job: ScoreJob,
    window: Sequence[Record | BadRow],
    source: Source,
    vela: Vela,
    counts: ScoreCounts,
) -> Iterator[tuple[Record, str, VelaItem]]:
    for row in window:
        if isinstance(row, BadRow):
            counts.bad.append(row)
            continue
        image = None
        try:
            if vela.branches.sees:
                image = load_image(
                    row.image,
                    root=job.image_root,
                    folder=None if job.image_root else source.folder,
                    allow_urls=job.allow_urls,
                )
        except BadRecord as error:
            counts.bad.append(BadRow.of(row, source.name, error))
            continue
        references = references_of(row.fields.get(job.reference_field))
        for name, caption in row.captions.items():
            yield row, name, VelaItem(caption, references, image)


def references_of(value: object) -> tuple[str, ...]:
    """A text, or the texts of a list; whatever else is no reference."""
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(text for text in values if isinstance(text, str) and text.strip())


def _line(record: Record, name: str, score: VelaScore, *, several: bool) -> dict[str, Any]:
    line: dict[str, Any] = {"line": record.line}
    if "id" in record.fields:
        line["id"] = record.fields["id"]
    if several:
        line["caption_field"] = name
    if score.reason:
        return line | {"unscored": score.reason}
    line |= {perspective: round(value, 6) for perspective, value in score.values.items()}
    cut = {"prompt": score.cut_prompt, "pair": score.cut_pair}
    return line | ({"truncated_tokens": cut} if any(cut.values()) else {})


def _count(counts: ScoreCounts, record: Record, score: VelaScore) -> None:
    if score.reason:
        counts.unscored[score.reason] += 1
    image = record.image.path or record.image.url or f"line {record.line}"
    for perspective, value in score.values.items():
        counts.scores.setdefault(perspective, []).append((image, value))
    counts.cut_prompt += score.cut_prompt > 0
    counts.cut_pair += score.cut_pair > 0


def _mean(values: Floats, _: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def summary(counts: ScoreCounts, quarantine: Path) -> Iterator[str]:
    """Means with intervals over images, and what was left out or cut."""
    if not counts.scores:
        yield "no caption was scored"
    for perspective, scored in counts.scores.items():
        values = np.array([value for _, value in scored])
        found = measured(_mean, values, values, [image for image, _ in scored])
        spread = "" if found.low is None else f"  [{found.low:.4f}, {found.high:.4f}]"
        yield f"{perspective:<16} {found.value:.4f}{spread}  ({len(scored):,} captions)"
    for reason, count in counts.unscored.most_common():
        yield f"{count:,} captions unscored: {reason}"
    if counts.cut_prompt:
        yield f"{counts.cut_prompt:,} captions: the prompt was too long and lost text"
    if counts.cut_pair:
        yield f"{counts.cut_pair:,} captions: the text tower read only their beginning"
    if counts.bad:
        yield f"{len(counts.bad):,} rows could not be read: see {quarantine}"
