"""The command `captions finetune-metric`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.command_line.command import command
from revise_captions.command_line.options import REQUIRED, argument, group, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FOLDER, shared_option
from revise_captions.errors import UserError
from revise_captions.finetune.metric.settings import JointSettings

if TYPE_CHECKING:
    from revise_captions.finetune.metric.train import MetricFigures

EPILOG = """
\b
Example:
  captions stress-metric DIR --part train --export train
  captions stress-metric DIR --part test --export test
  captions finetune-metric contextual-clipscore=MODEL train --test test --out tuned
  captions stress-metric contextual-clipscore=tuned DIR --part test
"""


@dataclass(frozen=True, slots=True)
class FinetuneMetricOptions:
    """Which metric to train, on what and how."""

    metric: str = argument("NAME[=MODEL]")
    data: Path = argument("TRAIN", type=EXISTING_FOLDER)
    out: Path = option(REQUIRED, "Write the trained model to this folder.", type=OUT_FOLDER)
    test: Path | None = option(
        None, "An export of other images, to measure on.", type=EXISTING_FOLDER
    )
    axis: str = option("overall, after", "Whose ratings count.")
    training: JointSettings = group(JointSettings)
    device: str = shared_option("--device")


@command(
    FinetuneMetricOptions,
    name="finetune-metric",
    heading="Label and train",
    epilog=EPILOG,
)
def finetune_metric(options: FinetuneMetricOptions) -> None:
    """Train a metric to pass the checks of stress-metric.

    Train a metric jointly on people's ratings and the ten checks (ContextRef, section 6).

    NAME is clipscore, contextual-clipscore, blip2, critic or contextual-critic. TRAIN and the
    folder of --test are written by `captions stress-metric --export`. Prints the share of worsened
    descriptions that score lower and the correlation with the ratings, before and after training.
    """
    from revise_captions.finetune.metric.data import read_pairs
    from revise_captions.finetune.metric.scorers import load_scorer
    from revise_captions.finetune.metric.train import figures, train
    from revise_captions.finetune.trainer.state import saving
    from revise_captions.io.writing import replacing_folder, write_json

    metric, test, axis = options.metric, options.test, options.axis
    out = _new_place(options.out)
    pairs = read_pairs(options.data, axis)
    measured = read_pairs(test, axis) if test is not None else pairs
    scorer = load_scorer(metric, options.device)
    before = figures(scorer, measured)
    done = train(scorer, pairs, options.training, lambda line: echo(json.dumps(line)))
    after = figures(scorer, measured)
    found = {"metric": metric, "axis": axis, "held_out": test is not None, "training": done}
    found |= {"left_out": dict(pairs.left_out), "before": asdict(before), "after": asdict(after)}
    with saving(out.parent, "make room, then train it again"), replacing_folder(out) as folder:
        scorer.save(folder)
        write_json(folder / "joint_training.json", found)
    echo("\n".join(_table(before, after, held_out=test is not None)))


def _new_place(out: Path) -> Path:
    """The place for the folder, checked before any work; removes what killed runs left."""
    from revise_captions.io.writing import check_new_folder, check_writable

    check_new_folder(out)
    place = out.resolve()  # a link to an empty folder leads there
    if place.is_mount():
        raise UserError(f"{out} is a mount point", hint="name a new folder in it")
    place.parent.mkdir(parents=True, exist_ok=True)
    check_writable(place, force=True, folder=True)
    return place


def _table(before: MetricFigures, after: MetricFigures, *, held_out: bool) -> Iterator[str]:
    yield "measured on " + ("other images" if held_out else "the training images: --test is better")
    yield f"{'worse versions that score lower':34}{'before':>22}{'after':>22}{'pairs':>8}"
    for check, share in before.lower.items():
        shown = [_share(own.lower.get(check)) for own in (before, after)]
        yield f"{check:34}{shown[0]:>22}{shown[1]:>22}{share['denominator']:>8,}"
    shown = [_r(own.pearson) for own in (before, after)]
    yield f"{'Pearson r with the ratings':34}{shown[0]:>22}{shown[1]:>22}{before.rated:>8,}"


def _share(found: Mapping[str, Any] | None) -> str:
    if found is None or found["value"] is None:
        return "none"
    bounds = (
        "" if found["low"] is None else f" ({100 * found['low']:.0f} to {100 * found['high']:.0f})"
    )
    return f"{100 * found['value']:.1f}%{bounds}"


def _r(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return "none"
    bounds = "" if found["low"] is None else f" ({found['low']:.2f} to {found['high']:.2f})"
    return f"{found['value']:.3f}{bounds}"
