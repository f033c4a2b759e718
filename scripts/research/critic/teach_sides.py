"""Teaches a picture-book critic left and right, where it cannot tell them apart.

    python -m scripts.research.critic.teach_sides runs/critic runs/sides
    captions finetune DATA --base runs/sides --out …

Among all that a critic learns at once, a side comes last: P stays at the share of true sentences
whatever the picture shows, and no single question moves it much. Alone, it is learned in a few
hundred steps. Every step asks about new pictures, whether a thing is on the left or the right and
which of two things is further left; everything learns.

The critic that is written must be trained further: it has forgotten a little of everything else,
and its gate, threshold and calibration are the old ones. Prints the loss, and ROC-AUC on validation
scenes.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import click
import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import AutoTokenizer, PaliGemmaForConditionalGeneration

from revise_captions.critic.paligemma.image_prefetch import (
    Pixels,
    pixel_values,
    resized,
)
from revise_captions.critic.paligemma.model import (
    hidden_states,
    image_tokens,
    logits_at,
    tower_output,
    use_tree_attention,
)
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    Branch,
    Trunk,
    collate,
    context_trunk,
    pack,
    question,
)
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.language.auxiliary_sentences import (
    AuxiliarySentence,
    auxiliary_sentences,
)
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.records import Span

QUESTIONS = {"relation": 2.0, "place": 1.0}
#: Pictures of a step, and questions about each.
PICTURES, EACH = 16, 4
#: Validation pictures that are asked about.
TESTS = 120
#: First scene that is drawn: far behind those that training data are made of.
FIRST = 10_000_000

Asked = tuple[Pixels, list[AuxiliarySentence]]


def sided(split: str, size: int, first: int = 0) -> Iterator[Asked]:
    """Pictures of one scene after another, with at most `EACH` questions about sides."""
    for number in count(first):
        scene = sample_scene(number, split)
        seeded = random.Random(f"sides.{split}.{number}")
        made = auxiliary_sentences(scene, seeded, 3 * EACH, QUESTIONS)
        kept = [a for a in made if " left" in a.text or " right" in a.text][:EACH]
        if kept:
            yield resized(draw(scene, 2 * size), size), kept


class Pupil:
    """A checkpoint of the bundled shape in float32."""

    def __init__(self, folder: Path) -> None:
        self.model = PaliGemmaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
        use_tree_attention(self.model)
        self.codec = PromptTokenizer(AutoTokenizer.from_pretrained(folder))
        self.size = int(self.model.config.vision_config.image_size)

    def features(self, pictures: Sequence[Pixels]) -> torch.Tensor:
        return tower_output(self.model, pixel_values(pictures, torch.float32))

    def scores(self, asked: Sequence[Asked]) -> torch.Tensor:
        """Logit of Yes over No for every question, one row of branches a picture."""
        rows = [pack(image_tokens(self.model), *self._branches(made)) for _, made in asked]
        batch = collate(rows, self.codec)
        features = self.features([pixels for pixels, _ in asked])
        hidden = hidden_states(self.model, features, torch.arange(len(rows)), batch)
        ends = [
            batch.at(r, b, branch.prompt - 1)
            for r, row in enumerate(rows)
            for b, branch in enumerate(row.branches)
        ]
        logits = logits_at(self.model, hidden, torch.tensor(ends))
        return logits[:, self.codec.yes] - logits[:, self.codec.no]

    def _branches(
        self, made: Sequence[AuxiliarySentence]
    ) -> tuple[Trunk, list[Branch], AttentionMode]:
        first = made[0].text
        spans = (Span(0, len(first)),)
        trunk = context_trunk(self.codec, first, spans)
        branches = [question(self.codec, trunk, first, spans, 0, instead=a.text) for a in made]
        return trunk, branches, AttentionMode.IMAGE_PREFIX


def truths(asked: Sequence[Asked]) -> list[float]:
    return [float(one.factual) for _, made in asked for one in made]


def teach(pupil: Pupil, steps: int, rate: float, tests: Sequence[Asked]) -> None:
    """AdamW with 30 steps of warmup; prints the loss and the tests' ROC-AUC every 25 steps."""
    optimizer = torch.optim.AdamW(pupil.model.parameters(), lr=rate, betas=(0.9, 0.98))
    asked = sided("train", pupil.size, FIRST)
    losses: list[float] = []
    for step in range(steps + 1):
        if step % 25 == 0:
            with torch.no_grad():
                parts = [tests[i : i + PICTURES] for i in range(0, len(tests), PICTURES)]
                found = torch.cat([pupil.scores(part) for part in parts])
            auc = roc_auc_score(truths(tests), found)
            click.echo(f"step {step}, loss {np.mean(losses or [np.nan]):.3f}, ROC-AUC {auc:.3f}")
            losses = []
        if step == steps:
            return
        batch = [next(asked) for _ in range(PICTURES)]
        loss = binary_cross_entropy_with_logits(pupil.scores(batch), torch.tensor(truths(batch)))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(pupil.model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 30)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))


@click.command(help=__doc__)
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--steps", default=400, show_default=True)
@click.option("--learning-rate", default=3e-4, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(checkpoint: Path, out: Path, steps: int, learning_rate: float, seed: int) -> None:
    torch.manual_seed(seed)
    pupil = Pupil(checkpoint)
    source = sided("validation", pupil.size)
    tests = [next(source) for _ in range(TESTS)]
    teach(pupil, steps, learning_rate, tests)
    skip = shutil.ignore_patterns("training")
    shutil.copytree(checkpoint, out, ignore=skip, dirs_exist_ok=True)
    pupil.model.to(torch.bfloat16).save_pretrained(out)


if __name__ == "__main__":
    main()
