"""Options of `captions posh`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from revise_captions.command_line.options import argument, group, option
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option
from revise_captions.engines.model_spec import Placement
from revise_captions.runs.options import InputOptions
from revise_captions.runs.score_file import ScoreOptions


@dataclass(frozen=True, slots=True)
class PoshOptions:
    """What is scored against what, who judges, and what is written."""

    source: str = argument("IN")
    out: Path = argument("OUT", type=OUT_FILE)
    caption_field: str = shared_option(
        "--caption-field", default="generation", help="Field that holds the text to score."
    )
    reference_field: str = shared_option(
        "--reference-field",
        default="reference",
        help="Field that holds the reference, or a list of references.",
    )
    group_field: str = option(
        "",
        "Field that identifies the image, the unit of the intervals.  [default: the image]",
        show_default=False,
    )
    limit: int | None = shared_option("--limit")
    judge: str = shared_option("--judge")
    encoder: str = option(
        "",
        "Sentence encoder of the offline judge: a folder or a Hugging Face model id.",
        show_default=False,
    )
    parser: str = shared_option("--parser")
    coreference: str = option(
        "rules",
        "Coreference resolver: `rules`, `maverick`, or a folder of Maverick weights. Maverick's "
        "license excludes commercial use.",
    )
    placement: Placement = group(Placement, batch_size=16)
    no_rewriting: bool = option(
        False, "Do not let a language-model judge reword the names of objects in its questions."
    )
    unreadable_is_absent: bool = option(
        False,
        "Score an answer that cannot be parsed as 1 (absent), as the authors' code does, instead "
        "of leaving it unscored.",
    )
    protocol: str = option(
        "paper",
        "Prompts for a language-model judge: the paper's, or the authors' code's.",
        type=click.Choice(["paper", "released"]),
    )
    prompts: Path | None = option(
        None,
        "Your copy of the authors' posh/scorers/prompts, for --protocol released.",
        type=EXISTING_FOLDER,
    )
    html: Path | None = option(
        None, "Write an HTML page with marked components to this file.", type=OUT_FILE
    )
    show: int = option(0, "Print this many pairs with marked components.", type=click.IntRange(0))
    resume: bool = shared_option("--resume")
    force: bool = shared_option("--force", help="Overwrite OUT and the HTML page.")

    @property
    def file(self) -> ScoreOptions:
        """The options of every metric's command."""
        inputs = InputOptions(self.source, caption_field=self.caption_field, limit=self.limit)
        return ScoreOptions(inputs, str(self.out), self.html, self.show, self.resume, self.force)
