"""Make training data of what the critic does not see, as a trained policy has found it.

    python -m scripts.research.preferences.blind_spots RUNS/grpo.critic.both DATA
    finetune-critic DATA --base bundled --out my-critic --allow missing-rationales

The policy captions scenes that it was not trained on and that no figure is measured on. Captions in
which the critic passes a false sentence, or flags a true one, become rows of `finetune-critic`,
every sentence labeled by the oracle; one scene in five is for validation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from scripts.research.preferences.proof import sampled_texts, verifier_of, with_verdicts
from scripts.research.preferences.world import World

#: Scenes beyond those of training.
FIRST = 200_000


def is_blind(row: Mapping[str, Any]) -> bool:
    """Whether critic and oracle disagree about a sentence that both judge."""
    pairs = zip(row["oracle"], row["critic"], strict=True)
    return any(None not in (truth, said) and truth is not said for truth, said in pairs)


def example(row: Mapping[str, Any], image: str) -> dict[str, Any]:
    """A caption as `finetune-critic` reads it. What the oracle does not judge says nothing."""
    sentences = [
        {
            "start": start,
            "end": end,
            "label": "nonfactual" if truth is False else "factual",
            "assessable": truth is not None,
        }
        for (start, end), truth in zip(row["spans"], row["oracle"], strict=True)
    ]
    return {"image": image, "caption": row["caption"], "sentences": sentences}


@click.command(help=__doc__.splitlines()[0])
@click.argument("policy", type=click.Path(path_type=Path, exists=True))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--scenes", default=240, show_default=True, help="Scenes to caption.")
def main(policy: Path, data: Path, scenes: int) -> None:
    world = World.of("train", range(FIRST, FIRST + scenes))
    both = {name: verifier_of(name, world) for name in ("critic", "oracle")}
    (data / "images").mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = {"train": [], "validation": []}
    for row in with_verdicts(policy.name, sampled_texts(policy, world), world, both):
        if not is_blind(row):
            continue
        image = f"images/{row['scene']:05d}.png"
        world.images[row["scene"]].save(data / image, compress_level=1)
        split = "train" if row["scene"] % 5 else "validation"
        lines[split].append(json.dumps(example(row, image)))
    for split, own in lines.items():
        (data / f"{split}.jsonl").write_text("\n".join(own) + "\n", encoding="utf-8")
        click.echo(f"{data / f'{split}.jsonl'}: {len(own)} captions of {scenes} scenes in all")


if __name__ == "__main__":
    main()
