"""Options of the commands of `captions annotate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from revise_captions.command_line.options import REQUIRED, argument, option
from revise_captions.command_line.shared import (
    COUNT,
    EXISTING,
    EXISTING_FOLDER,
    OUT_FOLDER,
    Listed,
    listed_option,
    shared_option,
)
from revise_captions.io.fields import Fields
from revise_captions.pipelines.annotate.tasks.sampling import KEYS, SamplingDesign

InterfaceName = Literal["factuality", "critique", "preference"]


def _validation(default: float) -> Any:
    return option(
        default,
        "Fraction of the images that goes into validation.jsonl.",
        type=click.FloatRange(0, 0.9, min_open=True),
    )


def _captions() -> Any:
    told = {"default": (), "type": Listed(), "multiple": False, "show_default": False}
    return shared_option("--caption-field", **told)


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What of a run is shown to raters, and how."""

    run: str = argument("RUN")
    out: Path = argument("OUT", type=OUT_FOLDER)
    size: int = option(300, "Number of sentences to sample.", type=COUNT)
    by: tuple[str, ...] = listed_option(
        KEYS,
        "What to stratify by, comma-separated: `p`, P(factual); `rewrite`, whether a rewrite was "
        "accepted; `error`, the error type, if the input has one.",
    )
    bins: tuple[float, ...] = listed_option(
        SamplingDesign().bins,
        "Boundaries between the strata of P(factual).",
        type=Listed(float, "numbers"),
    )
    allocation: Literal["equal", "proportional"] = option(
        "equal", "Sample the same number from each stratum, or in proportion to its size."
    )
    seed: int = shared_option("--seed", help="Seed of the sample.")
    interfaces: tuple[InterfaceName, ...] = option(
        ("factuality", "critique", "preference"),
        "Write this interface only; repeat for several.  [default: all]",
        name="interface",
        show_default=False,
    )
    raters: int = option(5, "Planned raters per item.", type=COUNT)
    images: Literal["copy", "embed", "path"] = option(
        "copy",
        "Copy images to OUT/images, also embed them in the tasks, or only refer to their paths.",
    )
    image_prefix: str = option(
        "",
        "Prefix of image paths in the tasks.  [default: Label Studio's local files]",
        show_default=False,
    )
    image_field: str | None = shared_option("--image-field")
    caption_field: tuple[str, ...] = _captions()
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")

    @property
    def design(self) -> SamplingDesign:
        """What decides the sample."""
        return SamplingDesign(self.by, self.bins, self.allocation, self.size, self.seed)

    @property
    def fields(self) -> Fields:
        """The fields that were named."""
        return Fields(self.image_field, self.caption_field)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Whose answers become labels. `export` is a folder, or a run."""

    export: Path = argument("EXPORT", type=EXISTING)
    answers: tuple[Path, ...] = argument("ANSWERS…", type=EXISTING)
    out: Path = option(REQUIRED, "Folder to write.", type=OUT_FOLDER)
    min_raters: int | None = option(
        None,
        "Ignore items with fewer answers.  [default: more than half of the planned raters]",
        type=COUNT,
    )
    validation: float = _validation(0.1)
    image_root: Path | None = shared_option("--image-root")
    replicates: int = shared_option(
        "--replicates", default=1000, help="Bootstrap resamples behind the intervals."
    )


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """Which labeled captions become training data."""

    name: str = argument("NAME")
    folder: Path = argument("DIR", type=EXISTING_FOLDER)
    out: Path = argument("OUT", type=OUT_FOLDER)
    validation: float = _validation(0.1)
    test: float = option(
        0.0,
        "Fraction of the images held out in OUT/test, for captions evaluate-metric.",
        type=click.FloatRange(0, 0.9),
    )
    subsets: tuple[str, ...] = option(
        (),
        "Convert this subset only; repeat for several.  [default: all; m-haldetect: its training "
        "files]",
        name="subset",
    )
    image_root: Path | None = shared_option("--image-root")
    images: Literal["copy", "path"] = option(
        "copy", "Copy images to OUT/images, or only refer to their paths."
    )
    limit: int | None = shared_option("--limit", help="Stop after this many captions.")
    allow_benchmark: bool = option(
        False,
        "Allow data that critics are evaluated on; data.json then marks them as such for good.",
    )


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """Which captions are matched with their images."""

    captions: str = argument("CAPTIONS")
    out: Path = argument("OUT", type=OUT_FOLDER)
    others: int = option(
        6,
        "Sentences of other images per caption, in addition to those inside it.",
        type=COUNT,
    )
    contrasts: float = option(
        0.8,
        "Fraction of these that differ from one of the image's own sentences in one place, if "
        "such sentences exist.",
        type=click.FloatRange(0, 1),
    )
    validation: float = _validation(0.02)
    seed: int = shared_option("--seed", help="Seed of the sampled sentences.")
    image_field: str | None = shared_option("--image-field")
    caption_field: tuple[str, ...] = _captions()
    image_root: Path | None = shared_option("--image-root")
    limit: int | None = shared_option("--limit")

    @property
    def fields(self) -> Fields:
        """The fields that were named."""
        return Fields(self.image_field, self.caption_field)
