"""One tree of tokens a caption against one prompt a sentence, in the transformers engine.

    python -m scripts.bench.trunk [--sentences 7] [--captions 4] [--rounds 5] [--write]
    python -m scripts.bench.trunk --device cuda --dtype bfloat16 --hidden 3072 --layers 28

A language model of random weights reads the prompts that an instruct critic gets for a caption:
image tokens (as ordinary tokens, so no vision tower is timed), the context, the question with the
sentence. Both ways run in turn in one process; peak memory is taken in a process for each, of a GPU
in the same process: what PyTorch held at most there, weights included.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.printing import echo
from revise_captions.engines.transformers.inputs import EncodedPrompt, collate
from revise_captions.engines.transformers.token_tree import grow, tree_inputs
from revise_captions.process_memory import peak_memory
from scripts.bench.operations import wait
from scripts.research.frame import blocks as markdown

#: Tokens of a sentence, and of the question and the chat format around it.
SENTENCE, QUESTION = 22, 45
VOCABULARY = 4096
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Shape:
    """A language model of random weights, and where it is computed."""

    hidden: int
    layers: int
    device: str = "cpu"
    dtype: str = "float32"


def model_of(shape: Shape) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=shape.hidden, intermediate_size=8 * shape.hidden // 3,
        num_hidden_layers=shape.layers, num_attention_heads=shape.hidden // 64,
        num_key_value_heads=shape.hidden // 64,
        vocab_size=VOCABULARY, max_position_embeddings=8192,
    )  # fmt: skip
    with torch.device(shape.device):
        return LlamaForCausalLM(config).eval().to(getattr(torch, shape.dtype))


def placed(inputs: Mapping[str, Any], model: Any) -> dict[str, Any]:
    return {name: value.to(model.device) for name, value in inputs.items()}


def prompts(image: int, sentences: int, seed: int) -> list[EncodedPrompt]:
    """The prompts of one caption's sentences."""
    rng = random.Random(seed)

    def tokens(count: int) -> list[int]:
        return [rng.randrange(VOCABULARY) for _ in range(count)]

    trunk, question = tokens(image + 12), tokens(QUESTION)
    said = [tokens(SENTENCE) for _ in range(sentences)]
    rows = []
    for k, sentence in enumerate(said):
        context = [token for before in said[:k] for token in before]
        rows.append(EncodedPrompt([*trunk, *context, *question, *sentence, *question[:12]]))
    return rows


def run(model: Any, rows: list[EncodedPrompt], shared: bool) -> Any:
    """Logits after each prompt, of shape (prompts, vocabulary)."""
    import torch

    with torch.inference_mode():
        if shared:
            tree = grow(rows)
            inputs = placed(tree_inputs(model, [tree], 0), model)
            places = torch.tensor(tree.leaves, device=model.device)
            output = model(**inputs, logits_to_keep=places, use_cache=False)
            return output.logits[0]
        inputs = placed(collate(rows, 0, left=False), model)
        ends = torch.tensor([len(row) - 1 for row in rows], device=model.device)
        output = model(**inputs, logits_to_keep=ends, use_cache=False)
        return output.logits[torch.arange(len(rows)), torch.arange(len(rows))]


def measure(image: int, sentences: int, captions: int, rounds: int, shape: Shape) -> str:
    """A row of the table."""
    model = model_of(shape)
    every = [prompts(image, sentences, seed) for seed in range(captions)]
    plain = sum(len(row) for rows in every for row in rows)
    packed = sum(len(grow(rows)) for rows in every)
    apart = max(float((run(model, r, True) - run(model, r, False)).abs().max()) for r in every[:1])
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for shared in (False, True):
            wait(model.device.type)
            began = time.perf_counter()
            for rows in every:
                run(model, rows, shared)
            wait(model.device.type)
            times[shared].append((time.perf_counter() - began) / captions)
    slow, fast = (statistics.median(times[shared]) for shared in (False, True))
    ratio, speed = plain / packed, slow / fast
    peaks = " → ".join(f"{peak(model, every[0], image, shape, s):.0f}" for s in (False, True))
    return (
        f"| {image} | {plain // captions} → {packed // captions} ({ratio:.2f}) "
        f"| {1000 * slow:.0f} → {1000 * fast:.0f} ms ({speed:.2f}) | {speed / ratio:.2f} "
        f"| {peaks} MB | {apart:.0e} |"
    )


def peak(model: Any, rows: list[EncodedPrompt], image: int, shape: Shape, shared: bool) -> float:
    """Peak memory in MB of computing one caption: on a CPU of a process that does only that."""
    import torch

    if model.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        run(model, rows, shared)
        return torch.cuda.max_memory_allocated() / 2**20
    sentences = len(rows)
    call = f"scripts.bench.trunk.print_peak({image}, {sentences}, {shape}, {shared})"
    code = f"import scripts.bench.trunk; from scripts.bench.trunk import Shape; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def print_peak(image: int, sentences: int, shape: Shape, shared: bool) -> None:
    run(model_of(shape), prompts(image, sentences, 0), shared)
    echo(str(peak_memory() / 2**20))


@click.command(help=__doc__)
@click.option("--sentences", default=7, show_default=True, help="Sentences of a caption.")
@click.option("--captions", default=4, show_default=True, help="Captions timed in a round.")
@click.option("--rounds", default=5, show_default=True, help="Rounds; medians are printed.")
@click.option("--hidden", default=512, show_default=True, help="Width of the model.")
@click.option("--layers", default=8, show_default=True, help="Layers of the model.")
@click.option("--device", default="cpu", show_default=True, help="Or cuda.")
@click.option(
    "--dtype", default="float32", show_default=True, type=click.Choice(["float32", "bfloat16"])
)
@click.option("--write", is_flag=True, help="Also into docs/measurements/engines.md.")
def main(
    sentences: int,
    captions: int,
    rounds: int,
    hidden: int,
    layers: int,
    device: str,
    dtype: str,
    write: bool,
) -> None:
    shape = Shape(hidden, layers, device, dtype)
    lines = [
        "| image tokens | tokens a caption | time a caption | of the ratio | peak | apart |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for image in (64, 256, 1024):
        lines.append(measure(image, sentences, captions, rounds, shape))
        echo(lines[-1])
    if write:
        load = f"Width {hidden}, {layers} layers; a load of {os.getloadavg()[0]:.1f}."
        markdown.write_to_pages(ROOT, {"trunk": "\n".join([*lines, "", load])})


if __name__ == "__main__":
    main()
