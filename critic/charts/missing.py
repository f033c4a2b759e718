"""What stands in for the critic of charts where the libraries that read charts are missing."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from PIL.Image import Image

from revise_captions.critic.checkpoints import GOES_WITH
from revise_captions.critic.protocol import Acceptance, ExplainRequest, JudgeRequest
from revise_captions.records import Rationale, Unscored, Verdict

logger = logging.getLogger(__name__)


class MissingChartCritic:
    """Takes what may be a chart, by its colors, and says what to install to have it judged."""

    threshold = 0.5
    settings: Mapping[str, str] = {"critic": "charts (not installed)", GOES_WITH: "fixes"}

    def __init__(self) -> None:
        self._told = False

    def accepts(self, images: Sequence[Image]) -> list[Acceptance]:
        """What may be a chart is its own, and unscored."""
        return [self._accepted(image) for image in images]

    def _accepted(self, image: Image) -> Acceptance:
        import numpy as np

        from revise_captions.charts.gate import may_be_chart

        if not may_be_chart(np.asarray(image.convert("RGB"))):
            return Acceptance(mine=False)
        if not self._told:
            self._told = True
            logger.warning(
                "an image may be a chart, but the libraries that read charts are not installed: "
                "pip install 'revise-captions[charts]'"
            )
        return Acceptance(True, Unscored.NEEDS_CHARTS)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """No verdicts: nothing is asked about what is unscored by the gate."""
        return [[Verdict(None, Unscored.NEEDS_CHARTS)] * len(r.asked) for r in requests]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """Nothing to say."""
        return [Rationale("")] * len(requests)
