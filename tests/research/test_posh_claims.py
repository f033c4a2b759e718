"""Claims against captions and boxes: hand-made cases, and FaithScore's facts if they are here."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("spacy")

from revise_captions.graphs.graph import Attribute, AttributeKind, Graph, Object
from revise_captions.graphs.parse import parse
from revise_captions.posh.components import components
from revise_captions.posh.judge import Grade
from revise_captions.records import Span
from scripts.research.posh import boxes, claims, contradictions, unmentioned_prior
from scripts.research.posh.boxes import Box
from scripts.research.posh.claims import ImageClaim, check_claims

DOGS = (Box("dog", 0.0, 0.5, 0.3, 0.9), Box("dog", 0.1, 0.5, 0.4, 0.9))
FAR = Box("dog", 0.3, 0.5, 0.32, 0.55)  # 0.1 % of the picture
CAPTIONS = ("A man stands next to a bicycle.", "Two dogs beside a black and white bicycle.")


def graph(text: str) -> Graph:
    return next(iter(parse([text]))).present()


def held(text: str, found: tuple[Box, ...] = (*DOGS, Box("couch", 0.6, 0.5, 0.9, 0.9))):
    said = frozenset[str]().union(*map(claims.stems, CAPTIONS))
    return list(boxes.against(graph(text), found, said))


def test_boxes_become_a_text():
    several = [Box("dog", 0, 0, 1, 1), *[Box("bus", 0, 0, 1, 1)] * 2, *[Box("car", 0, 0, 1, 1)] * 3]
    assert boxes.as_text(several) == "There is a dog. There are two buses. There are three cars."


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("dogs", "dog"),
        ("sofa", "couch"),
        ("parking meters", "parking meter"),
        ("cell phone", "cell phone"),
        ("hot dog", "hot dog"),
        ("woman", "person"),
        ("football players", "person"),
        ("flower bed", ""),
        ("tree", ""),
        ("dog house", ""),
    ],
)
def test_things_have_categories(name, found):
    assert boxes.category(name) == found


@pytest.mark.parametrize(
    ("text", "against"),
    [
        ("There is a dog.", []),
        ("There is a sofa.", []),
        ("There is a kite.", ["no kite among the boxes"]),
        ("There is a bike.", []),  # no box, but captions name it
        ("There is a woman.", []),  # captions name a person
        ("There is a tree.", []),  # no category: nobody knows
        ("There is a potted plant.", ["no potted plant among the boxes"]),
        ("There are two dogs.", []),
        ("There are three dogs.", ["three dogs, and 2 among the boxes"]),
        ("There are two other dogs.", ["two other dogs, and 2 among the boxes"]),
        ("The dogs are on the left side.", []),
        (
            "The dogs are on the right side.",
            ["dogs on the right, and every box of one in the other half"],
        ),
    ],
)
def test_boxes_are_complete_for_their_categories(text, against):
    assert held(text) == against


def test_without_boxes_nothing_is_held_against_a_claim():
    assert held("There are three kites.", ()) == []


def test_small_things_may_be_left_out_of_a_count():
    assert held("There are two dogs.", (*DOGS, FAR)) == []
    assert held("There are three dogs.", (*DOGS, FAR)) == []
    clear = Box("dog", 0.5, 0.5, 0.8, 0.9)
    assert held("There are two dogs.", (*DOGS, clear)) == [
        "two dogs, and 3 clear ones among the boxes"
    ]
    assert held("There are at least two dogs.", (*DOGS, clear)) == []


def test_a_crowd_is_not_counted():
    assert held("There are 20 dogs.", DOGS * 5) == []
    assert held("There are 20 dogs.", DOGS * 4) == ["20 dogs, and 8 among the boxes"]


def test_hands_are_somebodys():
    said = claims.stems("A box of donuts.")
    found = [Box("donut", 0, 0, 1, 1)]
    assert list(boxes.against(graph("There is a hand."), found, said)) == [
        "hand, and no person among the boxes"
    ]
    assert list(boxes.against(graph("There is a head."), found, said)) == []  # a dog's, perhaps


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("A boy stands on a bicycle.", True),
        ("A boy stands beside a bicycle.", False),
        ("A boy holds a bicycle.", False),
        ("A dog stands on a bicycle.", True),
        ("A cat stands on a bicycle.", False),  # no caption says where a cat is
        ("The bicycle is blue.", True),
        ("The bicycle is white.", False),
        ("The bicycle is gray and black.", False),
        ("The dog is blue.", False),
        ("There are three dogs.", True),
        ("There are two dogs.", False),
    ],
)
def test_captions_contradict(text, odd):
    told = [graph(caption) for caption in ("Two dogs.", *CAPTIONS)]
    assert bool(list(contradictions.against(graph(text), told))) is odd


def test_shades_of_one_colour_are_not_at_odds():
    told = [graph("A silver car.")]
    assert not list(contradictions.against(graph("The car is grey."), told))
    assert list(contradictions.against(graph("The car is green."), told))


def thing(name: str) -> Object:
    return Object(name, name, Span(0, 1), (Span(0, 1),))


def test_silence_says_less_of_the_background():
    order = [
        unmentioned_prior.of_object(thing(n)) for n in ("object", "trees", "neck", "shirt", "ramp")
    ]
    assert order == sorted(order, reverse=True)
    assert len(set(order)) == 5
    red = Attribute(0, "dark red", Span(0, 1))
    left = Attribute(0, "on the left", Span(0, 1), AttributeKind.PLACE)
    assert (
        unmentioned_prior.of_attribute(left)
        < unmentioned_prior.of_attribute(red)
        < unmentioned_prior.QUALITY
    )


class Known:
    """5 for components with a caption's words only, 1 for others; nothing for cats."""

    def __init__(self):
        self.settings = {"judge": "known"}

    def grade(self, tasks):
        return [
            tuple(self._grade(task, part) for part in components(task.source)) for task in tasks
        ]

    def _grade(self, task, part):
        words = claims.stems(part.phrase(task.source))
        if "cat" in words:
            return Grade(None, "no answer")
        told = frozenset().union(*(claims.stems(t.text) for t in task.targets))
        return Grade(5.0 if words <= told else 1.0)


def scores(*texts: str, boxes=()):
    found = check_claims([ImageClaim(text, CAPTIONS, boxes) for text in texts], Known())
    return [item.score for item in found]


def test_described_is_above_silence_is_above_contradicted():
    described, background, silent, odd = scores(
        "There is a bicycle.",
        "There is a wall.",
        "There is a ramp.",
        "There is a kite.",
        boxes=DOGS,
    )
    assert described == 1.0
    assert described > background > silent > odd
    assert silent == pytest.approx((unmentioned_prior.THING + 0 + 1) / 3)


def test_more_silent_claims_are_less_likely():
    one, two = scores("There is a ramp.", "The ramp is wooden.")
    assert two < one


def test_a_word_that_claims_nothing_needs_no_support():
    (found,) = check_claims([ImageClaim("There is something in the image.", CAPTIONS)], Known())
    assert found.words == claims.OPEN
    assert not found.against


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("A bicycle.", 1),
        ("A bike.", 1),
        ("A person.", 1),
        ("People on bikes.", 1),
        ("An animal.", 1),  # two dogs
        ("A woman.", 0),
        ("A cat.", 0),
        ("A cat on a bike.", 0.5),
    ],
)
def test_a_word_is_known_by_what_implies_it(text, share):
    (found,) = check_claims([ImageClaim(text, CAPTIONS)], Known())
    assert found.words == share


def test_what_the_judge_does_not_grade_is_open():
    assert scores("There is a cat.") == [pytest.approx((unmentioned_prior.THING + 0 + 1) / 3)]


def test_left_and_right_are_the_boxes_to_tell():
    left, right, nobody = check_claims(
        [
            ImageClaim("The dog is on the left.", ("A dog.",), DOGS),
            ImageClaim("The dog is on the right.", ("A dog.",), DOGS),
            ImageClaim("The dog is on the left.", ("A dog.",)),
        ],
        Known(),
    )
    assert left.described == 1.0
    assert right.against
    assert not nobody.against
    assert nobody.described == pytest.approx(unmentioned_prior.SIDE)


def test_no_claims_have_no_answers():
    assert check_claims([], Known()) == []


DATA = Path(__file__).parents[3] / "shared/data/faithscore"


@pytest.mark.skipif(not DATA.exists(), reason="FaithScore's annotations are not here")
def test_faithscores_facts_are_read_whole():
    from scripts.research.posh.facts import faithscore

    items, found = faithscore(DATA)
    assert [item.text for item in items] == [claim.text for claim in found]
    assert len({item.image for item in items}) == 14
    assert sum(item.values[0] for item in items) == 531
    assert len(items) == 653
    assert all(len(claim.captions) == 5 and claim.boxes for claim in found)
