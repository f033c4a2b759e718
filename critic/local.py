"""A critic in this process: packed judging in one forward pass, greedy rationales."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from revise_captions.critic.checkpoint import CriticCard
from revise_captions.critic.codec import Codec
from revise_captions.critic.domain import DomainGate, tower_states
from revise_captions.critic.generation import greedy
from revise_captions.critic.language import Lexicon
from revise_captions.critic.model import hidden_states, image_tokens, logits_at, tower_output
from revise_captions.critic.packing import (
    Branch,
    Regime,
    Row,
    Trunk,
    collate,
    context_trunk,
    pack,
    question,
    unpack,
)
from revise_captions.critic.pixels import pixel_values, resized
from revise_captions.critic.protocol import Claim, Paragraph
from revise_captions.records import Unscored, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import PaliGemmaForConditionalGeneration

#: Answers with less probability on Yes and No together are no answers.
LEAST_MASS = 0.5
#: A packed row is cut into several where it would grow longer than this.
ROW_TOKENS = 1536
MAX_RATIONALE = 64


@dataclass(frozen=True, slots=True)
class _Job:
    """One row to run: which paragraph, which of its sentences, by branch."""

    row: Row
    image: int
    paragraph: int
    sentences: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """The tower's output for the distinct images of a call, and which of them are in the domain."""

    tower: torch.Tensor
    inside: Sequence[bool]
    index: dict[int, int]


class LocalCritic:
    """A PaliGemma-style checkpoint in this process. Made by `load_critic`."""

    def __init__(
        self,
        model: PaliGemmaForConditionalGeneration,
        codec: Codec,
        card: CriticCard,
        *,
        lexicon: Lexicon,
        gate: DomainGate | None,
        threshold: float,
        settings: Mapping[str, str],
        batch_size: int,
        packed: bool = True,
    ) -> None:
        self.model, self.codec, self.card = model.eval(), codec, card
        self.lexicon, self.gate = lexicon, gate
        self.threshold, self.settings, self.batch_size = threshold, settings, batch_size
        self.packed = packed and card.regime is not Regime.PREFIX
        self.images = image_tokens(model)

    @torch.inference_mode()
    def judge(self, paragraphs: Sequence[Paragraph]) -> list[list[Verdict]]:
        """One verdict per sentence of `spans[first:]`, in input order.

        Sentences that the critic cannot judge are `unscored` with the reason.
        """
        seen = self._look([paragraph.image for paragraph in paragraphs])
        verdicts: list[list[Verdict]] = []
        jobs: list[_Job] = []
        for number, paragraph in enumerate(paragraphs):
            image = seen.index[id(paragraph.image)]
            if not seen.inside[image]:
                outside = Verdict(None, Unscored.OUTSIDE_DOMAIN)
                verdicts.append([outside] * (len(paragraph.spans) - paragraph.first))
                continue
            found, asked, trunk = self._questions(paragraph)
            verdicts.append(found)
            jobs += self._rows(number, image, trunk, asked)
        for batch in _batches(jobs, self.batch_size):
            for job, sentence, verdict in self._run(batch, seen.tower):
                first = paragraphs[job.paragraph].first
                verdicts[job.paragraph][sentence - first] = verdict
        return verdicts

    @torch.inference_mode()
    def explain(self, claims: Sequence[Claim]) -> list[str]:
        """A rationale per claim, greedily decoded; "" where the claim is over the context."""
        seen = self._look([claim.image for claim in claims])
        rows: list[Row | None] = []
        for claim in claims:
            trunk = context_trunk(self.codec, claim.text, claim.spans[: claim.index + 1])
            branch = question(
                self.codec, trunk, claim.text, claim.spans, claim.index, rationale=True
            )
            row = unpack(self.images, trunk, [branch], self.card.regime)[0]
            rows.append(row if len(row) <= self.card.max_length else None)
        texts = [""] * len(claims)
        order = sorted((len(row), i) for i, row in enumerate(rows) if row is not None)
        for start in range(0, len(order), 2 * self.batch_size):
            part = [i for _, i in order[start : start + 2 * self.batch_size]]
            made = greedy(
                self.model,
                self.codec,
                [kept for i in part if (kept := rows[i]) is not None],
                seen.tower[[seen.index[id(claims[i].image)] for i in part]],
                MAX_RATIONALE,
            )
            for i, ids in zip(part, made, strict=True):
                texts[i] = self.codec.decode(ids).strip()
        return texts

    def features(self, images: Sequence[Image]) -> torch.Tensor:
        """What the gate looks at (`tower_states`): float32 (images, patches, 4 × hidden)."""
        with torch.inference_mode():
            return torch.cat([tower_states(self.model, part)[1] for part in self._pixels(images)])

    def _pixels(self, images: Sequence[Image]) -> Iterator[torch.Tensor]:
        size = self.model.config.vision_config.image_size
        for start in range(0, len(images), 32):
            pixels = [resized(image, size) for image in images[start : start + 32]]
            yield pixel_values(pixels, self.model.dtype).to(self.model.device)

    def _look(self, images: Sequence[Image]) -> _Seen:
        distinct = list({id(image): image for image in images}.values())
        index = {id(image): i for i, image in enumerate(distinct)}
        outputs: list[torch.Tensor] = []
        inside: list[bool] = []
        for values in self._pixels(distinct):
            if self.gate is None:
                outputs.append(tower_output(self.model, values))
                inside += [True] * len(values)
            else:
                output, states = tower_states(self.model, values)
                outputs.append(output)
                inside += self.gate.inside(states.cpu().numpy()).tolist()
        return _Seen(torch.cat(outputs) if outputs else torch.empty(0), inside, index)

    def _questions(
        self, paragraph: Paragraph
    ) -> tuple[list[Verdict], list[tuple[int, Branch]], Trunk]:
        """Verdicts of the sentences that need no model, and a branch for each that does."""
        text, spans = paragraph.text, paragraph.spans
        trunk = context_trunk(self.codec, text, spans)
        foreign = self.lexicon.foreign(text, spans)
        verdicts, asked = [], []
        for index in range(paragraph.first, len(spans)):
            if foreign[index]:
                verdicts.append(Verdict(None, Unscored.LANGUAGE))
                continue
            # the forks only grow, so a paragraph without end is not tokenised to its end
            verdicts.append(Verdict(None, Unscored.TOO_LONG))
            if self.images + trunk.forks[index] >= self.card.max_length:
                continue
            answer = self.codec.answer_yes
            branch = question(self.codec, trunk, text, spans, index, answer=answer)
            if self.images + branch.fork + len(branch.ids) <= self.card.max_length:
                asked.append((index, branch))
        return verdicts, asked, trunk

    def _rows(
        self, number: int, image: int, trunk: Trunk, asked: Sequence[tuple[int, Branch]]
    ) -> Iterator[_Job]:
        if not self.packed:
            rows = unpack(self.images, trunk, [b for _, b in asked], self.card.regime)
            for row, (index, _) in zip(rows, asked, strict=True):
                yield _Job(row, image, number, (index,))
            return
        group: list[tuple[int, Branch]] = []
        tokens = 0
        for index, branch in asked:
            shared = self.images + branch.fork
            if group and shared + tokens + len(branch.ids) > ROW_TOKENS:
                yield self._job(number, image, trunk, group)
                group, tokens = [], 0
            group.append((index, branch))
            tokens += len(branch.ids)
        if group:
            yield self._job(number, image, trunk, group)

    def _job(
        self, number: int, image: int, trunk: Trunk, group: Sequence[tuple[int, Branch]]
    ) -> _Job:
        row = pack(self.images, trunk, [branch for _, branch in group], self.card.regime)
        return _Job(row, image, number, tuple(index for index, _ in group))

    def _run(
        self, jobs: Sequence[_Job], tower: torch.Tensor
    ) -> Iterator[tuple[_Job, int, Verdict]]:
        codec = self.codec
        batch = collate([job.row for job in jobs], codec)
        device = tower.device
        owner = torch.tensor([job.image for job in jobs], device=device)
        hidden = hidden_states(self.model, tower, owner, batch)
        ends = [
            batch.at(r, b, branch.prompt - 1)
            for r, job in enumerate(jobs)
            for b, branch in enumerate(job.row.branches)
        ]
        at = torch.tensor(ends, device=device)
        answer = logits_at(self.model, hidden, at)
        follow = logits_at(self.model, hidden, at + len(codec.answer_yes))
        pair = answer[:, [codec.yes, codec.no]]
        p = pair.softmax(-1)[:, 0].tolist()
        mass = (pair.logsumexp(-1) - answer.logsumexp(-1)).exp().tolist()
        nothing = (follow[:, codec.nothing] > follow[:, codec.eos]).tolist()
        answers = iter(zip(p, mass, nothing, strict=True))
        for job in jobs:
            for index in job.sentences:
                yield job, index, self._verdict(*next(answers))

    def _verdict(self, p: float, mass: float, nothing: bool) -> Verdict:
        if mass < LEAST_MASS:
            return Verdict(None, Unscored.NO_ANSWER)
        p = round(p, 4)
        return Verdict(p, assessable=not (nothing and p >= self.threshold))


def _batches(jobs: Sequence[_Job], size: int) -> Iterator[list[_Job]]:
    """Jobs of like length together, longest first: what does not fit in memory fails at once."""
    ordered = sorted(jobs, key=lambda job: -len(job.row))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]
