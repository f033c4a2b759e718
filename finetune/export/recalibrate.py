"""Recalibrate a critic's threshold and precision–recall curve, without training.

CRITIC is a folder written by finetune-critic, DATA a folder of training data, whose validation
split the critic judges. `--wrong-share`: the share of wrong sentences in use, if it differs from
that of the split. `--false-alarms`: the largest share of true sentences to flag, held with 95 %
confidence, since rewriting a true sentence does harm.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from revise_captions.commands import echo, run_command
from revise_captions.critic.checkpoints import read_card
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.errors import UserError
from revise_captions.finetune.data.image_cache import upright
from revise_captions.finetune.data.records import open_split
from revise_captions.stats.calibration import calibrate

WINDOW = 64


def judged(critic_folder: Path, data: Path) -> tuple[list[float], list[bool], int]:
    """P(factual) and label of the validation sentences, and the number of unscored ones."""
    critic = load_paligemma(str(critic_folder))
    split = open_split(data, "validation")
    p: list[float] = []
    factual: list[bool] = []
    unscored = 0
    for start in range(0, len(split), WINDOW):
        part = [split[i] for i in range(start, min(len(split), start + WINDOW))]
        verdicts = critic.judge(
            [JudgeRequest(upright(split.root / e.image), e.caption, e.spans) for e in part]
        )
        for example, row in zip(part, verdicts, strict=True):
            for sentence, verdict in zip(example.sentences, row, strict=True):
                if verdict.p_factual is None:
                    unscored += 1
                    continue
                p.append(verdict.p_factual)
                factual.append(sentence.factual)
    return p, factual, unscored


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, help=__doc__)
@click.argument("critic", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--wrong-share", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="Share of wrong sentences in use.  [default: as validated]")  # fmt: skip
@click.option("--false-alarms", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="Largest share of true sentences to flag.  [default: any]")  # fmt: skip
def main(critic: Path, data: Path, wrong_share: float | None, false_alarms: float | None) -> None:
    p, factual, unscored = judged(critic, data)
    if not p:
        raise UserError(f"{critic} left all {unscored} validation sentences of {data} unscored")
    found = calibrate(np.array(p), np.array(factual), wrong_share, false_alarms)
    card = read_card(critic)
    kept = {"figures": card.calibration["figures"]} if "figures" in card.calibration else {}
    replace(card, threshold=found.threshold, calibration={**found.as_dict(), **kept}).write(critic)
    echo(
        f"threshold {card.threshold} → {found.threshold}; macro-F1 {found.macro_f1:.4f}, "
        f"ECE {found.ece:.4f} on {found.sentences:,} validation sentences"
        f"{f', {unscored} more unscored' if unscored else ''}"
    )


if __name__ == "__main__":
    run_command(main, "python -m revise_captions.finetune.export.recalibrate")
