"""A fine-tuned PaliGemma 2 critic on vLLM: the same token ids, one prompt per sentence.

The prompts of a caption are consecutive and share the image and the growing context, which vLLM's
prefix cache computes once. vLLM's attention is image-prefix if its backend lets an image attend to
itself (on a GPU), causal if that is switched off or not available (on a CPU), and never PaliGemma's
own, prefix. Checkpoints of another attention mode are refused (`expect_attention_mode`), and so is
a vLLM that places image tokens differently from training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from revise_captions.critic.by_image import ByImage
from revise_captions.critic.checkpoints import CriticCard, card_settings, read_card
from revise_captions.critic.gates.language import Vocabulary, read_vocabulary
from revise_captions.critic.hub_names import check_hub_names
from revise_captions.critic.instruct import factual
from revise_captions.critic.locate import BUNDLED, chosen_threshold, critic_folders
from revise_captions.critic.options import DEFAULT, CriticOptions
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    Branch,
    Trunk,
    context_trunk,
    question,
)
from revise_captions.critic.paligemma.queries import (
    MAX_RATIONALE,
    judge_queries,
    rationale_query,
    verdict_of,
)
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.profile import CALIBRATION, UNCALIBRATED
from revise_captions.critic.protocol import Acceptance, ExplainRequest, JudgeRequest
from revise_captions.critic.reading.rationale import with_named_fixes
from revise_captions.engines.batches import in_batches
from revise_captions.engines.protocol import AnswerScores, Completion, Failed
from revise_captions.engines.vllm.requests import (
    TOGETHER,
    Vllm,
    VllmRequest,
    device_type,
    scoring,
    start,
)
from revise_captions.errors import UserError
from revise_captions.pretrained import load_pretrained
from revise_captions.records import Rationale, Span, Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image

Answer = TypeVar("Answer")
#: Tells for each image whether it is of a kind that the critic was trained on.
Gate = Callable[[Sequence["Image"]], list[bool]]


class VllmCritic:
    """A PaliGemma 2 critic on vLLM. Made by `load_vllm_critic`.

    Args:
        vllm: The engine, loaded.
        tokenizer: Of the critic's prompts.
        card: The facts about the checkpoint that answers depend on.
        vocabulary: The words it knows.
        gate: Recognizes images of the kinds it was trained on; None: it takes all.
        size: Side of an image in pixels.
        images: Tokens per image.
        threshold: P(factual) below which a sentence is nonfactual.
        settings: Everything that determines an answer, by name.
    """

    def __init__(
        self,
        vllm: Vllm,
        tokenizer: PromptTokenizer,
        card: CriticCard,
        *,
        vocabulary: Vocabulary,
        gate: Gate | None,
        size: int,
        images: int,
        threshold: float,
        settings: Mapping[str, str],
    ) -> None:
        self.vllm, self.tokenizer, self.card = vllm, tokenizer, card
        self.map = card.map
        self.vocabulary, self.gate, self.size, self.images = vocabulary, gate, size, images
        self.threshold, self.settings = threshold, settings
        self._gated: ByImage[bool] = ByImage()

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per sentence of `spans[first:]`, in input order."""
        inside = self._inside([request.image for request in requests])
        resized = self._resized([request.image for request in requests])
        verdicts: list[list[Verdict]] = []
        places: list[tuple[int, int]] = []
        prompts: list[VllmRequest] = []
        for number, request in enumerate(requests):
            if not inside[number]:
                outside = Verdict(None, Unscored.OUTSIDE_DOMAIN)
                verdicts.append([outside] * len(request.asked))
                continue
            found, asked, trunk = judge_queries(
                self.tokenizer, self.vocabulary, request, self.images, self.card.max_length
            )
            verdicts.append(found)
            for place, branch in asked:
                places.append((number, place))
                prompts.append(self._prompt(trunk, branch, resized[id(request.image)]))
        for (number, place), verdict in zip(places, self._verdicts(prompts), strict=True):
            verdicts[number][place] = verdict
        return verdicts

    def accepts(self, images: Sequence[Image]) -> list[Acceptance]:
        """Whether each image is of a kind that the critic was trained on, according to its gate."""
        return [Acceptance(mine) for mine in self._inside(images)]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """A rationale per request, greedily decoded; "" if the prompt exceeds the context."""
        from vllm import SamplingParams

        resized = self._resized([request.image for request in requests])
        texts = [""] * len(requests)
        numbers: list[int] = []
        prompts: list[VllmRequest] = []
        for number, request in enumerate(requests):
            query = rationale_query(
                self.tokenizer, self.vocabulary, request, self.images, self.card.max_length
            )
            if query is not None:
                numbers.append(number)
                prompts.append(self._prompt(*query, resized[id(request.image)]))
        options = SamplingParams(
            temperature=0.0,
            max_tokens=MAX_RATIONALE,
            stop_token_ids=[self.tokenizer.eos],
            detokenize=False,
        )

        def read(found: Any) -> Completion:
            ids = [i for i in found.outputs[0].token_ids if i != self.tokenizer.eos]
            return Completion(self.tokenizer.decode(ids).strip(), complete=True)

        written = self._answers(
            f"explaining {MAX_RATIONALE}", prompts, options, MAX_RATIONALE, read
        )
        for number, found in zip(numbers, written, strict=True):
            if not isinstance(found, Failed):
                texts[number] = found.text
        return [
            with_named_fixes(text, r.spans[r.index].of(r.text))
            for text, r in zip(texts, requests, strict=True)
        ]

    def check(self) -> None:
        """Asks about one sentence of a gray image.

        Raises:
            UserError: vLLM does not answer, or builds a different prompt from training's.
        """
        from PIL import Image

        text, gray = "It is grey.", Image.new("RGB", (self.size, self.size), (127, 127, 127))
        spans = (Span(0, len(text)),)
        tokenizer = self.tokenizer
        trunk = context_trunk(tokenizer, text, spans)
        prompt = self._prompt(trunk, question(tokenizer, trunk, text, spans, 0), gray)
        found = self._outputs([prompt], self._options(), 2)[0]
        name = self.settings["critic"]
        if isinstance(found, Failed):
            raise UserError(f"{name} loads in vLLM but does not answer: {found.detail}")
        trained = [*[tokenizer.image] * self.images, tokenizer.bos, *prompt.ids]
        if list(found.prompt_token_ids) != trained:
            raise UserError(
                f"vLLM {self.settings['vllm']} builds prompts for {name} that differ from those "
                f"in training ({len(found.prompt_token_ids)} tokens, expected {len(trained)})",
                hint="leave --engine out",
            )

    def _prompt(self, trunk: Trunk, branch: Branch, image: Image) -> VllmRequest:
        """Without image tokens and <bos>, which vLLM adds."""
        return VllmRequest([*trunk.ids[1 : branch.fork], *branch.ids[: branch.prompt]], (image,))

    def _resized(self, images: Sequence[Image]) -> dict[int, Image]:
        """The images by id, at the tower's size: vLLM's own resizing rounds differently."""
        from PIL import Image

        from revise_captions.critic.paligemma.image_prefetch import resized

        distinct = {id(image): image for image in images}
        return {k: Image.fromarray(resized(image, self.size)) for k, image in distinct.items()}

    def _inside(self, images: Sequence[Image]) -> list[bool]:
        """Whether each image is in the domain; the gate's answers are remembered."""
        if self.gate is None:
            return [True] * len(images)
        new = list(
            {id(image): image for image in images if self._gated.get(image) is None}.values()
        )
        for image, inside in zip(new, self.gate(new) if new else [], strict=True):
            self._gated.put(image, inside)
        return [bool(self._gated.get(image)) for image in images]

    def _outputs(self, prompts: Sequence[VllmRequest], options: Any, new: int) -> list[Any]:
        return self.vllm.outputs(prompts, options, new + self.images + 1)

    def _options(self) -> Any:
        """Forces the first token to Yes, so that the second says whether “, nothing to assess”
        follows. The log-probabilities stay the model's own."""
        tokenizer = self.tokenizer
        ids = [tokenizer.yes, tokenizer.no, tokenizer.nothing, tokenizer.eos]
        return scoring(
            ids, max_tokens=2, allowed_token_ids=[tokenizer.yes], ignore_eos=True, detokenize=False
        )

    def _answers(
        self,
        kind: str,
        prompts: Sequence[VllmRequest],
        options: Any,
        new: int,
        read: Callable[[Any], Answer],
    ) -> list[Answer | Failed]:
        """What `read` finds in vLLM's output for each prompt. `kind`: see `batches.kept`."""

        def ask(some: Sequence[tuple[Any, ...]]) -> list[Answer | Failed]:
            requests = [VllmRequest(ids, pictures) for ids, *pictures in some]
            return [
                found if isinstance(found, Failed) else read(found)
                for found in self._outputs(requests, options, new)
            ]

        items = [(tuple(prompt.ids), *prompt.pictures) for prompt in prompts]
        return in_batches(self.settings["critic"], kind, items, TOGETHER, ask)

    def _verdicts(self, prompts: Sequence[VllmRequest]) -> list[Verdict]:
        tokenizer = self.tokenizer

        def read(found: Any) -> tuple[float, float, float]:
            answer, follow = found.outputs[0].logprobs
            nothing = follow[tokenizer.nothing].logprob > follow[tokenizer.eos].logprob
            return answer[tokenizer.yes].logprob, answer[tokenizer.no].logprob, float(nothing)

        verdicts = []
        for found in self._answers("judging", prompts, self._options(), 2, read):
            if isinstance(found, Failed):
                verdicts.append(Verdict(None, found.reason))
                continue
            yes, no, nothing = found
            scores = AnswerScores((yes, no), math.exp(yes) + math.exp(no))
            verdicts.append(
                verdict_of(
                    factual(scores), scores.answer_mass, bool(nothing), self.threshold, self.map
                )
            )
        return verdicts


def expect_attention_mode(attention_mode: AttentionMode, folder: Path, device: str = "") -> None:
    """Raises UserError where vLLM does not compute this attention mode on a device ("": any)."""
    here = {
        "": (AttentionMode.IMAGE_PREFIX, AttentionMode.CAUSAL),
        "cuda": (AttentionMode.IMAGE_PREFIX, AttentionMode.CAUSAL),
    }
    if attention_mode not in here.get(device, (AttentionMode.CAUSAL,)):
        where = {"": "", "cpu": " on a CPU"}.get(device, f" on {device}")
        raise UserError(
            f"--engine vllm does not compute PaliGemma's attention{where} as this critic was "
            f"trained with it ({attention_mode}), so its answers would differ ({folder})",
            hint="leave --engine out",
        )


def load_vllm_critic(name: str, options: CriticOptions = DEFAULT, **of_vllm: Any) -> VllmCritic:
    """Loads a PaliGemma 2 critic into vLLM; arguments as for `paligemma.load.load_paligemma`.

    Args:
        name: Which critic.
        options: How it is loaded.
        of_vllm: Passed on to `vllm.LLM`.

    Raises:
        UserError: There is no such critic, or vLLM cannot compute it as it was trained.
    """
    own, folder, added = critic_folders(name, options.adapter)
    if added is not None:
        raise UserError(
            "--engine vllm cannot add an adapter to a model",
            hint="train with --merge and name the merged folder",
        )
    card = read_card(own)
    if options.attention_mode is not None:
        card = replace(card, attention_mode=AttentionMode(options.attention_mode))
    expect_attention_mode(card.attention_mode, folder)
    limit = chosen_threshold(card, options.threshold, options.target_precision)
    device = device_type()
    expect_attention_mode(card.attention_mode, folder, device)
    check_hub_names(folder)

    from transformers import AutoConfig, AutoTokenizer

    config = load_pretrained(AutoConfig, folder)
    vision = config.vision_config
    asked = _engine_options(card, config.text_config, options.placement.dtype, device) | of_vllm
    vllm = start("bundled" if folder == BUNDLED else name, folder, **asked)
    computed = getattr(vllm.llm.llm_engine.model_config, "is_mm_prefix_lm", None)
    if computed is not (card.attention_mode is AttentionMode.IMAGE_PREFIX):
        raise UserError(
            f"{folder} needs {card.attention_mode} attention, but this vLLM does not report "
            f"support for {card.attention_mode} attention",
            hint="pip install -U vllm, or leave --engine out",
        )
    settings = {"critic" if key == "model" else key: v for key, v in vllm.settings.items()}
    critic = VllmCritic(
        vllm,
        PromptTokenizer(load_pretrained(AutoTokenizer, folder)),
        card,
        vocabulary=read_vocabulary(own),
        gate=_gate(own, folder),
        size=int(vision.image_size),
        images=(vision.image_size // vision.patch_size) ** 2,
        threshold=limit,
        settings={
            **settings,
            "attention-mode": str(card.attention_mode),
            "prompt": card.prompt,
            **card_settings(card),
            **({} if card.calibration else {CALIBRATION: UNCALIBRATED}),
        },
    )
    critic.check()
    return critic


def _engine_options(card: CriticCard, text: Any, dtype: str, device: str) -> dict[str, Any]:
    return {
        "dtype": "float32" if dtype == "auto" and device == "cpu" else dtype,
        "enforce_eager": device == "cpu",
        "enable_prefix_caching": True,
        "limit_mm_per_prompt": {"image": 1},
        "hf_overrides": {"is_mm_prefix_lm": card.attention_mode is AttentionMode.IMAGE_PREFIX},
        "max_model_len": min(card.max_length + MAX_RATIONALE, text.max_position_embeddings),
    }


def _gate(own: Path, folder: Path) -> Gate | None:
    """The checkpoint's gate, if any, with a tower of its own, as vLLM's cannot be reached."""
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
        features = encode_images(model, images, gate)
        return [bool(features.inside[features.index[id(image)]]) for image in images]

    return inside
