"""The command `captions calibrate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.options import argument, group, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING, OUT_FILE, shared_option
from revise_captions.engines.model_spec import Placement

EPILOG = """
\b
Examples:
  captions calibrate Qwen/Qwen3-VL-8B-Instruct annotated --out qwen.json
  captions calibrate qwen@http://localhost:8000/v1 annotated --out qwen.json --wrong-share 0.2
  captions calibrate bundled rated --benchmark chocolate --out profile.json
  captions calibrate my-critic data --into-card --false-alarms 0.01
"""
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@dataclass(frozen=True, slots=True)
class CalibrateOptions:
    """What to measure, on which data, and what to choose with it."""

    critic: str = argument("CRITIC")
    data: Path = argument("DATA", type=EXISTING)
    out: Path | None = option(None, "Write the profile to this file.", type=OUT_FILE)
    into_card: bool = option(
        False,
        "Instead of --out: store map, threshold and curve in the critic's own critic.json. The "
        "map is at most `logistic`, and is applied after an existing one.",
    )
    benchmark: str | None = option(
        None,
        "DATA is the folder of this benchmark, as published (`captions benchmarks list`).",
        metavar="NAME",
    )
    rewrites: Path | None = option(
        None,
        "More labeled data, used only for its rewrites: how many of those that the critic "
        "accepts are true.  [default: those of DATA]",
        metavar="DATA",
        type=EXISTING,
    )
    map: Literal["auto", "none", "temperature", "logistic", "isotonic"] = option(
        "auto",
        "How to calibrate P(factual): not at all; logit P divided by a temperature; the same "
        "with a shift; a rising step function. `auto`: the best in cross-validation over images.",
    )
    wrong_share: float | None = option(
        None,
        "Share of wrong sentences in the captions to be judged; map, threshold and figures are "
        "for this share.  [default: that of DATA]",
        type=_SHARE,
    )
    false_alarms: float | None = option(
        None,
        "Largest share of true sentences to flag, guaranteed with 95 % confidence.  [default: any]",
        type=_SHARE,
    )
    held_out: float = option(
        0.5,
        "Fraction of the images that nothing is fitted on and all figures are measured on.",
        type=click.FloatRange(0.1, 0.9),
    )
    adapter: str | None = shared_option("--adapter")
    samples: int = shared_option("--samples")
    placement: Placement = group(Placement, batch_size=16)
    replicates: int = shared_option("--replicates", default=1000)
    force: bool = shared_option("--force", help="Overwrite --out.")


@command(
    CalibrateOptions,
    name="calibrate",
    heading="Label and train",
    epilog=EPILOG,
    sections=SECTIONS,
)
def calibrate_critic(options: CalibrateOptions) -> None:
    """Measure a critic's errors; calibrate P(factual).

    Measure how far CRITIC's verdicts can be trusted, and calibrate its P(factual).

    CRITIC is any critic: `bundled`, a checkpoint's folder, a hub id, MODEL@http://host:8000/v1.
    DATA holds labeled sentences: what `captions annotate import` or `captions annotate convert`
    wrote, another folder of training data, or, with --benchmark, a benchmark. Map and threshold are
    chosen on half of the images; every figure is measured on the other half. The profile names the
    critic and its prompt, and `--critic-profile` of other commands accepts it only for that critic.
    """
    from revise_captions.critic.options import CriticOptions
    from revise_captions.finetune.calibration.run import as_text, calibrate

    profile = calibrate(
        options.critic,
        options.data,
        options.out,
        into_card=options.into_card,
        benchmark=options.benchmark,
        rewrites=options.rewrites,
        force=options.force,
        method=options.map,
        wrong_share=options.wrong_share,
        false_alarms=options.false_alarms,
        held_out=options.held_out,
        replicates=options.replicates,
        models=CriticOptions(options.placement, adapter=options.adapter, samples=options.samples),
    )
    echo(as_text(profile))
