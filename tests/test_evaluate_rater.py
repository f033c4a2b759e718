"""The rater's evaluation on raters whose quality is known by construction."""

from __future__ import annotations

import numpy as np
import pytest

from revise_captions.picturebook.captioners import CAPTIONERS
from revise_captions.pipelines.evaluate_rater import Judged, as_markdown, figures


def captions(noise: float, images: int = 60) -> list[Judged]:
    """The fourteen captioners; the critic's P is the truth plus so much Gaussian noise."""
    rng = np.random.default_rng(0)
    made = []
    for image in range(images):
        for captioner in CAPTIONERS:
            count = max(2, round(captioner.sentences))
            factual = rng.random(count) < captioner.correct / 100
            p = np.clip(factual * 0.8 + 0.1 + rng.normal(0, noise, count), 0, 1)
            made.append(
                Judged(
                    captioner.name, f"{image}", 12 * count, p, factual, np.ones(count, dtype=bool)
                )
            )
    return made


def test_a_perfect_rater_agrees_perfectly():
    found = figures(captions(0.0), 0.5)
    for by_kind in found["agreement"].values():
        for figure in by_kind.values():
            assert figure == pytest.approx({"value": 1.0, "low": 1.0, "high": 1.0})
    assert all(scores["rater"] == scores["oracle"] for scores in found["scores"].values())
    assert found["unscored"] == 0


def test_noise_costs_agreement_and_more_images_bring_it_back():
    clean, noisy = (figures(captions(noise), 0.5)["agreement"]["overall"] for noise in (0.1, 3.0))
    assert clean["spearman"]["value"] > noisy["spearman"]["value"]
    assert noisy["spearman"]["low"] < noisy["spearman"]["value"] <= noisy["spearman"]["high"]
    medians = [point["median"] for point in figures(captions(0.5), 0.5)["curve"]]
    assert medians[-1] > medians[0]


def test_padding_with_empty_sentences_changes_the_order_and_leaving_them_out_mends_it():
    found = figures(captions(0.0), 0.5)["disturbed"]
    padded = found["every other captioner pads with 5 empty sentences"]
    assert padded < 0.95
    assert found["the same, empty sentences left out"] == pytest.approx(1.0)
    assert found["a fifth of the sentences unscored"] > 0.9


def test_the_table_prints_every_figure():
    text = as_markdown(figures(captions(0.0, images=12), 0.5))
    assert "| overall | 1.000 (1.000–1.000) | 1.000 (1.000–1.000) |" in text
    assert "| floor: shorter is better | -0." in text
    assert "12 images × 14 captioners" in text
