"""Options of `captions stress-metric`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from revise_captions.command_line.options import argument, group, option
from revise_captions.command_line.shared import (
    COUNT,
    EXISTING_FOLDER,
    OUT_FILE,
    OUT_FOLDER,
    shared_option,
)
from revise_captions.engines.model_spec import Placement
from revise_captions.pipelines.metrics.options import metric_list


@dataclass(frozen=True, slots=True)
class StressOptions:
    """Which metrics are tried, on what, and what is written."""

    metrics: tuple[str, ...] = argument("[METRIC]…")
    folder: Path = argument("DIR", type=EXISTING_FOLDER)
    list: bool = option(
        False,
        "List the installed metrics and exit.",
        is_eager=True,
        expose_value=False,
        callback=metric_list(),
    )
    benchmark: str = option("plain", "What DIR holds.")
    protocol: Literal["ours", "released"] = option(
        "ours",
        "Changes made by this command, or those that ContextRef's authors released "
        "(df_metric_*.csv in DIR), compared as in their analysis.",
    )
    html: Path | None = option(None, "Write a page with charts to this file.", type=OUT_FILE)
    json: Path | None = option(None, "Write all figures to this JSON file.", type=OUT_FILE)
    export: Path | None = option(
        None,
        "Write all original and changed descriptions and images to this new folder.",
        type=OUT_FOLDER,
    )
    writer: str = option(
        "smollm2",
        "Language model that continues descriptions: a folder, a Hugging Face id, `smollm2`, or "
        "`none`, which skips two checks.",
    )
    continuations: Path | None = option(
        None, "Cache its continuations in this file, and reuse those already there.", type=OUT_FILE
    )
    scale: tuple[float, float] | None = option(
        (1.0, 5.0),
        "Leave out ratings outside this range; the output counts them.",
        metavar="LOW HIGH",
    )
    limit: int | None = option(
        None, "Use only N descriptions, evenly spaced.", type=COUNT, metavar="N"
    )
    part: Literal["all", "train", "test"] = option(
        "all",
        "Use all images, four fifths of them, or the other fifth (the data's own split, if it "
        "has one). Train with finetune-metric on `train`, and measure the result on `test`.",
    )
    seed: int = shared_option("--seed")
    replicates: int = shared_option("--replicates", default=1000)
    placement: Placement = group(Placement, batch_size=16)
    critic_profile: Path | None = shared_option(
        "--critic-profile",
        help="Profile of the critic that a METRIC uses, from captions calibrate.",
    )
    force: bool = shared_option("--force", help="Also overwrite files that are not earlier output.")
