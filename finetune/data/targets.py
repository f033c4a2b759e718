"""Labeled captions as packed rows with target tokens.

All sentences of a caption share one row (`critic.paligemma.packing`), built from the same prompt
pieces as at inference. Only answers contribute to the loss.
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
from revise_captions.finetune.data.recolor import colorless
from revise_captions.finetune.data.records import AuxiliaryExample, TrainingExample
from revise_captions.finetune.data.token_labels import UNKNOWN, TokenLabels, token_labels

Ints = NDArray[np.int64]


class TokenTask(IntEnum):
    """What a target token teaches.

    `FOLLOW`: a token after Yes or No. `CAPTION`: a true word of the sentence (`token_labels`).
    """

    CLASSIFY = 0
    FOLLOW = 1
    RATIONALE = 2
    DESCRIBE = 3
    CAPTION = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """The queries about one example.

    Attributes:
        rationales: Sentence indices with the rationale to learn.
        describe: Whether to ask for the description.
        rewrites: Indices of wrong sentences whose true versions are asked about too.
        auxiliary_sentences: Their indices, and whether the true version is asked about too.
        sentences: Indices of the caption's sentences to ask about, None for all.
    """

    rationales: tuple[tuple[int, str], ...]
    describe: bool
    rewrites: tuple[int, ...] = ()
    auxiliary_sentences: tuple[tuple[int, bool], ...] = ()
    sentences: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of a batch, at flat indices into (rows × length).

    Attributes:
        at: Positions whose next token is predicted.
        ids: The tokens to predict there.
        tasks: The `TokenTask` of each.
        error_onset_at: Positions of words with a label.
        error_onset: Whether the sentence is wrong up to there, RIGHT or WRONG.
    """

    at: Ints
    ids: Ints
    tasks: Ints
    error_onset_at: Ints
    error_onset: Ints


@dataclass(frozen=True, slots=True)
class _Query:
    branch: Branch
    answer: tuple[int, ...]
    first: TokenTask
    rest: TokenTask
    token_labels: TokenLabels | None = None


def choose(
    example: TrainingExample,
    rng: np.random.Generator,
    rationales: int,
    describe: float,
    rewrites: float = 0.0,
    auxiliary_sentences: int = 0,
) -> Choice:
    """Draws the queries about an example.

    Args:
        rationales: How many wrong sentences to explain at most, each by one of its rationales.
        describe: Probability of asking for the description.
        rewrites: Probability of asking about each known rewrite.
        auxiliary_sentences: How many of these to ask about at most.
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
    drawn: list[int] = list(range(len(example.auxiliary_sentences))) if auxiliary_sentences else []
    if len(drawn) > auxiliary_sentences:
        drawn = sorted(rng.choice(drawn, auxiliary_sentences, replace=False).tolist())
    beside = [
        (i, bool(example.auxiliary_sentences[i].rewrite) and rng.random() < rewrites) for i in drawn
    ]
    return Choice(tuple(picked), described, tuple(pairs), tuple(beside))


def without_colors(
    example: TrainingExample, rng: np.random.Generator, rewrites: float, auxiliary_sentences: int
) -> Choice | None:
    """The queries about an example whose image is recolored; None if nothing can be asked."""
    sentences, beside = colorless(example)
    drawn = [
        (i, bool(example.auxiliary_sentences[i].rewrite) and rng.random() < rewrites)
        for i in beside
    ]
    if not sentences and not drawn[:auxiliary_sentences]:
        return None
    pairs = [i for i in sentences if example.sentences[i].rewrite and rng.random() < rewrites]
    return Choice((), False, tuple(pairs), tuple(drawn[:auxiliary_sentences]), sentences)


def auxiliary_questions(example: TrainingExample, choice: Choice) -> Iterator[AuxiliaryExample]:
    """Each auxiliary query, true versions included."""
    for index, both in choice.auxiliary_sentences:
        auxiliary = example.auxiliary_sentences[index]
        yield auxiliary
        if both:
            yield AuxiliaryExample(auxiliary.rewrite, True, after=auxiliary.after)


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
        words = token_labels(codec, text, sentence.factual, sentence.rewrite)
        asked.append(
            _Query(branch, (*answer, codec.eos), TokenTask.CLASSIFY, TokenTask.FOLLOW, words)
        )
    for index in choice.rewrites:
        text, answer = example.sentences[index].rewrite, codec.answer_yes
        branch = question(
            codec, trunk, example.caption, example.spans, index, answer=answer, instead=text
        )
        words = token_labels(codec, text, factual=True)
        asked.append(
            _Query(branch, (*answer, codec.eos), TokenTask.CLASSIFY, TokenTask.FOLLOW, words)
        )
    for one in auxiliary_questions(example, choice):
        answer = codec.answer_yes if one.factual else codec.answer_no
        branch = question(
            codec, trunk, example.caption, example.spans, one.after, answer=answer, instead=one.text
        )
        words = token_labels(codec, one.text, one.factual, one.rewrite)
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
    """One training batch. `example_of_row[r]`: the batch's example that row r belongs to."""

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
    """Encodes queries as rows and targets.

    Args:
        images: Image tokens at the beginning of a row.
        multiple: Pad rows to a multiple of this length.
        max_length: Longer rows lose their last branches, which `skipped` counts.
        packed: Whether a caption's queries share a row; the `prefix` attention mode always has a
            row per query. The gradients are the same either way.

    Returns:
        The batch, or None if no query fits.
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
    onsets: list[tuple[int, int]] = []
    closing = len(codec.special(prompts.END_FACTUAL))
    for r, asked in enumerate(asked_of_row):
        for b, part in enumerate(asked):
            prompt = part.branch.prompt
            start = batch.at(r, b, prompt - 1)
            kinds = (part.first, *[part.rest] * (len(part.answer) - 1))
            places = range(start, start + len(part.answer))
            read += zip(places, part.answer, kinds, strict=True)
            # with prefix attention a word sees later words, so there is nothing to predict
            if part.token_labels is None or start < batch.block[r] + r * batch.ids.shape[1]:
                continue
            first = prompt - closing - len(part.token_labels.error_onset)
            place = batch.at(r, b, first)
            words = part.branch.ids[first : prompt - closing]
            known = enumerate(zip(words, part.token_labels.true, strict=True), start=place - 1)
            read += ((at, word, TokenTask.CAPTION) for at, (word, true) in known if true)
            error_onset = enumerate(part.token_labels.error_onset, start=place)
            onsets += ((at, state) for at, state in error_onset if state != UNKNOWN)
    at, ids, tasks = np.array(read, dtype=np.int64).reshape(-1, 3).T
    error_onset_at, states = np.array(onsets, dtype=np.int64).reshape(-1, 2).T
    return Targets(at, ids, tasks, error_onset_at, states)
