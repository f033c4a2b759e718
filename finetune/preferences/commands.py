"""The commands of `captions train-preferences`, one for each method."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.command_line.command import command
from revise_captions.command_line.options import REQUIRED, argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING_FILE, OUT_FOLDER, shared_option
from revise_captions.finetune.preferences.settings import (
    DpoSettings,
    GrpoSettings,
    RewardModelSettings,
)

if TYPE_CHECKING:
    from revise_captions.finetune.preferences.run import PreferenceJob

#: Figures of the log that are printed, besides the rewards.
_SHOWN = (
    *("loss", "reward", "accuracy", "margin", "kl", "entropy", "completions/mean_length"),
    *("train_loss", "train_runtime"),
)


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Data and policy."""

    data: Path = argument("DATA", type=EXISTING_FILE)
    policy: str = option(
        REQUIRED,
        "Captioner to start from: a folder or Hugging Face id of a vision–language model.",
    )
    out: Path = option(REQUIRED, "Folder to write.", type=OUT_FOLDER)
    prompts: tuple[str, ...] = option(
        (),
        "Prompt for the captioner; several are used in turn.  [default: the rows' own]",
        name="prompt",
    )
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    limit: int | None = shared_option("--limit")
    trust_remote_code: bool = shared_option("--trust-remote-code")
    resume: bool = shared_option("--resume", help="Continue from the last checkpoint in OUT.")
    force: bool = shared_option("--force", help="Overwrite OUT.")


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Pairs."""

    by: str = option(
        "",
        "Use only pairs that this score decided: c_p, c_r, both, revision.  [default: all]",
        show_default=False,
    )


@dataclass(frozen=True, slots=True)
class RewardOptions:
    """Rewards."""

    rewards: tuple[str, ...] = option(
        (),
        "Reward, with its weight: c_p (share of true units), c_r (number of units), posh, or the "
        "folder of a reward model; several are summed.  [default: c_p and c_r=0.5]",
        name="reward",
        metavar="NAME[=WEIGHT]",
    )
    units: str = shared_option("--units")
    verifier: tuple[str, ...] = shared_option("--verifier")
    critic_profile: Path | None = shared_option(
        "--critic-profile", help="Profile of the critic that verifies, from `captions calibrate`."
    )
    reference_field: str | None = shared_option(
        "--reference-field", help="Field that holds the reference caption, for the reward posh."
    )
    judge: str = shared_option("--judge")


@command(PolicyOptions, PairOptions, RewardModelSettings)
def reward(options: PolicyOptions, pairs: PairOptions, settings: RewardModelSettings) -> None:
    """Train a reward model on the pairs in DATA, the output of `captions preferences`.

    Prints its accuracy on pairs of held-out images at the end, and writes it to OUT/held_out.json.
    """
    from revise_captions.finetune.preferences.run import run_reward_model

    run_reward_model(_job(options, pairs), settings)


@command(PolicyOptions, PairOptions, DpoSettings)
def dpo(options: PolicyOptions, pairs: PairOptions, settings: DpoSettings) -> None:
    """Train a captioner on the pairs in DATA by direct preference optimization."""
    from revise_captions.finetune.preferences.run import run_dpo

    run_dpo(_job(options, pairs), settings)


@command(PolicyOptions, RewardOptions, GrpoSettings)
def grpo(options: PolicyOptions, rewards: RewardOptions, settings: GrpoSettings) -> None:
    """Train a captioner on the images in DATA by group-relative policy optimization.

    Captions are sampled, rewarded, and compared with the others of their image.
    """
    from revise_captions.finetune.preferences.run import run_grpo

    run_grpo(_job(options, rewards), settings)


def _job(options: PolicyOptions, more: PairOptions | RewardOptions) -> PreferenceJob:
    from revise_captions.finetune.preferences.run import PreferenceJob

    log = options.out / "training" / "log.jsonl"

    from revise_captions.io.writing import append_json_line

    def report(line: dict[str, Any]) -> None:
        if os.environ.get("RANK", "0") != "0":
            return
        append_json_line(log, line)
        echo(shown(line))

    return PreferenceJob(**asdict(options), **asdict(more), report=report)


def shown(line: Mapping[str, Any]) -> str:
    """A line of the log for people; the log itself has all figures."""
    from revise_captions.finetune.preferences import held_out

    if line.get("event") == "data":
        kind = "pairs" if "pairs" in line else "images"
        return f"{line[kind]:,} {kind}, {line['quarantined']:,} rows quarantined"
    if line.get("event") == "sampler":
        return f"captions are sampled by {line['sampler']}"
    if line.get("event") == held_out.EVENT:
        return held_out.said(line)
    parts = [
        f"{name} {value:.4g}"
        for name, value in line.items()
        if value is not None  # a batch in which nothing could be rewarded
        and (name in _SHOWN or (name.startswith("rewards/") and not name.endswith("/std")))
    ]
    return f"step {line['step']:,}: {', '.join(parts)}"
