"""A critic in this process: packed judging in one forward pass, greedy rationales."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
    greedy,
    kept,
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
    PackedRow,
    Trunk,
    collate,
    context_trunk,
    pack,
    question,
    unpack,
)
from revise_captions.critic.paligemma.queries import queries
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.paligemma.vision_cache import VisionFeatures, encode_images, pixels_of
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.records import Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import Cache, PaliGemmaForConditionalGeneration

#: Answers with less probability on Yes and No together are no answers.
LEAST_MASS = 0.5
#: A packed row is cut into several where its text would grow longer than this.
ROW_TOKENS = 1536
MAX_RATIONALE = 64
#: Bytes of keys and values that are kept from judging for explaining: on a CPU, and as a share of
#: an accelerator's memory.
KEPT_BYTES, KEPT_SHARE = 1 << 30, 0.2


@dataclass(frozen=True, slots=True)
class ScheduledRow:
    """One row to run: which paragraph, which of its sentences, by branch."""

    row: PackedRow
    image: int
    paragraph: int
    sentences: tuple[int, ...]

    def halves(self) -> list[ScheduledRow]:
        """The branches in two rows; none of a single branch."""
        middle = len(self.sentences) // 2
        return [
            replace(
                self,
                row=replace(
                    self.row,
                    trunk=self.row.trunk[: max(branch.fork for branch in self.row.branches[part])],
                    branches=self.row.branches[part],
                ),
                sentences=self.sentences[part],
            )
            for part in (slice(0, middle), slice(middle, None))
            if middle
        ]


@dataclass(frozen=True, slots=True)
class _Question:
    """One rationale to write: which claim, its prompt, and its trunk if judging left it."""

    number: int
    row: PackedRow
    trunk: PrefixCache | None


class LocalCritic:
    """A PaliGemma-style checkpoint in this process. Made by `load_critic`.

    What the tower saw and what judging left is kept for the next call about the same image objects:
    whoever changes the weights, or an image in place, calls `forget` first.
    """

    def __init__(
        self,
        model: PaliGemmaForConditionalGeneration,
        codec: PromptTokenizer,
        card: CriticCard,
        *,
        lexicon: Vocabulary,
        gate: DomainGate | None,
        threshold: float,
        settings: Mapping[str, str],
        batch_size: int,
        packed: bool = True,
    ) -> None:
        self.model, self.codec, self.card = model.eval(), codec, card
        self.lexicon, self.gate = lexicon, gate
        self.threshold, self.settings, self.batch_size = threshold, settings, batch_size
        self.packed = packed and card.attention_mode is not AttentionMode.PREFIX
        self.images = image_tokens(model)
        self.tokens = token_budget(str(model.device))
        self._ahead = ImagePrefetcher(model.config.vision_config.image_size)
        self._seen: VisionFeatures | None = None
        self._kept: dict[tuple[int, str], list[PrefixCache]] = {}
        self._room = self._kept_limit = kept_limit(model.device)

    def prepare(self, image: Image) -> None:
        """Resizes an image that will be judged soon. Any thread may call it."""
        self._ahead.prepare(image)

    @torch.inference_mode()
    def judge(self, paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per sentence of `spans[first:]`, in input order.

        Sentences that the critic cannot judge are `unscored` with the reason.
        """
        with device_alive():
            seen = self._look([paragraph.image for paragraph in paragraphs])
            verdicts: list[list[Verdict]] = []
            jobs: list[ScheduledRow] = []
            for number, paragraph in enumerate(paragraphs):
                self._forget(paragraph)
                image = seen.index[id(paragraph.image)]
                if not seen.inside[image]:
                    outside = Verdict(None, Unscored.OUTSIDE_DOMAIN)
                    verdicts.append([outside] * (len(paragraph.spans) - paragraph.first))
                    continue
                found, asked, trunk = self._questions(paragraph)
                verdicts.append(found)
                jobs += self._rows(number, image, trunk, asked, self.packed)
            for job, sentence, verdict in self._answers(jobs, paragraphs, seen):
                first = paragraphs[job.paragraph].first
                verdicts[job.paragraph][sentence - first] = verdict
            self._forget_factual(paragraphs, verdicts)
            return verdicts

    @torch.inference_mode()
    def explain(self, claims: Sequence[ExplainRequest]) -> list[str]:
        """A rationale per claim, greedily decoded; "" where the claim is over the context, or the
        device has no memory for it.
        """
        texts = [""] * len(claims)
        with device_alive(), eagerly("compiled" in self.settings):
            seen = self._look([claim.image for claim in claims])
            asked = list(filter(None, map(self._asked, range(len(claims)), claims)))
            for again in (True, False):  # what is computed together starts in the same way
                part = [question for question in asked if (question.trunk is not None) is again]
                rows, length = 2 * self.batch_size, lambda question: len(question.row)
                for batch in batched(part, length, rows=rows, tokens=8 * self.tokens):
                    run = lambda some: self._written(some, claims, seen)  # noqa: E731
                    for some, made in halving(batch, run):
                        for question, ids in zip(some, made or [], strict=made is not None):
                            texts[question.number] = self.codec.decode(ids).strip()
        return texts

    def features(self, images: Sequence[Image]) -> torch.Tensor:
        """What the gate looks at (`tower_states`): float32 (images, patches, 4 × hidden)."""
        with torch.inference_mode():
            parts = pixels_of(self.model, images)
            return torch.cat([tower_states(self.model, part)[1] for part in parts])

    def _look(self, images: Sequence[Image]) -> VisionFeatures:
        if self._seen is None or not self._seen.has(images, self.gate):
            self.forget()
            self._seen = encode_images(self.model, images, self.gate, self._ahead)
        return self._seen

    def _questions(
        self, paragraph: JudgeRequest
    ) -> tuple[list[Verdict], list[tuple[int, Branch]], Trunk]:
        """Verdicts of the sentences that need no model, and a branch for each that does."""
        return queries(self.codec, self.lexicon, paragraph, self.images, self.card.max_length)

    def batches(
        self, paragraphs: Sequence[JudgeRequest], *, packed: bool
    ) -> Iterator[list[ScheduledRow]]:
        """What would be computed together if all images were in the domain: for a bill."""
        jobs: list[ScheduledRow] = []
        for number, paragraph in enumerate(paragraphs):
            _, asked, trunk = self._questions(paragraph)
            jobs += self._rows(number, number, trunk, asked, packed)
        yield from self._batched(jobs)

    def forget(self) -> None:
        """Drops what is kept from one call for the next: answers do not depend on it, times do."""
        self._seen, self._kept, self._room = None, {}, self._kept_limit
        self.codec.forget()

    def _batched(self, jobs: Sequence[ScheduledRow]) -> Iterator[list[ScheduledRow]]:
        return batched(jobs, lambda job: len(job.row), rows=self.batch_size, tokens=self.tokens)

    def _rows(
        self,
        number: int,
        image: int,
        trunk: Trunk,
        asked: Sequence[tuple[int, Branch]],
        packed: bool,
    ) -> Iterator[ScheduledRow]:
        if not packed:
            rows = unpack(self.images, trunk, [b for _, b in asked], self.card.attention_mode)
            for row, (index, _) in zip(rows, asked, strict=True):
                yield ScheduledRow(row, image, number, (index,))
            return
        group: list[tuple[int, Branch]] = []
        tokens = 0
        for index, branch in asked:
            if group and branch.fork + tokens + len(branch.ids) > ROW_TOKENS:
                yield self._job(number, image, trunk, group)
                group, tokens = [], 0
            group.append((index, branch))
            tokens += len(branch.ids)
        if group:
            yield self._job(number, image, trunk, group)

    def _job(
        self, number: int, image: int, trunk: Trunk, group: Sequence[tuple[int, Branch]]
    ) -> ScheduledRow:
        row = pack(self.images, trunk, [branch for _, branch in group], self.card.attention_mode)
        return ScheduledRow(row, image, number, tuple(index for index, _ in group))

    def _answers(
        self, jobs: Sequence[ScheduledRow], paragraphs: Sequence[JudgeRequest], seen: VisionFeatures
    ) -> Iterator[tuple[ScheduledRow, int, Verdict]]:
        """A verdict for every branch. The device is waited for once, at the end."""
        done: list[ScheduledRow] = []
        found: list[torch.Tensor] = []
        for batch in self._batched(jobs):
            run = lambda part: self._run(part, paragraphs, seen.tower)  # noqa: E731
            for part, answers in halving(batch, run, ScheduledRow.halves):
                if answers is None:
                    for job in part:
                        for index in job.sentences:
                            yield job, index, Verdict(None, Unscored.ENGINE_ERROR)
                    continue
                done += part
                found.append(answers)
        values = iter(torch.cat(found, dim=1).T.tolist() if found else [])
        for job in done:
            for index in job.sentences:
                p, share, nothing = next(values)
                yield job, index, verdict_of(p, share, bool(nothing), self.threshold)

    def _run(
        self, jobs: Sequence[ScheduledRow], paragraphs: Sequence[JudgeRequest], tower: torch.Tensor
    ) -> torch.Tensor:
        """(3, branches): P(Yes) of Yes and No, the probability of both, whether nothing is said."""
        from transformers import DynamicCache

        codec = self.codec
        batch = collate([job.row for job in jobs], codec)
        device = tower.device
        owner = torch.tensor([job.image for job in jobs], device=device)
        cache = DynamicCache() if self.packed and self._room > 0 else None
        places = [
            [
                start + branch.prompt - 1 + step
                for start, branch in zip(starts, job.row.branches, strict=True)
                for step in (0, len(codec.answer_yes))
            ]
            for starts, job in zip(batch.starts, jobs, strict=True)
        ]
        most = max(map(len, places))
        only = torch.tensor([row + [0] * (most - len(row)) for row in places], device=device)
        hidden = hidden_states(self.model, tower, owner, batch, cache, only)
        read = [r * most + k for r, row in enumerate(places) for k in range(len(row))]
        logits = logits_at(self.model, hidden, torch.tensor(read, device=device))
        answer, follow = logits[0::2], logits[1::2]
        pair = answer[:, [codec.yes, codec.no]]
        share = (pair.logsumexp(-1) - answer.logsumexp(-1)).exp()
        nothing = follow[:, codec.nothing] > follow[:, codec.eos]
        found = torch.stack([pair.softmax(-1)[:, 0], share, nothing.float()])
        if cache is not None:
            self._keep(jobs, paragraphs, cache)
        return found

    # --- Trunks that are kept -------------------------------------------------------------------

    def _keep(
        self, jobs: Sequence[ScheduledRow], paragraphs: Sequence[JudgeRequest], cache: Cache
    ) -> None:
        """Keys and values of the jobs' trunks, while there is room."""
        for number, job in enumerate(jobs):
            if self._room <= 0:
                return
            paragraph, row = paragraphs[job.paragraph], job.row
            trunk = kept(cache, number, row.images + len(row.trunk), row.trunk)
            self._kept.setdefault((id(paragraph.image), paragraph.text), []).append(trunk)
            self._room -= trunk.size

    def _forget_factual(
        self, paragraphs: Sequence[JudgeRequest], verdicts: Sequence[Sequence[Verdict]]
    ) -> None:
        """Gives back what nobody will ask about: only what is judged nonfactual is explained."""
        for paragraph, found in zip(paragraphs, verdicts, strict=True):
            if not any(v.p_factual is not None and v.p_factual < self.threshold for v in found):
                self._forget(paragraph)

    def _forget(self, paragraph: JudgeRequest) -> None:
        gone = self._kept.pop((id(paragraph.image), paragraph.text), [])
        self._room += sum(trunk.size for trunk in gone)

    def _asked(self, number: int, claim: ExplainRequest) -> _Question | None:
        """None where the claim is over the context."""
        trunk = context_trunk(self.codec, claim.text, claim.spans[: claim.index + 1])
        branch = question(self.codec, trunk, claim.text, claim.spans, claim.index, rationale=True)
        row = unpack(self.images, trunk, [branch], self.card.attention_mode)[0]
        if len(row) > self.card.max_length:
            return None
        found = self._kept.get((id(claim.image), claim.text), [])
        same = (one for one in found if one.trunk[: branch.fork] == row.trunk)
        return _Question(number, row, next(same, None))

    def _written(
        self, asked: Sequence[_Question], claims: Sequence[ExplainRequest], seen: VisionFeatures
    ) -> list[list[int]]:
        """The rationales' ids. Either all of the questions have a trunk, or none."""
        trunks = [question.trunk for question in asked if question.trunk is not None]
        rows = [question.row for question in asked]
        if trunks:
            branches = [row.branches[0] for row in rows]
            started = prefill_from_cache(self.model, self.codec, branches, trunks, self.images)
        else:
            images = [seen.index[id(claims[question.number].image)] for question in asked]
            started = prefill(self.model, self.codec, rows, seen.tower[images])
        return greedy(self.model, self.codec, started, MAX_RATIONALE)


def verdict_of(p: float, mass: float, nothing: bool, threshold: float) -> Verdict:
    """From P(Yes) of Yes and No, the probability of both, and whether “, nothing to assess” would
    follow a Yes."""
    mass = round(min(1.0, mass), 4)
    if mass < LEAST_MASS:
        return Verdict(None, Unscored.NO_ANSWER, answer_mass=mass)
    p = round(p, 4)
    return Verdict(p, assessable=not (nothing and p >= threshold), answer_mass=mass)


def kept_limit(device: torch.device) -> int:
    """Bytes that may be kept on a device from judging for explaining."""
    if device.type == "cuda":
        return int(KEPT_SHARE * torch.cuda.get_device_properties(device).total_memory)
    return KEPT_BYTES
