"""From captions to scores: matching offline, units made by hand, ensembles, the registry."""

from __future__ import annotations

import pytest
from PIL import Image

from revise_captions.dcscore.decomposers.graph import NOT_ENGLISH, GraphDecomposer
from revise_captions.dcscore.metric import load
from revise_captions.dcscore.offline_matcher import OfflineMatcher
from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask, by_hand
from revise_captions.dcscore.units import Decomposition, UnitVerdict, VerifyTask
from revise_captions.dcscore.verifiers import DISAGREEMENT, EnsembleVerifier, VotingRule, agreement
from revise_captions.engines.model_spec import Placement
from revise_captions.metrics.protocol import MetricInput
from revise_captions.metrics.registry import MetricOptions, scored
from revise_captions.text.sentence_encoder import load_encoder

REFERENCE = "A small brown dog sits to the left of a blue house. There are no people."


class Says:
    """A verifier that answers each unit from a table, by default yes."""

    def __init__(self, **answers: float | None) -> None:
        self.answers = answers
        self.settings = {"verifier": "scripted"}

    def verify(self, tasks):
        return [tuple(map(self.one, task.caption.units)) for task in tasks]

    def one(self, unit):
        p = next((p for word, p in self.answers.items() if word in unit.text), 0.9)
        if p is None:
            return UnitVerdict(None, unscored="no answer")
        return UnitVerdict(p >= 0.5, p)


@pytest.fixture(scope="module")
def scorer():
    return CaptionScorer(GraphDecomposer(), OfflineMatcher(load_encoder(device="cpu")), None)


def test_reference_only(scorer):
    caption = "A small brown dog sits to the left of a red house. There are no people."
    (found,) = scorer.score([CaptionTask(caption, references=(REFERENCE,))])
    said = {unit.text: bool(v.correct) for unit, v in zip(found.caption.units, found.verdicts,
                                                        strict=True)}  # fmt: skip
    assert said["There is a small dog."]
    assert said["There is a house."]
    assert said["There are no people."]
    assert not said["There is a red house."]
    missed = {found.reference.units[k].text for k in found.missed}
    assert missed == {"There is a blue house."}
    assert 0 < found.score.value < 1


def test_a_text_matches_itself_and_a_denial_is_no_assertion(scorer):
    same, denied = scorer.score(
        [
            CaptionTask(REFERENCE, references=(REFERENCE,)),
            CaptionTask("There is no dog.", references=(REFERENCE,)),
        ]
    )
    assert same.score.value == 1
    assert denied.score.all.true == 0


def test_units_made_by_hand(scorer):
    units = ("There is a dog.", "The dog is brown.", "The house is blue. ")
    (found,) = scorer.score([CaptionTask("A brown dog.", None, (REFERENCE,), units)])
    assert found.by_hand
    assert [unit.span.of(REFERENCE) for unit in found.reference.units] == [
        "dog",
        "brown dog",
        "blue house",
    ]
    assert found.score.all.references == 3
    assert found.score.all.recall == pytest.approx(2 / 3)


def test_units_without_their_text():
    found = by_hand(["There is a dog.", "It is red."])
    assert found.text == "There is a dog.\nIt is red."
    assert [unit.sentence for unit in found.units] == [0, 1]


def test_what_cannot_be_scored_says_why(scorer):
    foreign, nothing, no_reference, foreign_reference = scorer.score(
        [
            CaptionTask("这是一只狗。", references=(REFERENCE,)),
            CaptionTask("😀", references=(REFERENCE,)),
            CaptionTask("A dog."),
            CaptionTask("A dog.", references=("这是一只狗。",)),
        ]
    )
    assert (foreign.score.value, foreign.why_unscored) == (None, NOT_ENGLISH)
    assert (nothing.score.value, nothing.why_unscored) == (0, "")
    assert "no reference" in no_reference.why_unscored
    assert NOT_ENGLISH in foreign_reference.why_unscored


def test_a_verifier_needs_an_image(scorer):
    with_verifier = CaptionScorer(scorer.decomposer, scorer.matcher, Says(red=0.1))
    image = Image.new("RGB", (8, 8))
    seen, unseen = with_verifier.score(
        [
            CaptionTask("A red dog.", image, (REFERENCE,)),
            CaptionTask("A red dog.", None, (REFERENCE,)),
        ]
    )
    assert [v.correct for v in seen.verdicts] == [False, True]
    assert {v.unscored for v in unseen.verdicts} == {"no image"}
    assert unseen.score.value is None


def test_ensembles(scorer):
    (caption,) = scorer.decomposer.decompose(["A red dog."])
    task = VerifyTask(Image.new("RGB", (8, 8)), caption)

    def asked(vote, *members):
        (found,) = EnsembleVerifier(members, vote).verify([task])
        return dict(zip((unit.text for unit in caption.units), found, strict=True))

    divided = asked(VotingRule.MAJORITY, Says(red=0.1), Says(red=0.6))["There is a red dog."]
    assert (divided.correct, divided.unscored) == (None, DISAGREEMENT)
    mean = asked(VotingRule.MEAN, Says(red=0.1), Says(red=0.6))["There is a red dog."]
    assert (mean.correct, mean.p_correct) == (False, 0.35)
    silent = asked(VotingRule.MAJORITY, Says(red=None), Says(red=0.6))["There is a red dog."]
    assert (silent.correct, silent.votes) == (True, (None, True))
    nobody = asked(VotingRule.MEAN, Says(red=None))["There is a red dog."]
    assert nobody.unscored == "no answer"
    three = asked(VotingRule.MAJORITY, Says(red=0.1), Says(), Says()).values()
    assert agreement(list(three)) == 0.5
    assert agreement([UnitVerdict(True)]) is None


def test_in_the_registry():
    metric = load("", MetricOptions(Placement(device="cpu")))
    close, far, none = scored(
        metric,
        [
            MetricInput("A brown dog sits.", references=(REFERENCE,)),
            MetricInput("A plane flies.", references=(REFERENCE,)),
            MetricInput("A plane flies."),
        ],
    )
    assert close.value > far.value
    assert none.reason == "no references"


def test_empty_decompositions_are_matched_with_nothing(scorer):
    (found,) = scorer.score([CaptionTask("A dog.", references=(REFERENCE,), units=())])
    assert found.why_unscored == "the reference has no units"
    assert scorer.score([]) == []
    assert isinstance(found.reference, Decomposition)
