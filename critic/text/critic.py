"""A critic of what sentences quote, by an OCR: on any image, and on that alone.

A sentence whose quote is refuted is nonfactual, whatever else it says. All others are unscored: a
quote that stands in the image says nothing of the rest of its sentence.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version

import numpy as np
from PIL.Image import Image

from revise_captions.charts.ocr import Pixels, TextLine, faint_text
from revise_captions.critic.by_image import ByImage
from revise_captions.critic.charts.recent import TextSeen, read_text
from revise_captions.critic.checkpoints import GOES_WITH
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.critic.text.checks import (
    SURE,
    Difference,
    ImageText,
    QuoteCheck,
    QuoteOutcome,
    check,
)
from revise_captions.critic.text.quotes import Quote, quotes_in
from revise_captions.critic.text.spotting import (
    Odds,
    letter_odds,
    letter_scores,
    log_likelihoods,
)
from revise_captions.records import Box, Evidence, Fix, Rationale, Span, Unscored, Verdict

#: Changes whenever the same reading could give another answer.
VERSION = "text-4"
#: P(factual) of a sentence with a refuted quote: none of 136 was right on the photographs that the
#: rules were set on (`scripts.research.quoted_text.measure DATA --tuning`), .027 at most.
REFUTED = 0.02
#: It gives no other P(factual), so any threshold above it flags the same sentences.
THRESHOLD = 0.5
#: A text is read where a line that is sure has so much of its box.
COVERED = 0.8
NAME, QUOTED = "text", "quoted text"


class TextCritic:
    """The critic `text`. Made by `load_critic`. Readings are kept while their images live."""

    part = QUOTED

    def __init__(self, threshold: float | None = None) -> None:
        self.threshold = THRESHOLD if threshold is None else threshold
        self.settings: Mapping[str, str] = {
            "critic": VERSION,
            GOES_WITH: "fixes",
            "rapidocr": version("rapidocr"),
        }
        self._seen: ByImage[TextSeen] = ByImage()
        self._spotted: ByImage[tuple[Odds, ...]] = ByImage()

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per text asked about, in input order. Images are read, in threads, where a
        sentence quotes."""
        quoting = {
            id(r.image): r.image for r in requests if any(quotes_in(said) for _, said in r.asked)
        }
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            list(pool.map(self.read, quoting.values()))
        return [[self._judged(r.image, said) for _, said in r.asked] for r in requests]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """What stands in the image in the place of each refuted quote; "" where there is none."""
        return [self._explained(r.image, r.spans[r.index].of(r.text)) for r in requests]

    def checked(self, image: Image, sentence: str) -> list[tuple[Quote, QuoteCheck]]:
        """What a sentence quotes, each decided."""
        quotes = quotes_in(sentence)
        if not quotes:
            return []
        seen = ImageText(*self.read(image), partial(self._odds, image), _likelihoods, _scores)
        return [(quote, check(quote.text, seen, quote.stated)) for quote in quotes]

    def read(self, image: Image) -> TextSeen:
        """What an OCR makes of the image, now or before."""
        found = self._seen.get(image)
        return self._seen.put(image, read_text(image)) if found is None else found

    def _odds(self, image: Image) -> tuple[Odds, ...]:
        """Of the letters of all lines, and of whatever else looks like text, either way up."""
        found = self._spotted.get(image)
        if found is None:
            lines = [line for part in self.read(image) for line in part]
            crops = [line.crop for line in lines if line.crop is not None]
            sure = [line.box for line in lines if line.score >= SURE]
            faint = faint_text(np.asarray(image.convert("RGB")))
            crops += [crop for box, crop in faint if not any(_covers(one, box) for one in sure)]
            found = tuple(letter_odds(view) for crop in crops for view in _views(crop))
        return self._spotted.put(image, found)

    def _judged(self, image: Image, sentence: str) -> Verdict:
        outcomes = [one.outcome for _, one in self.checked(image, sentence)]
        if not outcomes:
            return Verdict(None, Unscored.NO_QUOTE)
        if QuoteOutcome.REFUTED in outcomes:
            return Verdict(REFUTED, by=NAME)
        if QuoteOutcome.BORNE_OUT in outcomes:
            return Verdict(None, Unscored.TEXT_BORNE_OUT, by=NAME)
        return Verdict(None, Unscored.UNREADABLE_TEXT, by=NAME)

    def _explained(self, image: Image, sentence: str) -> Rationale:
        said, fixes = [], []
        for quote, found in self.checked(image, sentence):
            if found.outcome is not QuoteOutcome.REFUTED:
                continue
            own = [fix_of(quote, one) for one in found.differences]
            fixes += own
            said += [
                f"The text in the image reads “{fix.right}”, not “{fix.span.of(sentence)}”."
                for fix in own
            ] or [f"Nothing in the image reads “{quote.text}”."]
        return Rationale(" ".join(said), tuple(fixes))


def _views(crop: Pixels) -> list[Pixels]:
    """A crop in the ways in which it may be read: pictures, and what is on them, hang upside down,
    and a high crop is text that runs up or down."""
    turns = [0, 2]
    if crop.shape[0] > crop.shape[1]:
        turns += [1, 3]
    return [np.ascontiguousarray(np.rot90(crop, turn)) for turn in turns]


def _covers(box: Box, other: Box) -> bool:
    """Whether a box has nearly all of another one."""
    width, height = (min(box[k + 2], other[k + 2]) - max(box[k], other[k]) for k in (0, 1))
    area = (other[2] - other[0]) * (other[3] - other[1])
    return width > 0 and height > 0 and width * height >= COVERED * area


def _likelihoods(line: TextLine, texts: Sequence[str]) -> list[float]:
    assert line.crop is not None
    return log_likelihoods(line.crop, texts)


def _scores(line: TextLine) -> Sequence[float]:
    return () if line.crop is None else letter_scores(line.crop, line.text)


def fix_of(quote: Quote, one: Difference) -> Fix:
    """A difference as a fix of the quote's sentence."""
    start = quote.span.start
    span = Span(start + one.span.start, start + one.span.end)
    evidence = (Evidence(one.box, one.right),)
    return Fix(span, one.right, QUOTED, one.clear, "read in the image", evidence)
