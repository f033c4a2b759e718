"""Families of vision–language models whose processors need nothing but Pillow."""

from __future__ import annotations

import every_family
import pytest
import tinyvlm


@pytest.mark.parametrize("family", tinyvlm.PLAIN)
def test_answers_are_those_of_transformers(family, tmp_path):
    every_family.check(family, tmp_path / family)
