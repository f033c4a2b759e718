"""Settings by group, as options of the command line and under the names that cards store."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from finetuning import FINETUNE as main

from revise_captions.command_line.options import grouped, option_name
from revise_captions.critic.checkpoints import read_card
from revise_captions.critic.paligemma.load import BUNDLED
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.presets import PRESETS

#: What cards called settings that have been renamed since.
RENAMED = {
    "asides": "auxiliary_sentences",
    "recolour_share": "recolor_share",
    "trace_weight": "error_onset_weight",
    "regime": "attention_mode",
    "change_regime": "change_attention_mode",
    "tensorboard": "log_with",
    "validate_minutes": "validate_time",
}


def test_every_option_has_a_name_of_its_own_and_help():
    items = [item for _, item in grouped(TrainingSettings)]
    names = [option_name(item) for item in items]
    assert len(set(names)) == len(names) > 50
    assert all(
        item.metadata["help"].endswith(".") or "…" in item.metadata["help"] for item in items
    )


def test_options_are_changed_by_name_and_given_back_by_name():
    settings = TrainingSettings().with_options(steps=7, lora_rank=4, seed=3)
    assert (settings.limits.steps, settings.lora.rank, settings.seed) == (7, 4, 3)
    changed = {k: v for k, v in settings.options().items() if v != TrainingSettings().options()[k]}
    assert changed == {"steps": 7, "lora_rank": 4, "seed": 3}
    assert json.loads(json.dumps(settings.options()))["attention_mode"] == "image-prefix"
    with pytest.raises(KeyError, match="step_count"):
        settings.with_options(step_count=1)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_options(name):
    found = TrainingSettings().with_options(**PRESETS[name]).options()
    assert {key: found[key] for key in PRESETS[name]} == PRESETS[name]


def test_settings_that_the_bundled_critic_stored_are_still_options():
    stored = {RENAMED.get(name, name) for name in read_card(BUNDLED).training}
    later = {"replay", "replay_share", "new_words", "workers"}
    assert TrainingSettings().options().keys() - later <= stored


def test_research_options_are_shown_on_request_only():
    short, long = (
        CliRunner().invoke(main, [flag], catch_exceptions=False).output
        for flag in ("--help", "--help-research")
    )
    for flag in ("--tower-minutes", "--describe-early", "--recolor-share", "--error-onset-weight"):
        assert flag not in short
        assert flag in long
    for flag in ("--learning-rate", "--lora-rank", "--held-out"):
        assert flag in short
        assert flag in long
