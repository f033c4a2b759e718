"""A PaliGemma 2 critic of ours through vLLM: the same token ids, one prompt a sentence.

The prompts of a caption come one after the other, and each begins as the one before it with the
image and the growing context, which vLLM's prefix cache then computes once. vLLM's attention is
image-prefix where its backend can let an image attend to itself (a GPU's), and causal where that is
switched off or cannot be had (a CPU); it never is PaliGemma's own, prefix. A checkpoint of another
attention mode is refused (`expect_attention_mode`), and so is a vLLM that puts the image's tokens
elsewhere than training did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.critic.checkpoints import CriticCard, read_card
from revise_captions.critic.gates.language import Vocabulary, read_lexicon
from revise_captions.critic.hub_names import check_hub_names
from revise_captions.critic.locate import BUNDLED, chosen_threshold, critic_folders
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    Branch,
    Trunk,
    context_trunk,
    question,
)
from revise_captions.critic.paligemma.queries import queries
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.protocol import Failed
from revise_captions.engines.vllm.requests import (
    Vllm,
    VllmRequest,
    device_type,
    scoring,
    start,
)
from revise_captions.errors import UserError
from revise_captions.records import Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image

#: For each image whether the critic knows its kind.
Gate = Callable[[Sequence["Image"]], list[bool]]


class VllmCritic:
    """Made by `load_vllm_critic`. `size`: an image's side in pixels; `images`: its tokens."""

    def __init__(
        self,
        vllm: Vllm,
        codec: PromptTokenizer,
        card: CriticCard,
        *,
        lexicon: Vocabulary,
        gate: Gate | None,
        size: int,
        images: int,
        threshold: float,
        settings: Mapping[str, str],
    ) -> None:
        self.vllm, self.codec, self.card = vllm, codec, card
        self.lexicon, self.gate, self.size, self.images = lexicon, gate, size, images
        self.threshold, self.settings = threshold, settings

    def judge(self, paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per sentence of `spans[first:]`, in input order."""
        inside = self._inside(paragraphs)
        small = self._resized([paragraph.image for paragraph in paragraphs])
        verdicts: list[list[Verdict]] = []
        places: list[tuple[int, int]] = []
        requests: list[VllmRequest] = []
        for number, paragraph in enumerate(paragraphs):
            if not inside[number]:
                outside = Verdict(None, Unscored.OUTSIDE_DOMAIN)
                verdicts.append([outside] * (len(paragraph.spans) - paragraph.first))
                continue
            found, asked, trunk = queries(
                self.codec, self.lexicon, paragraph, self.images, self.card.max_length
            )
            verdicts.append(found)
            for index, branch in asked:
                places.append((number, index - paragraph.first))
                requests.append(self._request(trunk, branch, small[id(paragraph.image)]))
        for (number, place), verdict in zip(places, self._verdicts(requests), strict=True):
            verdicts[number][place] = verdict
        return verdicts

    def explain(self, claims: Sequence[ExplainRequest]) -> list[str]:
        """A rationale per claim, greedily decoded; "" where the claim is over the context."""
        from vllm import SamplingParams

        from revise_captions.critic.paligemma.critic import MAX_RATIONALE

        small = self._resized([claim.image for claim in claims])
        texts = [""] * len(claims)
        places: list[int] = []
        requests: list[VllmRequest] = []
        for number, claim in enumerate(claims):
            trunk = context_trunk(self.codec, claim.text, claim.spans[: claim.index + 1])
            branch = question(
                self.codec, trunk, claim.text, claim.spans, claim.index, rationale=True
            )
            if self.images + branch.fork + len(branch.ids) <= self.card.max_length:
                places.append(number)
                requests.append(self._request(trunk, branch, small[id(claim.image)]))
        options = SamplingParams(
            temperature=0.0,
            max_tokens=MAX_RATIONALE,
            stop_token_ids=[self.codec.eos],
            detokenize=False,
        )
        outputs = self._outputs(requests, options, MAX_RATIONALE) if requests else []
        for number, found in zip(places, outputs, strict=True):
            if not isinstance(found, Failed):
                ids = [i for i in found.outputs[0].token_ids if i != self.codec.eos]
                texts[number] = self.codec.decode(ids).strip()
        return texts

    def check(self) -> None:
        """One sentence about a grey image. Raises UserError where vLLM cannot answer, or asks
        something else than training did."""
        from PIL import Image

        from revise_captions.records import Span

        text, grey = "It is grey.", Image.new("RGB", (self.size, self.size), (127, 127, 127))
        spans = (Span(0, len(text)),)
        trunk = context_trunk(self.codec, text, spans)
        request = self._request(trunk, question(self.codec, trunk, text, spans, 0), grey)
        found = self._outputs([request], self._options(), 2)[0]
        name = self.settings["critic"]
        if isinstance(found, Failed):
            raise UserError(f"{name} loads in vLLM but does not answer: {found.detail}")
        codec = self.codec
        trained = [*[codec.image] * self.images, codec.bos, *request.ids]
        if list(found.prompt_token_ids) != trained:
            raise UserError(
                f"vLLM {self.settings['vllm']} builds other prompts for {name} than it was trained "
                f"on ({len(found.prompt_token_ids)} tokens, expected {len(trained)})",
                hint="leave --engine out",
            )

    def _request(self, trunk: Trunk, branch: Branch, image: Image) -> VllmRequest:
        """The image's tokens and <bos> are vLLM's to add."""
        return VllmRequest([*trunk.ids[1 : branch.fork], *branch.ids[: branch.prompt]], (image,))

    def _resized(self, images: Sequence[Image]) -> dict[int, Image]:
        """By id, in the size that the tower sees: vLLM's own resizing rounds differently."""
        from PIL import Image

        from revise_captions.critic.paligemma.image_prefetch import resized

        distinct = {id(image): image for image in images}
        return {k: Image.fromarray(resized(image, self.size)) for k, image in distinct.items()}

    def _inside(self, paragraphs: Sequence[JudgeRequest]) -> list[bool]:
        if self.gate is None or not paragraphs:
            return [True] * len(paragraphs)
        return self.gate([paragraph.image for paragraph in paragraphs])

    def _outputs(self, requests: Sequence[VllmRequest], options: Any, room: int) -> list[Any]:
        return self.vllm.outputs(requests, options, room + self.images + 1)

    def _options(self) -> Any:
        """The first token is made to be Yes, so that the second says whether “, nothing to assess”
        would follow. Log-probabilities are those of the model all the same."""
        codec = self.codec
        ids = [codec.yes, codec.no, codec.nothing, codec.eos]
        return scoring(
            ids, max_tokens=2, allowed_token_ids=[codec.yes], ignore_eos=True, detokenize=False
        )

    def _verdicts(self, requests: Sequence[VllmRequest]) -> list[Verdict]:
        from revise_captions.critic.paligemma.critic import verdict_of

        codec = self.codec
        verdicts = []
        for found in self._outputs(requests, self._options(), 2) if requests else []:
            if isinstance(found, Failed):
                verdicts.append(Verdict(None, found.reason))
                continue
            answer, follow = found.outputs[0].logprobs
            yes, no = answer[codec.yes].logprob, answer[codec.no].logprob
            p = 1 / (1 + math.exp(min(no - yes, 700.0)))
            nothing = follow[codec.nothing].logprob > follow[codec.eos].logprob
            verdicts.append(verdict_of(p, math.exp(yes) + math.exp(no), nothing, self.threshold))
        return verdicts


def expect_attention_mode(attention_mode: AttentionMode, folder: Path, device: str = "") -> None:
    """Raises UserError where vLLM does not compute that attention on a device ("": on any)."""
    here = {
        "": (AttentionMode.IMAGE_PREFIX, AttentionMode.CAUSAL),
        "cuda": (AttentionMode.IMAGE_PREFIX, AttentionMode.CAUSAL),
    }
    if attention_mode not in here.get(device, (AttentionMode.CAUSAL,)):
        where = {"": "", "cpu": " on a CPU"}.get(device, f" on {device}")
        raise UserError(
            f"--engine vllm does not compute PaliGemma's attention{where} as this critic was "
            f"trained with it ({attention_mode}), so its answers would be others ({folder})",
            hint="leave --engine out",
        )


def load_vllm_critic(
    name: str,
    *,
    adapter: str | None = None,
    dtype: str = "auto",
    threshold: float | None = None,
    target_precision: float | None = None,
    attention_mode: str | None = None,
    **options: Any,
) -> VllmCritic:
    """A PaliGemma 2 critic in vLLM; see `critic.load_critic`. `options` go to `vllm.LLM`.

    Raises UserError where vLLM cannot compute it as it was trained.
    """
    own, folder, added = critic_folders(name, adapter)
    if added is not None:
        raise UserError(
            "--engine vllm cannot add an adapter to a model",
            hint="train with --merge and name the merged folder",
        )
    card = read_card(own)
    if attention_mode is not None:
        card = replace(card, attention_mode=AttentionMode(attention_mode))
    expect_attention_mode(card.attention_mode, folder)
    limit = chosen_threshold(card, threshold, target_precision)
    device = device_type()
    expect_attention_mode(card.attention_mode, folder, device)
    check_hub_names(folder)

    from transformers import AutoConfig, AutoTokenizer

    config = AutoConfig.from_pretrained(folder)
    vision = config.vision_config
    asked = _engine_options(card, config.text_config, dtype, device) | options
    vllm = start("bundled" if folder == BUNDLED else name, folder, **asked)
    computed = getattr(vllm.llm.llm_engine.model_config, "is_mm_prefix_lm", None)
    if computed is not (card.attention_mode is AttentionMode.IMAGE_PREFIX):
        raise UserError(
            f"{folder} needs {card.attention_mode} attention, and this vLLM does not say that it "
            f"computes {card.attention_mode} attention",
            hint="pip install -U vllm, or leave --engine out",
        )
    settings = {"critic" if key == "model" else key: v for key, v in vllm.settings.items()}
    critic = VllmCritic(
        vllm,
        PromptTokenizer(AutoTokenizer.from_pretrained(folder)),
        card,
        lexicon=read_lexicon(own),
        gate=_gate(own, folder),
        size=int(vision.image_size),
        images=(vision.image_size // vision.patch_size) ** 2,
        threshold=limit,
        settings={**settings, "attention-mode": str(card.attention_mode), "prompt": card.prompt},
    )
    critic.check()
    return critic


def _engine_options(card: CriticCard, text: Any, dtype: str, device: str) -> dict[str, Any]:
    from revise_captions.critic.paligemma.critic import MAX_RATIONALE

    return {
        "dtype": "float32" if dtype == "auto" and device == "cpu" else dtype,
        "enforce_eager": device == "cpu",
        "enable_prefix_caching": True,
        "limit_mm_per_prompt": {"image": 1},
        "hf_overrides": {"is_mm_prefix_lm": card.attention_mode is AttentionMode.IMAGE_PREFIX},
        "max_model_len": min(card.max_length + MAX_RATIONALE, text.max_position_embeddings),
    }


def _gate(own: Path, folder: Path) -> Gate | None:
    """The checkpoint's gate, if it has one, with a tower of its own: vLLM does not show its."""
    from revise_captions.critic.gates.image_domain import read_gate

    gate = read_gate(own)
    if gate is None:
        return None
    import torch

    from revise_captions.critic.paligemma.load import load_model
    from revise_captions.critic.paligemma.vision_cache import encode_images

    model = load_model(folder, torch.float32, None).eval()

    @torch.inference_mode()
    def inside(images: Sequence[Image]) -> list[bool]:
        seen = encode_images(model, images, gate)
        return [bool(seen.inside[seen.index[id(image)]]) for image in images]

    return inside
