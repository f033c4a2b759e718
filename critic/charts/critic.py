"""A critic of charts: it reads the chart and checks what is claimed.

P(factual) weighs which claims the reading bears out or refutes, numbers that stand nowhere in the
image or beside other words, signs of garbled text (`evidence`), and where it is installed what a
language model makes of the reading (`language`), in the sentence and in the rest of its caption, by
a logistic regression fitted to the world of charts. The rationale is what the chart shows in the
place of the claim that is farthest off.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeVar

from PIL.Image import Image

from revise_captions.charts import Chart
from revise_captions.critic.by_image import ByImage
from revise_captions.critic.charts.context import contexts_of, told, within
from revise_captions.critic.charts.evidence import NAMES, ChartEvidence, gather
from revise_captions.critic.charts.language import AskedCaption, ChartLanguage
from revise_captions.critic.charts.places import NumberPlace, places_of
from revise_captions.critic.charts.rationale import mean_of_others, rationale_of
from revise_captions.critic.charts.recent import Recent, read_text
from revise_captions.critic.charts.weights import (
    WEIGHTS,
    WITH_LANGUAGE,
    EvidenceWeights,
    read_weights,
)
from revise_captions.critic.checkpoints import GOES_WITH
from revise_captions.critic.protocol import Acceptance, ExplainRequest, JudgeRequest
from revise_captions.engines.batches import reported
from revise_captions.engines.smollm2 import INSTALL
from revise_captions.records import Rationale, Span, Unscored, Verdict

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Changes whenever the same reading could give another answer.
VERSION = "charts-16"


@dataclass(frozen=True, slots=True)
class ChartReading:
    """What was read in an image: its charts, its lines of text, and where its numbers stand.

    `is_chart`: whether colors and text are those of a chart (`charts.gate`).
    """

    charts: tuple[Chart, ...]
    lines: tuple[str, ...]
    is_chart: bool = True
    places: tuple[NumberPlace, ...] = ()

    @property
    def readable(self) -> bool:
        """Whether any chart has a value."""
        return any(chart.readable for chart in self.charts)


#: Some kilobytes each.
_RECENT: Recent[ChartReading] = Recent(512)


def read_image(image: Image) -> ChartReading:
    """Reads the charts of an RGB image, unless it was read lately.

    Raises:
        ModuleNotFoundError: The extra `charts` is not installed.
    """
    return _RECENT.of(image, _read)


def _read(image: Image) -> ChartReading:
    import numpy as np

    from revise_captions.charts.gate import has_numbers, has_words, may_be_chart
    from revise_captions.charts.read import has_room, read_lines

    pixels = np.asarray(image.convert("RGB"))
    if not has_room(pixels):
        return ChartReading((), (), False)
    lines, _ = read_text(image)
    found = tuple(line.text for line in lines)
    # values without words are guesses: other scripts leave nothing but numbers
    words, numbers = has_words(lines), has_numbers(lines)
    charts = read_lines(pixels, lines) if words else ()
    if not numbers:  # as in a pie; whatever else is seen without them is a guess
        charts = tuple(chart for chart in charts if chart.kind == "pie")
    drawn = may_be_chart(pixels) and words and (numbers or bool(charts))
    return ChartReading(charts, found, drawn, places_of(lines))


def evidence_of(
    reading: ChartReading, sentences: Sequence[str], language: ChartLanguage | None
) -> list[ChartEvidence]:
    """The evidence on each sentence of a caption; `language`: what is asked, too."""
    return evidence_of_all([(reading, sentences)], language)[0]


def evidence_of_all(
    captions: Sequence[tuple[ChartReading, Sequence[str]]], language: ChartLanguage | None
) -> list[list[ChartEvidence]]:
    """The evidence on the sentences of many captions, each with its reading."""
    odds: Sequence[Sequence[float]] = [()] * len(captions)
    if language is not None:
        odds = language.log_odds(
            [AskedCaption(one.charts, one.lines, tuple(said)) for one, said in captions]
        )
    return [
        gather(said, one.charts, one.lines, one.places, own)
        for (one, said), own in zip(captions, odds, strict=True)
    ]


class ChartCritic:
    """The critic `charts`. Made by `load_critic`.

    Readings are kept while their image objects live.

    Args:
        weights: How evidence is weighed; None: as was fitted, with the language model or without.
        threshold: P(factual) below which a sentence is nonfactual; None: the weights' own.
        language: A language model to ask, too.
    """

    def __init__(
        self,
        weights: EvidenceWeights | None = None,
        threshold: float | None = None,
        language: ChartLanguage | None = None,
    ) -> None:
        self.language = language
        self.weights = weights or read_weights(WEIGHTS if language is None else WITH_LANGUAGE)
        self._claims = self.weights if language is None else read_weights(WEIGHTS)
        self.threshold = self.weights.threshold if threshold is None else threshold
        decide = dict.fromkeys((self.weights.digest, self._claims.digest))
        self.settings: Mapping[str, str] = {
            "critic": f"charts@{'+'.join(decide)}",
            "prompt": VERSION,
            "reads": "charts",
            GOES_WITH: "fixes",
            "rapidocr": version("rapidocr"),
            "language": "none" if language is None else language.name,
        }
        self._readings: ByImage[ChartReading] = ByImage()
        self._told = language is not None

    def reading(self, image: Image) -> ChartReading:
        """What was read in the image, now or before."""
        found = self._readings.get(image)
        return self._readings.put(image, read_image(image)) if found is None else found

    def accepts(self, images: Sequence[Image]) -> list[Acceptance]:
        """Whether each image is a chart, in some milliseconds where its colors are not those of
        one, else by OCR, which takes a second: in threads. A chart without a value is unreadable.
        """
        return _of_each(images, self._accepted)

    def _accepted(self, image: Image) -> Acceptance:
        import numpy as np

        from revise_captions.charts.gate import may_be_chart

        if not may_be_chart(np.asarray(image.convert("RGB"))):
            return Acceptance(mine=False)
        reading = self.reading(image)
        if not reading.is_chart:
            return Acceptance(mine=False)
        return Acceptance(True, None if reading.readable else Unscored.UNREADABLE_CHART)

    def take(self, image: Image, reading: ChartReading) -> None:
        """Takes a reading for the image's, such as one that is known to be right."""
        self._readings.put(image, reading)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per text asked about, in input order. Images are read in threads, then all
        captions are judged together."""
        distinct = {id(request.image): request.image for request in requests}
        _of_each([i for i in distinct.values() if self._readings.get(i) is None], self.reading)
        readings = [self.reading(request.image) for request in requests]
        both = list(zip(readings, requests, strict=True))
        asked = [_captions(request, one) if one.readable else {} for one, request in both]
        captions = [
            (one, said) for one, own in zip(readings, asked, strict=True) for said in own.values()
        ]
        if captions and not self._told:
            self._told = True
            logger.warning("charts are judged without SmolLM2, which is less accurate: %s", INSTALL)
        chances = iter(self._chances(captions))
        return [
            _verdicts(request, {change: next(chances) for change in own})
            for request, own in zip(requests, asked, strict=True)
        ]

    def _chances(
        self, captions: Sequence[tuple[ChartReading, Sequence[str]]]
    ) -> Iterator[list[float]]:
        """P(factual) of each sentence of captions."""
        for found in evidence_of_all(captions, self.language):
            yield self.weights.probabilities(NAMES, [one.values for one in found])

    def removal_chances(self, reading: ChartReading, texts: Sequence[str]) -> list[float]:
        """P(factual) of the sentences of a caption, by which one may be removed.

        By the claims alone: the language model finds more wrong sentences, but where most are right
        it is surer than it should be, and a removal needs more than that.
        """
        found = evidence_of(reading, texts, None)
        return self._claims.probabilities(NAMES, [one.values for one in found])

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """What the chart shows in the place of what each sentence claims; "" where it decided by
        no claim."""
        captions: dict[tuple[int, str], tuple[list[tuple[str, int]], list[float]]] = {}
        found = []
        for one in requests:
            reading, key = self.reading(one.image), (id(one.image), one.text)
            if key not in captions:
                said = _told(one.text, one.spans, reading)
                texts = [text for text, _ in said]
                chances = self.removal_chances(reading, texts) if reading.readable else []
                captions[key] = said, chances
            said, p = captions[key]
            text, before = said[one.index]
            rationale = rationale_of(
                text,
                reading.charts,
                reading.lines,
                reading.places,
                p[one.index] if p else None,
                mean_of_others(p, one.index),
            )
            found.append(within(rationale, one.spans[one.index].of(one.text), before))
        return found


def _told(text: str, spans: Sequence[Span], reading: ChartReading) -> list[tuple[str, int]]:
    """The sentences of a caption with what its structure says of them (`context`)."""
    return [
        told(span.of(text), context, reading.charts)
        for span, context in zip(spans, contexts_of(text, spans), strict=True)
    ]


def _of_each(images: Sequence[Image], made: Callable[[Image], T]) -> list[T]:
    """What is made of each image, in threads, as it is reported: reading one takes a second."""
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        found = ([one] for one in pool.map(made, images))
        return [one for (one,) in reported("reading charts", found, len(images))]


#: The index of a sentence, and what is judged in its place; None: the caption as it is.
Change = tuple[int, str] | None


def _changes(request: JudgeRequest) -> list[Change]:
    """What each text asked about changes in the caption."""
    return [
        None if said == request.spans[index].of(request.text) else (index, said)
        for index, said in request.asked
    ]


def _captions(request: JudgeRequest, reading: ChartReading) -> dict[Change, list[str]]:
    """The sentences of the caption, once for each change that is asked about."""
    contexts = contexts_of(request.text, request.spans)
    sentences = [span.of(request.text) for span in request.spans]
    return {
        change: [
            told(
                change[1] if change is not None and at == change[0] else said,
                contexts[at],
                reading.charts,
            )[0]
            for at, said in enumerate(sentences)
        ]
        for change in _changes(request)
    }


def _verdicts(request: JudgeRequest, chances: Mapping[Change, list[float]]) -> list[Verdict]:
    """`chances`: P(factual) of each sentence of `_captions`; empty where no value was read."""
    if not chances:
        return [Verdict(None, Unscored.UNREADABLE_CHART)] * len(request.asked)
    changes = zip(_changes(request), request.asked, strict=True)
    return [Verdict(chances[change][index]) for change, (index, _) in changes]
