"""Tiny random vision–language models of real architectures, with their real processor classes.

Weights are scaled so that attention is sharp and logits are large: a wrong mask, position, dtype
or missing soft-cap shows. `sure`: most of the probability is on Yes and No, so that the
answers are verdicts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image

TEXTS = [
    "Given the image and the prompt prefix, does the following text align with the image?",
    "There is a red circle. It is on the left. A sign reads CAFE. Two people walk. Both wear hats.",
    "Answer with one word: Yes or No. yes no",
] * 20
SIDE, PATCH = 56, 14
ROWS = [f"<row_{r + 1}_col_{c + 1}>" for r in range(6) for c in range(6)]
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}"
    "{% if c.type == 'image' %}IMAGE{% else %}{{ c.text }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
GEMMA = (
    "<bos>{% for m in messages %}<start_of_turn>{{ m.role }}\n{% for c in m.content %}"
    "{% if c.type == 'image' %}<start_of_image>{% else %}{{ c.text | trim }}{% endif %}{% endfor %}"
    "<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
#: For each family: named special tokens, further ones, and how a turn shows an image.
TOKENS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "gemma3": (
        {
            "image_token": "<image_soft_token>",
            "boi_token": "<start_of_image>",
            "eoi_token": "<end_of_image>",
        },
        ["<start_of_turn>", "<end_of_turn>"],
        "",
    ),
    "idefics3": (
        {},
        ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *ROWS],
        "<image>",
    ),
    "smolvlm": (
        {
            "image_token": "<image>",
            "fake_image_token": "<fake_token_around_image>",
            "global_image_token": "<global-img>",
            "end_of_utterance_token": "<end_of_utterance>",
        },
        ["<video>", *ROWS],
        "<image>",
    ),
    "qwen2_5_vl": (
        {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"},
        ["<|vision_start|>", "<|vision_end|>"],
        "<|vision_start|><|image_pad|><|vision_end|>",
    ),
    "internvl": (
        {
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "context_image_token": "<IMG_CONTEXT>",
            "video_token": "<video>",
        },
        [],
        "<IMG_CONTEXT>",
    ),
    "llava_onevision": ({"image_token": "<image>", "video_token": "<video>"}, [], "<image>"),
    "pixtral": ({}, ["[IMG]", "[IMG_BREAK]", "[IMG_END]"], "[IMG]"),
}
TOKENS["qwen3_vl"] = TOKENS["qwen2_5_vl"]
#: Families whose processors need torchvision.
VIDEO = ("qwen2_5_vl", "qwen3_vl", "internvl", "llava_onevision", "smolvlm", "pixtral")
PLAIN = ("gemma3", "idefics3")


def tokenizer_of(family: str) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    named, further, image = TOKENS.get(family, ({}, [], ""))
    special = ["<pad>", "<bos>", "<|im_start|>", "<|im_end|>", *named.values(), *further]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in special],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<bos>",
        eos_token="<|im_end|>" if family != "gemma3" else "<end_of_turn>",
        pad_token="<pad>",
        extra_special_tokens=named,
        model_max_length=4096,
    )
    fast.chat_template = GEMMA if family == "gemma3" else CHATML.replace("IMAGE", image)
    return fast


def _text(tokenizer: Any, **more: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": False,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        **more,
    }


_SIGLIP = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": SIDE,
    "patch_size": PATCH,
}
_SQUARE = {"height": SIDE, "width": SIDE}


def _gemma3(tokenizer: Any) -> tuple[Any, Any]:
    config = transformers.Gemma3Config(
        text_config=_text(
            tokenizer,
            query_pre_attn_scalar=16,
            layer_types=["sliding_attention", "full_attention"],
            sliding_window=8,
            final_logit_softcapping=30.0,
        ),
        vision_config=_SIGLIP,
        mm_tokens_per_image=4,
        image_token_index=tokenizer.image_token_id,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
        tie_word_embeddings=False,
    )
    images = transformers.Gemma3ImageProcessor(size=_SQUARE)
    processor = transformers.Gemma3Processor(
        images, tokenizer, image_seq_length=4, chat_template=tokenizer.chat_template
    )
    return transformers.Gemma3ForConditionalGeneration(config), processor


def _idefics(tokenizer: Any, family: str) -> tuple[Any, Any]:
    kind = {"idefics3": "Idefics3", "smolvlm": "SmolVLM"}[family]
    config = getattr(transformers, f"{kind}Config")(
        text_config={**_text(tokenizer), "model_type": "llama"},
        vision_config=_SIGLIP,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    images = getattr(transformers, f"{kind}ImageProcessor")(
        size={"longest_edge": 2 * SIDE}, max_image_size={"longest_edge": SIDE}
    )
    more = {}
    if family == "smolvlm":
        more["video_processor"] = transformers.SmolVLMVideoProcessor()
    processor = getattr(transformers, f"{kind}Processor")(
        images, tokenizer, image_seq_len=4, chat_template=tokenizer.chat_template, **more
    )
    return getattr(transformers, f"{kind}ForConditionalGeneration")(config), processor


def _qwen(tokenizer: Any, family: str) -> tuple[Any, Any]:
    ids = {
        name: tokenizer.convert_tokens_to_ids(f"<|{token}|>")
        for name, token in (
            ("image_token_id", "image_pad"),
            ("video_token_id", "video_pad"),
            ("vision_start_token_id", "vision_start"),
            ("vision_end_token_id", "vision_end"),
        )
    }
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    text = _text(tokenizer, rope_parameters=rope)
    vision: dict[str, Any] = {"depth": 2, "hidden_size": 32, "num_heads": 2, "patch_size": PATCH}
    if family == "qwen2_5_vl":
        kind = "Qwen2_5_VL"
        vision |= {"out_hidden_size": 64, "intermediate_size": 48, "fullatt_block_indexes": [1]}
        vision |= {"window_size": 56}
    else:
        kind = "Qwen3VL"
        vision |= {"out_hidden_size": 64, "intermediate_size": 48, "deepstack_visual_indexes": [0]}
        vision |= {"num_position_embeddings": 16}
    config = getattr(transformers, f"{kind}Config")(
        text_config=text, vision_config=vision, tie_word_embeddings=False, **ids
    )
    pixels = {"shortest_edge": SIDE * SIDE, "longest_edge": 2 * SIDE * SIDE}
    images = transformers.Qwen2VLImageProcessor(patch_size=PATCH, size=pixels)
    videos = (
        transformers.Qwen2VLVideoProcessor(patch_size=PATCH)
        if family == "qwen2_5_vl"
        else transformers.Qwen3VLVideoProcessor(patch_size=PATCH)
    )
    processor = getattr(transformers, f"{kind}Processor")(
        images, tokenizer, videos, chat_template=tokenizer.chat_template
    )
    return getattr(transformers, f"{kind}ForConditionalGeneration")(config), processor


def _internvl(tokenizer: Any) -> tuple[Any, Any]:
    config = transformers.InternVLConfig(
        text_config={**_text(tokenizer), "model_type": "qwen2"},
        vision_config={**_SIGLIP, "image_size": [SIDE, SIDE], "patch_size": [PATCH, PATCH]},
        image_token_id=tokenizer.context_image_token_id,
        image_seq_length=4,
        tie_word_embeddings=False,
    )
    images = transformers.GotOcr2ImageProcessor(size=_SQUARE, crop_to_patches=True, max_patches=2)
    processor = transformers.InternVLProcessor(
        images,
        tokenizer,
        transformers.InternVLVideoProcessor(size=_SQUARE),
        image_seq_length=4,
        chat_template=tokenizer.chat_template,
    )
    return transformers.InternVLForConditionalGeneration(config), processor


def _llava_onevision(tokenizer: Any) -> tuple[Any, Any]:
    grid = [[SIDE, SIDE], [SIDE, 2 * SIDE], [2 * SIDE, SIDE]]
    config = transformers.LlavaOnevisionConfig(
        text_config={**_text(tokenizer), "model_type": "qwen2"},
        vision_config={**_SIGLIP, "model_type": "siglip_vision_model"},
        image_token_index=tokenizer.image_token_id,
        video_token_index=tokenizer.video_token_id,
        image_grid_pinpoints=grid,
        tie_word_embeddings=False,
    )
    images = transformers.LlavaOnevisionImageProcessor(size=_SQUARE, image_grid_pinpoints=grid)
    processor = transformers.LlavaOnevisionProcessor(
        images,
        tokenizer,
        transformers.LlavaOnevisionVideoProcessor(size=_SQUARE),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=tokenizer.chat_template,
    )
    return transformers.LlavaOnevisionForConditionalGeneration(config), processor


def _pixtral(tokenizer: Any) -> tuple[Any, Any]:
    vision = {**_SIGLIP, "model_type": "pixtral", "image_size": 4 * PATCH, "head_dim": 16}
    config = transformers.LlavaConfig(
        text_config={**_text(tokenizer), "model_type": "mistral"},
        vision_config=vision,
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        tie_word_embeddings=False,
    )
    images = transformers.PixtralImageProcessor(
        size={"longest_edge": 4 * PATCH}, patch_size={"height": PATCH, "width": PATCH}
    )
    processor = transformers.PixtralProcessor(
        images, tokenizer, patch_size=PATCH, chat_template=tokenizer.chat_template
    )
    return transformers.LlavaForConditionalGeneration(config), processor


def built(family: str, *, sure: bool = True, seed: int = 0) -> tuple[Any, Any]:
    """Model and processor of a family."""
    torch.manual_seed(seed)
    tokenizer = tokenizer_of(family)
    if family in ("idefics3", "smolvlm"):
        model, processor = _idefics(tokenizer, family)
    elif family in ("qwen2_5_vl", "qwen3_vl"):
        model, processor = _qwen(tokenizer, family)
    else:
        model, processor = globals()[f"_{family}"](tokenizer)
    sharpen(model.eval(), sure=sure)
    if sure:
        make_sure(model, processor)
    return model, processor


def sharpen(model: Any, *, sure: bool) -> None:
    """Weights large enough that every mistake shows; see the module."""
    generator = torch.Generator().manual_seed(1)
    gemma = "gemma" in model.config.model_type  # which multiplies embeddings by √width
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                small = gemma or "embed" not in name
                scale = weight.shape[1] ** -0.5 if small else 0.4
                weight.normal_(0, scale, generator=generator)
            if "q_proj" in name or "k_proj" in name or "qkv" in name:
                weight.mul_(2)
            if "q_norm" in name or "k_norm" in name:
                weight.add_(0.5)
        head = model.get_output_embeddings().weight
        head.normal_(0, 0.1 if sure else 0.4, generator=generator)


@torch.no_grad()
def make_sure(model: Any, processor: Any) -> None:
    """Yes and No, and only they, are likely behind prompts of about the kind that is asked."""
    rng = np.random.default_rng(7)
    states = []
    for text in ("Does the text align with the image? Yes or No.", *TEXTS[:3]):
        noise = Image.fromarray(rng.integers(0, 255, (70, 80, 3), dtype=np.uint8))
        content = [{"type": "image", "image": noise}, {"type": "text", "text": text}]
        inputs = processor.apply_chat_template(
            [{"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        states.append(model(**inputs, output_hidden_states=True).hidden_states[-1][0, -1])
    # the shortest vector that has this product with each of them
    likely = torch.linalg.pinv(torch.stack(states)) @ torch.full((len(states),), 16.0)
    head = model.get_output_embeddings().weight
    for token, number in processor.tokenizer.get_vocab().items():
        if token.strip("Ġ").casefold() in ("yes", "no"):
            head[number] = 3 * head[number] + likely


def saved(folder: Path, family: str, *, sure: bool = True) -> Path:
    """The family's tiny model as a local folder in transformers' format."""
    model, processor = built(family, sure=sure)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
