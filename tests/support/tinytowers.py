"""Tiny pairs of towers of real architectures, with random weights and a word tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = ["<pad>", "<s>", "</s>", "<unk>", "a", "man", "dog", "black", "runs", "on", "grass",
         "photo", "depicts", "red", "barn", "page", "about", "farms"]  # fmt: skip
#: Most tokens that their text towers read.
LIMIT = 16
_SMALL = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
          "num_attention_heads": 2}  # fmt: skip
_TEXT = {**_SMALL, "vocab_size": len(WORDS), "max_position_embeddings": LIMIT,
         "projection_dim": 16, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
         "projection_size": 32}  # fmt: skip
_VISION = {**_SMALL, "image_size": 16, "patch_size": 8, "projection_dim": 16}


def tokenizer(names: tuple[str, ...] = ("input_ids",)) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({w: k for k, w in enumerate(WORDS)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", bos_token="<s>", eos_token="</s>",
        unk_token="<unk>", model_max_length=LIMIT, model_input_names=list(names),
    )  # fmt: skip


def save(kind: str, folder: Path) -> Path:
    """Saves a `clip`, `siglip` or `blip2` to a folder."""
    import torch
    import transformers as hf

    torch.manual_seed(0)
    size = {"height": 16, "width": 16}
    if kind == "clip":
        model = hf.CLIPModel(
            hf.CLIPConfig(text_config=_TEXT, vision_config=_VISION, projection_dim=16)
        )
        images = hf.CLIPImageProcessor(size={"shortest_edge": 16}, crop_size=size)
        processor = hf.CLIPProcessor(image_processor=images, tokenizer=tokenizer())
    elif kind == "siglip":
        model = hf.SiglipModel(hf.SiglipConfig(text_config=_TEXT, vision_config=_VISION))
        images = hf.SiglipImageProcessor(size=size)
        processor = hf.SiglipProcessor(image_processor=images, tokenizer=tokenizer())
    else:
        config = hf.Blip2Config(
            vision_config={**_SMALL, "image_size": 16, "patch_size": 8, "initializer_range": 0.1},
            qformer_config={**_SMALL, "vocab_size": len(WORDS), "encoder_hidden_size": 32,
                            "max_position_embeddings": LIMIT, "use_qformer_text_input": True,
                            "initializer_range": 0.3},
            text_config={"model_type": "opt", "vocab_size": 8, "hidden_size": 8, "ffn_dim": 8,
                         "num_hidden_layers": 1, "num_attention_heads": 1,
                         "word_embed_proj_dim": 8},
            num_query_tokens=4, image_text_hidden_size=16,
        )  # fmt: skip
        model = hf.Blip2ForImageTextRetrieval(config)
        torch.nn.init.normal_(model.query_tokens)  # zeros at first: all queries would be the same
        images = hf.BlipImageProcessor(size=size)
        processor = hf.Blip2Processor(images, tokenizer(("input_ids", "attention_mask")))
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
