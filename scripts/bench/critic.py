"""The critic's speed, compared with a plain loop over transformers' `generate`.

    python -m scripts.bench.critic [--critic DIR] [--captions 42] [--repeats 5] [--threads 2]
    python -m scripts.bench.critic --dtype bfloat16 --compile --processes 2

The plain loop asks once per sentence: processor, `generate` of one token, decode, softmax over the
Yes and No logits. It has the same weights, prompts (as token ids) and attention mode, on the same
held-out captions, in the same process. In between stands the critic with one prompt per sentence.
All run once to warm up, then in turn; neighbors give one ratio, and the median counts. The
verdicts must be equal, or the exit status is 1. The critic's domain gate and language check are in
its time, and its tower, which it otherwise runs once for all questions about an image; decoding of
image files is in nobody's. With `--processes` the critic works in so many, which share the threads
and divide the captions; the loop has all threads. `--compile` is of the critic alone, and its
compilation of the warm-up. The token bill is of the language model, beside
the least that would do.

The last line is JSON. `--store` writes the critic's speed into its `critic.json`, from where
`revise-captions --dry-run` estimates the time of a run and the model card takes it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL.Image import Image
from transformers import AutoProcessor, PaliGemmaForConditionalGeneration
from transformers import __version__ as transformers_version
from transformers.utils import logging

from revise_captions.critic import prompts
from revise_captions.critic.checkpoints import read_card
from revise_captions.critic.locate import find_checkpoint
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.protocol import JudgeRequest, Verdict
from revise_captions.engines.model_spec import Placement
from scripts.bench.token_cost import token_cost
from scripts.research.frame.held_out import held_out

TARGET = 10.0


@dataclass(frozen=True, slots=True)
class Question:
    """One sentence as the plain loop asks it; `ids` are those of training, of shape (1, length)."""

    image: Image
    text: str
    ids: torch.Tensor
    types: torch.Tensor


class PlainLoop:
    """The loop of transformers' documentation, one sentence at a time."""

    def __init__(
        self, folder: Path, dtype: torch.dtype, yes: int, no: int, device: str = "cpu"
    ) -> None:
        self.processor = AutoProcessor.from_pretrained(folder)
        model = PaliGemmaForConditionalGeneration.from_pretrained(folder, dtype=dtype)
        self.model, self.answers = model.to(device).eval(), [yes, no]

    @torch.inference_mode()
    def judge(self, questions: Sequence[Question]) -> list[float]:
        return [self._one(question) for question in questions]

    def _one(self, question: Question) -> float:
        given = self.processor(images=question.image, text=question.text, return_tensors="pt")
        ids, device = question.ids.to(self.model.device), self.model.device
        out = self.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            token_type_ids=question.types.to(device),
            pixel_values=given["pixel_values"].to(device, self.model.dtype),
            max_new_tokens=1,
            do_sample=False,
            output_scores=True,
            return_dict_in_generate=True,
        )
        self.processor.decode(out.sequences[0, question.ids.shape[1] :], skip_special_tokens=True)
        return float(out.scores[0][0, self.answers].float().softmax(-1)[0])


def questions_of(critic: Any, paragraphs: Sequence[JudgeRequest]) -> list[Question]:
    """The prompts of every sentence. Image tokens are type 0; text is causal but under `prefix`."""
    tokenizer = critic.tokenizer
    text_type = 0 if critic.card.attention_mode is AttentionMode.PREFIX else 1
    questions = []
    for paragraph in paragraphs:
        for index in range(len(paragraph.spans)):
            pieces = prompts.classification(paragraph.text, paragraph.spans, index)
            text = [tokenizer.bos, *tokenizer.pieces(pieces)]
            ids = torch.tensor([[tokenizer.image] * critic.images + text])
            types = torch.tensor([[0] * critic.images + [text_type] * len(text)])
            # The processor appends the newline itself.
            written = "<image>" + prompts.as_text(pieces).removesuffix("\n")
            questions.append(Question(paragraph.image, written, ids, types))
    return questions


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def outside_the_model(critic: Any, paragraphs: Sequence[JudgeRequest]) -> float:
    """The share of a call's time that is not spent in the network's layers."""
    inside, began = [0.0], [0.0]

    def enter(*_: Any) -> None:
        began[0] = time.perf_counter()

    def leave(*_: Any) -> None:
        inside[0] += time.perf_counter() - began[0]

    parts = critic.model.model
    modules = (parts.vision_tower, parts.multi_modal_projector, parts.language_model)
    hooks = [m.register_forward_pre_hook(enter) for m in (*modules, critic.model.lm_head)]
    hooks += [m.register_forward_hook(leave) for m in (*modules, critic.model.lm_head)]
    critic.forget()
    took = timed(lambda: critic.judge(paragraphs))
    for hook in hooks:
        hook.remove()
    return 1 - inside[0] / took


def judged(critic: Any, paragraphs: Sequence[JudgeRequest], packed: bool) -> None:
    """As in a call of its own: nothing is kept from the one before."""
    critic.forget()
    critic.packed = packed
    critic.judge(paragraphs)


class Processes:
    """The critic in several processes, each with its share of the threads and of the captions."""

    def __init__(
        self, critic: str, dtype: str, compiled: bool, processes: int, threads: int
    ) -> None:
        self.count = processes
        self.pool = ProcessPoolExecutor(
            processes,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=(critic, dtype, compiled, max(1, threads // processes)),
        )

    def judge(self, paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        parts = [paragraphs[start :: self.count] for start in range(self.count)]
        found: list[list[Verdict]] = [[] for _ in paragraphs]
        for start, rows in enumerate(self.pool.map(_judge, parts)):
            found[start :: self.count] = rows
        return found


#: The critic of this worker process.
_critic: PaliGemmaCritic


def _start(critic: str, dtype: str, compiled: bool, threads: int) -> None:
    global _critic
    torch.set_num_threads(threads)
    _critic = load_paligemma(
        critic, CriticOptions(Placement(device="cpu", dtype=dtype), compiled=compiled)
    )


def _judge(paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
    _critic.forget()
    return [list(row) for row in _critic.judge(paragraphs)]


def hardware(threads: int) -> str:
    names = [platform.machine()]
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{threads} threads, {(names or [platform.machine()])[0]}"


def compare(
    critic: Any, pool: Processes | None, plain: PlainLoop, paragraphs: Sequence[JudgeRequest]
) -> dict[str, Any]:
    """Whether both give the same verdicts; this is the warm-up of both, too."""
    rows = pool.judge(paragraphs) if pool else critic.judge(paragraphs)
    verdicts = [v for row in rows for v in row]
    read = np.array(plain.judge(questions_of(critic, paragraphs)))
    truths = critic.map(np.round(read, 4)).tolist()
    pairs = [
        (verdict.p_factual, p)
        for verdict, p in zip(verdicts, truths, strict=True)
        if verdict.p_factual is not None
    ]
    limit = critic.threshold
    return {
        "sentences": len(verdicts),
        "unscored": len(verdicts) - len(pairs),
        "flagged": sum(ours < limit for ours, _ in pairs),
        "labels_differ": sum((ours < limit) is not (theirs < limit) for ours, theirs in pairs),
        "max_difference_p": max((abs(ours - theirs) for ours, theirs in pairs), default=0.0),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--critic", default="bundled", help="`bundled` or a folder")
    parser.add_argument("--captions", type=int, default=42, help="held-out captions to judge")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--compile", action="store_true", help="the critic's layers")
    parser.add_argument("--processes", type=int, default=1, help="of the critic; not of the loop")
    parser.add_argument("--store", action="store_true", help="keep the speed in critic.json")
    args = parser.parse_args()
    if args.store and (args.processes > 1 or args.compile):
        parser.error("--store keeps the speed of one process as it is without --compile")
    return args


def in_turn(works: Sequence[Callable[[], Any]], repeats: int) -> tuple[list[float], ...]:
    """Seconds of each of the three, time after time, to and fro."""
    seconds: tuple[list[float], ...] = ([], [], [])
    for repeat in range(repeats):
        for which in (0, 1, 2) if repeat % 2 == 0 else (2, 1, 0):
            seconds[which].append(timed(works[which]))
        ours, single, loop = (part[-1] for part in seconds)
        print(f"{repeat + 1}: critic {ours:.2f} s, per sentence {single:.2f} s, loop {loop:.2f} s")
    return seconds


def figures(seconds: tuple[list[float], ...], sentences: int) -> dict[str, Any]:
    """Neighbors in time give one ratio, and the median counts."""
    ratios = [loop / ours for ours, _, loop in zip(*seconds, strict=True)]
    packing = [single / ours for ours, single, _ in zip(*seconds, strict=True)]
    rates = [sentences / statistics.median(part) for part in seconds]
    return {
        "critic_sentences_per_second": round(rates[0], 1),
        "per_sentence_sentences_per_second": round(rates[1], 1),
        "loop_sentences_per_second": round(rates[2], 1),
        "times_faster": round(statistics.median(ratios), 2),
        "times_faster_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "times_faster_than_per_sentence": round(statistics.median(packing), 2),
    }


def main() -> None:
    args = arguments()
    torch.set_num_threads(args.threads)
    logging.set_verbosity_error()
    critic = load_paligemma(
        args.critic, CriticOptions(Placement(device="cpu", dtype=args.dtype), compiled=args.compile)
    )
    pool = None
    if args.processes > 1:
        pool = Processes(args.critic, args.dtype, args.compile, args.processes, args.threads)
    folder = find_checkpoint(args.critic)
    if critic.card.attention_mode is AttentionMode.CAUSAL:
        sys.exit("transformers' PaliGemma lets the image see itself: no plain loop is causal")
    plain = PlainLoop(folder, critic.model.dtype, critic.tokenizer.yes, critic.tokenizer.no)
    items = held_out("test", args.captions)
    paragraphs = [JudgeRequest(item.image, item.text, item.spans) for item in items]
    questions = questions_of(critic, paragraphs)

    same = compare(critic, pool, plain, paragraphs)
    packs = critic.packed
    works = (
        lambda: pool.judge(paragraphs) if pool else judged(critic, paragraphs, packs),
        lambda: judged(critic, paragraphs, False),
        lambda: plain.judge(questions),
    )
    works[1]()
    seconds = in_turn(works, args.repeats)
    critic.packed = packs
    result = {
        "captions": len(paragraphs),
        **same,
        **figures(seconds, len(questions)),
        **(token_cost(critic, paragraphs).figures() if packs else {}),
        "share_of_time_outside_the_model": round(outside_the_model(critic, paragraphs), 3),
        "target": TARGET,
        "dtype": args.dtype,
        "compiled": args.compile,
        "processes": args.processes,
        "hardware": hardware(args.threads),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "transformers": transformers_version,
        "critic": critic.settings["critic"],
    }
    if args.store and not same["labels_differ"]:
        speed = {
            "sentences_per_second": result["critic_sentences_per_second"],
            "hardware": f"{result['hardware']}, {args.dtype}",
            "times_faster": result["times_faster"],
        }
        replace(read_card(folder), speed=speed).write(folder)
    print(json.dumps(result))
    if same["labels_differ"]:
        sys.exit("the verdicts differ: the speeds are not of the same work")


if __name__ == "__main__":
    main()
