"""What PaliGemma 2's real shapes reach on a machine: random weights, synthetic captions.

    python -m scripts.bench.shapes judge [--shape 3b] [--captions 64]
    python -m scripts.bench.shapes lora [--shape 3b] [--captions 8]
    python -m scripts.bench.shapes full [--shape 3b] [--captions 8]
    python -m scripts.bench.shapes full --shape bundled --device cpu --dtype float32

Captions have seven sentences of 20 words, a third of them wrong in training, and a picture each
(448 pixels, 1,024 image tokens; the bundled shape: 128 and 64). `judge` asks about every sentence;
`lora` and `full` take optimiser steps on all sentences and two rationales a caption. Each is done
packed and with one row a question, in turn in one process; the ratio is the median over pairs.
Utilisation is what PyTorch's counter says the passes compute, over time and over the rate that this
machine reaches in one large matrix product of that dtype. The last line is JSON. A shape that does
not fit into the memory says so there: `--micro-batch` cuts a step's captions into several passes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoTokenizer, PaliGemmaForConditionalGeneration

from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.gates.language import Vocabulary, read_vocabulary
from revise_captions.critic.locate import find_checkpoint
from revise_captions.critic.paligemma import queries
from revise_captions.critic.paligemma.cpu_fusion import keep_freed_memory
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
from revise_captions.finetune.models.adapters import choose_weights
from revise_captions.finetune.models.paligemma import PackedLearner
from revise_captions.finetune.models.protocol import Images
from revise_captions.finetune.optim.optimizer import FlatOptimizer
from revise_captions.finetune.presets import PRESETS
from scripts.bench.critic import hardware
from scripts.bench.packing import captions
from scripts.bench.token_cost import token_cost

#: Gemma 2 2B and 9B below SigLIP So400m at 448 pixels: PaliGemma 2 3B and 10B.
TOWER = {
    "image_size": 448,
    "patch_size": 14,
    "tower_hidden": 1152,
    "tower_intermediate": 4304,
    "tower_layers": 27,
    "tower_heads": 16,
    "head_dim": 256,
}
SHAPES: dict[str, dict[str, int]] = {
    "bundled": {},
    "3b": TOWER | {"hidden": 2304, "intermediate": 9216, "layers": 26, "heads": 8, "kv_heads": 4},
    "10b": TOWER
    | {"hidden": 3584, "intermediate": 14336, "layers": 42, "heads": 16, "kv_heads": 8},
}
VOCABULARY, LONGEST, GIB = 257_216, 4096, 2**30
TARGETS = {"times_faster": 4.2, "utilisation": 0.5}


def build(
    given: argparse.Namespace, tokenizer: PromptTokenizer
) -> PaliGemmaForConditionalGeneration:
    """On the device and in the dtype that it computes in; the real shapes with all their words."""
    torch.manual_seed(0)
    torch.set_default_dtype(getattr(torch, given.dtype))
    try:
        with torch.device(given.device):
            model = new_model(tokenizer, **SHAPES[given.shape])
            if given.shape != "bundled":
                model.resize_token_embeddings(VOCABULARY, mean_resizing=False)
    finally:
        torch.set_default_dtype(torch.float32)
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


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


@dataclass(frozen=True, slots=True)
class Contender:
    """One way of doing the work. `work` is called once per repeat; `flops`: of one call."""

    work: Callable[[], Any]
    seconds: list[float]
    flops: float
    peak: float | None


def side(work: Callable[[], Any], device: str) -> Contender:
    """Warmed up and counted. `peak`: GiB that PyTorch held at most, where it counts."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with FlopCounterMode(display=False) as counter:
        work()
    wait(device)
    peak = round(torch.cuda.max_memory_allocated() / GIB, 1) if device == "cuda" else None
    return Contender(work, [], float(counter.get_total_flops()), peak)


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


def judging(
    given: argparse.Namespace, tokenizer: PromptTokenizer, asked: list[JudgeRequest]
) -> dict[str, Any]:
    critic = PaliGemmaCritic(
        build(given, tokenizer),
        tokenizer,
        CriticCard(AttentionMode.IMAGE_PREFIX, max_length=LONGEST),
        vocabulary=Vocabulary(frozenset()),
        gate=None,
        threshold=0.5,
        settings={},
        batch_size=64,
    )
    queries.LEAST_MASS = 0.0  # random weights do not say Yes or No

    def judge(packed: bool) -> None:
        critic.forget()
        critic.packed = packed
        critic.judge(asked)

    sides = compare([lambda: judge(True), lambda: judge(False)], given.repeats, given.device)
    sentences = sum(len(paragraph.spans) for paragraph in asked)
    rates = [sentences / statistics.median(one.seconds) for one in sides]
    return {
        **figures(sides, given),
        **token_cost(critic, asked).figures(),
        "sentences_per_second_packed": round(rates[0], 2),
        "sentences_per_second_per_sentence": round(rates[1], 2),
    }


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


def training(
    given: argparse.Namespace, tokenizer: PromptTokenizer, asked: list[JudgeRequest]
) -> dict[str, Any]:
    preset = dict(PRESETS["lora" if given.work == "lora" else "paper"])
    settings = TrainingSettings().with_options(
        **{**preset, "dtype": given.dtype, "lora_dropout": 0.0}
    )
    model = build(given, tokenizer)
    choose_weights(model, settings, given.shape)
    if given.checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
        model.train()
    optimizer = FlatOptimizer(model, weight_decay=0.0, betas=(0.9, 0.98), ema=0.0)
    size = model.config.vision_config.image_size
    pixels = np.stack([resized(paragraph.image, size) for paragraph in asked])[:, None]
    cache: Any = SimpleNamespace(variants=0, take=lambda images, worn: pixels[images, worn])
    examples, split = examples_of(asked), SimpleNamespace(path=Path("train"))

    def step(packed: bool) -> None:
        learner = PackedLearner(
            model,
            tokenizer,
            AttentionMode.IMAGE_PREFIX,
            LONGEST,
            pixels={split.path: cache},
            packed=packed,
        )
        each = given.micro_batch or len(examples)
        for start in range(0, len(examples), each):
            part = range(start, min(start + each, len(examples)))
            images = Images(split, list(part), [0] * len(part))  # type: ignore[arg-type]
            chosen = [examples[k] for k in part]
            one = learner.encode(chosen, [choice(example) for example in chosen], images)
            assert one is not None
            logits = learner.forward(one).logits
            ids = torch.from_numpy(one.ids).to(logits.device)
            torch.nn.functional.cross_entropy(logits, ids).backward()
        optimizer.step(1e-6, 1.0)

    sides = compare([lambda: step(True), lambda: step(False)], given.repeats, given.device)
    learns = sum(p.numel() for p in optimizer.parameters)
    return {
        **figures(sides, given),
        "parameters_that_learn": learns,
        "captions_a_step": len(asked),
        "steps_per_second_packed": round(1 / statistics.median(sides[0].seconds), 4),
        "steps_per_second_per_question": round(1 / statistics.median(sides[1].seconds), 4),
    }


def choice(example: TrainingExample) -> Choice:
    """All sentences, and two rationales."""
    wrong = [k for k, sentence in enumerate(example.sentences) if not sentence.factual][:2]
    return Choice(tuple((k, example.sentences[k].rationales[0]) for k in wrong), False)


def figures(sides: tuple[Contender, Contender], given: argparse.Namespace) -> dict[str, Any]:
    packed, single = sides
    rate = matrix_rate(given.device, getattr(torch, given.dtype))
    ratios = [s / p for p, s in zip(packed.seconds, single.seconds, strict=True)]
    used = [one.flops / statistics.median(one.seconds) / rate for one in sides]
    return {
        "times_faster": round(statistics.median(ratios), 2),
        "times_faster_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "operations_ratio": round(single.flops / packed.flops, 2),
        "utilisation_packed": round(used[0], 3),
        "utilisation_per_question": round(used[1], 3),
        "matrix_teraflops": round(rate / 1e12, 3),
        "peak_gib_packed": packed.peak,
        "peak_gib_per_question": single.peak,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", choices=("judge", "lora", "full"))
    parser.add_argument("--shape", default="3b", choices=list(SHAPES))
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--captions", type=int, default=16)
    parser.add_argument("--micro-batch", type=int, default=0, help="captions in one pass; 0: all")
    parser.add_argument("--checkpointing", action="store_true", help="as captions finetune's")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="on a CPU")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        sys.exit("there is no GPU here: add --device cpu (--shape bundled, if it is to end today)")
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
    print(json.dumps({**vars(given), **found, "targets": TARGETS, "hardware": name,
                      "torch": torch.__version__}))  # fmt: skip


if __name__ == "__main__":
    main()
