"""The simulation behind docs/calibration.md, on a pool whose truth is drawn here."""

from __future__ import annotations

import json

import numpy as np
import pytest

from scripts.research.calibration import coverage


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """A critic that passes .2 of the wrong and .95 of the true; of its rewrites .8 are true."""
    rng = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("pool")
    rows = []
    for number in range(600):
        sentences = []
        for _ in range(6):
            true = bool(rng.random() < 0.7)
            said = bool(rng.random() < (0.95 if true else 0.2))
            accepted = not said and bool(rng.random() < 0.8)
            sentences.append(
                {
                    "p": 0.9 if said else 0.1,
                    "true": true,
                    "accepted": accepted,
                    "p_after": 0.9 if said or accepted else 0.1,
                    "true_after": bool(rng.random() < 0.8) if accepted else true,
                }
            )
        rows.append({"captioner": "abc"[number % 3], "sentences": sentences})
    (folder / "fates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    about = {"signature": "critic:scripted|threshold:0.5000|revise-captions:0"}
    (folder / "data.json").write_text(json.dumps(about))
    return coverage.read([folder])


def test_corrected_intervals_cover_and_the_critics_own_do_not(pool):
    every = range(len(pool.captions))
    found = coverage.trials(pool, coverage.Draw("", every, every, 150, 150), 100)
    assert found["corrected before"]["coverage"] >= 0.90
    assert found["corrected after"]["coverage"] >= 0.90
    assert abs(found["corrected before"]["error"]) < 0.02
    assert abs(found["corrected after"]["error"]) < 0.02
    assert found["critic after"]["coverage"] < 0.05
    without = coverage.Draw("", every, every, 150, 150, rewrites=False)
    bounds = coverage.trials(pool, without, 30)["corrected after"]
    assert bounds["coverage"] == 1
    assert np.isnan(bounds["error"])


def test_the_table_says_what_was_drawn(pool):
    one = coverage.Draw("a draw", range(600), range(600), 50, 50)
    text = coverage.table(pool, {one.name: coverage.trials(pool, one, 10)}, 10)
    assert "| a draw | " in text
    assert "drawn from 600 captions" in text
    best, worst = pool.by_quality()
    assert len(best) == len(worst) == 200
