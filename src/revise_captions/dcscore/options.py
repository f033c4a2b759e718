"""Options of `captions dcscore`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from revise_captions.command_line.options import argument, group, option
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option
from revise_captions.dcscore.score import PAPER, RELEASED
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.runs.options import InputOptions
from revise_captions.runs.score_file import ScoreOptions

OFFLINE, REFERENCE = "offline", "reference"
_NAME = "a model folder, a Hugging Face model id, or MODEL@URL."


@dataclass(frozen=True, slots=True)
class UnitModels:
    """Models that decompose, match and verify."""

    decomposer: str = option(
        OFFLINE, f"Splits texts into units: `offline` (scene graphs and clauses), {_NAME}"
    )
    matcher: str = option(
        OFFLINE, f"Finds units in the reference: `offline` (POSH's offline judge), {_NAME}"
    )
    verifier: tuple[str, ...] = option(
        (REFERENCE,),
        "Decides whether a unit is true. `reference` ignores the image: a unit is true if the "
        "reference states it; `bundled`, or another critic of this package, judges units as "
        f"sentences; any other vision–language model is asked with image and reference: {_NAME} "
        "Give several for an ensemble.",
    )
    vote: Literal["majority", "mean"] = option(
        "majority",
        "How an ensemble decides: by majority (a tie is unscored), or by the mean P(correct).",
    )
    threshold: float | None = shared_option(
        "--threshold", help="Threshold of this package's critics.  [default: the calibrated one]"
    )
    critic_profile: Path | None = shared_option(
        "--critic-profile", help="Profile of the critic that verifies, from captions calibrate."
    )
    parser: str = shared_option("--parser")
    encoder: str = option(
        "",
        "Sentence encoder of the offline matcher: a folder or a Hugging Face model id.",
        show_default=False,
    )
    placement: Placement = group(Placement, batch_size=16)
    protocol: str = option(
        PAPER,
        "Compute recall by the paper's equation, or as the authors' code does.",
        choices=(PAPER, RELEASED),
    )
    prompts: Path | None = option(
        None,
        "Folder with your copy of the authors' evaluation_decapbench.py, whose prompts and "
        "sample counts are used (--protocol released).",
        type=EXISTING_FOLDER,
    )

    @property
    def looks(self) -> bool:
        """Whether images are looked at."""
        return self.verifier != (REFERENCE,)

    def check(self) -> None:
        """Raises `UserError` if the options contradict each other."""
        if REFERENCE in self.verifier and self.looks:
            raise UserError(
                "--verifier reference ignores the image, so it cannot vote with other verifiers",
                hint="leave it out: units are matched with the reference anyway",
            )
        if self.prompts is None:
            return
        if self.protocol != RELEASED:
            raise UserError(
                f"--prompts is for --protocol {RELEASED}", hint="add it, or leave --prompts out"
            )
        if {OFFLINE, REFERENCE} & {self.decomposer, self.matcher, *self.verifier}:
            raise UserError(
                "the authors' prompts are for language models",
                hint="name one each with --decomposer, --matcher and --verifier",
            )
        if len(self.verifier) > 1:
            raise UserError("the authors' code asks one verifier", hint="name one --verifier")


@dataclass(frozen=True, slots=True)
class DcscoreOptions:
    """What is scored against what, by whom, and what is written."""

    source: str = argument("IN")
    out: Path = argument("OUT", type=OUT_FILE)
    models: UnitModels = group(UnitModels)
    reference_field: str = shared_option(
        "--reference-field",
        default="reference",
        help="Field that holds the reference, or a list of references.",
    )
    units_field: str = option(
        "oracle_facts",
        "Field that holds hand-made units of the reference: a list of texts. In rows without it, "
        "the decomposer splits the reference.",
    )
    group_field: str = option(
        "",
        "Field that identifies the image, the unit of the intervals.  [default: the image]",
        show_default=False,
    )
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option(
        "--caption-field", help="Field that holds the caption.  [default: detected by name]"
    )
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    limit: int | None = shared_option("--limit")
    html: Path | None = option(
        None, "Write an HTML page with marked units to this file.", type=OUT_FILE
    )
    show: int = option(0, "Print this many captions with marked units.", type=click.IntRange(0))
    resume: bool = shared_option("--resume")
    force: bool = shared_option("--force", help="Overwrite OUT and the HTML page.")

    @property
    def inputs(self) -> InputOptions:
        """What is read."""
        fields = self.image_field, self.caption_field
        return InputOptions(self.source, *fields, self.image_root, self.allow_urls, self.limit)

    @property
    def file(self) -> ScoreOptions:
        """The options of every metric's command."""
        return ScoreOptions(
            self.inputs, str(self.out), self.html, self.show, self.resume, self.force
        )
