"""Options of `captions preferences`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from revise_captions.command_line.options import argument, group, option
from revise_captions.command_line.shared import COUNT, OUT, listed_option, shared_option
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.pipelines.options import RunOptions
from revise_captions.pipelines.preferences.pairs import SCORES
from revise_captions.runs.options import InputOptions


def _scores(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    if unknown := sorted(set(value) - set(SCORES)):
        raise click.BadParameter(f"no score {', '.join(unknown)}; expected {', '.join(SCORES)}")
    return value


@dataclass(frozen=True, slots=True)
class PreferenceOptions:
    """Which captions are compared, by whom, and how."""

    source: str = argument("IN", default="")
    out: str = argument("OUT", default="", type=OUT)
    policy: str | None = option(
        None,
        "Captioner to sample from: a folder, a Hugging Face id, or MODEL@http://host:8000/v1.",
    )
    samples: int = option(8, "Captions to sample for each image.", type=COUNT)
    temperature: float = option(
        1.0, "Sampling temperature.", type=click.FloatRange(0, min_open=True)
    )
    top_p: float = option(
        0.7,
        "Nucleus sampling: draw from the likeliest tokens that together have this probability.",
        type=click.FloatRange(0, 1, min_open=True),
    )
    max_tokens: int = option(512, "Longest caption, in tokens; longer ones are cut.", type=COUNT)
    seed: int = shared_option("--seed")
    prompts: tuple[str, ...] = option(
        (),
        "Prompt for the captioner; several are used in turn.  [default: Describe this image in "
        "detail.]",
        name="prompt",
    )
    given: tuple[str, ...] = listed_option(
        (),
        "Fields that hold a caption or a list of captions, separated by commas, to compare with "
        "sampled captions or with each other.",
        show_default=False,
    )
    units: str = shared_option("--units")
    verifier: tuple[str, ...] = shared_option("--verifier")
    critic_profile: Path | None = shared_option(
        "--critic-profile", help="Profile of the critic that verifies, from captions calibrate."
    )
    by: tuple[str, ...] = listed_option(
        SCORES,
        "Scores that decide pairs: c_p, the share of true units; c_r, their number; both.",
        callback=_scores,
    )
    margin: float = option(
        0.0,
        "Captions whose scores differ by this much or less are a tie and make no pair.",
        type=click.FloatRange(0),
    )
    pairs: int = option(1, "Pairs per image and score, widest margins first.", type=COUNT)
    from_revisions: bool = option(
        False,
        "IN is the output of revise-captions: the revised caption is preferred to the original "
        "where a rewrite was accepted. No model is loaded.",
    )
    image_field: str | None = shared_option("--image-field")
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    limit: int | None = shared_option("--limit")
    placement: Placement = group(Placement, batch_size=16)
    resume: bool = shared_option("--resume")
    force: bool = shared_option("--force")

    def check(self) -> None:
        """Raises `UserError` where options contradict each other, whatever the input holds."""
        if self.from_revisions and (self.policy is not None or self.given):
            raise UserError("--from-revisions takes both captions of a pair from IN")
        if not self.from_revisions and self.policy is None and not self.given:
            raise UserError(
                "no captions to compare: neither --policy nor --given",
                hint="sample them with --policy MODEL, or name the fields of IN that hold them",
            )
        if self.policy is not None and self.samples + len(self.given) < 2:
            raise UserError("one caption per image makes no pair", hint="raise --samples")
        if not self.out.endswith(".jsonl"):
            raise UserError(f"{self.out}: pairs are written as JSON Lines", hint="name it .jsonl")

    @property
    def inputs(self) -> InputOptions:
        """What is read, as the main job names it."""
        return InputOptions(
            self.source,
            self.image_field,
            image_root=self.image_root,
            allow_urls=self.allow_urls,
            limit=self.limit,
        )

    @property
    def run(self) -> RunOptions:
        """Where it is written, as the main job names it."""
        return RunOptions(out=self.out, resume=self.resume, force=self.force)

    def reads(self) -> list[str]:
        """The input, and the models that may be files or folders."""
        profile = str(self.critic_profile or "")
        return [name for name in (self.source, profile, self.policy, *self.verifier) if name]
