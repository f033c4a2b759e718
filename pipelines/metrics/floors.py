"""Floors of `captions evaluate-metric`: trivial baselines that a metric has to beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError
from revise_captions.pipelines.metrics.score_table import Scores, digest

#: Scores that need nothing but the captions. Of sentences, the later, the longer, and those with
#: more numbers are held to be worse; of whole captions, the longer is held to be better. The
#: directions are not fitted to anything.
PLAIN = ("floor:length", "floor:position", "floor:digits")
#: Floors that need more, and are named with it.
GIVEN = ("floor:numbers=FILE", "floor:spice-like[=DIR]")


def known_floors() -> tuple[str, ...]:
    from revise_captions.pipelines.metrics.baselines import BASELINES

    return (*PLAIN, *BASELINES, *GIVEN)


def all_floors(examples: Sequence[Example]) -> tuple[list[Scores], dict[str, str]]:
    """All floors that need nothing but the benchmark, and why others are left out."""
    found: list[Scores] = []
    left_out: dict[str, str] = {}
    for name in (n for n in known_floors() if n not in GIVEN):
        try:
            scores = floor(name, examples, Path())
        except UserError as error:
            left_out[name] = str(error)
            continue
        values = {*scores.captions.values(), *scores.sentences.values()} - {None}
        if len(values) > 1:
            found.append(scores)
        elif values:
            left_out[name] = "it gives everything the same score"
        else:
            left_out[name] = next(iter(scores.reasons), "there are no labeled sentences")
    return found, left_out


def floor(given: str, examples: Sequence[Example], folder: Path) -> Scores:
    """Scores of a trivial baseline, from `PLAIN`, `baselines.BASELINES` or `GIVEN`."""
    from revise_captions.pipelines.metrics import baselines

    name, _, argument = given.partition("=")
    if given in PLAIN:
        return _plain(given, examples)
    if given in baselines.BASELINES:
        captions, source = baselines.baseline(given, examples)
        return _of_floor(given, source, captions, {}, baselines.NO_REFERENCES)
    if name == "floor:numbers" and argument:
        from revise_captions.pipelines.metrics import number_floors

        texts = number_floors.texts_of(examples, Path(argument), folder)
        sentences = number_floors.not_found(examples, texts)
        source = f"{number_floors.READER}, sha256 {digest(Path(argument))}"
        return _of_floor(name, source, {}, sentences, number_floors.NO_TEXT)
    if name == baselines.SPICE_LIKE:
        captions, source = baselines.spice_like(examples, argument)
        return _of_floor(name, source, captions, {}, baselines.NO_REFERENCES)
    raise UserError(f"there is no {given}", hint=f"the floors are: {', '.join(known_floors())}")


def _plain(given: str, examples: Sequence[Example]) -> Scores:
    from revise_captions.pipelines.metrics.number_floors import digits

    length = given == "floor:length"
    if given == "floor:digits":
        return _of_floor(given, "floor", {}, digits(examples), "")
    sentences: dict[tuple[str, int], float | None] = {
        (e.id, k): float(-len(s.span.of(e.caption)) if length else -k)
        for e in examples
        for k, s in enumerate(e.sentences)
    }
    captions: dict[str, float | None] = {}
    if length:
        captions = {e.id: float(len(e.caption.split())) for e in examples}
    scores = _of_floor(given, "floor", captions, sentences, "")
    return scores if length else replace(scores, of_captions=False)


def _of_floor(
    name: str,
    source: str,
    captions: Mapping[str, float | None],
    sentences: Mapping[tuple[str, int], float | None],
    why: str,
) -> Scores:
    missing = sum(v is None for v in (sentences or captions).values())
    reasons = {why: missing} if missing else {}
    return Scores(name, source, captions, sentences, {}, reasons, probabilities=False)
