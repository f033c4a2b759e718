"""Trains the LoRA adapter of the reviser `smollm2`.

    python -m scripts.research.smollm2_reviser.train MODEL DATA PICTURE_BOOK --out DIR --minutes 60

MODEL is SmolLM2-135M-Instruct as a folder, DATA holds the collections of `sentences`, PICTURE_BOOK
a `train.jsonl` of `picturebook.generate`. Only images that are not held out, and only words that
are not held out, make edits. DIR receives the adapter, `log.jsonl` and `state.pt`; the same command
goes on from there. With `--examples` it learns from a file of `draw`, over and over, and reads no
DATA: for a machine with a GPU (`--device cuda --tokens 8192 --rate 1e-3 --save-every 200`).
"""

from __future__ import annotations

import gzip
import itertools
import json
import queue
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from revise_captions.command_line.printing import echo
from revise_captions.reviser.bundled_model.smollm2 import ChatRewriteTokenizer
from revise_captions.reviser.protocol import RewriteRequest
from scripts.research.frame.lora import LoraPlan, adapted, lora, train
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
RANK, WARMUP, FLOOR = 16, 60, 0.05
#: How much the one token of a deletion counts: a rewrite has twenty.
DELETION = 4.0


@dataclass(frozen=True, slots=True)
class Edits:
    """What edits are made from, one half of images and words."""

    data: list[tuple[SourceSentence, Doc]]
    words: EditWords


def read_edits(folder: Path, held: bool, every: int = 1) -> Edits:
    """Sentences of the images, and the words, that are held out, or of those that are not.

    Regions of FACTUAL are taken as often as sentences of long captions; `every`: one sentence of
    so many is read.
    """
    sentences = list(read_sentences(folder))[::every]
    long = [s for s in sentences if s.source != "factual_sg"]
    short = [s for s in sentences if s.source == "factual_sg"]
    chosen = long + random.Random(0).sample(short, min(len(short), len(long)))
    pairs = list(parsed(chosen))
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


def steps(
    edits: Edits, book: list[ExplainedError], codec: Any, seed: int, tokens: int
) -> Iterator[Any]:
    for chunk in itertools.count():
        made = examples(edits, book, chunk, seed)
        yield from batches(made, codec, tokens, f"{seed}.{chunk}")


def read_examples(file: Path) -> list[RewriteExample]:
    """The examples of a file of `draw`."""
    made = []
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            context, sentence, rationale, failed, rewrite = json.loads(line)
            request = RewriteRequest(context, sentence, rationale, tuple(failed))
            made.append(RewriteExample(request, rewrite))
    return made


def steps_of(made: list[RewriteExample], codec: Any, seed: int, tokens: int) -> Iterator[Any]:
    """Batches of given examples without end, in another order each time."""
    for epoch in itertools.count():
        order = random.Random(f"{seed}.{epoch}").sample(made, len(made))
        for at in range(0, len(order), 8 * CHUNK):
            yield from batches(order[at : at + 8 * CHUNK], codec, tokens, f"{seed}.{epoch}.{at}")


def ahead(todo: Iterator[RewriteBatch], device: str) -> Iterator[RewriteBatch]:
    """The batches on a device, made by another thread meanwhile."""
    made: queue.Queue[RewriteBatch] = queue.Queue(64)

    def make() -> None:
        for batch in todo:
            made.put(batch)

    threading.Thread(target=make, daemon=True).start()
    while True:
        one = made.get()
        moved = (part.to(device) for part in (one.ids, one.predict, one.targets))
        yield RewriteBatch(*moved)


@click.command(help=__doc__)
@click.argument("model", type=click.Path(path_type=Path, exists=True))
@click.argument("data", type=click.Path(path_type=Path))
@click.argument("picture_book", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--start", type=click.Path(path_type=Path), help="Adapter to go on from.")
@click.option("--minutes", default=60.0, show_default=True, help="Minutes of training in sum.")
@click.option("--rate", default=8e-4, show_default=True, help="Peak learning rate.")
@click.option("--tokens", default=768, show_default=True, help="Positions in a batch.")
@click.option("--seed", default=1, show_default=True, help="Seed of every random choice.")
@click.option("--save-every", default=50, show_default=True, help="Steps between saves.")
@click.option("--examples", "file", type=click.Path(path_type=Path), help="A file of `draw`.")
@click.option("--device", default="cpu", show_default=True, help="What it computes on.")
def main(
    model: Path, data: Path, picture_book: Path, out: Path, start: Path | None, minutes: float,
    rate: float, tokens: int, seed: int, save_every: int, file: Path | None, device: str,
) -> None:  # fmt: skip
    import torch
    from transformers import AutoTokenizer

    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    codec = ChatRewriteTokenizer(AutoTokenizer.from_pretrained(model))
    if file:
        todo = steps_of(made := read_examples(file), codec, seed, tokens)
        echo(f"{len(made):,} examples")
    else:
        edits = read_edits(data, held=False)
        book = read_errors(picture_book / "train.jsonl", 20_000)
        echo(f"{len(edits.data):,} sentences, {len(book):,} of the picture book")
        todo = steps(edits, book, codec, seed, tokens)
    network = adapted(model, settings := lora(RANK), start).to(device)
    plan = LoraPlan(out, minutes, rate, WARMUP, FLOOR, save_every, device)
    todo = ahead(todo, device) if device != "cpu" else todo
    train(network, settings, todo, lambda batch: (loss_of(network, batch), {}), plan)


if __name__ == "__main__":
    main()
