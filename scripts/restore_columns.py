"""Gives a critic's tower back what it forgot: which column a patch is in.

    python scripts/restore_columns.py critic/bundled runs/placed
    finetune-critic DATA --base runs/placed --out …

Before `finetune.tower.Heads` asked for places, towers trained on dense labels lost their columns
(a thing looks the same in all of them), and no critic on top could tell left from right. Here the
position embeddings get a smooth code of the column, in directions that they do not use, and the
projector a map from what arrives of it to the words “left” and “right”, as `finetune.align` starts
new models. The checkpoint must be trained further: its domain gate, threshold and calibration are
the old ones. Prints how well a ridge regression tells rows and columns from the tower's features.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import numpy as np
import torch
from transformers import AutoTokenizer, PaliGemmaForConditionalGeneration

from revise_captions.critic.codec import Codec
from revise_captions.critic.model import tower_output
from revise_captions.critic.pixels import pixel_values
from revise_captions.finetune.tower import places
from revise_captions.picturebook.draw import draw
from revise_captions.picturebook.sample import sample_scene

#: Size of the code, beside the learned position embeddings' own (their norm is about 4).
CODE = 5.0
#: Length of the step from "left" to "right" that the projector adds, in the words' own.
WORDS = 2.0
IMAGES = 200


def column_code(columns: int) -> torch.Tensor:
    """(columns, 4): the column itself, then three waves, ever smaller."""
    x = torch.linspace(-1, 1, columns)
    waves = [torch.cos(torch.pi * x), torch.sin(torch.pi * x), torch.cos(2 * torch.pi * x)]
    code = torch.stack([x / x.std(), *(2**0.5 * wave for wave in waves)], 1)
    return code * torch.tensor([1.0, 0.5, 0.5, 0.25])


def add_code(model: PaliGemmaForConditionalGeneration) -> None:
    """Adds the code to the position embeddings, in directions orthogonal to all of them."""
    tower = model.model.vision_tower
    learned = getattr(tower, "vision_model", tower).embeddings.position_embedding.weight
    centred = learned.detach() - learned.detach().mean(0)
    unused = torch.linalg.svd(centred.double()).Vh[len(learned) :].float()
    chosen = unused[torch.randperm(len(unused))[:4]]
    side = round(len(learned) ** 0.5)
    with torch.no_grad():
        learned += CODE * (column_code(side) @ chosen).repeat(side, 1)


def regression(features: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Ridge weights from centred features (n, hidden) to the target (n,), and their R²."""
    centred = (features - features.mean(0)).double()
    gram = centred.T @ centred
    ridge = 1e-3 * gram.diagonal().mean() * torch.eye(len(gram), dtype=torch.float64)
    weights = torch.linalg.solve(gram + ridge, centred.T @ target.double())
    left = (target - centred @ weights).square().mean() / target.double().var()
    return weights.float(), float(1 - left)


@click.command(help=__doc__)
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--seed", default=0, show_default=True)
def main(checkpoint: Path, out: Path, seed: int) -> None:
    torch.manual_seed(seed)
    model = PaliGemmaForConditionalGeneration.from_pretrained(checkpoint, dtype=torch.float32)
    codec = Codec(AutoTokenizer.from_pretrained(checkpoint))
    size = model.config.vision_config.image_size
    drawn = [draw(sample_scene(n, "validation"), 256).resize((size, size)) for n in range(IMAGES)]
    pixels = pixel_values(np.stack([np.asarray(image) for image in drawn]), torch.float32)

    def shown() -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            features = tower_output(model, pixels)
        place = places(features.shape[1]).repeat(IMAGES, 1)
        flat = features.flatten(0, 1)
        rows, columns = (regression(flat, place[:, k])[1] for k in (0, 1))
        click.echo(f"R² of rows {rows:.3f}, of columns {columns:.3f}")
        return flat, place[:, 1]

    shown()
    add_code(model)
    flat, column = shown()
    weights, _ = regression(flat, column)
    embed = model.model.language_model.embed_tokens

    def word(text: str) -> torch.Tensor:
        ids = list(codec.text(text))
        return embed.weight[ids].detach().sum(0) * embed.embed_scale / len(ids) ** 0.5

    step = WORDS * (word(" right") - word(" left"))
    linear = model.model.multi_modal_projector.linear
    with torch.no_grad():
        linear.weight += torch.outer(step, weights)
        linear.bias -= step * (weights @ flat.mean(0))
    shutil.copytree(checkpoint, out)
    model.to(torch.bfloat16).save_pretrained(out)


if __name__ == "__main__":
    main()
