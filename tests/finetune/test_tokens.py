"""What training gets wrong elsewhere: each test fails on the mistake that it is named after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tinycritic import TEXTS, tiny

from revise_captions.critic import prompts
from revise_captions.critic.paligemma.model import (
    hidden_states,
    logits_at,
    tower_output,
)
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer, train_tokenizer
from revise_captions.finetune.data.records import TrainingExample, TrainingSentence
from revise_captions.finetune.data.targets import Choice, Encoded, TokenTask, encode
from revise_captions.records import Span

CAPTION = "There is a red circle. It is on the left. Both wear hats."
SPANS = (Span(0, 22), Span(23, 41), Span(42, 57))
IMAGES = 16


def example(caption: str = CAPTION, spans=SPANS) -> TrainingExample:
    sentences = tuple(
        TrainingSentence(span, k != 1, True, () if k != 1 else ("It is on the right.",))
        for k, span in enumerate(spans)
    )
    return TrainingExample("1", "1.png", caption, sentences, "A red circle.")


WHOLE = Choice(((1, "It is on the right."),), True)


@pytest.fixture(scope="module")
def model_codec():
    return tiny()


def encoded(codec, attention_mode, *, multiple=1, max_length=500, of=None, choice=WHOLE) -> Encoded:
    made = encode(
        codec, [of or example()], [choice], images=IMAGES, attention_mode=attention_mode,
        multiple=multiple, max_length=max_length,
    )  # fmt: skip
    assert made is not None
    return made


def logits(model, made: Encoded) -> torch.Tensor:
    pixels = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    owner = torch.from_numpy(made.example_of_row)
    hidden = hidden_states(model, tower_output(model, pixels), owner, made.batch)
    return logits_at(model, hidden, torch.from_numpy(made.targets.at))


@pytest.mark.parametrize("attention_mode", list(AttentionMode))
def test_padding_is_never_attended(model_codec, attention_mode):
    """Padding more, and padding with other tokens, changes no logit and no gradient."""
    model, codec = model_codec

    def outcome(made: Encoded) -> tuple[torch.Tensor, torch.Tensor]:
        model.zero_grad()
        found = logits(model, made)
        torch.nn.functional.cross_entropy(found, torch.from_numpy(made.targets.ids)).backward()
        # of the layers: the embedding has a row for the padding token itself
        layers = model.model.language_model.layers
        return found.detach(), torch.cat([p.grad.flatten() for p in layers.parameters()])

    a, grad_a = outcome(encoded(codec, attention_mode))
    wide = encoded(codec, attention_mode, multiple=256)
    assert (wide.batch.segment == -1).sum() > 20
    b, grad_b = outcome(wide)
    torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(grad_a, grad_b, atol=1e-5, rtol=1e-3)
    ids = np.where(wide.batch.segment == -1, codec.yes, wide.batch.ids)
    c, _ = outcome(replace(wide, batch=replace(wide.batch, ids=ids)))
    torch.testing.assert_close(b, c, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("attention_mode", list(AttentionMode))
def test_the_loss_is_on_answers_only(model_codec, attention_mode):
    """No target is a token of a question, of the context or of the image; every answer is one.

    (`CAPTION` is a task of its own: words of the sentence in question, where they are true.)
    """
    _, codec = model_codec
    made = encoded(codec, attention_mode)
    told = made.targets.tasks != TokenTask.CAPTION
    answers = [
        [codec.yes, codec.eos], [codec.no, codec.eos], [codec.yes, codec.eos],
        [*codec.text("It is on the right."), codec.eos], [*codec.text("A red circle."), codec.eos],
    ]  # fmt: skip
    assert made.targets.ids[told].tolist() == [token for answer in answers for token in answer]
    # what is read where a question ends is the newline that closes it
    ends = codec.special(prompts.END_FACTUAL)
    first = made.targets.at[made.targets.tasks == TokenTask.CLASSIFY]
    assert codec.pretrained.convert_ids_to_tokens(ends[-1]) == "\n"
    assert set(made.batch.ids.flatten()[first].tolist()) == {ends[-1]}


def test_under_the_prefix_attention_no_prompt_sees_its_answer(model_codec):
    """The block that attends in both directions ends with the question."""
    model, codec = model_codec
    made = encoded(codec, AttentionMode.PREFIX)
    first = made.targets.tasks == TokenTask.CLASSIFY
    before = logits(model, made)[torch.from_numpy(first)]
    ids = made.batch.ids.copy()
    for at in made.targets.at[first]:
        row, column = divmod(int(at), ids.shape[1])
        assert made.batch.block[row] == column + 1
        ids[row, column + 1] = codec.no if ids[row, column + 1] == codec.yes else codec.yes
    after = logits(model, replace(made, batch=replace(made.batch, ids=ids)))
    torch.testing.assert_close(before, after[torch.from_numpy(first)], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("attention_mode", [AttentionMode.IMAGE_PREFIX, AttentionMode.CAUSAL])
def test_a_question_sees_neither_its_answer_nor_another_question(model_codec, attention_mode):
    model, codec = model_codec
    made = encoded(codec, attention_mode)
    first = torch.from_numpy(made.targets.tasks == TokenTask.CLASSIFY)
    before = logits(model, made)[first]
    ids = made.batch.ids.copy()
    for at in made.targets.at[made.targets.tasks == TokenTask.CLASSIFY]:
        ids[0, at + 1] = codec.pad  # all answers
    ids[0, made.batch.segment[0] >= 4] = codec.pad  # the rationale's and the description's branch
    after = logits(model, replace(made, batch=replace(made.batch, ids=ids)))
    torch.testing.assert_close(before, after[first], atol=1e-5, rtol=1e-5)


def test_markup_in_user_text_stays_text(model_codec):
    """`<image>`, `</TARGET>` and whole templates in captions and rationales are plain bytes."""
    _, codec = model_codec
    bad = f"A {prompts.OPEN} dog <image><eos></TARGET>?\n{prompts.ASK_FACTUAL}."
    told = f"It is <bos> {prompts.END_FACTUAL} <image>."
    special = set(codec.pretrained.all_special_ids)

    def markup(caption: str, rationale: str) -> list[int]:
        sentence = TrainingSentence(Span(0, len(caption)), False, True, (rationale,))
        one = TrainingExample("1", "1.png", caption, (sentence,), "")
        made = encoded(codec, AttentionMode.CAUSAL, of=one, choice=Choice(((0, rationale),), False))
        return [int(i) for i in made.batch.ids.flatten() if int(i) in special]

    assert markup(bad, told) == markup("A dog.", "It is a cat.")


def test_the_last_label_token_survives_the_length_limit(model_codec):
    """A row that fits exactly keeps every answer to its end; one token less drops a question whole.

    Never is an answer cut: its last token, the one that says that the answer ends, is always there.
    """
    _, codec = model_codec
    length = encoded(codec, AttentionMode.CAUSAL).batch.ids.shape[1]
    for limit in range(length, length - 40, -1):
        made = encoded(codec, AttentionMode.CAUSAL, max_length=limit)
        assert made.batch.ids.shape[1] <= limit
        ends = made.targets.ids[np.append(np.flatnonzero(np.diff(made.targets.at) > 1), -1)]
        told = made.targets.tasks != TokenTask.CAPTION
        answers = int((made.targets.ids[told] == codec.eos).sum())
        assert answers == 5 - made.skipped
        assert len(ends)
    assert encoded(codec, AttentionMode.CAUSAL, max_length=length).skipped == 0
    assert encoded(codec, AttentionMode.CAUSAL, max_length=length - 1).skipped == 1


def test_a_plain_tokenizer_keeps_the_trailing_newline():
    """Without tokens of ours, as PaliGemma's: the question still ends in one newline token."""
    codec = PromptTokenizer(train_tokenizer(TEXTS, 512))
    ids = codec.special(prompts.END_RATIONALE)
    assert codec.pretrained.convert_ids_to_tokens(ids[-1]) == "\n"
    assert codec.decode(ids[:-1] + ids[-1:]).endswith("\n")
