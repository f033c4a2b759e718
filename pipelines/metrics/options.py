"""Options of `captions evaluate-metric`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from revise_captions.command_line.options import argument, option
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option

Level = Literal["sentence", "segment", "system", "preference", "spans", "agreement"]


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """What is compared with whose labels; scores are tested against the first of them."""

    benchmark: str = argument("BENCHMARK")
    folder: Path = argument("DIR", type=EXISTING_FOLDER)
    scores: tuple[str, ...] = argument("[[NAME=]SCORES]…", default=())
    levels: tuple[Level, ...] = option(
        get_args(Level),
        "Evaluate at this level only; repeat for several.  [default: all]",
        name="level",
        show_default=False,
    )
    floors: bool = option(False, "Also evaluate every floor that needs nothing but the benchmark.")
    ratings: Literal["mean", "each"] = option(
        "mean",
        "Compare with the mean of a caption's ratings, or with each rating as its own row.",
    )
    by_captioner: bool = option(True, "Also evaluate the sentences of each captioner separately.")
    field: str = option("score", "Field or column that holds the score.")
    critic_profile: Path | None = shared_option(
        "--critic-profile", help="Profile of the critic that metric:critic uses."
    )
    replicates: int = shared_option("--replicates", default=1000)
    out: Path | None = option(
        None, "Write all figures to this JSON file.", name="json", type=OUT_FILE
    )

    @property
    def each(self) -> bool:
        """Whether every rating is a row of its own."""
        return self.ratings == "each"
