"""What is known of the errors of the critic of charts, and of whom it holds."""

from __future__ import annotations

import json

import pytest

from revise_captions.critic.charts.card import ChartCard, read_cards, with_card
from revise_captions.critic.charts.critic import ChartCritic
from revise_captions.critic.known_errors import known_errors
from revise_captions.reviser.fixes import FixReviser

CRITIC = ChartCritic()
SETTINGS = {**CRITIC.settings, **FixReviser().settings, "threshold": f"{CRITIC.threshold:.4f}"}


def test_the_card_is_that_of_the_critic_that_ships():
    """Otherwise: `python -m scripts.research.chart_critic.read_rewrites … --write`."""
    assert any(card.is_of(CRITIC.settings) for card in read_cards())


def test_its_errors_are_known_at_its_threshold_and_its_rewrites_with_its_reviser():
    rates = known_errors(SETTINGS, "charts")
    assert rates is not None
    assert rates.true_kept.share > 0.6 > rates.wrong_kept.share
    assert rates.true_kept.sentences > 500 < rates.wrong_kept.sentences
    assert rates.rewrites_true is not None
    assert rates.rewrites_true.share > 0.85
    assert "CHOCOLATE" in rates.origin
    other = known_errors({**SETTINGS, "reviser": "drop"}, "charts")
    assert other is not None
    assert other.rewrites_true is None


@pytest.mark.parametrize("key", ["critic", "prompt", "language", "clauses"])
def test_a_card_is_of_one_critic_alone(key):
    assert known_errors({**SETTINGS, key: "another"}, "charts") is None


def test_a_card_holds_in_whatever_format_the_language_model_computes():
    card = ChartCard({"critic": "c", "language": "smollm2+1/bfloat16"}, {}, {}, "")
    assert card.is_of({"critic": "c", "language": "smollm2+1/float32"})
    assert not card.is_of({"critic": "c", "language": "smollm2+2/bfloat16"})
    assert not card.is_of({"critic": "c", "language": "none"})


def test_a_card_takes_the_place_of_an_older_one(tmp_path):
    def card(language: str, origin: str) -> ChartCard:
        return ChartCard({"critic": "c", "language": language}, {}, {"p": []}, origin)

    path = tmp_path / "cards.json"
    assert read_cards(path) == ()
    for new in (card("none", "a"), card("smol/1", "b"), card("smol/2", "c"), card("none", "d")):
        path.write_text(with_card(read_cards(path), new))
    assert [one.origin for one in read_cards(path)] == ["d", "c"]
    assert len(json.loads(path.read_text())) == 2
