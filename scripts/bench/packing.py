"""What packing a caption's sentences into one row gives, beside the tokens that it saves.

    python -m scripts.bench.packing [--images 64 256 1024] [--captions 6] [--repeats 5]

Critics of the bundled shape with random weights and 64, 256 and 1,024 image tokens judge captions
of seven sentences of 20 words, packed and one prompt per sentence, in turn in one process. The last
line is JSON: tokens per caption beside the least that would do, seconds, the ratio of the times
(the median over pairs), and the share of the token ratio that it reaches. The tokens are the
language model's, so that share is of its time alone; with the tower, which runs once per image
either way, is beside it. Exit status 1: the answers differ by more than 1e-4. `--clock cpu` counts
the processor's time instead of the wall's, for a machine with other work to do; `--threads 1`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import AutoTokenizer

from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.gates.language import Vocabulary, read_vocabulary
from revise_captions.critic.locate import find_checkpoint
from revise_captions.critic.paligemma import queries
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.model import new_model
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.process_memory import keep_freed_memory
from revise_captions.text.sentences import split
from scripts.bench.critic import hardware
from scripts.bench.token_cost import token_cost

SENTENCES, WORDS = 7, 20
#: Of the token ratio, in the time ratio.
TARGET = 0.8
PATCH = 16


def random_critic(tokenizer: PromptTokenizer, images: int, dtype: torch.dtype) -> PaliGemmaCritic:
    """The bundled shape with so many image tokens; Yes and No are as likely as any token."""
    side = round(images**0.5) * PATCH
    if (side // PATCH) ** 2 != images:
        sys.exit(f"{images} image tokens are no square")
    torch.manual_seed(0)
    model = new_model(tokenizer, image_size=side).to(dtype)
    return PaliGemmaCritic(
        model,
        tokenizer,
        CriticCard(AttentionMode.IMAGE_PREFIX, max_length=4096),
        vocabulary=Vocabulary(frozenset()),
        gate=None,
        threshold=0.5,
        settings={},
        batch_size=16,
    )


def captions(count: int, words: Sequence[str], side: int) -> list[JudgeRequest]:
    """Noise for images, and sentences of words that the tokenizer has been trained on."""
    rng, noise = random.Random(0), np.random.default_rng(0)
    found = []
    for _ in range(count):
        sentences = [" ".join(rng.choices(words, k=WORDS)) for _ in range(SENTENCES)]
        text = " ".join(f"{sentence.capitalize()}." for sentence in sentences)
        pixels = noise.integers(0, 256, (side, side, 3), dtype=np.uint8)
        found.append(JudgeRequest(Image.fromarray(pixels), text, tuple(split(text))))
    return found


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds with the tower and of the language model alone; P(Yes) of every sentence."""

    whole: float
    language: float
    answers: list[float]


def timed(
    critic: PaliGemmaCritic, asked: Sequence[JudgeRequest], packed: bool, clock: Any
) -> Timed:
    """Judges twice: the second time, what the tower saw is known."""
    critic.forget()
    critic.packed = packed
    began = clock()
    critic.judge(asked)
    between = clock()
    found = critic.judge(asked)
    answers = [float(v.p_factual or 0.0) for row in found for v in row]
    return Timed(between - began, clock() - between, answers)


def measure(
    tokenizer: PromptTokenizer, words: Sequence[str], images: int, given: Any
) -> dict[str, Any]:
    critic = random_critic(tokenizer, images, getattr(torch, given.dtype))
    asked = captions(given.captions, words, round(images**0.5) * PATCH)
    clock = time.process_time if given.clock == "cpu" else time.perf_counter
    runs: dict[bool, list[Timed]] = {True: [], False: []}
    for repeat in range(given.repeats + 1):
        for packed in (True, False) if repeat % 2 == 0 else (False, True):
            runs[packed].append(timed(critic, asked, packed, clock))
    pairs = list(zip(runs[True], runs[False], strict=True))
    differ = [abs(a - b) for a, b in zip(pairs[0][0].answers, pairs[0][1].answers, strict=True)]
    del pairs[0]  # the warm-up
    language = [single.language / packed.language for packed, single in pairs]
    costs = token_cost(critic, asked)
    sentences = sum(len(paragraph.spans) for paragraph in asked)
    speed = statistics.median(language)
    print(f"{images} image tokens: {speed:.2f} times, of {costs.ratio:.2f}", file=sys.stderr)
    return {
        "image_tokens": images,
        "captions": costs.captions,
        "sentences": sentences,
        **costs.figures(),
        "sentences_per_second_packed": _rate(sentences, [p.whole for p, _ in pairs]),
        "sentences_per_second_per_sentence": _rate(sentences, [s.whole for _, s in pairs]),
        "times_faster": round(speed, 3),
        "times_faster_range": [round(min(language), 3), round(max(language), 3)],
        "times_faster_with_tower": round(statistics.median(s.whole / p.whole for p, s in pairs), 3),
        "share_of_token_ratio": round(speed / costs.ratio, 3),
        "max_difference_p": max(differ),
        "different_p": len(set(pairs[0][0].answers)),
    }


def _rate(sentences: int, seconds: Sequence[float]) -> float:
    return round(sentences / statistics.median(seconds), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--captions", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--clock", default="wall", choices=("wall", "cpu"))
    given = parser.parse_args()
    if given.clock == "cpu" and given.threads != 1:
        sys.exit("--clock cpu needs --threads 1: two threads' time is not twice as long")
    torch.set_num_threads(given.threads)
    keep_freed_memory()
    queries.LEAST_MASS = (
        0.0  # random weights do not say Yes or No: their P is compared all the same
    )
    folder = find_checkpoint("bundled")
    words = [word for word in sorted(read_vocabulary(folder).known) if len(word) > 2]
    tokenizer = PromptTokenizer(AutoTokenizer.from_pretrained(folder))
    sizes = [measure(tokenizer, words, images, given) for images in given.images]
    result = {
        "sizes": sizes,
        "target_share_of_token_ratio": TARGET,
        "dtype": given.dtype,
        "clock": given.clock,
        "hardware": hardware(given.threads),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
    }
    print(json.dumps(result))
    limit = 1e-4 if given.dtype == "float32" else 1.0
    if any(size["max_difference_p"] > limit + 1e-9 for size in sizes):
        sys.exit("the answers differ: the speeds are not of the same work")


if __name__ == "__main__":
    main()
