"""A PaliGemma critic in this process.

`judge` turns captions into packed rows of several sentences each, and reads P(factual) off one
forward pass per batch of rows. `explain` decodes rationales greedily, reusing what judging a
caption has computed for its image and context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.gates.image_domain import DomainGate, tower_states
from revise_captions.critic.gates.language import Vocabulary
from revise_captions.critic.paligemma.batching import (
    batched,
    device_alive,
    halving,
    token_budget,
)
from revise_captions.critic.paligemma.compile import eagerly
from revise_captions.critic.paligemma.greedy_decode import (
    PrefixCache,
    PrefixCaches,
    cache_limit,
    greedy,
    prefill,
    prefill_from_cache,
)
from revise_captions.critic.paligemma.image_prefetch import ImagePrefetcher
from revise_captions.critic.paligemma.model import (
    hidden_states,
    image_tokens,
    logits_at,
)
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    Branch,
    PackedBatch,
    PackedRow,
    Trunk,
    collate,
    pack,
    unpack,
)
from revise_captions.critic.paligemma.queries import (
    MAX_RATIONALE,
    judge_queries,
    rationale_query,
    verdict_of,
)
from revise_captions.critic.paligemma.rows import ScheduledRow, row_groups
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.paligemma.vision_cache import VisionFeatures, encode_images, pixels_of
from revise_captions.critic.protocol import Acceptance, ExplainRequest, JudgeRequest
from revise_captions.critic.reading.rationale import with_named_fixes
from revise_captions.engines.batches import reported
from revise_captions.records import Rationale, Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import PaliGemmaForConditionalGeneration


@dataclass(frozen=True, slots=True)
class _RationalePrompt:
    """A rationale to write: its request, and its prompt, whose prefix may be cached."""

    request: int
    row: PackedRow
    prefix: PrefixCache | None


class PaliGemmaCritic:
    """A PaliGemma-style checkpoint in this process. Made by `load_critic`.

    The tower's output and the prefix caches of a call are kept for the next one about the same
    image objects: call `forget` after changing the weights, or an image in place.

    Args:
        model: The network, on its device.
        tokenizer: Of its prompts.
        card: The facts about the checkpoint that answers depend on.
        vocabulary: The words it knows.
        gate: Recognizes images of the kinds it was trained on; None: it takes all.
        threshold: P(factual) below which a sentence is nonfactual.
        settings: Everything that determines an answer, by name.
        batch_size: Most rows per forward pass.
        packed: Whether the sentences of a caption share a row, where the attention mode allows it.
    """

    def __init__(
        self,
        model: PaliGemmaForConditionalGeneration,
        tokenizer: PromptTokenizer,
        card: CriticCard,
        *,
        vocabulary: Vocabulary,
        gate: DomainGate | None,
        threshold: float,
        settings: Mapping[str, str],
        batch_size: int,
        packed: bool = True,
    ) -> None:
        self.model, self.tokenizer, self.card = model.eval(), tokenizer, card
        self.map = card.map
        self.vocabulary, self.gate = vocabulary, gate
        self.threshold, self.settings, self.batch_size = threshold, settings, batch_size
        self.packed = packed and card.attention_mode is not AttentionMode.PREFIX
        self.images = image_tokens(model)
        self.tokens = token_budget(str(model.device))
        self.prefix_caches = PrefixCaches(cache_limit(model.device))
        self._prefetcher = ImagePrefetcher(model.config.vision_config.image_size)
        self._features: VisionFeatures | None = None

    def prepare(self, image: Image) -> None:
        """Resizes an image that will be judged soon. Any thread may call it."""
        self._prefetcher.prepare(image)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per sentence of `spans[first:]`, in input order.

        Sentences that the critic cannot judge are `unscored` with the reason.

        Raises:
            EngineDead: The device failed, or has no memory for a single image.
        """
        with torch.inference_mode(), device_alive():
            features = self._encoded([request.image for request in requests])
            verdicts: list[list[Verdict]] = []
            rows: list[ScheduledRow] = []
            for number, request in enumerate(requests):
                self.prefix_caches.drop(request)
                image = features.index[id(request.image)]
                if not features.inside[image]:
                    outside = Verdict(None, Unscored.OUTSIDE_DOMAIN)
                    verdicts.append([outside] * len(request.asked))
                    continue
                found, asked, trunk = self._queries(request)
                verdicts.append(found)
                rows += self._rows(number, image, trunk, asked, self.packed)
            done: list[tuple[ScheduledRow, bool]] = []
            answers: list[torch.Tensor] = []
            for batch in reported("judging", self._batched(rows), len(rows)):
                for attempt in halving(batch, ScheduledRow.halves):
                    if attempt.fits:
                        with attempt as part:
                            answers.append(self._forward(part, requests, features.tower))
                            done += [(row, True) for row in part]
                    else:
                        done += [(row, False) for row in attempt.items]
            for row, number, verdict in self._verdicts(done, answers):
                verdicts[row.request][number] = verdict
            self._drop_factual(requests, verdicts)
        return verdicts

    def accepts(self, images: Sequence[Image]) -> list[Acceptance]:
        """Whether each image is of a kind that the critic was trained on, according to its gate.

        The tower's output is kept for `judge`.

        Raises:
            EngineDead: The device failed, or has no memory for a single image.
        """
        if self.gate is None:
            return [Acceptance(mine=True)] * len(images)
        with torch.inference_mode(), device_alive():
            features = self._encoded(images)
        return [Acceptance(features.inside[features.index[id(image)]]) for image in images]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """A rationale per request, greedily decoded.

        It is "" if the prompt is longer than the critic's context, or does not fit in memory.

        Raises:
            EngineDead: The device failed, or has no memory for a single image.
        """
        texts = [""] * len(requests)
        eager = eagerly("compiled" in self.settings)
        with torch.inference_mode(), device_alive(), eager:
            features = self._encoded([request.image for request in requests])
            prompts = list(
                filter(None, map(self._rationale_prompt, range(len(requests)), requests))
            )
            for cached in (True, False):  # a batch is prefilled one way or the other
                part = [prompt for prompt in prompts if (prompt.prefix is not None) is cached]
                rows, length = 2 * self.batch_size, lambda prompt: len(prompt.row)
                every = batched(part, length, rows=rows, tokens=8 * self.tokens)
                for batch in reported("explaining", every, len(part)):
                    for attempt in halving(batch):
                        if not attempt.fits:
                            continue
                        with attempt as some:
                            written = self._rationales(some, requests, features)
                            for prompt, ids in zip(some, written, strict=True):
                                texts[prompt.request] = self.tokenizer.decode(ids).strip()
        return [
            with_named_fixes(text, r.spans[r.index].of(r.text))
            for text, r in zip(texts, requests, strict=True)
        ]

    def features(self, images: Sequence[Image]) -> torch.Tensor:
        """What the domain gate reads (`tower_states`): float32 (images, patches, 4 × hidden)."""
        with torch.inference_mode():
            parts = pixels_of(self.model, images)
            return torch.cat([tower_states(self.model, part)[1] for part in parts])

    def batches(
        self, requests: Sequence[JudgeRequest], *, packed: bool
    ) -> Iterator[list[ScheduledRow]]:
        """The batches that `judge` would compute if all images were in the domain."""
        rows: list[ScheduledRow] = []
        for number, request in enumerate(requests):
            _, asked, trunk = self._queries(request)
            rows += self._rows(number, number, trunk, asked, packed)
        yield from self._batched(rows)

    def forget(self) -> None:
        """Drops what is kept between calls: this changes times, but no answers."""
        self._features = None
        self.prefix_caches.clear()
        self.tokenizer.forget()

    # --- Rows to compute ------------------------------------------------------------------------

    def _encoded(self, images: Sequence[Image]) -> VisionFeatures:
        if self._features is None or not self._features.has(images, self.gate):
            self.forget()
            self._features = encode_images(self.model, images, self.gate, self._prefetcher)
        return self._features

    def _queries(
        self, request: JudgeRequest
    ) -> tuple[list[Verdict], list[tuple[int, Branch]], Trunk]:
        return judge_queries(
            self.tokenizer, self.vocabulary, request, self.images, self.card.max_length
        )

    def _rows(
        self,
        request: int,
        image: int,
        trunk: Trunk,
        asked: Sequence[tuple[int, Branch]],
        packed: bool,
    ) -> Iterator[ScheduledRow]:
        """A caption's branches in as few rows as `ROW_TOKENS` allows; unless `packed`, one each."""
        mode = self.card.attention_mode
        if not packed:
            rows = unpack(self.images, trunk, [branch for _, branch in asked], mode)
            for row, (index, _) in zip(rows, asked, strict=True):
                yield ScheduledRow(row, image, request, (index,))
            return
        for group in row_groups(asked):
            sentences, branches = zip(*group, strict=True)
            yield ScheduledRow(pack(self.images, trunk, branches, mode), image, request, sentences)

    def _batched(self, rows: Sequence[ScheduledRow]) -> Iterator[list[ScheduledRow]]:
        return batched(rows, lambda row: len(row.row), rows=self.batch_size, tokens=self.tokens)

    # --- Judging --------------------------------------------------------------------------------

    def _verdicts(
        self, rows: Sequence[tuple[ScheduledRow, bool]], answers: Sequence[torch.Tensor]
    ) -> Iterator[tuple[ScheduledRow, int, Verdict]]:
        """A verdict for every branch. This is the only place that waits for the device.

        Args:
            rows: Rows in the order computed, and whether each fitted in memory.
            answers: The results of `_forward` for those that did.
        """
        values = iter(torch.cat(list(answers), dim=1).T.tolist() if answers else [])
        for row, fitted in rows:
            for index in row.sentences:
                verdict = Verdict(None, Unscored.ENGINE_ERROR)
                if fitted:
                    p, mass, nothing = next(values)
                    verdict = verdict_of(p, mass, bool(nothing), self.threshold, self.map)
                yield row, index, verdict

    def _forward(
        self, rows: Sequence[ScheduledRow], requests: Sequence[JudgeRequest], tower: torch.Tensor
    ) -> torch.Tensor:
        """One forward pass over a batch of rows.

        Args:
            rows: The rows, `image` indexing `tower`.
            requests: All requests, to find their prefix caches again.
            tower: The tower's output, (images, patches, tower hidden).

        Returns:
            Shape (3, branches), in order: P(Yes) given Yes or No, the answer mass, and whether
            “, nothing to assess” would follow a Yes (1 or 0).
        """
        from transformers import DynamicCache

        tokenizer, device = self.tokenizer, tower.device
        batch = collate([row.row for row in rows], tokenizer)
        image_of_row = torch.tensor([row.image for row in rows], device=device)
        cache = DynamicCache() if self.packed and not self.prefix_caches.full else None
        hidden = hidden_states(self.model, tower, image_of_row, batch, cache)
        read = torch.tensor(self._answer_places(rows, batch), device=device)
        logits = logits_at(self.model, hidden, read)
        answer, follow = logits[0::2], logits[1::2]
        pair = answer[:, [tokenizer.yes, tokenizer.no]]
        mass = (pair.logsumexp(-1) - answer.logsumexp(-1)).exp()
        nothing = follow[:, tokenizer.nothing] > follow[:, tokenizer.eos]
        found = torch.stack([pair.softmax(-1)[:, 0], mass, nothing.float()])
        if cache is not None:
            for number, row in enumerate(rows):
                self.prefix_caches.add(requests[row.request], cache, number, row.row)
        return found

    def _answer_places(self, rows: Sequence[ScheduledRow], batch: PackedBatch) -> list[int]:
        """The flat places to read: for every branch the last of its prompt, whose logits predict
        the answer, and the last of the answer Yes, whose logits predict what follows."""
        return [
            batch.at(number, k, branch.prompt - 1 + step)
            for number, row in enumerate(rows)
            for k, branch in enumerate(row.row.branches)
            for step in (0, len(self.tokenizer.answer_yes))
        ]

    def _drop_factual(
        self, requests: Sequence[JudgeRequest], verdicts: Sequence[Sequence[Verdict]]
    ) -> None:
        """Frees the prefix caches of captions without an error: only errors are explained, and only
        for sentences in the caption's text."""
        for request, found in zip(requests, verdicts, strict=True):
            wrong = any(v.p_factual is not None and v.p_factual < self.threshold for v in found)
            if request.instead is not None or not wrong:
                self.prefix_caches.drop(request)

    # --- Explaining -----------------------------------------------------------------------------

    def _rationale_prompt(self, number: int, request: ExplainRequest) -> _RationalePrompt | None:
        """The prompt; None if it is longer than the context."""
        query = rationale_query(
            self.tokenizer, self.vocabulary, request, self.images, self.card.max_length
        )
        if query is None:
            return None
        trunk, branch = query
        (row,) = unpack(self.images, trunk, [branch], self.card.attention_mode)
        return _RationalePrompt(number, row, self.prefix_caches.find(request, row.trunk))

    def _rationales(
        self,
        prompts: Sequence[_RationalePrompt],
        requests: Sequence[ExplainRequest],
        features: VisionFeatures,
    ) -> list[list[int]]:
        """The rationales' ids. Either all prompts have a cached prefix, or none does."""
        prefixes = [prompt.prefix for prompt in prompts if prompt.prefix is not None]
        rows = [prompt.row for prompt in prompts]
        if prefixes:
            branches = [row.branches[0] for row in rows]
            state = prefill_from_cache(self.model, self.tokenizer, branches, prefixes, self.images)
        else:
            images = [features.index[id(requests[prompt.request].image)] for prompt in prompts]
            state = prefill(self.model, self.tokenizer, rows, features.tower[images])
        return greedy(self.model, self.tokenizer, state, MAX_RATIONALE)
