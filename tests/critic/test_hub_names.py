"""Checkpoints that we write: transformers loads them, and vLLM's loader finds what it looks for.

What vLLM looks for is pinned here from its source (0.32): `hf_to_vllm_mapper` of
vllm/model_executor/models/paligemma.py, the parameters of models/siglip.py and models/gemma2.py,
and the newline and <bos> of the PaliGemma processor. scripts/checks/vllm_text.py asks vLLM itself.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tinycritic import saved, tiny

from revise_captions.critic.hub_names import INDEX, hub_name, write_hub_names

#: vLLM puts these prefixes in the place of transformers' (since its 4.52).
MAPPER = {
    "model.language_model.": "language_model.model.",
    "model.vision_tower.": "vision_tower.",
    "model.multi_modal_projector.": "multi_modal_projector.",
    "lm_head.": "language_model.lm_head.",
}
#: vLLM's parameters, q, k and v, and gate and up, still apart as its loaders take them.
PARAMETERS = re.compile(
    r"""vision_tower\.vision_model\.(
          embeddings\.(patch_embedding\.(weight|bias)|position_embedding\.weight)
        | encoder\.layers\.\d+\.(self_attn\.(q_proj|k_proj|v_proj|out_proj)|mlp\.fc[12]
                                 |layer_norm[12])\.(weight|bias)
        | post_layernorm\.(weight|bias))
      | multi_modal_projector\.linear\.(weight|bias)
      | language_model\.model\.(
          embed_tokens\.weight
        | layers\.\d+\.(self_attn\.(q_proj|k_proj|v_proj|o_proj)|mlp\.(gate|up|down)_proj
                        |(input|post_attention|pre_feedforward|post_feedforward)_layernorm)\.weight
        | norm\.weight)""",
    re.VERBOSE,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("critic"))


def names(path: Path) -> list[str]:
    with safe_open(path, "pt") as file:
        return list(file.keys())


def mapped(name: str) -> str:
    for old, new in MAPPER.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def test_every_weight_has_a_place_in_vllm_and_every_place_a_weight(folder):
    found = {mapped(name) for name in names(folder / "model.safetensors")}
    assert not [name for name in found if not PARAMETERS.fullmatch(name)]
    model, _ = tiny()
    text, vision = model.config.text_config, model.config.vision_config
    # a layer of the tower: six linear maps and two norms, with biases; of Gemma 2: eleven weights
    expected = 3 + 16 * vision.num_hidden_layers + 2 + 2 + 11 * text.num_hidden_layers + 2
    assert len(found) == expected


def test_transformers_loads_the_same_weights(folder):
    from transformers import PaliGemmaForConditionalGeneration

    loaded, report = PaliGemmaForConditionalGeneration.from_pretrained(
        folder, output_loading_info=True
    )
    assert not any(report.values()), report
    model, _ = tiny()
    ours, theirs = model.state_dict(), loaded.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_prompt_ends_as_vllm_ends_it(folder):
    """It encodes a newline on its own and appends it to prompts that do not end in it; behind the
    images it puts <bos>, and it looks the image token up in the configuration."""
    from transformers import AutoTokenizer

    from revise_captions.critic import prompts
    from revise_captions.critic.paligemma.tokenizer import PromptTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    newline = tokenizer.encode("\n", add_special_tokens=False)
    assert newline == [tokenizer.get_vocab()["\n"]]
    codec = PromptTokenizer(tokenizer)
    for end in (prompts.END_FACTUAL, prompts.END_RATIONALE):
        assert codec.special(end)[-1] == newline[0]
    config = json.loads((folder / "config.json").read_text())
    assert config["image_token_index"] == codec.image == tokenizer.get_vocab()["<image>"]
    assert tokenizer.bos_token_id == codec.bos
    assert config["text_config"]["final_logit_softcapping"] is None
    assert config["text_config"]["attn_logit_softcapping"] is None


def test_shards_are_renamed_with_their_index(tmp_path, folder):
    weights = load_file(folder / "model.safetensors")
    old = {name.replace(".vision_model.", "."): tensor for name, tensor in weights.items()}
    assert old.keys() != weights.keys()
    half = sorted(old)[: len(old) // 2]
    parts = [{k: old[k] for k in half}, {k: v for k, v in old.items() if k not in half}]
    index = {}
    for number, part in enumerate(parts, start=1):
        file = f"model-{number:05}-of-00002.safetensors"
        save_file(part, tmp_path / file, metadata={"format": "pt"})
        index |= dict.fromkeys(part, file)
    (tmp_path / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": index}))
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    for _ in range(2):  # a second time changes nothing
        write_hub_names(tmp_path)
        found = json.loads((tmp_path / INDEX).read_text())["weight_map"]
        again = {n: file for file in set(found.values()) for n in names(tmp_path / file)}
        assert found == again
        assert found.keys() == weights.keys()
    for file in set(found.values()):
        for name, tensor in load_file(tmp_path / file).items():
            assert torch.equal(tensor, weights[name])


def test_other_families_with_that_tower_are_renamed_too(tmp_path):
    """vLLM (0.32) refuses LLaVA-OneVision as transformers writes it
    (scripts/checks/vllm_vision.py); transformers loads it under either name."""
    import tinyvlm
    from transformers import AutoModelForImageTextToText

    model, _ = tinyvlm.built("gemma3")
    model.save_pretrained(tmp_path)
    assert not any(".vision_model." in name for name in names(tmp_path / "model.safetensors"))
    write_hub_names(tmp_path)
    tower = [n for n in names(tmp_path / "model.safetensors") if n.startswith("vision_tower.")]
    assert len(tower) > 30
    assert all(name.startswith("vision_tower.vision_model.") for name in tower)
    loaded, report = AutoModelForImageTextToText.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    theirs = loaded.state_dict()
    assert all(torch.equal(theirs[name], w) for name, w in model.state_dict().items())


def test_other_models_keep_their_names(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "qwen3_vl"}')
    save_file({"vision_tower.a": torch.zeros(1)}, tmp_path / "model.safetensors")
    write_hub_names(tmp_path)
    assert names(tmp_path / "model.safetensors") == ["vision_tower.a"]
    assert hub_name("vision_tower.vision_model.a") == "vision_tower.vision_model.a"
    assert hub_name("language_model.vision_tower.a") == "language_model.vision_tower.a"
