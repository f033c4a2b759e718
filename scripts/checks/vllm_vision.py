"""Vision models in vLLM beside transformers: the same answers about images?

    python -m scripts.checks.vllm_vision                        # everything below
    python -m scripts.checks.vllm_vision written bundled        # PaliGemma 2 critics of ours
    python -m scripts.checks.vllm_vision qwen3_vl internvl      # tiny instruct models, by family

Needs vLLM with its torchvision; scripts/README.md says how such an environment is made. `written`
is a tiny random critic as captions finetune writes one, `bundled` the bundled one under the causal
attention mode, which vLLM computes on a CPU. For critics, every request's log-probabilities of Yes
and No are compared with a plain forward pass of transformers under a 4D mask, and verdicts and
rationales with the critic in process; for instruct models, answers and greedy texts with the engine
in process. Prints JSON, and ends with 1 where a label differs or a P(Yes) does by more than the
limit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.engines.protocol import AnswerScores, Completion, Failed
from revise_captions.errors import UserError

ROOT = Path(__file__).parents[2]
FAMILIES = (
    "qwen3_vl",
    "qwen2_5_vl",
    "internvl",
    "llava_onevision",
    "idefics3",
    "smolvlm",
    "pixtral",
)
CRITICS = ("written", "bundled")
#: Tokens that the prefix cache keeps together: 128 on a CPU, more than many of these prompts have.
BLOCK = 32


def paragraphs(count: int) -> list[JudgeRequest]:
    from scripts.research.frame.held_out import held_out

    return [JudgeRequest(item.image, item.text, item.spans) for item in held_out("test", count)]


def p_yes(yes: float, no: float) -> float:
    return 1 / (1 + math.exp(no - yes))


def labels_equal(one: Sequence[float], other: Sequence[float], threshold: float) -> int:
    return sum((p < threshold) == (q < threshold) for p, q in zip(one, other, strict=True))


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    return max((abs(p - q) for p, q in zip(one, other, strict=True)), default=0.0)


# --- Critics of ours ------------------------------------------------------------------------------


class Plain:
    """transformers as it is: one prompt at a time, a 4D additive mask for the attention mode."""

    def __init__(self, folder: Path, image_tokens: int) -> None:
        from transformers import PaliGemmaForConditionalGeneration

        load = PaliGemmaForConditionalGeneration.from_pretrained
        self.model = load(folder, dtype=torch.float32, attn_implementation="eager").eval()
        self.images = image_tokens

    @torch.inference_mode()
    def logprobs(
        self, ids: Sequence[int], image: Any, attention_mode: AttentionMode
    ) -> torch.Tensor:
        """Of the whole vocabulary, behind the last of `ids`, the image's tokens among them."""
        from revise_captions.critic.paligemma.image_prefetch import pixel_values

        visible = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
        block = {AttentionMode.CAUSAL: 0, AttentionMode.IMAGE_PREFIX: self.images}.get(
            attention_mode, len(ids)
        )
        visible[:block, :block] = True
        lowest = torch.finfo(torch.float32).min
        mask = torch.zeros(visible.shape).masked_fill(~visible, lowest)[None, None]
        output = self.model(
            input_ids=torch.tensor([list(ids)]),
            pixel_values=pixel_values([np.asarray(image)], torch.float32),
            attention_mask=mask,
        )
        return output.logits[0, -1].float().log_softmax(-1)


def written(folder: Path) -> Path:
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    import tinycritic

    return tinycritic.saved(folder, AttentionMode.CAUSAL, fluent=True)


def bundled(folder: Path) -> Path:
    """A copy with vLLM's names for the tower; its gate and its words are left out, so that every
    sentence is asked about."""
    from revise_captions.critic.hub_names import write_hub_names
    from revise_captions.critic.locate import BUNDLED

    left = shutil.ignore_patterns("domain.safetensors", "words.txt", "README.md", "figures.json")
    shutil.copytree(BUNDLED, folder, ignore=left)
    write_hub_names(folder)
    return folder


def recorded(vllm: Any) -> list[tuple[Any, Any]]:
    """Requests and outputs of a critic's vLLM from now on."""
    seen: list[tuple[Any, Any]] = []
    asked = vllm.outputs

    def outputs(requests: Sequence[Any], options: Any, room: int) -> list[Any]:
        found = asked(requests, options, room)
        seen.extend(zip(requests, found, strict=True))
        return found

    vllm.outputs = outputs
    return seen


def check_critic(folder: Path, count: int) -> dict[str, Any]:
    from revise_captions.critic.paligemma.load import load_paligemma
    from revise_captions.critic.paligemma.vllm import load_vllm_critic

    asked = paragraphs(count)
    local = load_paligemma(
        str(folder),
        CriticOptions(Placement(dtype="float32", device="cpu"), attention_mode="causal"),
    )
    own_texts = {w.lower() for p in asked for w in p.text.replace(".", " ").split()}
    local.vocabulary = replace(local.vocabulary, known=frozenset(own_texts))
    expected = [v for group in local.judge(asked) for v in group]
    critic = load_vllm_critic(
        str(folder),
        CriticOptions(Placement(dtype="float32"), attention_mode="causal"),
        block_size=BLOCK,
    )
    critic.vocabulary = local.vocabulary
    seen = recorded(critic.vllm)
    began = time.monotonic()
    found = [v for group in critic.judge(asked) for v in group]
    seconds = time.monotonic() - began
    codec, plain = local.tokenizer, Plain(folder, local.images)
    rows = [_beside(plain, codec, request, output) for request, output in seen]
    claims = [ExplainRequest(p.image, p.text, p.spans, len(p.spans) - 1) for p in asked]
    cache = str(critic.vllm.counts)
    theirs, ours = critic.explain(claims), local.explain(claims)
    ps, qs = [r["p"] for r in rows], [r["q"] for r in rows]
    return {
        "settings": dict(critic.settings),
        "sentences": len(expected),
        "asked": len(rows),
        "labels equal": labels_equal(ps, qs, critic.threshold),
        "max |dP|": apart(ps, qs),
        "max |d log P|": max(r["log"] for r in rows),
        "verdicts equal": sum(v == w for v, w in zip(found, expected, strict=True)),
        "rationales equal": sum(a == b for a, b in zip(theirs, ours, strict=True)),
        "rationales": len(claims),
        "P(Yes)": [round(min(ps), 4), round(max(ps), 4)],
        "max |dP| of image-prefix": apart([r["image-prefix"] for r in rows], qs),
        "prefix cache": cache,
        "seconds": round(seconds, 1),
    }


def _beside(plain: Plain, codec: Any, request: Any, output: Any) -> dict[str, float]:
    ids = [*[codec.image] * plain.images, codec.bos, *request.ids]
    answer, follow = output.outputs[0].logprobs
    image = request.pictures[0]
    first = plain.logprobs(ids, image, AttentionMode.CAUSAL)
    second = plain.logprobs([*ids, codec.yes], image, AttentionMode.CAUSAL)
    other = plain.logprobs(ids, image, AttentionMode.IMAGE_PREFIX)
    pairs = [
        (answer[codec.yes], first[codec.yes]),
        (answer[codec.no], first[codec.no]),
        (follow[codec.nothing], second[codec.nothing]),
        (follow[codec.eos], second[codec.eos]),
    ]
    return {
        "p": p_yes(answer[codec.yes].logprob, answer[codec.no].logprob),
        "q": p_yes(float(first[codec.yes]), float(first[codec.no])),
        "image-prefix": p_yes(float(other[codec.yes]), float(other[codec.no])),
        "log": max(abs(one.logprob - float(two)) for one, two in pairs),
    }


# --- Instruct models ------------------------------------------------------------------------------


def tiny(family: str, folder: Path, *, sure: bool = True) -> Path:
    """The tests' tiny model with heads of 32, as captions finetune writes it: vLLM refuses heads of
    16 on a CPU."""
    from revise_captions.critic.hub_names import write_hub_names

    sys.path.insert(0, str(ROOT / "tests" / "support"))
    import tinyvlm

    plain = tinyvlm._text

    def text(tokenizer: Any, **more: Any) -> dict[str, Any]:
        if "rope_parameters" in more:
            # transformers takes it for granted of Qwen3-VL, vLLM reads it from the configuration
            own = {"mrope_section": [4, 6, 6], "mrope_interleaved": family == "qwen3_vl"}
            rope = {**more["rope_parameters"], **own}
            more["rope_parameters"] = rope
        heads = {"head_dim": 32, "num_attention_heads": 2, "num_key_value_heads": 1}
        return plain(tokenizer, **more, **heads)

    tinyvlm._text = text
    made: Path = tinyvlm.saved(folder, family, sure=sure)
    write_hub_names(made)
    return made


def check_family(folder: Path, count: int) -> dict[str, Any]:
    from revise_captions.critic import chat_prompts
    from revise_captions.engines.load import EngineUse, load_engine
    from revise_captions.engines.model_spec import resolve_model
    from revise_captions.engines.vllm.engine import load_engine as load_vllm

    prompts = [
        chat_prompts.classification(p.image, p.text, p.spans, k)
        for p in paragraphs(count)
        for k in range(len(p.spans))
    ]
    plain = load_engine(str(folder), Placement(dtype="float32", device="cpu"), scores=True)
    inside = load_vllm(
        resolve_model(str(folder), Placement(dtype="float32")),
        EngineUse("--critic", scores=True),
        enforce_eager=True,
        max_model_len=2048,
        block_size=BLOCK,
    )
    began = time.monotonic()
    answers = inside.answer_logprobs(prompts, chat_prompts.WORDS)
    seconds = time.monotonic() - began
    cache = str(inside.vllm.counts)
    expected = plain.answer_logprobs(prompts, chat_prompts.WORDS)
    scored, wanted_scores = map(answered, (answers, expected))
    ps, qs = ([p_yes(*a.logprobs) for a in some] for some in (scored, wanted_scores))
    texts, wanted = inside.generate(prompts[:4], 8), plain.generate(prompts[:4], 8)
    threshold = sorted(qs)[len(qs) // 2]
    between = max((q for q in qs if q < threshold), default=0.0)
    return {
        "settings": dict(inside.settings),
        "sentences": len(prompts),
        "labels equal": labels_equal(ps, qs, (threshold + between) / 2),
        "max |dP|": apart(ps, qs),
        "share": [
            round(min(a.answer_mass for a in wanted_scores), 4),
            round(apart_mass(scored, wanted_scores), 7),
        ],
        "texts equal": sum(
            isinstance(a, Completion) and isinstance(b, Completion) and a.text == b.text
            for a, b in zip(texts, wanted, strict=True)
        ),
        "texts": len(texts),
        "P(Yes)": [round(min(qs), 4), round(max(qs), 4)],
        "prefix cache": cache,
        "seconds": round(seconds, 1),
    }


def answered(answers: Sequence[AnswerScores | Failed]) -> list[AnswerScores]:
    scores = [a for a in answers if isinstance(a, AnswerScores)]
    if len(scores) < len(answers):
        failed = next(a for a in answers if not isinstance(a, AnswerScores))
        raise SystemExit(f"no answer: {failed}")
    return scores


def apart_mass(one: Sequence[Any], other: Sequence[Any]) -> float:
    return max(abs(a.answer_mass - b.answer_mass) for a, b in zip(one, other, strict=True))


def checked(name: str, folder: Path, captions: int) -> dict[str, Any]:
    if name not in CRITICS:
        return check_family(tiny(name, folder), captions)
    return check_critic(written(folder) if name == "written" else bundled(folder), captions)


def alone(name: str, captions: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        try:
            return {name: checked(name, Path(place) / name, captions)}
        except UserError as error:
            return {name: {"failed": str(error)}}


def apart_from_others(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """In a process of its own: vLLM does not clear away all of one model before the next."""
    options = ["--captions", str(given.captions), "--limit", str(given.limit)]
    done = subprocess.run(
        [sys.executable, "-m", "scripts.checks.vllm_vision", name, *options], stdout=subprocess.PIPE
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {name: {"failed": f"ended with {done.returncode}"}}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = (*CRITICS, *FAMILIES)
    parser.add_argument("models", nargs="*", help=f"{', '.join(known)}  [default: all]")
    parser.add_argument("--captions", type=int, default=6, help="held-out captions to ask about")
    parser.add_argument("--limit", type=float, default=1e-4, help="largest |ΔP| that passes")
    given = parser.parse_args()
    if unknown := set(given.models) - set(known):
        parser.error(f"unknown models: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    names = given.models or known
    if len(names) == 1:
        report = alone(names[0], given.captions)
    else:
        report = {}
        for name in names:
            report |= apart_from_others(name, given)
            print(name, "done", file=sys.stderr, flush=True)
    print(json.dumps(report, indent=1))
    good = all(
        "failed" not in r
        and r["labels equal"] == r.get("asked", r["sentences"])
        and r["max |dP|"] <= given.limit
        for r in report.values()
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
