"""An adapter is added whole or not at all: what has no place in the model is never left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tinycritic import saved

from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError

peft = pytest.importorskip("peft")

WEIGHTS = "adapter_model.safetensors"


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapter(base, tmp_path_factory) -> Path:
    """On the language model and on the tower, nothing in it zero."""
    from transformers import PaliGemmaForConditionalGeneration

    model = PaliGemmaForConditionalGeneration.from_pretrained(base)
    config = peft.LoraConfig(r=2, target_modules=r".*(q_proj|v_proj)")
    wrapped = peft.get_peft_model(model, config)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weight in wrapped.named_parameters():
            if "lora_B" in name:
                weight.normal_()
    folder = tmp_path_factory.mktemp("adapters") / "lora"
    wrapped.save_pretrained(folder)
    return folder


def changed(adapter: Path, folder: Path, rename) -> Path:
    shutil.copytree(adapter, folder)
    weights = {rename(name): tensor for name, tensor in load_file(folder / WEIGHTS).items()}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    return folder


def test_all_of_it_is_added(base, adapter):
    plain = load_paligemma(base, CriticOptions(Placement(device="cpu"))).model.state_dict()
    with_it = load_paligemma(
        base, CriticOptions(Placement(device="cpu"), adapter=str(adapter))
    ).model.state_dict()
    weights = load_file(adapter / WEIGHTS)
    scale = json.loads((adapter / "adapter_config.json").read_text())
    for key in [name for name in weights if "lora_A" in name]:
        name = key.removeprefix("base_model.model.").replace(".lora_A", "")
        product = weights[key.replace("lora_A", "lora_B")] @ weights[key]
        expected = plain[name] + product * scale["lora_alpha"] / scale["r"]
        torch.testing.assert_close(with_it[name], expected)
    assert sum("vision_tower" in name for name in weights) > 4


def test_names_of_other_versions_are_understood(base, adapter, tmp_path):
    hub = changed(
        adapter,
        tmp_path / "hub",
        lambda name: name.replace("vision_tower.", "vision_tower.vision_model."),
    )
    ours = load_paligemma(
        base, CriticOptions(Placement(device="cpu"), adapter=str(adapter))
    ).model.state_dict()
    theirs = load_paligemma(
        base, CriticOptions(Placement(device="cpu"), adapter=str(hub))
    ).model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_part_without_a_place_is_refused(base, adapter, tmp_path):
    other = changed(adapter, tmp_path / "a", lambda name: name.replace("vision_tower", "visual"))
    with pytest.raises(UserError, match=r"8 of 20 weights .* would be left out"):
        load_paligemma(base, CriticOptions(Placement(device="cpu"), adapter=str(other)))
    # the weights are there, but the configuration asks for the language model only
    narrow = changed(adapter, tmp_path / "b", lambda name: name)
    config = json.loads((narrow / "adapter_config.json").read_text())
    config["target_modules"] = r".*language_model.*(q_proj|v_proj)"
    (narrow / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"8 of 20 weights .*vision_tower"):
        load_paligemma(base, CriticOptions(Placement(device="cpu"), adapter=str(narrow)))
