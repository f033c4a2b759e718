"""Fits a critic's domain gate: its own images against images made to be foreign.

    python -m scripts.research.domain_gate.fit CRITIC DATA     # writes CRITIC/domain.safetensors

CRITIC is a folder written by captions finetune, DATA the folder that it was trained on. The gate
learns by outlier exposure (Hendrycks, Mazeika & Dietterich 2019): a small network on the tower's
hidden states tells DATA's images, clean and worn, from `outliers` and from mosaics of the two.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.gates.image_domain import DomainGate, Floats, tower_states
from revise_captions.critic.paligemma.image_prefetch import (
    Pixels,
    pixel_values,
    resized,
)
from revise_captions.errors import UserError
from revise_captions.finetune.data.image_cache import augmented
from scripts.research.domain_gate.ood_generators.families import (
    ALTERED,
    FAMILIES,
    family_of,
    outlier,
)

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import PaliGemmaForConditionalGeneration

#: Directions of a patch's features that are kept while the gate is trained.
COMPONENTS = 160
MEMBERS, CHANNELS, UNITS = 3, 48, 32
#: Share of held-out training images, clean and worn, that the limit may refuse.
REFUSED, EDGE, PASSED = 0.003, 0.01, 0.002
#: Outliers that the limit is set on: none was fitted on, and none is half a picture of ours.
ASIDE = range(3 * 10**6, 3 * 10**6 + 1500)
CHUNK = 128


@dataclass(frozen=True, slots=True)
class Patches:
    """Projected features, float16 of shape (images, patches, components)."""

    home: NDArray[np.float16]
    foreign: NDArray[np.float16]


def image_paths(data: Path, split: str) -> list[Path]:
    """The distinct images of a split, in order of first mention."""
    file = data / f"{split}.jsonl"
    if not file.is_file():
        raise UserError(
            f"no {split} data: {file} does not exist", hint="DATA as for captions finetune"
        )
    with file.open("rb") as rows:
        names = dict.fromkeys(json.loads(row)["image"] for row in rows if row.strip())
    return [data / name for name in names]


def clean_pixels(path: Path, size: int) -> Pixels:
    from PIL import Image

    with Image.open(path) as image:
        return resized(image, size)


def worn_pixels(path: Path, size: int) -> Pixels:
    """The image rescaled by 0.5–2 and mostly JPEG-compressed at 60–95, by a seed of its own."""
    data = path.read_bytes()
    return augmented(data, size, random.Random(str(path.name)).randrange(2**31))


def foreign_pixels(number: int, size: int, without: tuple[str, ...] = ()) -> Pixels:
    """Outlier number `number`, every third of them worn."""
    image = outlier(number, family_of(number, without))
    if number % 3:
        return resized(image, size)
    return augmented(bitmap(image), size, number)


def family_pixels(number: int, size: int, family: str) -> Pixels:
    return resized(outlier(number, family), size)


def bitmap(image: Image) -> bytes:
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "BMP")
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads images through a critic's tower; `pool` makes them in other processes."""

    model: PaliGemmaForConditionalGeneration
    pool: ProcessPoolExecutor

    @property
    def size(self) -> int:
        return int(self.model.config.vision_config.image_size)

    def features(self, make: Callable[..., Pixels], items: Sequence[object]) -> Iterator[Floats]:
        """Features of `make(item, size)`, in order, in chunks of images."""
        import torch

        made = self.pool.map(partial(make, size=self.size), items, chunksize=16)
        chunk: list[Pixels] = []
        for number, pixels in enumerate(made, start=1):
            chunk.append(pixels)
            if len(chunk) == CHUNK or number == len(items):
                with torch.inference_mode():
                    _, states = tower_states(self.model, pixel_values(chunk, self.model.dtype))
                yield states.numpy()
                chunk = []


@dataclass(frozen=True, slots=True)
class Basis:
    """`(features - mean) @ project`: decorrelated features of a patch, of deviation about one."""

    mean: Floats
    project: Floats

    def __call__(self, features: Floats) -> NDArray[np.float16]:
        return np.asarray((features - self.mean) @ self.project, dtype=np.float16)


def basis_of(features: Floats, components: int = COMPONENTS) -> Basis:
    """Principal directions of (images, patches, features), the weak ones not blown up."""
    flat = features.reshape(-1, features.shape[-1])
    flat = flat[:: max(1, len(flat) // 20_000)]  # patches enough for so many directions
    mean, deviation = flat.mean(0), flat.std(0) + 1e-6
    flat = (flat - mean) / deviation
    values, vectors = np.linalg.eigh((flat.T @ flat / len(flat)).astype(np.float64))
    kept = slice(None, -components - 1, -1)
    scale = np.sqrt(values[kept] + 0.01 * values[-1] / components)
    project = vectors[:, kept] / scale / deviation[:, None]
    return Basis(mean.astype(np.float32), project.astype(np.float32))


def mosaics(
    home: NDArray[np.float16], foreign: NDArray[np.float16], rng: np.random.Generator
) -> NDArray[np.float16]:
    """Home images of which a rectangle of patches, a seventh to all but one row, is foreign."""
    grid = round(home.shape[1] ** 0.5)
    row, column = np.divmod(np.arange(grid * grid), grid)
    height, width = rng.integers(max(1, grid * 3 // 8), grid, (2, len(home), 1))
    top, left = rng.integers(0, grid - height + 1), rng.integers(0, grid - width + 1)
    inside = (row >= top) & (row < top + height) & (column >= left) & (column < left + width)
    mixed: NDArray[np.float16] = np.where(inside[..., None], foreign, home)
    return mixed


def train(
    patches: Patches, *, steps: int, seed: int = 0, batch: int = 64, noise: float = 0.1
) -> dict[str, Floats]:
    """The gate's network on projected features: every member sees the same batches."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits, relu

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    places, components = patches.home.shape[1:]
    h = MEMBERS * CHANNELS
    weights = {
        "embed": torch.randn(components, h) * components**-0.5,
        "place": torch.zeros(places, h),
        "hidden": torch.randn(MEMBERS, 3 * CHANNELS, UNITS) * (3 * CHANNELS) ** -0.5,
        "bias": torch.zeros(MEMBERS, UNITS),
        "out": torch.randn(MEMBERS, UNITS) * UNITS**-0.5,
        "offset": torch.zeros(MEMBERS),
    }
    for weight in weights.values():
        weight.requires_grad_()
    optimizer = torch.optim.AdamW(weights.values(), lr=2e-3, weight_decay=0.02)
    truth = torch.cat([torch.ones(batch), torch.zeros(batch + batch // 2)])
    importance = torch.where(truth == 1, 1.5, 1.0)[:, None].expand(-1, MEMBERS)
    for step in range(steps):
        home = patches.home[rng.integers(0, len(patches.home), batch)]
        foreign = patches.foreign[rng.integers(0, len(patches.foreign), batch)]
        half = mosaics(home[: batch // 2], foreign[batch // 2 : 2 * (batch // 2)], rng)
        x = torch.from_numpy(np.concatenate([home, foreign, half])).float()
        x = relu((x + noise * torch.randn_like(x)) @ weights["embed"] + weights["place"])
        x = x.unflatten(-1, (MEMBERS, CHANNELS))
        pooled = torch.cat([x.mean(1), x.amax(1), x.std(1, correction=0)], -1)
        units = relu(torch.einsum("imf,mfk->imk", pooled, weights["hidden"]) + weights["bias"])
        logits = (units * weights["out"]).sum(-1) + weights["offset"]
        loss = binary_cross_entropy_with_logits(
            logits, truth[:, None].expand_as(logits), weight=importance
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 50) * (1 + np.cos(np.pi * step / steps)) / 2
        optimizer.step()
    return {name: weight.detach().numpy() for name, weight in weights.items()}


def gate_of(basis: Basis, weights: dict[str, Floats], limit: float) -> DomainGate:
    """The trained network on raw features: the basis is folded into its first layer."""
    embed = basis.project @ weights["embed"]
    place = weights["place"] - basis.mean @ embed
    rest = {name: weights[name] for name in ("hidden", "bias", "out", "offset")}
    return DomainGate(embed=embed, place=place, **rest, limit=limit)


def limit_of(home: Floats, foreign: Floats) -> float:
    """Halfway from the lowest home scores to the highest foreign ones, and never so high that more
    than the share REFUSED of home is refused.

    Pictures of things and colors that never met in training score lower than those of training,
    and drawings by programs that the gate was not fitted on higher than those that it was: both
    need room.
    """
    low = float(np.quantile(home, REFUSED))
    high = float(np.quantile(foreign, 1 - PASSED))
    return min(low, (float(np.quantile(home, EDGE)) + high) / 2)


def fit(reader: Reader, data: Path, *, images: int, outliers: int) -> DomainGate:
    """A gate for the critic of `reader`, fitted on `images` images of `data` and as many worn."""
    paths = image_paths(data, "train")
    count = min(images, len(paths))
    spread = [paths[i] for i in np.linspace(0, len(paths) - 1, count, dtype=int)]
    aside, kept = spread[::5], [path for i, path in enumerate(spread) if i % 5]
    some = kept[:: max(1, len(kept) // 512)]
    first = [*reader.features(clean_pixels, some), *reader.features(foreign_pixels, range(512))]
    basis = basis_of(np.concatenate(first))

    def projected(make: Callable[..., Pixels], items: Sequence[object]) -> NDArray[np.float16]:
        return np.concatenate([basis(part) for part in reader.features(make, items)])

    home = np.concatenate([projected(clean_pixels, kept), projected(worn_pixels, kept)])
    foreign = projected(foreign_pixels, range(512, 512 + outliers))
    weights = train(Patches(home, foreign), steps=max(200, 8 * (len(home) + len(foreign)) // 160))
    draft = gate_of(basis, weights, 0.0)
    return replace(draft, limit=limit_for(draft, reader, aside))


def limit_for(gate: DomainGate, reader: Reader, home: Sequence[Path]) -> float:
    """The limit by images that `gate` was not fitted on: `home`, clean and worn, and ASIDE."""
    whole = partial(foreign_pixels, without=tuple(ALTERED))

    def scores(make: Callable[..., Pixels], items: Sequence[object]) -> Floats:
        return np.concatenate([gate.score(part) for part in reader.features(make, items)])

    known = np.concatenate([scores(clean_pixels, home), scores(worn_pixels, home)])
    return limit_of(known, scores(whole, ASIDE))


def passed(
    gate: DomainGate, reader: Reader, make: Callable[..., Pixels], items: Sequence[object]
) -> float:
    """The share of images that the gate lets pass."""
    inside = [gate.inside(part) for part in reader.features(make, items)]
    return float(np.concatenate(inside).mean())


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, help=__doc__)
@click.argument("critic", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--images", default=5000, show_default=True, help="Training images, clean and worn.")
@click.option("--outliers", default=12000, show_default=True, help="Foreign images.")
@click.option("--workers", default=2, show_default=True, help="Processes that make images.")
def main(critic: Path, data: Path, images: int, outliers: int, workers: int) -> None:
    from transformers import PaliGemmaForConditionalGeneration

    model = PaliGemmaForConditionalGeneration.from_pretrained(critic).float().eval()
    with ProcessPoolExecutor(workers) as pool:
        reader = Reader(model, pool)
        gate = fit(reader, data, images=images, outliers=outliers)
        gate.write(critic)
        held_out = image_paths(data, "validation")[:1000]
        for name, make in (("clean", clean_pixels), ("worn", worn_pixels)):
            share = 1 - passed(gate, reader, make, held_out)
            click.echo(f"{'validation, ' + name:24} {len(held_out):5} refused {share:7.2%}")
        fresh = range(2 * 10**6, 2 * 10**6 + 150)
        for family in FAMILIES:
            share = passed(gate, reader, partial(family_pixels, family=family), fresh)
            click.echo(f"{family:24} {len(fresh):5} passed  {share:7.2%}")


if __name__ == "__main__":
    main()
