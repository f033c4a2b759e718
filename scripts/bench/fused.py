"""What the critic's faster operations on a CPU give, one by one.

    python -m scripts.bench.fused [--captions 42] [--repeats 10] [--dtype float32] [--threads 2]

The bundled critic judges the same held-out captions with transformers' own layers, then with the
last layer computed only where answers are read, then with fused norms, then with fused GELU too, in
turn in one process. Each is compared with its neighbour in time that has transformers' layers; the
median of these ratios counts. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch
from transformers.models.gemma2.modeling_gemma2 import Gemma2MLP, Gemma2RMSNorm
from transformers.models.siglip.modeling_siglip import SiglipMLP
from transformers.utils import logging

from revise_captions.critic.paligemma import model as network
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.paligemma.sparse_last_layer import is_sparse
from revise_captions.critic.protocol import JudgeRequest
from scripts.bench.critic import hardware
from scripts.research.frame.held_out import held_out

STAGES = ("transformers' layers", "last layer where read", "fused norms", "fused GELU")
KINDS = {2: (Gemma2RMSNorm,), 3: (Gemma2MLP, SiglipMLP)}


class Switch:
    """Puts back what `on_cpu.fuse` and `last_layer` have replaced, and in again, stage by stage."""

    def __init__(self, model: Any) -> None:
        self.fused = {
            stage: [
                (part, vars(part)["forward"])
                for part in model.modules()
                if isinstance(part, kinds) and "forward" in vars(part)
            ]
            for stage, kinds in KINDS.items()
        }

    def to(self, stage: int) -> None:
        network.is_sparse = is_sparse if stage >= 1 else (lambda model: False)
        for number, parts in self.fused.items():
            for part, forward in parts:
                if stage >= number:
                    part.forward = forward
                elif "forward" in vars(part):
                    del part.forward


def measure(critic: Any, paragraphs: Sequence[JudgeRequest], repeats: int) -> dict[str, Any]:
    switch, stages = Switch(critic.model), range(len(STAGES))
    seconds: list[list[float]] = [[] for _ in stages]
    answers: list[list[float]] = []
    for repeat in range(repeats + 1):  # the first is the warm-up
        for stage in stages if repeat % 2 == 0 else reversed(stages):
            switch.to(stage)
            critic.forget()
            began = time.perf_counter()
            found = critic.judge(paragraphs)
            took = time.perf_counter() - began
            if repeat:
                seconds[stage].append(took)
            else:
                answers.append([float(v.p_factual or 0.0) for row in found for v in row])
    result: dict[str, Any] = {}
    for stage, name in enumerate(STAGES):
        ratios = [plain / own for plain, own in zip(seconds[0], seconds[stage], strict=True)]
        apart = max(abs(a - b) for a, b in zip(answers[0], answers[stage], strict=True))
        result[name] = {
            "seconds": round(statistics.median(seconds[stage]), 3),
            "times_faster": round(statistics.median(ratios), 3),
            "max_difference_p": round(apart, 4),
        }
        print(name, result[name])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--captions", type=int, default=42)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    logging.set_verbosity_error()
    critic = load_paligemma("bundled", device="cpu", dtype=given.dtype)
    items = held_out("test", given.captions)
    paragraphs = [JudgeRequest(item.image, item.text, item.spans) for item in items]
    found = measure(critic, paragraphs, given.repeats)
    print(json.dumps({**vars(given), **found, "hardware": hardware(given.threads)}))


if __name__ == "__main__":
    main()
