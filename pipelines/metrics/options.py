"""Options of `captions evaluate-metric`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import click

from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option

Level = Literal["sentence", "segment", "system", "preference", "spans", "agreement"]


def metric_list(prefix: str = "") -> Callable[[click.Context, click.Parameter, bool], None]:
    """The callback of an option that lists the installed metrics and ends the command.

    Args:
        prefix: What the command wants before a metric's name.
    """

    def show(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if not value or context.resilient_parsing:
            return
        from revise_captions.registry import METRICS, load, names

        for name in names(METRICS):
            said = (load(METRICS, name).__doc__ or "").strip().splitlines()
            echo(f"{prefix}{name:22}{said[0] if said else ''}".rstrip())
        context.exit()

    return show


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
    list: bool = option(
        False,
        "List the installed metrics and exit.",
        is_eager=True,
        expose_value=False,
        callback=metric_list("metric:"),
    )

    @property
    def each(self) -> bool:
        """Whether every rating is a row of its own."""
        return self.ratings == "each"
