"""Teach a small captioner on picture-book captions of which one sentence in five is wrong.

    python -m scripts.research.preferences.captioner OUT

The captioner has PaliGemma 2's architecture and starts from the bundled critic's weights: it sees
the picture-book world but has never written a caption. Its vision tower stays frozen. OUT is a
checkpoint in transformers' format.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import torch
from transformers import AutoTokenizer, PaliGemmaForConditionalGeneration

from revise_captions.critic.checkpoints import save_processor
from revise_captions.critic.locate import BUNDLED
from revise_captions.critic.paligemma.image_prefetch import pixel_values, resized
from revise_captions.picturebook.captioners import CAPTIONERS
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.world.sample import sample_scene

#: Share of sentences that the teacher gets wrong.
WRONG = 0.2
#: A question to PaliGemma, as its authors ask for captions.
PROMPT = "caption en"
SENTENCES = (3, 7)
IGNORED = -100


def teacher_caption(number: int, split: str) -> str:
    """A caption of a scene, one sentence in five wrong, with the error profile of a captioner."""
    scene, rng = sample_scene(number, split), random.Random(f"captioner.{split}.{number}")
    profile = CAPTIONERS[number % len(CAPTIONERS)]
    return caption(
        scene,
        rng,
        error_rate=WRONG,
        error_weights=profile.errors,
        sentences=rng.randint(*SENTENCES),
    ).text


class Batches:
    """Batches of token ids, labels and image features, each scene once."""

    def __init__(self, model: Any, tokenizer: Any, size: int) -> None:
        self.model, self.tokenizer, self.size = model, tokenizer, size
        images = model.config.text_config.num_image_tokens
        text = tokenizer(PROMPT, add_special_tokens=False).input_ids
        newline = tokenizer.convert_tokens_to_ids("\n")
        image = tokenizer.convert_tokens_to_ids("<image>")
        self.prompt = [image] * images + [tokenizer.bos_token_id, *text, newline]

    def of(self, numbers: range) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ids and labels (batch, length), image features (batch, image tokens, width)."""
        rows, images = [], []
        for number in numbers:
            text = teacher_caption(number, "train")
            answer = self.tokenizer(text, add_special_tokens=False).input_ids
            rows.append([*answer, self.tokenizer.eos_token_id])
            images.append(resized(draw(sample_scene(number, "train"), 256), 128))
        length = len(self.prompt) + max(map(len, rows))
        ids = torch.full((len(rows), length), self.tokenizer.pad_token_id)
        labels = torch.full_like(ids, IGNORED)
        for row, answer in enumerate(rows):
            end = len(self.prompt) + len(answer)
            ids[row, :end] = torch.tensor([*self.prompt, *answer])
            labels[row, len(self.prompt) : end] = torch.tensor(answer)
        with torch.no_grad():
            pixels = pixel_values(images, self.model.dtype)
            features = self.model.get_image_features(pixels).pooler_output
        return ids, labels, features


def captioner(folder: Path = BUNDLED) -> tuple[Any, Any]:
    """The critic's network in float32, its tower frozen, and its tokenizer."""
    model = PaliGemmaForConditionalGeneration.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    model.config.attention_mode = "image-prefix"
    model.model.vision_tower.requires_grad_(False)
    model.model.multi_modal_projector.requires_grad_(False)
    return model, AutoTokenizer.from_pretrained(folder)


def loss_of(model: Any, ids: torch.Tensor, labels: torch.Tensor, features: torch.Tensor) -> Any:
    """Cross-entropy of the captions; the image attends to itself, the text to what is before it."""
    answers = int((labels != IGNORED).any(0).nonzero()[0])
    with torch.autocast("cpu", torch.bfloat16):
        output = model(
            input_ids=ids,
            token_type_ids=(ids != model.config.image_token_id).long(),
            mm_encoder_outputs={"image": SimpleNamespace(pooler_output=features)},
            logits_to_keep=ids.shape[1] - answers + 1,
        )
    logits = output.logits[:, :-1].float().flatten(0, 1)
    return torch.nn.functional.cross_entropy(
        logits, labels[:, answers:].flatten(), ignore_index=IGNORED
    )


def teach(model: Any, batches: Batches, captions: int, peak: float) -> Iterator[tuple[int, float]]:
    """Trains with a linear warm-up and decay; yields captions seen and the smoothed loss."""
    weights = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=peak, weight_decay=0.01, betas=(0.9, 0.98))
    smooth = 0.0
    for first in range(0, captions, batches.size):
        done = first / captions
        for group in optimizer.param_groups:
            group["lr"] = peak * min((done + 0.001) / 0.03, (1 - done) / 0.97, 1.0)
        loss = loss_of(model, *batches.of(range(first, first + batches.size)))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        smooth = 0.98 * smooth + 0.02 * loss.item() if first else loss.item()
        yield first + batches.size, smooth


@click.command(help=__doc__.splitlines()[0])
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--captions",
    default=36_000,
    show_default=True,
    help="Captions that the learning rate's decay is laid out for, a scene each.",
)
@click.option("--stop", default=16_000, show_default=True, help="Captions after which to stop.")
@click.option("--learning-rate", default=1e-3, show_default=True, help="Peak learning rate.")
@click.option("--batch-size", default=16, show_default=True, help="Captions a step.")
def main(out: Path, captions: int, stop: int, learning_rate: float, batch_size: int) -> None:
    torch.manual_seed(0)
    model, tokenizer = captioner()
    batches = Batches(model, tokenizer, batch_size)
    for step, (seen, loss) in enumerate(teach(model, batches, captions, learning_rate), start=1):
        if step % 100 == 0:
            click.echo(f"{seen} captions, loss {loss:.3f}")
        if step % 500 == 0 or seen >= min(stop, captions):
            model.save_pretrained(out)
            save_processor(model.config, tokenizer, out)
        if seen >= stop:
            break


if __name__ == "__main__":
    main()
