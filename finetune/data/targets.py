"""From judged captions to packed rows with the tokens that the loss looks at.

All sentences of a caption share one row (`critic.packing`); the prompts are the pieces that
inference sends. The loss sees answers only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic import prompts
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    Branch,
    PackedBatch,
    PackedRow,
    collate,
    context_trunk,
    pack,
    question,
    unpack,
)
from revise_captions.critic.paligemma.tokenizer import DESCRIBE, PromptTokenizer
from revise_captions.finetune.data.recolor import colourless
from revise_captions.finetune.data.records import TrainingExample
from revise_captions.finetune.data.token_labels import UNKNOWN, Credit, credit

Ints = NDArray[np.int64]


class TokenTask(IntEnum):
    """What a target token teaches. `FOLLOW`: what comes after Yes or No.

    `CAPTION`: a word of the sentence in question, where it is true (`finetune.credit`).
    """

    CLASSIFY = 0
    FOLLOW = 1
    RATIONALE = 2
    DESCRIBE = 3
    CAPTION = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """What is asked about one example: rationales by sentence index, its description or not.

    `rewrites`: indices of the wrong sentences whose true versions are asked about too; `asides`:
    indices of asides, and whether the true version of each is asked about too; `sentences`: which
    of the caption's are asked about, None for all.
    """

    rationales: tuple[tuple[int, str], ...]
    describe: bool
    rewrites: tuple[int, ...] = ()
    asides: tuple[tuple[int, bool], ...] = ()
    sentences: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Targets:
    """Flat indices into (rows × length) where to read, the ids to be found there, their tasks.

    `trace_at`, `trace`: where to read whether a sentence has gone wrong by now, and whether it has.
    """

    at: Ints
    ids: Ints
    tasks: Ints
    trace_at: Ints
    trace: Ints


@dataclass(frozen=True, slots=True)
class _Query:
    branch: Branch
    answer: tuple[int, ...]
    first: TokenTask
    rest: TokenTask
    credit: Credit | None = None


def choose(
    example: TrainingExample,
    rng: np.random.Generator,
    rationales: int,
    describe: float,
    rewrites: float = 0.0,
    asides: int = 0,
) -> Choice:
    """A random draw of at most `rationales` wrong sentences, one of each one's rationales.

    `describe`, `rewrites`: probability of the description, and of each known rewrite; `asides`:
    how many of these at most.
    """
    wrong = [i for i, s in enumerate(example.sentences) if not s.factual and s.rationales]
    if len(wrong) > rationales:
        wrong = sorted(rng.choice(wrong, rationales, replace=False).tolist())
    picked = []
    for index in wrong:
        texts = example.sentences[index].rationales
        picked.append((index, texts[int(rng.integers(len(texts)))]))
    described = bool(example.description) and rng.random() < describe
    pairs = [i for i, s in enumerate(example.sentences) if s.rewrite and rng.random() < rewrites]
    drawn: list[int] = list(range(len(example.asides))) if asides else []
    if len(drawn) > asides:
        drawn = sorted(rng.choice(drawn, asides, replace=False).tolist())
    beside = [(i, bool(example.asides[i].rewrite) and rng.random() < rewrites) for i in drawn]
    return Choice(tuple(picked), described, tuple(pairs), tuple(beside))


def without_colours(
    example: TrainingExample, rng: np.random.Generator, rewrites: float, asides: int
) -> Choice | None:
    """What can be asked of an example whose image is recoloured; None where that is nothing."""
    sentences, beside = colourless(example)
    drawn = [(i, bool(example.asides[i].rewrite) and rng.random() < rewrites) for i in beside]
    if not sentences and not drawn[:asides]:
        return None
    pairs = [i for i in sentences if example.sentences[i].rewrite and rng.random() < rewrites]
    return Choice((), False, tuple(pairs), tuple(drawn[:asides]), sentences)


def asides_asked(example: TrainingExample, choice: Choice) -> Iterator[tuple[str, bool, str]]:
    """Text, truth and rewrite of each aside that is asked about, true versions included."""
    for index, both in choice.asides:
        aside = example.asides[index]
        yield aside.text, aside.factual, aside.rewrite
        if both:
            yield aside.rewrite, True, ""


def _asked(codec: PromptTokenizer, example: TrainingExample, choice: Choice) -> list[_Query]:
    trunk = context_trunk(codec, example.caption, example.spans)
    asked = []
    for index, sentence in enumerate(example.sentences):
        if choice.sentences is not None and index not in choice.sentences:
            continue
        answer = codec.answer_yes if sentence.factual else codec.answer_no
        if sentence.factual and not sentence.assessable:
            answer = (*answer, *codec.answer_nothing)
        branch = question(codec, trunk, example.caption, example.spans, index, answer=answer)
        text = sentence.span.of(example.caption)
        words = credit(codec, text, sentence.factual, sentence.rewrite)
        asked.append(
            _Query(branch, (*answer, codec.eos), TokenTask.CLASSIFY, TokenTask.FOLLOW, words)
        )
    for index in choice.rewrites:
        text, answer = example.sentences[index].rewrite, codec.answer_yes
        branch = question(
            codec, trunk, example.caption, example.spans, index, answer=answer, instead=text
        )
        words = credit(codec, text, factual=True)
        asked.append(
            _Query(branch, (*answer, codec.eos), TokenTask.CLASSIFY, TokenTask.FOLLOW, words)
        )
    for text, factual, rewrite in asides_asked(example, choice):
        answer = codec.answer_yes if factual else codec.answer_no
        branch = question(
            codec, trunk, example.caption, example.spans, 0, answer=answer, instead=text
        )
        words = credit(codec, text, factual, rewrite)
        asked.append(
            _Query(branch, (*answer, codec.eos), TokenTask.CLASSIFY, TokenTask.FOLLOW, words)
        )
    for index, text in choice.rationales:
        ids = codec.text(text)
        branch = question(
            codec, trunk, example.caption, example.spans, index, rationale=True, answer=ids
        )
        asked.append(_Query(branch, (*ids, codec.eos), TokenTask.RATIONALE, TokenTask.RATIONALE))
    if choice.describe:
        prompt, ids = codec.special(DESCRIBE), codec.text(example.description)
        branch = Branch(1, (*prompt, *ids), len(prompt))
        asked.append(_Query(branch, (*ids, codec.eos), TokenTask.DESCRIBE, TokenTask.DESCRIBE))
    return asked


@dataclass(frozen=True, slots=True)
class Encoded:
    """One training batch. `example_of_row[r]`: which of the batch's examples row r belongs to."""

    batch: PackedBatch
    targets: Targets
    example_of_row: np.ndarray[tuple[int], np.dtype[np.int64]]
    skipped: int


def encode(
    codec: PromptTokenizer,
    examples: Sequence[TrainingExample],
    choices: Sequence[Choice],
    *,
    images: int,
    attention_mode: AttentionMode,
    multiple: int,
    max_length: int,
    packed: bool = True,
) -> Encoded | None:
    """Rows and targets. A row over `max_length` loses its last branches, counted in `skipped`.

    `packed=False`: a row for each question, as the prefix attention mode needs it: the same
    gradients. None where nothing is left.
    """
    rows: list[PackedRow] = []
    owners: list[int] = []
    asked_of_row: list[list[_Query]] = []
    skipped = 0
    for owner, (example, choice) in enumerate(zip(examples, choices, strict=True)):
        asked = _asked(codec, example, choice)
        trunk = context_trunk(codec, example.caption, example.spans)
        if attention_mode is AttentionMode.PREFIX or not packed:
            made = unpack(images, trunk, [a.branch for a in asked], attention_mode)
            pairs = [(row, [a]) for row, a in zip(made, asked, strict=True)]
            fits = [pair for pair in pairs if len(pair[0]) <= max_length]
            skipped += len(pairs) - len(fits)
        else:
            while (
                len(row := pack(images, trunk, [a.branch for a in asked], attention_mode))
                > max_length
            ):
                skipped += 1
                if len(asked) == 1:
                    break
                asked = asked[:-1]
            fits = [(row, asked)] if len(row) <= max_length else []
        for row, parts in fits:
            rows.append(row)
            owners.append(owner)
            asked_of_row.append(parts)
    if not rows:
        return None
    batch = collate(rows, codec, multiple)
    return Encoded(batch, _targets(codec, batch, asked_of_row), np.array(owners), skipped)


def _targets(
    codec: PromptTokenizer, batch: PackedBatch, asked_of_row: Sequence[Sequence[_Query]]
) -> Targets:
    read: list[tuple[int, int, int]] = []  # where, what, task
    traced: list[tuple[int, int]] = []
    closing = len(codec.special(prompts.END_FACTUAL))
    for r, asked in enumerate(asked_of_row):
        for b, part in enumerate(asked):
            prompt = part.branch.prompt
            start = batch.at(r, b, prompt - 1)
            kinds = (part.first, *[part.rest] * (len(part.answer) - 1))
            places = range(start, start + len(part.answer))
            read += zip(places, part.answer, kinds, strict=True)
            # under `prefix` a word sees the words behind it, and has nothing to tell
            if part.credit is None or start < batch.block[r] + r * batch.ids.shape[1]:
                continue
            first = prompt - closing - len(part.credit.trace)
            place = batch.at(r, b, first)
            words = part.branch.ids[first : prompt - closing]
            known = enumerate(zip(words, part.credit.true, strict=True), start=place - 1)
            read += ((at, word, TokenTask.CAPTION) for at, (word, true) in known if true)
            trace = enumerate(part.credit.trace, start=place)
            traced += ((at, state) for at, state in trace if state != UNKNOWN)
    at, ids, tasks = np.array(read, dtype=np.int64).reshape(-1, 3).T
    trace_at, states = np.array(traced, dtype=np.int64).reshape(-1, 2).T
    return Targets(at, ids, tasks, trace_at, states)
