"""`bundled`: its own critic for the images of its domain, the critic of charts for charts.

The domain gate goes first, so that runs without charts cost what they cost without this. Only
what it refuses is looked at again: in some milliseconds whether it is drawn in flat colors, and
if it is, by OCR.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from PIL.Image import Image

from revise_captions.critic.charts.by_image import ByImage
from revise_captions.critic.charts.critic import ChartCritic
from revise_captions.critic.protocol import (
    Beyond,
    Critic,
    ExplainRequest,
    JudgeRequest,
)
from revise_captions.records import Unscored, Verdict
from revise_captions.runs.window_images import PreparesImages

logger = logging.getLogger(__name__)


class _Route(Enum):
    OWN = "own"
    CHARTS = "charts"


@runtime_checkable
class HasDomain(Critic, Protocol):
    """A critic that lets another one complete its verdicts."""

    beyond: Beyond


class RoutedCritic:
    """Two critics, of which the image chooses.

    One threshold serves both: P(factual) of the critic of charts is stretched, below and above its
    threshold, so that this one comes to lie on `scale`.

    Args:
        own: The critic with a domain gate; its verdicts are completed from now on.
        charts: The critic of charts; None: what reads them is not installed, and what may be one
            is unscored.
        scale: The threshold that `own` has by itself.
    """

    def __init__(self, own: HasDomain, charts: ChartCritic | None, scale: float) -> None:
        self.own, self.charts, self.scale = own, charts, scale
        self.threshold = own.threshold
        of_charts: dict[str, str] = {"critic": "not installed"}
        if charts is not None:
            of_charts = {**charts.settings, "threshold": f"{charts.threshold:.4f}"}
        self.settings: Mapping[str, str] = {
            **own.settings,
            **{f"charts-{key}": value for key, value in of_charts.items()},
        }
        self._routes: ByImage[_Route | Unscored] = ByImage()
        self._told = False
        own.beyond = self._complete
        #: `own` completes its answers by those of the critic of charts.
        self.judge = own.judge

    @property
    def gate(self) -> Any:
        """The domain gate of `own`, if it has one."""
        return getattr(self.own, "gate", None)

    def prepare(self, image: Image) -> None:
        """Hands the image to `own`: whether it is a chart is not known yet."""
        if isinstance(self.own, PreparesImages):
            self.own.prepare(image)

    def _complete(
        self, requests: Sequence[JudgeRequest], verdicts: list[list[Verdict]]
    ) -> list[list[Verdict]]:
        """The verdicts of `own`, those on images that it refuses replaced where they are charts."""
        for request, found in zip(requests, verdicts, strict=True):
            if self._routes.get(request.image) is None and not _refused(found):
                self._routes.put(request.image, _Route.OWN)
        self._look_at([r.image for r in requests if self._routes.get(r.image) is None])
        routes = [self._routes.get(request.image) for request in requests]
        charts = [k for k, route in enumerate(routes) if route is _Route.CHARTS]
        for k, route in enumerate(routes):
            if isinstance(route, Unscored):
                verdicts[k] = [Verdict(None, route)] * len(requests[k].asked)
        if charts and self.charts is not None:
            answers = self.charts.judge([requests[k] for k in charts])
            for k, found in zip(charts, answers, strict=True):
                verdicts[k] = [self._on_scale(verdict) for verdict in found]
        return verdicts

    def explain(self, requests: Sequence[ExplainRequest]) -> list[str]:
        """A rationale per request, of the critic that its image chooses.

        Raises:
            EngineDead: As `own`.
        """
        new = [r for r in requests if self._routes.get(r.image) is None]
        self.judge([JudgeRequest(r.image, r.text, r.spans, r.index) for r in new])
        texts = [""] * len(requests)
        routes = [self._routes.get(r.image) for r in requests]
        for critic, part in ((self.own, _Route.OWN), (self.charts, _Route.CHARTS)):
            mine = [k for k, route in enumerate(routes) if route is part]
            if critic is not None and mine:
                answers = critic.explain([requests[k] for k in mine])
                for k, text in zip(mine, answers, strict=True):
                    texts[k] = text
        return texts

    def _look_at(self, images: Sequence[Image]) -> None:
        """Finds the way of images that `own` refuses. OCR takes a second, so in threads."""
        distinct = list({id(image): image for image in images}.values())
        if not distinct:
            return
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            for image, route in zip(distinct, pool.map(self._route_of, distinct), strict=True):
                self._routes.put(image, route)
                if route is Unscored.NEEDS_CHARTS and not self._told:
                    self._told = True
                    logger.warning(
                        "an image may be a chart, and what reads charts is not installed:"
                        " pip install 'revise-captions[charts]'"
                    )

    def _route_of(self, image: Image) -> _Route | Unscored:
        import numpy as np

        from revise_captions.charts.gate import may_be_chart

        if not may_be_chart(np.asarray(image.convert("RGB"))):
            return Unscored.OUTSIDE_DOMAIN
        if self.charts is None:
            return Unscored.NEEDS_CHARTS
        return _Route.CHARTS if self.charts.reading(image).is_chart else Unscored.OUTSIDE_DOMAIN

    def _on_scale(self, verdict: Verdict) -> Verdict:
        """A verdict of the critic of charts, on the scale of `own`, to four decimals."""
        p = verdict.p_factual
        if p is None or self.charts is None:
            return verdict
        limit = self.charts.threshold
        if p >= limit:
            stretched = self.scale + (1 - self.scale) * (p - limit) / max(1 - limit, 1e-9)
            return replace(verdict, p_factual=round(stretched, 4))
        # rounded down, as what is below one threshold has to stay below the other
        return replace(verdict, p_factual=math.floor(1e4 * p * self.scale / limit) / 1e4)


def _refused(verdicts: Sequence[Verdict]) -> bool:
    return bool(verdicts) and all(v.unscored is Unscored.OUTSIDE_DOMAIN for v in verdicts)
