"""Of rows that may have no image, one stray image asks none of the others."""

from __future__ import annotations

import pytest

from revise_captions.io.fields import Fields, recognize

PAIR = {"candidate": "A cat."}
SHOWN = {"candidate": "A dog.", "image": "dog.png"}


@pytest.mark.parametrize(
    ("rows", "field"),
    [([PAIR, PAIR, SHOWN], None), ([PAIR, SHOWN, SHOWN], "image"), ([PAIR, PAIR], None)],
)
def test_a_stray_image_where_none_is_needed(rows: list[dict[str, str]], field: str | None) -> None:
    assert recognize(rows, Fields(), need_image=False).image == field


def test_a_stray_image_where_one_is_needed() -> None:
    assert recognize([PAIR, PAIR, SHOWN], Fields()).image == "image"


def test_a_named_field_is_kept() -> None:
    assert recognize([PAIR, PAIR, SHOWN], Fields("image"), need_image=False).image == "image"
