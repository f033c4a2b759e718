"""The cards of bundled models are model cards as the hub reads them."""

from __future__ import annotations

import json
import re

import pytest
from pages import ROOT

hub = pytest.importorskip("huggingface_hub", reason="the extra `hub` is not installed")

CARDS = {
    "critic/bundled": ("transformers", "image-text-to-text", "apache-2.0"),
    "critic/charts/bundled": ("revise-captions", "image-text-to-text", "apache-2.0"),
    "critic/charts/smollm2": ("peft", "text-generation", "apache-2.0"),
    "reviser/bundled": ("transformers", "text-generation", "apache-2.0"),
    "reviser/smollm2": ("peft", "text-generation", "apache-2.0"),
    "src/revise_captions/graphs/bundled": ("spacy", "token-classification", "cc-by-sa-4.0"),
}


def test_every_folder_with_weights_has_a_card():
    weights = [*ROOT.glob("critic/**/*model.safetensors"), *ROOT.glob("reviser/**/*.safetensors")]
    weights += [*ROOT.glob("src/**/meta.json"), *ROOT.glob("critic/**/weights*.json")]
    assert {path.parent.relative_to(ROOT).as_posix() for path in weights} == set(CARDS)


@pytest.mark.parametrize("folder", CARDS)
def test_a_card_has_what_the_hub_reads(folder):
    card = hub.ModelCard.load(ROOT / folder / "README.md")
    data = card.data
    assert (data.library_name, data.pipeline_tag, data.license) == CARDS[folder]
    assert data.language == "en"
    assert data.tags
    if folder.startswith("src/"):  # what its digest covers is left as it was measured
        assert json.loads((ROOT / folder / "meta.json").read_text())["lang"] == data.language
    else:
        assert data.metrics
    assert (data.base_model is not None) == (ROOT / folder / "adapter_config.json").exists()
    assert "trained" in card.text


#: What every card says of how its figures were taken.
MEASURED = (
    "fresh ",
    "a human-made set",
    "floors",
    "corrected shares out of domain",
    "held back",
)
_INTERVAL = re.compile(r"\((-?\d*\.\d+)(?:–| to )(-?\d*\.\d+)\)")


@pytest.mark.parametrize("folder", [name for name in CARDS if not name.startswith("src/")])
def test_a_card_says_what_it_was_measured_on(folder):
    """Not the parser's, whose digest covers its card: that is left as it was measured."""
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    heads = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    for head in MEASURED:
        found = [name for name in heads if name.startswith(head)]
        assert len(found) == 1, head


@pytest.mark.parametrize("folder", CARDS)
def test_no_interval_of_a_card_is_a_point(folder):
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    assert [found[0] for found in _INTERVAL.finditer(text) if found[1] == found[2]] == []


def test_a_point_is_found():
    points = [found[1] == found[2] for found in _INTERVAL.finditer("1.000 (1.000–1.000), (.1–.2)")]
    assert points == [True, False]
