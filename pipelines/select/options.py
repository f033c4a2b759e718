"""Options of `captions select` and `captions columns`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from revise_captions.command_line.options import REQUIRED, argument, option
from revise_captions.command_line.shared import COUNT, EXISTING_FILE, OUT, shared_option
from revise_captions.pipelines.options import Evidence, Write

_SCORES = "Output of a metric's command for OUT; its numbers are the column `scores`."
_CAPTIONER = "Field that names the model that wrote a caption.  [default: detected by name]"


@dataclass(frozen=True, slots=True)
class SelectOptions:
    """Which records of which run, and where they go."""

    out: str = argument("OUT")
    kept: str = argument("KEPT", type=OUT)
    where: str = option(REQUIRED, "SQL condition on the columns of a record; `true` for all.")
    rest: str | None = option(None, "Where the other records go.", type=OUT)
    sample: int | None = option(
        None, "Keep only a sample of this many matching records.", type=COUNT
    )
    stratify: Literal["captioner", "expert"] | None = option(
        None, "Draw the sample in proportion from each value of this column."
    )
    seed: int = option(0, "Seed of the sample.")
    write: Write | None = option(
        None, "Where corrected captions go, as in `captions revise`.  [default: where OUT has them]"
    )
    evidence: Evidence | None = option(
        None, "Where `revision` goes, as in `captions revise`.  [default: where OUT has it]"
    )
    scores: Path | None = option(None, _SCORES, type=EXISTING_FILE)
    captioner_field: str | None = option(None, _CAPTIONER)
    caption_field: str | None = shared_option("--caption-field")
    force: bool = shared_option("--force", help="Replace KEPT and REST.")


@dataclass(frozen=True, slots=True)
class ColumnsOptions:
    """Which run."""

    out: str = argument("OUT")
    scores: Path | None = option(None, _SCORES, type=EXISTING_FILE)
    captioner_field: str | None = option(None, _CAPTIONER)
    caption_field: str | None = shared_option("--caption-field")
