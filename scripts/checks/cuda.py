"""The bundled critic and reviser on a GPU against float32 on this machine's processor.

    python -m scripts.checks.cuda [--captions 42] [--repeats 3] [--json FILE]

Held-out captions are judged, what is wrong by the processor's labels is explained and rewritten,
packed and with one row a question, in float32 (without TF32) and bfloat16. A line of JSON for each
setting: labels that differ, |ΔP(factual)|, rationales and rewrites that are the same, sentences a
second, and how many times faster than transformers' plain loop on the same GPU that is. Exit status
1: a label differs in float32. `--device cpu` compares the processor with itself, to test this
script.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import __version__ as transformers_version
from transformers.utils import logging

from revise_captions.critic.locate import find_checkpoint
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.records import Rationale, Verdict
from revise_captions.reviser.load import load_reviser
from revise_captions.reviser.protocol import RewriteRequest
from scripts.bench.critic import PlainLoop, hardware, questions_of, timed
from scripts.bench.operations import wait
from scripts.research.frame.held_out import held_out

Wrong = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Answers:
    """Verdicts of every sentence, and rationales and rewrites of those in question."""

    verdicts: list[Verdict]
    rationales: list[Rationale]
    rewrites: list[str]
    threshold: float

    @property
    def labels(self) -> list[bool | None]:
        """Whether each sentence is wrong; None: it was not judged."""
        found = [verdict.p_factual for verdict in self.verdicts]
        return [None if p is None else p < self.threshold for p in found]


def load(device: str, dtype: str, packed: bool) -> Any:
    return load_paligemma(
        "bundled", CriticOptions(Placement(device=device, dtype=dtype), packed=packed)
    )


def answers(
    critic: Any, device: str, dtype: str, asked: Sequence[JudgeRequest], wrong: Wrong | None,
    told: Sequence[Rationale] = (),
) -> tuple[Answers, Wrong]:  # fmt: skip
    """What the models say. Which sentences to explain, and by which rationales the reviser goes,
    is the reference's, so that one difference is not counted several times."""
    rows = critic.judge(asked)
    if wrong is None:
        wrong = [
            (k, index)
            for k, row in enumerate(rows)
            for index, verdict in enumerate(row)
            if verdict.p_factual is not None and verdict.p_factual < critic.threshold
        ]
    places = [(asked[k], index) for k, index in wrong]
    explains = [ExplainRequest(one.image, one.text, one.spans, index) for one, index in places]
    rationales = critic.explain(explains)
    reviser = load_reviser("bundled", placement=Placement(device=device, dtype=dtype))
    requests = [
        RewriteRequest(
            one.text[: one.spans[index].start],
            one.spans[index].of(one.text),
            rationale.text,
            fixes=rationale.fixes,
        )
        for (one, index), rationale in zip(places, told or rationales, strict=True)
    ]
    rewrites = [str(text) for text in reviser.rewrite(requests)]
    return Answers([v for row in rows for v in row], rationales, rewrites, critic.threshold), wrong


def differences(ours: Answers, reference: Answers) -> dict[str, Any]:
    pairs = [
        (a.p_factual, b.p_factual)
        for a, b in zip(ours.verdicts, reference.verdicts, strict=True)
        if a.p_factual is not None and b.p_factual is not None
    ]
    apart = [abs(a - b) for a, b in pairs]
    labels = zip(ours.labels, reference.labels, strict=True)
    alike = [a == b for a, b in zip(ours.rationales, reference.rationales, strict=True)]
    same = [a == b for a, b in zip(ours.rewrites, reference.rewrites, strict=True)]
    return {
        "sentences": len(ours.verdicts),
        "judged_by_both": len(pairs),
        "labels_differ": sum(a is not b for a, b in labels),
        "max_difference_p": round(max(apart), 6),
        "mean_difference_p": round(statistics.fmean(apart), 7),
        "explained": len(alike),
        "rationales_alike": sum(alike),
        "rewrites_alike": sum(same),
    }


def speed(
    critic: Any, device: str, dtype: str, asked: Sequence[JudgeRequest], repeats: int
) -> dict[str, Any]:
    """Sentences a second, and of the plain loop, in turn, after a pass of each to warm up."""
    ends = critic.tokenizer.yes, critic.tokenizer.no
    plain = PlainLoop(find_checkpoint("bundled"), getattr(torch, dtype), *ends, device=device)
    questions = questions_of(critic, asked)

    def judge() -> None:
        critic.forget()
        critic.judge(asked)
        wait(device)

    def loop() -> None:
        plain.judge(questions)
        wait(device)

    judge()
    plain.judge(questions[:8])
    pairs = [(timed(judge), timed(loop)) for _ in range(repeats)]
    ours, theirs = (statistics.median(part) for part in zip(*pairs, strict=True))
    return {
        "sentences_per_second": round(len(questions) / ours, 1),
        "loop_sentences_per_second": round(len(questions) / theirs, 1),
        "times_faster": round(statistics.median(b / a for a, b in pairs), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--captions", type=int, default=42, help="held-out captions")
    parser.add_argument("--repeats", type=int, default=3, help="of the timing; 0: none")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the lines to it")
    given = parser.parse_args()
    if given.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("there is no GPU: --device cpu compares the processor with itself")
    logging.set_verbosity_error()
    torch.set_float32_matmul_precision("highest")  # no TF32
    torch.backends.cudnn.allow_tf32 = False
    asked = [
        JudgeRequest(one.image, one.text, one.spans) for one in held_out("test", given.captions)
    ]
    reference, wrong = answers(load("cpu", "float32", True), "cpu", "float32", asked, None)
    name = hardware(torch.get_num_threads())
    if given.device.startswith("cuda"):
        name = torch.cuda.get_device_name()
    failed = False
    for dtype in ("float32", "bfloat16"):
        for packed in (True, False):
            critic = load(given.device, dtype, packed)
            ours, _ = answers(critic, given.device, dtype, asked, wrong, reference.rationales)
            timed_too = given.repeats > 0
            found = {
                "dtype": dtype, "packed": packed, **differences(ours, reference),
                **(speed(critic, given.device, dtype, asked, given.repeats) if timed_too else {}),
                "captions": given.captions, "hardware": name, "torch": torch.__version__,
                "transformers": transformers_version,
            }  # fmt: skip
            failed |= dtype == "float32" and found["labels_differ"] > 0
            line = json.dumps(found)
            print(line, flush=True)
            if given.json is not None:
                with given.json.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
    if failed:
        sys.exit("labels differ in float32")


if __name__ == "__main__":
    main()
