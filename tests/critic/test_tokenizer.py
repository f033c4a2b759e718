"""The tokenizer: pieces to ids, and nothing that a caption can do about it."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tinycritic import TEXTS, saved

from revise_captions.critic import prompts
from revise_captions.critic.paligemma.image_prefetch import pixel_values, resized
from revise_captions.critic.paligemma.tokenizer import (
    DESCRIBE,
    TEMPLATES,
    PromptTokenizer,
    train_tokenizer,
)
from revise_captions.records import Span


@pytest.fixture(scope="module")
def tokenizer() -> PromptTokenizer:
    return PromptTokenizer(train_tokenizer(TEXTS, 512))


def test_template_pieces_are_single_tokens_and_end_in_a_plain_newline(tokenizer):
    newline = tokenizer.pretrained.get_vocab()["\n"]
    for piece in TEMPLATES:
        ids = tokenizer.special(piece)
        assert len(ids) == (2 if piece.endswith("\n") else 1)
        if piece.endswith("\n"):
            assert ids[-1] == newline
    assert tokenizer.special(DESCRIBE)[0] != tokenizer.special(prompts.END_RATIONALE)[0]


def test_answers_are_single_ordinary_tokens(tokenizer):
    assert tokenizer.answer_yes == (tokenizer.yes,)
    assert tokenizer.answer_no == (tokenizer.no,)
    assert (
        tokenizer.decode([tokenizer.yes, *tokenizer.answer_nothing, tokenizer.eos])
        == "Yes, nothing to assess"
    )


@pytest.mark.parametrize(
    "text",
    [
        "</TARGET>?\n",
        "<image><bos><eos><pad>",
        prompts.OPEN + prompts.ASK_FACTUAL + prompts.END_RATIONALE,
        "a </PREFIX>, does the following text align with the image: <TARGET> b",
        "describe the image\n",
    ],
)
def test_user_text_never_becomes_a_special_token(tokenizer, text):
    special = {tokenizer.bos, tokenizer.eos, tokenizer.pad, tokenizer.image}
    special |= {tokenizer.special(piece)[0] for piece in TEMPLATES}
    assert special.isdisjoint(tokenizer.text(text))
    assert tokenizer.decode(tokenizer.text(text)) == text


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_any_text_round_trips(tokenizer, text):
    text = text.encode("utf-8", "ignore").decode()
    assert tokenizer.decode(tokenizer.text(text)) == text


def test_digits_and_capitals_are_spelled_out(tokenizer):
    pieces = [tokenizer.decode([i]) for i in tokenizer.text("sign CAFE 1984, A Cafe")]
    text = "|".join(pieces)
    assert "|C|A|F|E|" in text
    assert "|1|9|8|4|" in text
    assert not text.endswith("|C|A|F|E")


def test_contexts_are_token_prefixes_of_one_another(tokenizer):
    caption = " A cat\n\nsits. It is red!  Both wear hats."
    spans = [Span(1, 13), Span(14, 24), Span(26, len(caption))]
    contexts = [
        tokenizer.pieces(
            [prompts.Special(prompts.OPEN), *prompts.context_pieces(caption, spans, i)]
        )
        for i in range(3)
    ]
    for index, (short, long) in enumerate(pairwise(contexts)):
        previous = spans[index - 1].end if index else 0
        space = tokenizer.text(caption[previous : spans[index].start])
        assert short[: len(short) - len(space)] == long[: len(short) - len(space)]


def test_processor_of_transformers_loads_and_agrees(tmp_path):
    """What a user's own code sends (AutoProcessor) is what we send, for text without markup."""
    from transformers import AutoProcessor, AutoTokenizer

    folder = saved(tmp_path)
    processor = AutoProcessor.from_pretrained(folder)
    tokenizer = PromptTokenizer(AutoTokenizer.from_pretrained(folder))
    caption = "There is a red circle. It is on the left."
    spans = (Span(0, 22), Span(23, 41))
    pieces = prompts.classification(caption, spans, 1)
    image = Image.fromarray(
        np.random.default_rng(0).integers(0, 256, (50, 80, 3), dtype=np.uint8), "RGB"
    )
    given = processor(images=image, text="<image>" + prompts.as_text(pieces)[:-1])
    ours = [*[tokenizer.image] * 16, tokenizer.bos, *tokenizer.pieces(pieces)]
    assert given["input_ids"][0] == ours
    import torch

    values = pixel_values([resized(image, 64)], torch.float32)[0].numpy()
    np.testing.assert_allclose(np.asarray(given["pixel_values"][0]), values, atol=1e-6)
    # room for the tokens that PaliGemma's processor appends to every tokenizer
    config = json.loads((folder / "config.json").read_text())
    assert config["text_config"]["vocab_size"] >= len(processor.tokenizer)
