"""How many annotated sentences does the bundled critic need for a domain that it never saw?

    python -m scripts.research.new_domains.measure WORK     # everything: hours on two cores
    python -m scripts.research.new_domains.measure WORK --budgets 100,1000 --methods full \
        --steps 150

For each budget and method: `finetune-critic` from the bundled critic on so many judged and
explained sentences of a new domain (`picturebook.new_domains`: `yard` is near, `cupboard` far), a
sixth of them kept for validation. Of the captions that are trained on, `--replay` is the share of
those of the picture-book world, which cost nobody anything. Then ROC-AUC and the share of right
rationales on new scenes of the domain, and ROC-AUC on held-out scenes of the old world, each with a
95 % bootstrap interval over captions. What is there is not made again: the same command goes on
after an interruption. One line of JSON a figure goes to WORK/DOMAIN/results.jsonl, a table to the
terminal.

`--unjudged`: so many captions of the domain that nobody judged, one sentence in five wrong, teach
its words first (`annotate match`, `--matching-steps`); the budgets then go on from that critic.

`--labels`: what the sentences' labels and rationales are. `exact`; `one` simulated rater's; the
`majority` of five with its longest rationale (the paper's protocol) or a `random` one; or `merged`:
all rationales that differ, one after another.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.gates.language import Vocabulary
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.picturebook.generate import write_split
from revise_captions.picturebook.raters import SimulatedVote, majority, rate
from revise_captions.pipelines.annotate.cli import annotate
from revise_captions.records import Span
from revise_captions.stats.classification import macro_f1, roc_auc
from revise_captions.stats.paired_tests import measured
from scripts.research.new_domains.generate import DOMAINS, Domain

Floats = NDArray[np.float64]
METHODS = {
    "full": ("--preset", "adapt"),
    "lora": ("--preset", "adapt", "--new-words", "0", "--optimizer", "adamw", "--method", "lora",
             "--lora-rank", "32", "--lora-alpha", "64", "--learning-rate", "1.5e-3"),
}  # fmt: skip
LABELS = ("exact", "one", "majority", "random", "merged")
OLD = 4000  # captions of the old world to replay from
#: Seed of the first scene that nobody judged, and the share of wrong sentences about these.
UNJUDGED, WRONG = 500_000, 0.2
#: What the data check finds in such data, and is right to: small worlds repeat themselves.
ALLOWED = ("missing-rationales", "duplicates", "shared-images")


def relabeled(made: dict[str, Any], labels: str) -> dict[str, Any]:
    """A training row with the labels that people would have given."""
    if labels == "exact":
        return made
    rng = random.Random(f"{labels}.{made['id']}")
    for item in made["sentences"]:
        votes = rate(item["label"] == "factual", item["assessable"], item["rationales"], rng)
        against = [
            v for v in votes if v.vote in (SimulatedVote.NEUTRAL, SimulatedVote.CONTRADICTION)
        ]
        if labels == "one":
            factual, told = votes[0] not in against, [votes[0].rationale]
        else:
            factual, _, longest = majority(votes)
            told = [longest] if longest else []
            if against and labels == "random":
                told = [rng.choice(against).rationale]
            elif against and labels == "merged":
                told = [" ".join(dict.fromkeys(v.rationale for v in against))]
        wrong_now = not factual
        item["label"] = "factual" if factual else "nonfactual"
        item["rationales"] = [text for text in told if text] if wrong_now else []
        item["rationale"] = item["rationales"][0] if item["rationales"] else None
        if item["rewrite"] and factual:
            item["rewrite"] = ""
    return made


def old_world(work: Path, name: str, first: int) -> Path:
    """Captions of the picture-book world's train split, with auxiliary sentences, drawn once."""
    folder = work / name
    if not (folder / "train.jsonl").exists():
        write_split(
            folder, "train", scenes=OLD, first=first, size=256, workers=2, draws=True,
            options={"captions": 1, "mode": "balanced", "raters": False, "auxiliary": 12},
        )  # fmt: skip
    return folder


def write_data(work: Path, domain: Domain, sentences: int, labels: str) -> Path:
    """A data folder with `sentences` annotated ones; every sixth caption is for validation."""
    folder = work / f"data-{sentences}-{labels}"
    if (folder / "train.jsonl").exists():
        return folder
    folder.mkdir(parents=True)
    splits: dict[str, list[dict[str, Any]]] = {"train": [], "validation": []}
    left, number = sentences, 0
    while left > 0:
        scene, _, made = domain.row("train", number)
        path = folder / made["image"]
        path.parent.mkdir(parents=True, exist_ok=True)
        domain.draw(scene, 256).save(path)
        left -= len(made["sentences"])
        splits["validation" if number % 6 == 2 else "train"].append(relabeled(made, labels))
        number += 1
    for split, rows in splits.items():
        text = "".join(json.dumps(item) + "\n" for item in rows)
        (folder / f"{split}.jsonl").write_text(text)
    return folder


def write_matched(work: Path, domain: Domain, captions: int) -> Path:
    """A data folder of so many captions that nobody judged."""
    folder = work / f"matched-{captions}"
    if (folder / "train.jsonl").exists():
        return folder
    rows, images = work / "unjudged.jsonl", work / "unjudged"
    images.mkdir(parents=True, exist_ok=True)
    with rows.open("w", encoding="utf-8") as file:
        for number in range(captions):
            scene = domain.sample(UNJUDGED + number)
            said = domain.caption(scene, UNJUDGED + number, WRONG)
            domain.draw(scene, 256).save(images / f"{number}.png")
            caption = " ".join(one.text for one in said)
            made = {"image": f"unjudged/{number}.png", "caption": caption}
            file.write(json.dumps(made) + "\n")
    draft = folder.with_suffix(".tmp")
    shutil.rmtree(draft, ignore_errors=True)
    annotate(["match", str(rows), str(draft)], standalone_mode=False)
    draft.rename(folder)
    return folder


@dataclass(frozen=True, slots=True)
class Training:
    """How one critic is trained. `base`: as finetune-critic takes it; `replay`: share of `old`."""

    base: str
    old: Path
    replay: float
    options: Sequence[str]
    steps: int
    seed: int
    processes: int

    def run(self, data: Path, out: Path) -> None:
        """Trains, or goes on; nothing where it is done."""
        if (out / "critic.json").exists():
            return
        more = ["--resume"] if (out / "training" / "state.pt").exists() else []
        words = [
            str(data), "--base", self.base, "--out", str(out), "--epochs", "0",
            "--steps", str(self.steps), "--validate-steps", str(max(1, self.steps // 4)),
            "--save-steps", "100", "--seed", str(self.seed), "--samples", "2",
            "--replay", str(self.old), "--replay-share", str(self.replay),
            *(word for name in ALLOWED for word in ("--allow", name)), *self.options, *more,
        ]  # fmt: skip
        command = ["-m", "revise_captions.finetune.cli", *words]
        environment = dict(os.environ)
        if self.processes > 1:
            several = ["--standalone", "--nproc-per-node", str(self.processes)]
            command = ["-m", "torch.distributed.run", *several, *command]
            environment["OMP_NUM_THREADS"] = "1"
        subprocess.run([sys.executable, *command], check=True, stdout=sys.stderr, env=environment)


def bare(critic: Any) -> PaliGemmaCritic:
    """A critic that refuses nothing: without its domain gate and its lexicon."""
    assert isinstance(critic, PaliGemmaCritic)
    critic.gate, critic.vocabulary = None, Vocabulary(frozenset())
    return critic


def on_new(critic: PaliGemmaCritic, domain: Domain, count: int) -> dict[str, Any]:
    items = [domain.row("test", number) for number in range(count)]
    images = [domain.draw(scene, 256) for scene, _, _ in items]
    p, truth, of, claims, about = [], [], [], [], []
    aspects: list[str] = []
    for number, ((scene, said, made), image) in enumerate(zip(items, images, strict=True)):
        spans = tuple(Span(s["start"], s["end"]) for s in made["sentences"])
        (verdicts,) = critic.judge([JudgeRequest(image, made["caption"], spans)])
        for k, (one, verdict) in enumerate(zip(said, verdicts, strict=True)):
            p.append(np.nan if verdict.p_factual is None else verdict.p_factual)
            truth.append(float(one.factual))
            of.append(f"{domain.name}-{number}")
            aspects.append(one.claim.aspect if one.claim else "")
            if one.claim and not one.factual:
                claims.append(ExplainRequest(image, made["caption"], spans, k))
                about.append((scene, one.claim))
    told = critic.explain(claims)
    right = [
        float(domain.rationale_is_right(scene, claim, text))
        for (scene, claim), text in zip(about, told, strict=True)
    ]
    captions = [o for o, t in zip(of, truth, strict=True) if not t]
    mean = measured(lambda x, _: float(x.mean()), right, right, captions)
    found = figures("new", p, truth, of, critic.threshold)
    found["new by aspect"] = by_aspect(np.array(p), np.array(truth), np.array(aspects))
    return found | {"new rationales": [mean.value, mean.low, mean.high], "samples": told[:4]}


def by_aspect(p: Floats, truth: Floats, aspects: NDArray[np.str_]) -> dict[str, float]:
    """ROC-AUC of the scored sentences about each aspect; what says nothing has none."""
    names = sorted(set(aspects[~np.isnan(p)].tolist()) - {""})
    parts = {name: (aspects == name) & ~np.isnan(p) for name in names}
    return {name: round(roc_auc(p[part], truth[part]), 3) for name, part in parts.items()}


def on_scenes(critic: PaliGemmaCritic, count: int) -> dict[str, Any]:
    from scripts.research.bundled_models.held_out import held_out

    p, truth, of = [], [], []
    for number, item in enumerate(held_out("test", count)):
        (verdicts,) = critic.judge([JudgeRequest(item.image, item.text, item.spans)])
        p += [np.nan if v.p_factual is None else v.p_factual for v in verdicts]
        truth += [float(f) for f in item.factual]
        of += [f"scene-{number}"] * len(verdicts)
    return figures("old", p, truth, of, critic.threshold)


def figures(
    name: str, p: Sequence[float], truth: Sequence[float], of: Sequence[str], limit: float
) -> dict[str, Any]:
    scored = [i for i, value in enumerate(p) if not np.isnan(value)]
    x, y = ([values[i] for i in scored] for values in (p, truth))
    units = [of[i] for i in scored]
    auc = measured(roc_auc, x, y, units)
    return {
        f"{name} ROC-AUC": [auc.value, auc.low, auc.high],
        f"{name} macro-F1": macro_f1(np.array(x), np.array(y), limit),
        f"{name} sentences": len(y),
        f"{name} unscored": len(p) - len(scored),
    }


def evaluate(
    work: Path, domain: Domain, name: str, folder: str, captions: int, **about: Any
) -> dict[str, Any]:
    """Figures of one critic, from results.jsonl where they are there already."""
    results = work / "results.jsonl"
    known = results.read_text().splitlines() if results.exists() else []
    for line in map(json.loads, known):
        if line["name"] == name and line["captions"] == captions:
            return dict(line)
    from revise_captions.critic.load import load_critic

    critic = bare(load_critic(folder, device="cpu", routed=False))
    line = {"name": name, "captions": captions, **about}
    line |= on_new(critic, domain, captions) | on_scenes(critic, captions)
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return line


def table(lines: Sequence[dict[str, Any]]) -> str:
    def shown(value: Any) -> str:
        if value[0] is None:
            return "–"
        bounds = "" if value[1] is None else f" ({value[1]:.3f}–{value[2]:.3f})"
        return f"{value[0]:.3f}{bounds}"

    rows = [
        "| sentences | method | labels | new: ROC-AUC | new: rationales right | old: ROC-AUC |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for line in lines:
        cells = [line.get("sentences", 0), line.get("method", "before"), line.get("labels", "–")]
        cells += [shown(line[k]) for k in ("new ROC-AUC", "new rationales", "old ROC-AUC")]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.argument("work", type=click.Path(path_type=Path))
@click.option(
    "--domain", "world", type=click.Choice(list(DOMAINS)), default="yard", show_default=True
)
@click.option("--budgets", default="100,300,1000,3000,10000", show_default=True)
@click.option("--methods", default="full,lora", show_default=True)
@click.option("--labels", default="exact", show_default=True, help=f"Some of {', '.join(LABELS)}.")
@click.option("--steps", default=200, show_default=True, help="Optimiser steps of each training.")
@click.option("--captions", default=200, show_default=True, help="Held-out ones, of each world.")
@click.option("--replay", default=0.5, show_default=True, help="Share of old captions.")
@click.option(
    "--unjudged", default=0, show_default=True, help="Captions to learn words from first."
)
@click.option("--matching-steps", default=3200, show_default=True, help="Steps of that.")
@click.option("--processes", default=1, show_default=True, help="That train together.")
@click.option("--seed", default=0, show_default=True)
def main(
    work: Path, world: str, budgets: str, methods: str, labels: str, steps: int, captions: int,
    replay: float, unjudged: int, matching_steps: int, processes: int, seed: int,
) -> None:  # fmt: skip
    work, domain = work / world, DOMAINS[world]
    work.mkdir(parents=True, exist_ok=True)
    lines = [evaluate(work, domain, "bundled", "bundled", captions)]
    old = old_world(work, "old-adapting", OLD)  # not those that matching learned by heart
    training = Training("bundled", old, replay, (), steps, seed, processes)
    first = ""
    if unjudged:
        first = f"matched-{unjudged}-{replay:g}-{matching_steps}-{seed}"
        old = old_world(work, "old", 0)
        matching = replace(training, options=("--preset", "match"), steps=matching_steps, old=old)
        matching.run(write_matched(work, domain, unjudged), work / first)
        about = {"method": "unjudged", "steps": matching_steps}
        lines.append(evaluate(work, domain, first, str(work / first), captions, **about))
        training = replace(training, base=str(work / first))
    for sentences in map(int, budgets.split(",")):
        for kind in labels.split(","):
            data = write_data(work, domain, sentences, kind)
            for method in methods.split(","):
                name = f"{method}-{sentences}-{kind}-{replay:g}-{steps}-{seed}"
                name = f"{name}-from-{first}" if first else name
                replace(training, options=METHODS[method]).run(data, work / name)
                about = {"sentences": sentences, "method": method, "labels": kind, "steps": steps}
                lines.append(evaluate(work, domain, name, str(work / name), captions, **about))
                click.echo(table(lines[-1:]).splitlines()[-1], err=True)
    click.echo(table(lines))


if __name__ == "__main__":
    main()
