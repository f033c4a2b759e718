"""`captions vela`: VELA's part in a run over a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from revise_captions.command_line.printing import echo
from revise_captions.records import Record
from revise_captions.runs.outputs import OutputCounts
from revise_captions.runs.score_file import image_name, say_quarantine, score_file
from revise_captions.stats.means import mean_over
from revise_captions.vela import card as cards
from revise_captions.vela.branches import VelaItem
from revise_captions.vela.feature_cache import FeatureCache, check_cache
from revise_captions.vela.options import VelaOptions
from revise_captions.vela.pairs.load import needs_image
from revise_captions.vela.trained import Vela, VelaScore, load_vela


@dataclass(frozen=True, slots=True)
class _Caption:
    """A caption to score; `row` is the part of its line before the scores."""

    image: str
    row: Mapping[str, Any]
    item: VelaItem


@dataclass(frozen=True, slots=True)
class VelaFile:
    """A trained metric as a `FileMetric`."""

    vela: Vela
    reference_field: str

    @property
    def settings(self) -> Mapping[str, str]:
        return self.vela.settings

    @property
    def options(self) -> Mapping[str, Any]:
        return {"reference-field": self.reference_field}

    @property
    def plain(self) -> _Caption:
        image = Image.new("RGB", (64, 64)) if self.vela.branches.sees else None
        return _Caption("", {}, VelaItem("A dog.", ("A dog.",), image))

    def read(self, record: Record, image: Image.Image | None) -> Sequence[_Caption]:
        references = references_of(record.fields.get(self.reference_field))
        several = len(record.captions) > 1
        return [
            _Caption(
                image_name(record),
                {"caption_field": name} if several else {},
                VelaItem(caption, references, image),
            )
            for name, caption in record.captions.items()
        ]

    def score(self, items: Sequence[_Caption]) -> Sequence[VelaScore]:
        return self.vela.score([caption.item for caption in items])

    def line(self, item: _Caption, score: VelaScore) -> Mapping[str, Any]:
        if score.reason:
            return {**item.row, "unscored": score.reason}
        line = {**item.row, **{name: round(value, 6) for name, value in score.values.items()}}
        cut = {"prompt": score.cut_prompt, "pair": score.cut_pair}
        return line | ({"truncated_tokens": cut} if any(cut.values()) else {})

    def kept(self, item: _Caption, score: VelaScore) -> Mapping[str, Any]:
        cut = {"cut_prompt": score.cut_prompt, "cut_pair": score.cut_pair}
        return {"image": item.image, "values": score.values, "unscored": score.reason, **cut}

    def view(self, item: _Caption, score: VelaScore) -> Mapping[str, Any]:
        return self.line(item, score)

    def terminal(self, item: _Caption, score: VelaScore, *, color: bool) -> str:
        figures = (f"{name} {value:.4f}" for name, value in score.values.items())
        return score.reason or ", ".join(figures)


def references_of(value: object) -> tuple[str, ...]:
    """A text, or the texts in a list; anything else is not a reference."""
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(text for text in values if isinstance(text, str) and text.strip())


def run(job: VelaOptions) -> OutputCounts | None:
    """Scores the file and prints the means; see `score_file`.

    Returns:
        How many rows were written; None if `--resume` found all of them in OUT.
    """
    card, _ = cards.load(job.metric)
    reads: list[Path | str] = [job.metric, job.language, job.pair]
    check_cache(job.cache, [job.source, *reads])
    with FeatureCache(job.cache) as cache:

        def load() -> VelaFile:
            vela = load_vela(
                job.metric,
                language=job.language,
                pair=job.pair,
                device=job.device,
                batch_size=job.batch_size,
                cache=cache,
            )
            return VelaFile(vela, job.reference_field)

        looks = card.pair is not None and needs_image(job.pair or card.pair.name)
        found = score_file(job.file, load, looks=looks, reads=reads)
    if found is None:
        return None
    for line in summary(found.kept, card.perspectives):
        echo(line)
    say_quarantine(found.written)
    echo(found.signature)
    return found.written


def summary(kept: Sequence[Mapping[str, Any]], perspectives: Sequence[str]) -> Iterator[str]:
    """Means with intervals over images, and what was left out or cut."""
    images = [one["image"] for one in kept]
    for perspective in perspectives:
        values = [one["values"].get(perspective) for one in kept]
        yield mean_over(values, images).line(perspective, "captions")
    reasons = Counter(one["unscored"] for one in kept if one["unscored"])
    for reason, count in reasons.most_common():
        yield f"{count:,} captions unscored: {reason}"
    if prompts := sum(one["cut_prompt"] > 0 for one in kept):
        yield f"{prompts:,} captions: the prompt was too long and lost text"
    if pairs := sum(one["cut_pair"] > 0 for one in kept):
        yield f"{pairs:,} captions: the text tower read only their beginning"
