"""The simulation of vLLM's prefix cache, on prompts whose hits are counted by hand."""

from __future__ import annotations

from scripts.bench.prefix_cache import SentPrompt, SimulatedCache


def prompt(text: str, image: int | None = None, size: int = 0) -> SentPrompt:
    """Letters as tokens, behind `size` tokens of an image."""
    ids = (0,) * size + tuple(map(ord, text))
    return SentPrompt(ids, () if image is None else ((0, size, image),))


def test_full_blocks_that_begin_alike_hit():
    cache = SimulatedCache(4)
    assert cache.hit(prompt("abcdefghij")) == 0
    assert cache.hit(prompt("abcdefgh!!")) == 8
    assert cache.hit(prompt("abcdefgxij")) == 4  # the second block differs in its last token
    assert cache.hit(prompt("xbcdefghij")) == 0  # a block is known by those before it, too
    assert cache.hit(prompt("abcdefghij!!?")) == 8  # the third block was never full
    assert cache.hit(prompt("abcdefghij!!?")) == 12


def test_the_last_token_is_always_computed():
    cache = SimulatedCache(4)
    cache.hit(prompt("abcdefgh"))
    assert cache.hit(prompt("abcdefgh")) == 4
    every = SimulatedCache(1)
    every.hit(prompt("abcdefgh"))
    assert every.hit(prompt("abcdefgh")) == 7


def test_another_image_is_another_prompt():
    cache = SimulatedCache(4)
    assert cache.hit(prompt("ab, c d", image=1, size=6)) == 0
    assert cache.hit(prompt("ab, e f", image=2, size=6)) == 0
    assert cache.hit(prompt("ab, e f", image=1, size=6)) == 8
    assert cache.hit(prompt("ab, e f!", image=2, size=6)) == 12


def test_blocks_of_one_token_are_the_longest_common_start():
    best = SimulatedCache(1)
    best.hit(prompt("abcdefghij"))
    best.hit(prompt("abcxy"))
    assert best.hit(prompt("abcdefg!")) == 7
    assert best.hit(prompt("abcxz")) == 4
