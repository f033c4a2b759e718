"""Train the picture-book captioner on preferences, and sample what it says before and after.

    python -m scripts.research.preferences.proof pairs RUNS
    python -m scripts.research.preferences.proof train RUNS dpo critic both
    python -m scripts.research.preferences.proof captions RUNS
    python -m scripts.research.preferences.proof everything RUNS      # what is not there yet

RUNS holds the captioner in `sft` (`captioner.py`) and gets everything else: pairs, trained policies
in `dpo.critic.both` and the like, and `captions.jsonl`, which `tables.py` prints and plots.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from revise_captions.critic.load import load_critic
from revise_captions.critic.unit_verifier import CriticVerifier
from revise_captions.critic.units.scoring import UnitScoring
from revise_captions.dcscore.sentence_decomposer import SentenceDecomposer
from revise_captions.dcscore.units import UnitVerifier, VerifyTask
from revise_captions.engines.protocol import Sampling
from revise_captions.engines.transformers.load import load_engine
from revise_captions.finetune.options import with_values
from revise_captions.finetune.preferences.rewards import UnitRewards
from revise_captions.finetune.preferences.run import PreferenceJob, prepared
from revise_captions.finetune.preferences.settings import DpoSettings, GrpoSettings
from revise_captions.finetune.preferences.training import WeightedReward, train_dpo, train_grpo
from revise_captions.io.writing import write_json_lines
from revise_captions.pipelines.preferences.pairs import SCORES, preferences
from revise_captions.pipelines.preferences.rows import pair_row
from revise_captions.pipelines.preferences.scoring import candidates_of
from scripts.research.preferences.captioner import teacher_caption
from scripts.research.preferences.world import (
    FIRST,
    PROMPT,
    TEMPERATURE,
    TOP_P,
    OracleVerifier,
    World,
    sample,
)

VERIFIERS = ("critic", "oracle")
METHODS = ("dpo", "grpo")
#: Scenes to train on, captions of each for DPO, and pairs of each by a score.
SCENES, CAPTIONS, PAIRS = 240, 6, 2
#: Held-out scenes to caption.
HELD_OUT = 250
#: Rewards of the three arms: weights of c_p and c_r.
WEIGHTS = {"c_p": (1.0, 0.0), "c_r": (0.0, 1.0), "both": (1.0, 0.5)}
SMALL = {"dtype": "bfloat16", "device": "cpu", "schedule": "constant", "save_steps": 10_000}
DPO = {**SMALL, "learning_rate": 2e-4, "batch_size": 32, "micro_batch": 32, "epochs": 1.0}
GRPO = {
    **SMALL,
    "learning_rate": 3e-4,
    "batch_size": 64,
    "micro_batch": 64,
    "steps": 20,
    "max_tokens": 128,
    "kl": 0.0,
    "clip_high": 0.28,
    "log_steps": 1,
}


@click.group(help=__doc__.splitlines()[0])
def main() -> None:
    pass


def verifier_of(name: str, world: World) -> UnitVerifier:
    """The bundled critic, or the truth."""
    if name == "oracle":
        return OracleVerifier(world)
    return CriticVerifier(load_critic("bundled", batch_size=64), claims_only=True)


@main.command()
@click.argument("runs", type=click.Path(path_type=Path))
def pairs(runs: Path) -> None:
    """Sample captions from the captioner, verify them, and write pairs by each score."""
    world = World.of("train", range(FIRST, FIRST + SCENES))
    world.write(runs / "scenes")
    engine = load_engine(str(runs / "sft"), option="--policy", batch_size=64)
    sampling = Sampling(TEMPERATURE, TOP_P, seed=1)
    texts = sample(engine, world.images, CAPTIONS, sampling)
    for name in VERIFIERS:
        scoring = UnitScoring(SentenceDecomposer(), verifier_of(name, world))
        found = candidates_of(list(zip(world.images, texts, strict=True)), scoring)
        lines = []
        for number, own in enumerate(found):
            made = preferences(own, SCORES, margin=0.0, most=PAIRS)
            said = [candidate.as_json() for candidate in own]
            lines += [
                pair_row(
                    f"{number:05d}.png",
                    PROMPT,
                    said[one.chosen],
                    said[one.rejected],
                    by=one.by,
                    margin=one.margin,
                )
                for one in made.pairs
            ]
        write_json_lines(runs / "scenes" / f"pairs.{name}.jsonl", lines)
        click.echo(f"{name}: {len(lines)} pairs")


@main.command()
@click.argument("runs", type=click.Path(path_type=Path))
@click.argument("method", type=click.Choice(METHODS))
@click.argument("verifier", type=click.Choice(VERIFIERS))
@click.argument("score", type=click.Choice(SCORES))
def train(runs: Path, method: str, verifier: str, score: str) -> None:
    """Train one arm."""
    out = runs / f"{method}.{verifier}.{score}"
    log: list[dict[str, Any]] = []

    def report(line: dict[str, Any]) -> None:
        log.append(line)
        click.echo(json.dumps(line))

    data = f"pairs.{verifier}.jsonl" if method == "dpo" else "images.jsonl"
    job = PreferenceJob(
        runs / "scenes" / data, str(runs / "sft"), out, report, by=score, force=True
    )
    if method == "dpo":
        dpo = with_values(DpoSettings(), DPO)
        policy, given, folder = prepared(job, dpo, pairs=True)
        train_dpo(policy, given, dpo, folder)
    else:
        grpo = with_values(GrpoSettings(), GRPO)
        policy, images, folder = prepared(job, grpo, pairs=False)
        world = World.of("train", range(FIRST, FIRST + SCENES))
        units = UnitRewards(SentenceDecomposer(), verifier_of(verifier, world))
        share, number = WEIGHTS[score]
        rewards = [
            WeightedReward("c_p", units.c_p, share),
            WeightedReward("c_r", units.c_r, number),
        ]
        train_grpo(policy, images, rewards, grpo, folder)
    write_json_lines(out / "training" / "log.jsonl", log)


@main.command()
@click.argument("runs", type=click.Path(path_type=Path))
@click.argument("arms", nargs=-1)
def captions(runs: Path, arms: tuple[str, ...]) -> None:
    """Caption held-out scenes by each policy, and keep both verifiers' verdicts.

    ARMS: folders of RUNS; all that are there by default. What is in captions.jsonl stays.
    """
    world = World.of("test", range(HELD_OUT))
    both = {name: verifier_of(name, world) for name in VERIFIERS}
    kept = runs / "captions"
    kept.mkdir(exist_ok=True)
    for arm in arms or ["teacher", "sft", *map(".".join, every_arm())]:
        written = (kept / f"{arm}.jsonl").exists()
        if written or not (arm == "teacher" or (runs / arm / "config.json").exists()):
            continue
        texts = teacher_texts() if arm == "teacher" else sampled_texts(runs / arm, world)
        write_json_lines(kept / f"{arm}.jsonl", with_verdicts(arm, texts, world, both))
        click.echo(arm)


@main.command()
@click.argument("runs", type=click.Path(path_type=Path))
@click.pass_context
def everything(context: click.Context, runs: Path) -> None:
    """Pairs, all arms and all captions, the arms with both scores first."""
    if not (runs / "scenes" / f"pairs.{VERIFIERS[-1]}.jsonl").exists():
        context.invoke(pairs, runs=runs)
    context.invoke(captions, runs=runs, arms=("teacher", "sft"))
    for method, verifier, score in sorted(every_arm(), key=lambda arm: arm[2] != "both"):
        arm = f"{method}.{verifier}.{score}"
        if not (runs / arm / "config.json").exists():
            context.invoke(train, runs=runs, method=method, verifier=verifier, score=score)
        context.invoke(captions, runs=runs, arms=(arm,))


def every_arm() -> Iterator[tuple[str, str, str]]:
    """Method, verifier and score of each arm."""
    for method in METHODS:
        for verifier in VERIFIERS:
            for score in SCORES:
                yield method, verifier, score


def teacher_texts() -> list[str]:
    """The teacher's captions of the held-out scenes."""
    return [teacher_caption(number, "test") for number in range(HELD_OUT)]


def sampled_texts(policy: Path, world: World) -> list[str]:
    """A policy's captions of all scenes, one each."""
    engine = load_engine(str(policy), option="--policy", batch_size=64)
    sampling = Sampling(TEMPERATURE, TOP_P, seed=2)
    return [own[0] for own in sample(engine, world.images, 1, sampling)]


def with_verdicts(
    policy: str, texts: Sequence[str], world: World, both: Mapping[str, UnitVerifier]
) -> Iterator[dict[str, Any]]:
    """Captions of all scenes, sentence by sentence, with verdicts."""
    found = SentenceDecomposer().decompose(texts)
    tasks = [VerifyTask(image, one) for image, one in zip(world.images, found, strict=True)]
    verdicts = {name: verifier.verify(tasks) for name, verifier in both.items()}
    for number, one in enumerate(found):
        yield {
            "policy": policy,
            "scene": number,
            "caption": one.text,
            "spans": [list(unit.span) for unit in one.units],
            "sentences": [unit.text for unit in one.units],
            **{
                name: [verdict.correct for verdict in own[number]] for name, own in verdicts.items()
            },
            "p": [verdict.p_correct for verdict in verdicts["critic"][number]],
        }


if __name__ == "__main__":
    main()
