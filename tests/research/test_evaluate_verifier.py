"""The verifier's evaluation: exact truths of revisions; good metrics win, and bad ones lose.

With the bundled parser, the text checks on revisions made on purpose, by the oracle.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graph_notes import graph

from revise_captions.graphs import parse as parsing
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.pipelines.verify.claims import Change, Slot, check
from revise_captions.pipelines.verify.visual import ComponentAnswer, ComponentQuestion
from revise_captions.posh.components import Part
from revise_captions.records import Span, Verdict
from scripts.research.frame.held_out import held_out
from scripts.research.verifier import evaluate as evaluation
from scripts.research.verifier.revision_variants import (
    Truths,
    Variant,
    made_on_purpose,
    truths_of,
)
from scripts.research.verifier.tables import as_summary, as_text, verdict

PARSER = Path(parsing.__file__).parent / "bundled" / "config.cfg"


@pytest.fixture(scope="module")
def items():
    return [item for item in held_out("test", 16) if 2 <= sum(not f for f in item.factual) <= 4]


@pytest.fixture(scope="module")
def made(items):
    return [v for scene, item in enumerate(items) for v in made_on_purpose(scene, item)]


def of_kind(made, name):
    return [v for v in made if v.name == name]


def test_there_is_enough_to_look_at(items):
    assert len(items) >= 4


def test_truths_of_what_was_made_on_purpose(items, made):
    for variant in made:
        found = truths_of(items[variant.scene], variant.change)
        if variant.name == "perfect":
            assert (found.truer, found.kept) == (1, 1)
        if variant.name == "unchanged":
            sentences = items[variant.scene].sentences
            claims = [s.truth is Truth.TRUE for s in sentences if s.assessable]
            assert found.kept == 1
            assert found.better == pytest.approx(sum(claims) / len(claims))
        if variant.name == "everything deleted":
            assert (found, variant.change.after) == (Truths(0, 0, 0), "")
        if variant.name in ("perfect, true ones spoilt", "perfect, true ones deleted"):
            assert found.kept < 1


def test_only_wrong_sentences_are_flagged(items, made):
    for variant in made:
        sentences = items[variant.scene].sentences
        wrong = [s.truth is Truth.FALSE for s in sentences]
        assert [slot.flagged for slot in variant.change.slots] == wrong
        assert all(slot.rationale for slot in variant.change.slots if slot.flagged)


def test_an_edit_is_right_where_what_went_was_false_and_what_came_is_true(items):
    """In a scene with a house and no dog, say: the kinds are taken from the scene."""
    item = items[0]
    kinds = {thing.kind for thing in item.scene.things}
    there = next(kind for kind in ("house", "tree", "girl", "boy", "dog", "cat") if kind in kinds)
    missing = next(kind for kind in ("horse", "bus", "cow") if kind not in kinds)

    def edits(before: str, after: str) -> list[float | None]:
        texts = {text: f"A {text}." for text in (before, after)}
        graphs = {t: graph(t, {name: [name]}) for name, t in texts.items()}
        slots = (Slot(s := next(iter(graphs.values())).objects[0].span, s, True),)
        change = Change(texts[before], texts[after], slots)
        return evaluation.right_edits([item], [Variant(0, "", change)], graphs)

    assert edits(missing, there) == [1]
    assert edits(there, missing) == [0]
    assert edits(there, there) == [None]


def test_the_critic_on_components_is_held_against_the_oracle(items):
    """A critic that holds everything true: right as often as questions are true, AUC one half."""
    item = items[0]
    kinds = [thing.kind for thing in item.scene.things]
    there = next(k for k in ("house", "tree", "girl", "boy", "dog", "cat") if k in kinds)
    nouns = (there, "horse", "scent")  # true, false, and nothing the oracle can read
    seen = tuple(
        ComponentAnswer(
            ComponentQuestion(f"There is a {noun}.", Part.OBJECT, noun, Span(0, 1)),
            Verdict(0.9),
            True,
        )
        for noun in nouns
    )
    nowhere = Change("", "", ())
    revised = [Variant(0, "a", nowhere), Variant(0, "b", nowhere)]  # asked twice, counts once
    found = evaluation.components([item], revised, [seen, seen])
    row = {"asked": 3, "readable": 2, "true": 0.5, "accuracy": 0.5, "roc_auc": 0.5}
    assert found == {"object": row}


def test_good_metrics_beat_the_baselines_and_bad_ones_do_not():
    """One metric is the truth with a little noise, one is noise, and one is the length."""
    rng = np.random.default_rng(0)
    scenes = [str(scene) for scene in range(30) for _ in range(6)]
    level = np.repeat(rng.normal(size=30), 6)
    truth = rng.uniform(size=180) + level
    words = rng.uniform(size=180) + 0.5 * truth
    scores = {
        "visual": truth + 0.1 * rng.normal(size=180),
        "posh mistakes": rng.normal(size=180),
        "preservation": words * 2,
        "words": words,
        "share of words deleted": rng.uniform(size=180),
    }
    listed = {name: list(values) for name, values in scores.items()}
    listed["visual"][0] = None
    tested = ("visual", "posh mistakes", "preservation")
    found = evaluation.agreement(listed, list(truth), scenes, tested, replicates=100)
    assert found["visual"]["rows"] == 179
    assert found["visual"]["within"]["rho"] > 0.85
    assert verdict(found["visual"]).startswith("beats words")
    assert verdict(found["posh mistakes"]).startswith("LOSES TO words")
    assert verdict(found["preservation"]).startswith("level with words")
    assert verdict(found["words"]) == ""
    low, high = (found["visual"]["within"][end] for end in ("low", "high"))
    assert low < found["visual"]["within"]["rho"] < high


def test_within_scenes_is_without_the_scenes_own_level():
    values = np.array([1.0, 3.0, 10.0, 10.0, 13.0])
    assert evaluation.centered(values, list("aabbb")).tolist() == [-1, 1, -1, -1, 2]


def test_a_metric_that_says_nothing_has_no_figure(items, made):
    """All revisions equal: no correlation, no verdict, and the tables print."""
    names = (*evaluation.MEANT_FOR, *evaluation.BASELINES)
    scores = {name: [0.5] * len(made) for name in names}
    found = evaluation.evaluate(items, made, scores, [0.5] * len(made), replicates=50)
    assert found["revisions"]["all"] == len(made)
    row = found["agreement"]["all"]["kept"]["preservation"]
    assert row["within"]["rho"] is None
    text = as_text(found)
    assert text.startswith(as_summary(found) + "\n\n")
    assert "preservation             none" in text
    assert max(map(len, text.splitlines())) <= 140
    assert "everything deleted" in text


# --- With the bundled parser --------------------------------------------------------------------


@pytest.mark.skipif(not PARSER.exists(), reason="there is no bundled parser")
def test_text_checks_tell_good_revisions_from_bad_ones(made):
    graphs = evaluation.graphs_of(made)
    found = {}
    for name in dict.fromkeys(v.name for v in made):
        checks = [
            check(v.change, graphs[v.change.before], graphs[v.change.after], graphs)
            for v in of_kind(made, name)
        ]
        free, changed = sum(c.free for c in checks), sum(c.changed for c in checks)
        kept, named = sum(c.kept for c in checks), sum(c.named for c in checks)
        found[name] = (kept / free, named / changed if changed else None)
    assert found["unchanged"] == (1, None)
    assert found["perfect"][0] > 0.97
    assert found["perfect"][1] > 0.8
    for name in ("perfect, true ones deleted", "perfect, true ones spoilt", "all but one deleted"):
        assert found[name][0] < found["perfect"][0] - 0.2
    for name in ("wrong ones deleted", "other errors put in", "something else, but true"):
        assert found[name][1] < found["perfect"][1] - 0.2
    assert found["everything deleted"][0] == 0
