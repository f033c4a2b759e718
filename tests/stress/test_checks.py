"""The ten checks: each does what it says, with the same seed always the same."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from revise_captions.metrics import MetricInput, StoredImage
from revise_captions.pipelines.stress.checks import (
    CHECKS,
    IRRELEVANT,
    Continuations,
    first_half,
)
from revise_captions.pipelines.stress.frankenstein import OBJECTS, SIZE, Frankenstein
from revise_captions.pipelines.stress.items import StressItem
from revise_captions.pipelines.stress.replacements import with_errors, with_other_names
from revise_captions.records import ImageRef

TEXTS = (
    "A young man in a red shirt stands in Paris in May 1995.",
    "Two dogs sleep on a sofa",
    "A map of the river.",
    "This is Don Hutchison.",
)
WRITTEN = Continuations(
    dict.fromkeys(TEXTS, "It was a sunny day."), dict.fromkeys(TEXTS, "and so on"), "m@1"
)
BY_NAME = {check.name: check for check in CHECKS}


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    found = []
    for k, text in enumerate(TEXTS):
        name = f"{k // 2}.png"  # two descriptions of each image
        Image.new("RGB", (60 + k, 40), (10 * k, 99, 99)).save(folder / name)
        image = StoredImage(ImageRef(path=name), folder)
        given = MetricInput(text, image, f"Page {k}.", ("A reference.",))
        found.append(StressItem(str(k), name, given))
    return found


def changed(name, items, seed=0, written=WRITTEN):
    return BY_NAME[name].change(items, seed, written)


def test_there_are_the_papers_ten_with_a_direction_and_a_purpose():
    assert len(BY_NAME) == len(CHECKS) == 10
    assert all(check.expected.startswith("lower: ") and check.unfit for check in CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_is_a_pure_function_of_items_and_seed(check, items):
    before = list(items)
    assert check.change(items, 3, WRITTEN) == check.change(items, 3, WRITTEN)
    assert items == before


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_changes_one_thing(check, items):
    changes = {
        "shuffled contexts": {"context"},
        "Frankenstein images": {"image"},
    }.get(check.name, {"text"})
    seen = 0
    for item, given in zip(items, check.change(items, 0, WRITTEN), strict=True):
        if given is None:
            continue
        seen += 1
        names = ("text", "image", "context", "references")
        differs = {n for n in names if getattr(given, n) != getattr(item.given, n)}
        assert differs == changes
    assert seen >= 2


def test_other_items_do_not_change_an_items_random_choices(items):
    """But for the shuffles, which draw from all of them."""
    for check in CHECKS:
        if check.name not in ("shuffled descriptions", "shuffled contexts"):
            alone = check.change(items[:1], 0, WRITTEN)
            assert alone[0] == check.change(items, 0, WRITTEN)[0]


def test_shuffled_descriptions_are_those_of_another_image(items):
    for item, given in zip(items, changed("shuffled descriptions", items), strict=True):
        owner = next(other for other in items if other.given.text == given.text)
        assert owner.image != item.image
    assert changed("shuffled descriptions", items[:2]) == [None, None]  # there is no other image


def test_a_missing_context_is_neither_shuffled_nor_dealt_out(items):
    bare = [StressItem("x", "9.png", MetricInput("A tree.")), *items]
    found = changed("shuffled contexts", bare)
    assert found[0] is None
    assert all(given.context.startswith("Page ") for given in found[1:])


def test_shuffled_words_are_the_same_words_in_another_order(items):
    for item, given in zip(items, changed("shuffled words", items), strict=True):
        assert Counter(given.text.split()) == Counter(item.given.text.split())
        assert given.text != item.given.text
    same = [StressItem("y", "y.png", MetricInput("dog dog dog"))]
    assert changed("shuffled words", same) == [None]


def test_names_and_dates_are_replaced():
    rng = random.Random(0)
    found = with_other_names("A man stands in Paris in May 1995. Paris is nice.", rng)
    assert "Paris" not in found
    assert "May" not in found
    assert "1995" not in found
    assert found.startswith("A man stands in ")
    first = found.removeprefix("A man stands in ").partition(" in ")[0]
    assert found.endswith(f". {first} is nice.")  # the same name everywhere
    assert with_other_names("The cat sleeps. It is gray.", rng) == "The cat sleeps. It is gray."
    assert "Hutchison" not in with_other_names("This is Don Hutchison.", rng)


def test_colors_clothes_ages_and_counts_become_others():
    for seed in range(20):
        found = with_errors("A red shirt, a Red hat and two boys.", random.Random(seed))
        assert not {"red", "Red", "shirt", "hat", "two", "boys."} & set(found.split())
        assert with_errors("A map of the river.", random.Random(seed)) == "A map of the river."
        assert " a orange" not in with_errors("He has a blue bag.", random.Random(seed))


def test_an_object_is_pasted_somewhere_and_the_rest_stays(items):
    before = np.asarray(items[0].given.image.load(), dtype=int)
    places = set()
    for seed in range(8):
        franken = Frankenstein(items[0].given.image, seed)
        after = np.asarray(franken.load(), dtype=int)
        assert after.shape == before.shape
        rows, columns = np.nonzero((after != before).any(-1))
        side = round(SIZE * 40)
        assert 0 < np.ptp(rows) < side
        assert 0 < np.ptp(columns) < side
        places.add((rows.min(), columns.min()))
        assert franken.key != items[0].given.image.key
        assert (np.asarray(franken.load(), dtype=int) == after).all()
    assert len(places) > 4
    assert len(OBJECTS) == 4


def test_descriptions_of_one_image_share_its_frankenstein_image(items):
    keys = [given.image.key for given in changed("Frankenstein images", items)]
    assert keys[0] == keys[1] != keys[2] == keys[3]


def test_sentences_are_added_to_sentences(items):
    padded = changed("irrelevant final sentence", items)[1].text
    assert padded.startswith("Two dogs sleep on a sofa. ")
    assert padded.removeprefix("Two dogs sleep on a sofa. ") in IRRELEVANT
    again = changed("exact repetition", items)[1].text
    assert again == "Two dogs sleep on a sofa. Two dogs sleep on a sofa"
    assert len(set(IRRELEVANT)) == 10


def test_continuations_continue(items):
    assert changed("long continuation", items)[1].text.endswith("a sofa. It was a sunny day.")
    assert changed("short continuation", items)[1].text == "Two dogs sleep and so on"
    assert changed("long continuation", items, written=None) == [None] * 4
    assert first_half("one") == "one"
