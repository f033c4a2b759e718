"""Numbers as people read them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from revise_captions.stats.leaderboard import permutation_tests
from revise_captions.text.formatting import p_value

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("p", "permutations", "said"),
    [
        (1 / 500, 499, "p < 0.002"),
        (2 / 500, 499, "p = 0.004"),
        (1 / 1001, 1000, "p < 0.001"),
        (2 / 1001, 1000, "p = 0.002"),
        (1 / 1201, 1200, "p < 0.0009"),
        (1 / 10_001, 10_000, "p < 0.0001"),
        (3 / 10_001, 10_000, "p = 0.0003"),
        (1 / 100, 99, "p < 0.010"),
        (1 / 10, 9, "p < 0.100"),
        (0.0499, 999, "p = 0.050"),
        (0.05, 999, "p = 0.05"),
        (0.756, 999, "p = 0.76"),
        (1.0, 999, "p = 1.00"),
    ],
)
def test_p_is_never_smaller_than_its_permutations_can_tell(p, permutations, said):
    assert p_value(p, 1 / (permutations + 1)) == said


@pytest.mark.parametrize("permutations", [19, 99, 499, 1000, 1234, 10_000])
def test_a_printed_p_is_at_least_the_resolution(permutations):
    right, wrong = np.stack([np.ones(40), np.zeros(40)]), np.ones((2, 40))
    p = float(permutation_tests(right, wrong, replicates=permutations)[0, 1])
    for reached in (1, 2, 3, 7):
        said = p_value(min(1.0, reached * p), 1 / (permutations + 1))
        assert float(said.split()[-1]) >= 1 / (permutations + 1)
        assert said.startswith("p < ") == (reached == 1)


def test_one_function_prints_p():
    """Templates and modules that print a p-value take it from there."""
    sources = ("src", "pipelines", "critic", "finetune", "scripts")
    written = re.compile(r"\bp [=<] ?\{|\(p \{|%\.\df.*\bp\b.*format\(p\)")
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in sources
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".j2") and written.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["src/revise_captions/text/formatting.py"]
