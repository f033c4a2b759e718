"""Long-CLIP's released format: OpenAI CLIP's names, two tables of positions, no tokenizer."""

from __future__ import annotations

import re

import pytest
import tinytowers
import torch
import transformers as hf
from PIL import Image

from revise_captions.errors import UserError
from revise_captions.metrics.openai_clip import KEPT
from revise_captions.metrics.towers import load_towers

POSITIONS = 248
#: Names of `CLIPModel`, and the authors' in their place.
THEIRS = {
    r"vision_model\.embeddings\.class_embedding": "visual.class_embedding",
    r"vision_model\.embeddings\.position_embedding\.weight": "visual.positional_embedding",
    r"vision_model\.embeddings\.patch_embedding": "visual.conv1",
    r"vision_model\.pre_layrnorm": "visual.ln_pre",
    r"vision_model\.post_layernorm": "visual.ln_post",
    r"vision_model\.encoder\.layers": "visual.transformer.resblocks",
    r"text_model\.encoder\.layers": "transformer.resblocks",
    r"text_model\.embeddings\.token_embedding": "token_embedding",
    r"text_model\.embeddings\.position_embedding\.weight": "positional_embedding",
    r"text_model\.final_layer_norm": "ln_final",
    r"visual_projection\.weight": "visual.proj",
    r"text_projection\.weight": "text_projection",
    r"layer_norm(\d)": r"ln_\1",
    r"mlp\.fc1": "mlp.c_fc",
    r"mlp\.fc2": "mlp.c_proj",
    r"self_attn": "attn",
}


def released(model):
    """The weights as the authors' `model.state_dict()` has them."""
    found, thirds = {}, {}
    for name, tensor in model.state_dict().items():
        for own, theirs in THEIRS.items():
            name = re.sub(own, theirs, name)
        if part := re.fullmatch(r"(.*)\.([qkv])_proj\.(\w+)", name):
            layer, letter, kind = part.groups()
            thirds.setdefault(f"{layer}.in_proj_{kind}", {})[letter] = tensor
        else:
            found[name] = tensor.T if name in ("visual.proj", "text_projection") else tensor
    found |= {name: torch.cat([one[k] for k in "qkv"]) for name, one in thirds.items()}
    first, second = (torch.randn_like(found["positional_embedding"]) for _ in range(2))
    first[:KEPT] = found["positional_embedding"][:KEPT]
    second[KEPT:] = found["positional_embedding"][KEPT:]
    return found | {"positional_embedding": first, "positional_embedding_res": second}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    size = {"hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 2}
    text = {"num_hidden_layers": 2, "vocab_size": len(tinytowers.WORDS), "eos_token_id": 2,
            "max_position_embeddings": POSITIONS}  # fmt: skip
    vision = {"num_hidden_layers": 1, "image_size": 16, "patch_size": 8}
    config = hf.CLIPConfig(text_config=size | text, vision_config=size | vision, projection_dim=16)
    model = hf.CLIPModel(config).eval()
    torch.nn.init.normal_(model.text_model.embeddings.position_embedding.weight)
    return model


@pytest.fixture
def file(tmp_path, model):
    """`longclip-B.pt`, and the files of a CLIP's processor beside it."""
    tinytowers.save("clip", tmp_path)
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).unlink()
    torch.save(released(model), tmp_path / "longclip-B.pt")
    return tmp_path / "longclip-B.pt"


def test_it_is_transformers_clip_with_the_same_weights(file, model):
    towers = load_towers(str(file), device="cpu")
    assert towers.limit == POSITIONS
    assert towers.settings["towers"].startswith("longclip-B.pt@")
    texts = ["a man", "red barn " * 60]
    inputs = towers.processor(
        text=texts, images=[Image.new("RGB", (20, 16), "red")], return_tensors="pt", padding=True
    )
    assert inputs["input_ids"].shape[1] == 122
    with torch.inference_mode():
        wanted = model(**inputs)
        found = towers.model(**inputs)
    torch.testing.assert_close(found.text_embeds, wanted.text_embeds)
    torch.testing.assert_close(found.image_embeds, wanted.image_embeds)
    torch.testing.assert_close(towers.texts(texts), wanted.text_embeds)


def test_what_is_no_such_file_is_refused(file, tmp_path):
    torch.save({"module.weight": torch.ones(2)}, tmp_path / "other.pt")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "whole.pt")
    for name, said in (
        ("other.pt", "is not a CLIP model in OpenAI's format .*: it holds module.weight"),
        ("whole.pt", "does not hold plain tensors"),
    ):
        with pytest.raises(UserError, match=said):
            load_towers(str(tmp_path / name), device="cpu")
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(UserError, match="no CLIP tokenizer and image processor beside") as caught:
        load_towers(str(file), device="cpu")
    assert "hf download openai/clip-vit-large-patch14" in str(caught.value.hint)
