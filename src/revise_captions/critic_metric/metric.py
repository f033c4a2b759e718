"""Critics in the registry of metrics: the mean P(factual) of a text's sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions
from revise_captions.records import Span, Verdict
from revise_captions.text.markdown import sentence_spans

if TYPE_CHECKING:
    from PIL.Image import Image

_BETWEEN = "\n\n"  # ends the context's last sentence


class CriticMetric:
    """Mean P(factual) over the sentences that the critic could judge.

    With `contextual`, the context stands before the description in the critic's growing caption, as
    sentences that are read but not judged.
    """

    def __init__(self, critic: Critic, *, contextual: bool = False, window: int = 64) -> None:
        self.critic, self.contextual, self.window = critic, contextual, window
        self.name = "contextual-critic" if contextual else "critic"
        self.settings = {"metric": "mean P(factual)", **critic.settings}
        self.needs = frozenset({Needs.IMAGE, *([Needs.CONTEXT] if contextual else [])})

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        found: list[MetricScore] = []
        for start in range(0, len(items), self.window):  # so many images are held at a time
            part = items[start : start + self.window]
            images = self._images(part)
            requests = [self.request(item, images) for item in part]
            found += map(_mean, self.critic.judge(requests))
        return found

    @property
    def threshold(self) -> float:
        """P(factual) below which the critic calls a sentence wrong."""
        return self.critic.threshold

    def score_parts(
        self, items: Sequence[MetricInput], spans: Sequence[Sequence[Span]]
    ) -> list[list[MetricScore]]:
        """P(factual) of each part as it is, after all of the text before it."""
        found: list[list[MetricScore]] = []
        for start in range(0, len(items), self.window):
            part = items[start : start + self.window]
            images = self._images(part)
            requests = [
                self._of_spans(item, own, images)
                for item, own in zip(part, spans[start : start + self.window], strict=True)
            ]
            found += [[_score(verdict) for verdict in own] for own in self.critic.judge(requests)]
        return found

    def _of_spans(
        self, item: MetricInput, spans: Sequence[Span], images: Mapping[str, Image]
    ) -> JudgeRequest:
        assert item.image is not None
        before = item.context.strip() + _BETWEEN if self.contextual else ""
        moved = tuple(Span(span.start + len(before), span.end + len(before)) for span in spans)
        return JudgeRequest(images[item.image.key], before + item.text, moved)

    def _images(self, items: Sequence[MetricInput]) -> dict[str, Image]:
        """One object for each distinct image: critics compute its features once."""
        sources = {item.image.key: item.image for item in items if item.image is not None}
        return {key: source.load() for key, source in sources.items()}

    def request(self, item: MetricInput, images: Mapping[str, Image]) -> JudgeRequest:
        """What the critic is asked about one text; `images`: by key."""
        assert item.image is not None
        before = item.context.strip() + _BETWEEN if self.contextual else ""
        text = before + item.text
        spans = sentence_spans(text)
        first = next((k for k, span in enumerate(spans) if span.start >= len(before)), len(spans))
        return JudgeRequest(images[item.image.key], text, spans, first)


def _score(verdict: Verdict) -> MetricScore:
    if verdict.p_factual is None:
        return MetricScore(None, str(verdict.unscored))
    return MetricScore(verdict.p_factual)


def _mean(verdicts: Sequence[Verdict]) -> MetricScore:
    known = [v.p_factual for v in verdicts if v.p_factual is not None]
    if known:
        return MetricScore(sum(known) / len(known))
    reasons = Counter(str(v.unscored) for v in verdicts)
    return MetricScore(None, reasons.most_common(1)[0][0] if reasons else "no sentence")


def _load(argument: str, options: MetricOptions) -> Critic:
    own = CriticOptions(options.placement, profile=options.critic_profile)
    return load_critic(argument or "bundled", own)


def load(argument: str, options: MetricOptions) -> Metric:
    """Mean P(factual) over the sentences [=CRITIC, by default bundled]."""
    return CriticMetric(_load(argument, options))


def load_contextual(argument: str, options: MetricOptions) -> Metric:
    """The same, with the context read before the description [=CRITIC, by default bundled]."""
    return CriticMetric(_load(argument, options), contextual=True)
