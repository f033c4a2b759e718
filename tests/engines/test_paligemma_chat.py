"""PaliGemma as a chat model: the template, and who attends to whom."""

from __future__ import annotations

import pytest
import tinycritic
import torch
from PIL import Image
from transformers import PaliGemmaForConditionalGeneration

from revise_captions.engines.load import EngineUse
from revise_captions.engines.model_spec import Placement, resolve_model
from revise_captions.engines.protocol import Completion, Picture, Prompt, Sampling, Template
from revise_captions.engines.transformers import paligemma_chat
from revise_captions.engines.transformers.load import load_engine

IMAGE, NEWLINE = 9, 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tinycritic.saved(tmp_path_factory.mktemp("captioner"), sure=False, fluent=True)


def test_token_types_by_hand():
    # image, image, <bos>, word, newline, answer, newline, answer; the same padded on the left
    ids = torch.tensor([[9, 9, 2, 7, 5, 8, 5, 6], [0, 9, 9, 2, 7, 5, 8, 6]])
    types = paligemma_chat.token_types(ids, "prefix", IMAGE, NEWLINE)
    assert types.tolist() == [[0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1, 1]]
    types = paligemma_chat.token_types(ids, "image-prefix", IMAGE, NEWLINE)
    assert types.tolist() == [[0, 0, 1, 1, 1, 1, 1, 1], [1, 0, 0, 1, 1, 1, 1, 1]]


def test_the_template_is_the_processors_own_prompt(folder):
    """transformers' processor makes the same ids of image and text, and of an answer as suffix."""
    from transformers import AutoProcessor

    ours, theirs = paligemma_chat.load_processor(folder), AutoProcessor.from_pretrained(folder)
    picture = Image.new("RGB", (64, 64), (10, 200, 30))
    turns = [
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "caption en"}]},
        {"role": "assistant", "content": "A red circle."},
    ]
    text = ours.apply_chat_template(turns, tokenize=False)
    found = ours(images=[[picture]], text=[text], return_tensors="pt")
    wanted = theirs(
        images=picture, text="<image>caption en", suffix="A red circle.", return_tensors="pt"
    )
    assert found["input_ids"].tolist() == wanted["input_ids"].tolist()
    assert torch.equal(found["pixel_values"], wanted["pixel_values"])
    assert "token_type_ids" not in found


@pytest.mark.parametrize("mode", ["prefix", "image-prefix", "causal"])
def test_no_answer_token_sees_those_after_it(folder, mode):
    """A token's logits in the whole sequence are those of the sequence that ends with it."""
    processor = paligemma_chat.load_processor(folder)
    model = PaliGemmaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    if mode != "prefix":  # which is PaliGemma's own, and what a configuration without a mode means
        model.config.attention_mode = mode
    paligemma_chat.find_prefix(model, processor.tokenizer)
    picture = Image.new("RGB", (64, 64), (200, 20, 30))
    text = "<image><bos>caption en\nThere is a red circle. It is on the left."
    inputs = processor(images=[[picture]], text=[text], return_tensors="pt")
    whole = model(**inputs).logits[0]
    prompt = len(processor(images=[[picture]], text=["<image><bos>caption en\n"])["input_ids"][0])
    for end in range(prompt, inputs["input_ids"].shape[1]):
        part = {**inputs, "input_ids": inputs["input_ids"][:, :end]}
        part["attention_mask"] = inputs["attention_mask"][:, :end]
        assert torch.allclose(model(**part).logits[0, -1], whole[end - 1], atol=1e-4)


def test_token_types_that_trainers_make_would_leak_the_answer(folder):
    """TRL's GRPO trainer gives the answer the prompt's type: then an answer sees its own end."""
    processor = paligemma_chat.load_processor(folder)
    model = PaliGemmaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    picture = Image.new("RGB", (64, 64), (200, 20, 30))
    texts = [f"<image><bos>caption en\nThere is a red circle. It is {end}." for end in ("on", "no")]
    made = [processor(images=[[picture]], text=[text], return_tensors="pt") for text in texts]
    zeros = torch.zeros_like(made[0]["input_ids"])
    logits = [model(**one, token_type_ids=zeros).logits[0] for one in made]
    changed = int((made[0]["input_ids"] != made[1]["input_ids"])[0].nonzero()[0])
    assert not torch.allclose(logits[0][changed - 1], logits[1][changed - 1], atol=1e-3)


def test_sampling(folder):
    spec = resolve_model(str(folder), Placement(batch_size=8), option="--policy")
    engine = load_engine(spec, EngineUse("--policy"))
    pictures = [Image.new("RGB", (64, 64), color) for color in ("red", "blue")]
    prompts = [
        Prompt((Picture(p), Template("caption en")), shared=2) for p in pictures for _ in "12"
    ]
    greedy = engine.generate(prompts, 12)
    assert all(isinstance(one, Completion) for one in greedy)
    assert greedy[0] == greedy[1]
    state = torch.random.get_rng_state()
    drawn = [engine.generate(prompts, 12, Sampling(1.0, 0.9, seed)) for seed in (3, 3, 4)]
    assert torch.equal(torch.random.get_rng_state(), state)
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0][0] != drawn[0][1], "equal prompts have samples of their own"
    # a nucleus of almost nothing is the likeliest token
    assert engine.generate(prompts, 12, Sampling(1.0, 1e-6, 3)) == greedy
