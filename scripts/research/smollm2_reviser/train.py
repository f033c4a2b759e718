"""Trains the LoRA adapter of the reviser `smollm2`.

    python -m scripts.research.smollm2_reviser.train MODEL DATA PICTURE_BOOK --out DIR --minutes 60

MODEL is SmolLM2-135M-Instruct as a folder, DATA holds the collections of `sentences`, PICTURE_BOOK
a `train.jsonl` of `picturebook.generate`. Only images that are not held out, and only words that
are not held out, make edits. DIR receives the adapter, `log.jsonl` and `state.pt`; the same command
goes on from there.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError
from revise_captions.reviser.bundled_model.smollm2 import ChatRewriteTokenizer
from scripts.research.reviser.data import ExplainedError, read_errors
from scripts.research.reviser.data import stream as picture_book_stream
from scripts.research.reviser.synthetic import RewriteExample
from scripts.research.reviser.train import RewriteBatch, batches
from scripts.research.smollm2_reviser.edits import stream
from scripts.research.smollm2_reviser.faults import count_words
from scripts.research.smollm2_reviser.sentences import held_out, parsed, read_sentences

if TYPE_CHECKING:
    import torch
    from spacy.tokens import Doc

    from scripts.research.smollm2_reviser.sentences import SourceSentence
    from scripts.research.smollm2_reviser.words import EditWords

#: Examples that are drawn, encoded and batched together.
CHUNK = 1024
PICTURE_BOOK_SHARE = 0.2
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
RANK = 16
WARMUP = 60
#: How much the one token of a deletion counts: a rewrite has twenty.
DELETION = 4.0


@dataclass(frozen=True, slots=True)
class Edits:
    """What edits are made from, one half of images and words."""

    data: list[tuple[SourceSentence, Doc]]
    words: EditWords


def read_edits(folder: Path, held: bool) -> Edits:
    """Sentences of the images, and the words, that are held out, or of those that are not.

    Regions of FACTUAL are taken as often as sentences of long captions.
    """
    sentences = list(read_sentences(folder))
    long = [s for s in sentences if s.source != "factual_sg"]
    short = [s for s in sentences if s.source == "factual_sg"]
    every = long + random.Random(0).sample(short, min(len(short), len(long)))
    pairs = list(parsed(every))
    words = count_words(doc for _, doc in pairs)
    return Edits([(s, d) for s, d in pairs if held_out(s.image) == held], words.part(held))


def examples(
    edits: Edits, book: list[ExplainedError], chunk: int, seed: int
) -> list[RewriteExample]:
    """One chunk of training examples, the same for the same chunk and seed."""
    rng = random.Random(f"{seed}.{chunk}")
    count = round(CHUNK * PICTURE_BOOK_SHARE)
    drawn = picture_book_stream(book, chunk, 2 * count, seed=seed, synthetic=0.3, copies=False)
    made = [one for one in drawn if not one.request.failed][:count]
    for one in itertools.islice(stream(edits.data, edits.words, f"{seed}.{chunk}"), CHUNK - count):
        made.append(RewriteExample(one.request, one.rewrite))
    rng.shuffle(made)
    return made


def adapted(folder: Path, start: Path | None = None) -> Any:
    """The model with a LoRA in place, untrained or that of `start`, frozen otherwise."""
    import torch
    from peft import LoraConfig, inject_adapter_in_model, set_peft_model_state_dict
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    settings = LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules=list(TARGETS))
    injected: Any = inject_adapter_in_model(settings, model)
    for weight in injected.parameters():
        if not weight.requires_grad:
            weight.data = weight.data.to(torch.bfloat16)  # as autocast would at every step
    if start is not None:
        weights = load_file(start / "adapter_model.safetensors")
        old = {key.removeprefix("base_model.model."): value for key, value in weights.items()}
        if set_peft_model_state_dict(injected, old).unexpected_keys:
            raise UserError(f"{start} holds an adapter of another shape")
    return injected


def save_adapter(model: Any, out: Path) -> None:
    """The adapter in PEFT's format, in bfloat16."""
    import torch
    from peft import LoraConfig, get_peft_model_state_dict
    from safetensors.torch import save_file

    weights = {
        f"base_model.model.{key}": value.to(torch.bfloat16).contiguous()
        for key, value in get_peft_model_state_dict(model).items()
    }
    save_file(weights, out / "adapter_model.safetensors")
    settings = LoraConfig(
        r=RANK, lora_alpha=2 * RANK, target_modules=sorted(TARGETS), task_type="CAUSAL_LM",
        inference_mode=True,
    )  # fmt: skip
    settings.save_pretrained(out)


def loss_of(model: Any, batch: RewriteBatch) -> torch.Tensor:
    """Mean cross-entropy of the answers' tokens, an empty answer's counted `DELETION` times."""
    import torch
    from torch.nn.functional import cross_entropy

    hidden = model.model(input_ids=batch.ids, use_cache=False).last_hidden_state
    chosen = hidden.flatten(0, 1)[batch.predict]
    losses = cross_entropy(model.lm_head(chosen).float(), batch.targets, reduction="none")
    first = torch.ones_like(batch.targets, dtype=torch.bool)
    first[1:] = batch.predict[1:] != batch.predict[:-1] + 1
    gone = first & (batch.targets == model.config.eos_token_id)
    return torch.where(gone, DELETION * losses, losses).mean()


def learning_rate(done: float, step: int, peak: float) -> float:
    """Linear warmup, then cosine to 5 % of the peak."""
    return peak * min(1.0, (step + 1) / WARMUP) * (0.05 + 0.95 * (1 + math.cos(math.pi * done)) / 2)


def steps(
    edits: Edits, book: list[ExplainedError], codec: Any, seed: int, tokens: int
) -> Iterator[Any]:
    for chunk in itertools.count():
        made = examples(edits, book, chunk, seed)
        yield from batches(made, codec, tokens, f"{seed}.{chunk}")


def train(
    model: Any, todo: Iterator[Any], out: Path, minutes: float, peak: float, save_every: int
) -> None:
    """Trains until the minutes are spent, saving adapter and state on the way."""
    import torch

    weights = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
    step, spent, seen, losses = 0, 0.0, 0, []
    state = out / "state.pt"
    if state.is_file():
        saved = torch.load(state, weights_only=True)
        optimizer.load_state_dict(saved["optimizer"])
        step, spent, seen = saved["step"], saved["spent"], saved["seen"]
        with torch.no_grad():
            for weight, old in zip(weights, saved["weights"], strict=True):
                weight.copy_(old)
        todo = itertools.islice(todo, step, None)
    while spent < 60 * minutes:
        batch = next(todo)
        began = time.monotonic()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(spent / (60 * minutes), step, peak)
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, spent, seen = step + 1, spent + time.monotonic() - began, seen + batch.rows
        losses.append(float(loss.detach()))
        if step % save_every == 0 or spent >= 60 * minutes:
            _save(out, model, optimizer, weights, {"step": step, "spent": spent, "seen": seen})
            row = {"step": step, "examples": seen, "minutes": round(spent / 60, 2),
                   "loss": round(sum(losses) / len(losses), 4)}  # fmt: skip
            losses.clear()
            with (out / "log.jsonl").open("a", encoding="utf-8") as log:
                log.write(json.dumps(row) + "\n")
            echo(json.dumps(row))


def _save(
    out: Path, model: Any, optimizer: torch.optim.Optimizer, weights: list[Any], counters: Any
) -> None:
    import torch

    save_adapter(model, out)
    state = {"optimizer": optimizer.state_dict(), "weights": [w.detach() for w in weights]}
    torch.save(state | counters, out / "state.tmp")
    (out / "state.tmp").replace(out / "state.pt")


@click.command(help=__doc__)
@click.argument("model", type=click.Path(path_type=Path, exists=True))
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.argument("picture_book", type=click.Path(path_type=Path, exists=True))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--start", type=click.Path(path_type=Path), help="Adapter to go on from.")
@click.option("--minutes", default=60.0, show_default=True, help="Minutes of training in sum.")
@click.option("--rate", default=8e-4, show_default=True, help="Peak learning rate.")
@click.option("--tokens", default=768, show_default=True, help="Positions in a batch.")
@click.option("--seed", default=1, show_default=True, help="Seed of every random choice.")
@click.option("--save-every", default=50, show_default=True, help="Steps between saves.")
def main(
    model: Path, data: Path, picture_book: Path, out: Path, start: Path | None, minutes: float,
    rate: float, tokens: int, seed: int, save_every: int,
) -> None:  # fmt: skip
    import torch
    from transformers import AutoTokenizer

    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    codec = ChatRewriteTokenizer(AutoTokenizer.from_pretrained(model))
    edits = read_edits(data, held=False)
    book = read_errors(picture_book / "train.jsonl", 20_000)
    echo(f"{len(edits.data):,} sentences, {len(book):,} of the picture book")
    todo = steps(edits, book, codec, seed, tokens)
    train(adapted(model, start).train(), todo, out, minutes, rate, save_every)


if __name__ == "__main__":
    main()
