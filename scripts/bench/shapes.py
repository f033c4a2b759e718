"""What PaliGemma 2's real shapes reach on a machine: random weights, synthetic captions.

    python -m scripts.bench.shapes judge [--shape 3b] [--captions 16] [--json FILE]
    python -m scripts.bench.shapes lora [--shape 10b] [--captions 8] [--json FILE]
    python -m scripts.bench.shapes full --shape bundled --device cpu --dtype float32
    python -m scripts.bench.shapes --table FILE [--write]

Captions have seven sentences of 20 words, a third of them wrong in training, and a picture each
(448 pixels, 1,024 image tokens; the bundled shape: 128 and 64). `judge` asks about every sentence;
`lora` and `full` take optimizer steps on all sentences and two rationales a caption. Each is done
packed and with one row a question, in turn in one process; the ratio is the median over pairs.
Utilization is what PyTorch's counter says the passes compute, over time and over the rate that this
machine reaches in one large matrix product of that dtype; attention counts in full, what a mask
hides included. The last line is JSON, and `--json` adds it to a file, which may go to another
machine: there `--table` makes the rows of docs/measurements/engines.md of its lines. A shape that
does not fit into the memory says so: `--micro-batch` cuts a step's captions into several passes,
and `--checkpointing` computes activations twice.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, PaliGemmaForConditionalGeneration

from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.gates.language import Vocabulary, read_vocabulary
from revise_captions.critic.locate import find_checkpoint
from revise_captions.critic.paligemma import queries
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.image_prefetch import resized
from revise_captions.critic.paligemma.model import new_model
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.records import TrainingExample, TrainingSentence
from revise_captions.finetune.data.targets import Choice
from revise_captions.finetune.models.adapters import cast, choose_weights
from revise_captions.finetune.models.paligemma import PackedLearner
from revise_captions.finetune.models.protocol import Images
from revise_captions.finetune.optim.optimizer import FlatOptimizer
from revise_captions.finetune.presets import PRESETS
from revise_captions.process_memory import keep_freed_memory
from scripts.bench.critic import hardware
from scripts.bench.operations import Operations, wait
from scripts.bench.packing import captions
from scripts.bench.token_cost import token_cost
from scripts.research.frame import blocks as markdown
from scripts.research.frame.shipped import ROOT

#: Gemma 2 2B and 9B below SigLIP So400m at 448 pixels: PaliGemma 2 3B and 10B.
TOWER = {
    "image_size": 448, "patch_size": 14, "tower_hidden": 1152, "tower_intermediate": 4304,
    "tower_layers": 27, "tower_heads": 16, "head_dim": 256,
}  # fmt: skip
SHAPES: dict[str, dict[str, int]] = {
    "bundled": {},
    "3b": TOWER | {"hidden": 2304, "intermediate": 9216, "layers": 26, "heads": 8, "kv_heads": 4},
    "10b": TOWER
    | {"hidden": 3584, "intermediate": 14336, "layers": 42, "heads": 16, "kv_heads": 8},
}
VOCABULARY, LONGEST, GIB = 257_216, 4096, 2**30
WORKS = {"judge": "judge", "lora": "train, LoRA", "full": "train, all weights"}


def build(
    shape: str, device: str, dtype: str, tokenizer: PromptTokenizer
) -> PaliGemmaForConditionalGeneration:
    """On the device; the real shapes with all their words.

    Drawn in float32, as not every device draws all of it in bfloat16, and cast as for training.
    """
    torch.manual_seed(0)
    with torch.device(device):
        model = new_model(tokenizer, **SHAPES[shape])
        if shape != "bundled":
            model.resize_token_embeddings(VOCABULARY, mean_resizing=False)
    cast(model, getattr(torch, dtype))
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    return model.eval()


def matrix_rate(device: str, dtype: torch.dtype) -> float:
    """Operations per second of one large matrix product: the best of ten."""
    n = 8192 if device == "cuda" else 2048
    a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))
    times = []
    for _ in range(10):
        wait(device)
        began = time.perf_counter()
        a @ b
        wait(device)
        times.append(time.perf_counter() - began)
    return 2 * n**3 / min(times)


@dataclass(frozen=True, slots=True)
class Contender:
    """One way of doing the work. `work` is called once per repeat; `flops`: of one call."""

    work: Callable[[], Any]
    seconds: list[float]
    flops: float
    peak: float | None
    kernels: tuple[str, ...]


def side(work: Callable[[], Any], device: str) -> Contender:
    """Warmed up and counted. `peak`: GiB that PyTorch held at most, where it counts."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with Operations() as counted:
        work()
    wait(device)
    peak = round(torch.cuda.max_memory_allocated() / GIB, 1) if device == "cuda" else None
    return Contender(work, [], float(counted.count), peak, tuple(sorted(counted.kernels)))


def compare(
    works: Sequence[Callable[[], Any]], repeats: int, device: str
) -> tuple[Contender, Contender]:
    """Packed and not, in turn."""
    packed, single = (side(work, device) for work in works)
    for repeat in range(repeats):
        for one in (packed, single) if repeat % 2 == 0 else (single, packed):
            wait(device)
            began = time.perf_counter()
            one.work()
            wait(device)
            one.seconds.append(time.perf_counter() - began)
    return packed, single


def random_critic(
    shape: str, device: str, dtype: str, tokenizer: PromptTokenizer
) -> PaliGemmaCritic:
    """A critic of random weights, whose answers count though it does not say Yes or No."""
    queries.LEAST_MASS = 0.0
    return PaliGemmaCritic(
        build(shape, device, dtype, tokenizer),
        tokenizer,
        CriticCard(AttentionMode.IMAGE_PREFIX, max_length=LONGEST),
        vocabulary=Vocabulary(frozenset()),
        gate=None,
        threshold=0.5,
        settings={},
        batch_size=64,
    )


def judging(
    given: argparse.Namespace, tokenizer: PromptTokenizer, asked: list[JudgeRequest]
) -> dict[str, Any]:
    critic = random_critic(given.shape, given.device, given.dtype, tokenizer)

    def judge(packed: bool) -> None:
        critic.forget()
        critic.packed = packed
        critic.judge(asked)

    sides = compare([lambda: judge(True), lambda: judge(False)], given.repeats, given.device)
    return {**figures(sides, asked, given), **token_cost(critic, asked).figures()}


def examples_of(asked: Sequence[JudgeRequest]) -> list[TrainingExample]:
    """Every third sentence is wrong; its rationale is the sentence before it."""
    made = []
    for number, paragraph in enumerate(asked):
        spans = paragraph.spans
        judged = tuple(
            TrainingSentence(
                span, k % 3 != 1, True, () if k % 3 != 1 else (spans[k - 1].of(paragraph.text),)
            )
            for k, span in enumerate(spans)
        )
        made.append(TrainingExample(str(number), f"{number}.png", paragraph.text, judged, ""))
    return made


def choice(example: TrainingExample) -> Choice:
    """All sentences, and two rationales."""
    wrong = [k for k, sentence in enumerate(example.sentences) if not sentence.factual][:2]
    return Choice(tuple((k, example.sentences[k].rationales[0]) for k in wrong), False)


def learning(given: argparse.Namespace, tokenizer: PromptTokenizer) -> tuple[Any, FlatOptimizer]:
    """A model of the preset's weights to train, as `captions finetune` sets it up."""
    preset = dict(PRESETS["lora" if given.work == "lora" else "paper"])
    settings = TrainingSettings().with_options(
        **{**preset, "dtype": given.dtype, "lora_dropout": 0.0}
    )
    model = build(given.shape, given.device, given.dtype, tokenizer)
    choose_weights(model, settings, given.shape)
    cast(model, getattr(torch, given.dtype))
    if given.checkpointing:
        enable = getattr(model, "activation_checkpointing_enable", None)
        (enable or model.gradient_checkpointing_enable)({"use_reentrant": False})
        model.train()
    return model, FlatOptimizer(model, weight_decay=0.0, betas=(0.9, 0.98), ema=0.0)


def training(
    given: argparse.Namespace, tokenizer: PromptTokenizer, asked: list[JudgeRequest]
) -> dict[str, Any]:
    model, optimizer = learning(given, tokenizer)
    size = model.config.vision_config.image_size
    pixels = np.stack([resized(paragraph.image, size) for paragraph in asked])[:, None]
    cache: Any = SimpleNamespace(variants=0, take=lambda images, worn: pixels[images, worn])
    examples, split = examples_of(asked), SimpleNamespace(path=Path("train"))
    tokens: dict[bool, int] = {}

    def step(packed: bool) -> None:
        learner = PackedLearner(
            model, tokenizer, AttentionMode.IMAGE_PREFIX, LONGEST,
            pixels={split.path: cache}, packed=packed,
        )  # fmt: skip
        each = given.micro_batch or len(examples)
        tokens[packed] = 0
        for start in range(0, len(examples), each):
            part = range(start, min(start + each, len(examples)))
            images = Images(split, list(part), [0] * len(part))  # type: ignore[arg-type]
            chosen = [examples[k] for k in part]
            one = learner.encode(chosen, [choice(example) for example in chosen], images)
            assert one is not None
            tokens[packed] += int(one.inputs[0].batch.ids.size)
            logits = learner.forward(one).logits
            ids = torch.from_numpy(one.ids).to(logits.device)
            torch.nn.functional.cross_entropy(logits, ids).backward()
        optimizer.step(1e-6, 1.0)

    sides = compare([lambda: step(True), lambda: step(False)], given.repeats, given.device)
    return {
        **figures(sides, asked, given),
        "parameters_that_learn": sum(p.numel() for p in optimizer.parameters),
        "tokens_packed_padded": round(tokens[True] / len(asked), 1),
        "tokens_per_sentence_padded": round(tokens[False] / len(asked), 1),
        "token_ratio": round(tokens[False] / tokens[True], 3),
    }


def figures(
    sides: tuple[Contender, Contender], asked: Sequence[JudgeRequest], given: argparse.Namespace
) -> dict[str, Any]:
    packed, single = sides
    rate = matrix_rate(given.device, getattr(torch, given.dtype))
    ratios = [s / p for p, s in zip(packed.seconds, single.seconds, strict=True)]
    took = [statistics.median(one.seconds) for one in sides]
    sentences = sum(len(paragraph.spans) for paragraph in asked)
    return {
        "sentences": sentences,
        "sentences_per_second_packed": round(sentences / took[0], 2),
        "sentences_per_second_per_sentence": round(sentences / took[1], 2),
        "times_faster": round(statistics.median(ratios), 2),
        "times_faster_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "operations_ratio": round(single.flops / packed.flops, 2),
        "utilization_packed": round(packed.flops / took[0] / rate, 3),
        "utilization_per_sentence": round(single.flops / took[1] / rate, 3),
        "matrix_teraflops": round(rate / 1e12, 3),
        "peak_gib_packed": packed.peak,
        "peak_gib_per_sentence": single.peak,
        "attention_packed": packed.kernels,
        "attention_per_sentence": single.kernels,
    }


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """Markdown rows of what was measured, in order, and a line about each machine."""
    rows = [
        "| work | shape | sentences/s, packed last | tokens | utilization | peak GiB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    machines: dict[str, None] = {}
    for one in found:
        name = f"| {WORKS[one['work']]} | {one['shape']}"
        if "does_not_fit" in one:
            rows.append(f"{name} | does not fit | | | |")
            continue
        low, high = one["times_faster_range"]
        each = (one["peak_gib_per_sentence"], one["peak_gib_packed"])
        peak = "–" if None in each else f"{each[0]:.0f} → {each[1]:.0f}"
        rows.append(
            f"{name} | {one['sentences_per_second_per_sentence']:.1f} → "
            f"{one['sentences_per_second_packed']:.1f} "
            f"(× {one['times_faster']:.1f}, {low:.1f}–{high:.1f}) "
            f"| {one['tokens_per_sentence_padded']:.0f} → {one['tokens_packed_padded']:.0f} "
            f"(÷ {one['token_ratio']:.1f}) "
            f"| {100 * one['utilization_per_sentence']:.0f} % → "
            f"{100 * one['utilization_packed']:.0f} % | {peak} |"
        )
        machines[
            f"{one['hardware']}, torch {one['torch']}, {one['dtype']}: "
            f"{one['matrix_teraflops']:.3g} TFLOP/s in one large matrix product."
        ] = None
    return "\n".join([*rows, "", *machines])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", choices=list(WORKS), nargs="?")
    parser.add_argument("--shape", default="3b", choices=list(SHAPES))
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--captions", type=int, default=16)
    parser.add_argument("--micro-batch", type=int, default=0, help="captions in one pass; 0: all")
    parser.add_argument("--checkpointing", action="store_true", help="as captions finetune's")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="on a CPU")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the figures to it")
    parser.add_argument("--table", type=Path, metavar="FILE", help="of --json: measure nothing")
    parser.add_argument("--write", action="store_true", help="the table, into the page")
    given = parser.parse_args()
    if (given.work is None) is (given.table is None):
        parser.error("either name what to measure, or a --table")
    if given.table is None and given.device == "cuda" and not torch.cuda.is_available():
        parser.error(
            "there is no GPU: add --device cpu (and --shape bundled, if it is to end today)"
        )
    return given


def measured(given: argparse.Namespace) -> dict[str, Any]:
    """The figures of one kind of work."""
    if given.device == "cpu":
        torch.set_num_threads(given.threads)
        keep_freed_memory()
    folder = find_checkpoint("bundled")
    tokenizer = PromptTokenizer(AutoTokenizer.from_pretrained(folder))
    words = [word for word in sorted(read_vocabulary(folder).known) if len(word) > 2]
    asked = captions(given.captions, words, 128 if given.shape == "bundled" else 448)
    try:
        found = (judging if given.work == "judge" else training)(given, tokenizer, asked)
    except torch.OutOfMemoryError as error:
        found = {"does_not_fit": str(error).splitlines()[0]}
    except UserError as error:
        sys.exit(str(error))
    name = torch.cuda.get_device_name() if given.device == "cuda" else hardware(given.threads)
    options = {key: value for key, value in vars(given).items() if key not in ("json", "table")}
    return {**options, **found, "hardware": name, "torch": torch.__version__}


def main() -> None:
    given = arguments()
    if given.table is not None:
        lines = given.table.read_text(encoding="utf-8").splitlines()
        block = table([json.loads(line) for line in lines])
        print(block)
        if given.write:
            markdown.write_to_pages(ROOT, {"shapes": block})
        return
    line = json.dumps(measured(given))
    print(line)
    if given.json is not None:
        with given.json.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
