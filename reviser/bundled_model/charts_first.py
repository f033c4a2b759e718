"""`bundled` on charts: what the critic of charts flagged goes to the reviser of its rationales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from revise_captions.reviser.charts import ChartReviser
from revise_captions.reviser.protocol import KnowsWords, Reviser, RewriteRequest


@dataclass(frozen=True, slots=True)
class ChartsFirst:
    """Two revisers, of which the critic chooses that flagged a sentence.

    What the reviser of charts has no rule for stays as it is: the other one cannot see a chart, and
    would make something up.

    Attributes:
        other: Rewrites what is not about charts.
        charts: Puts in what a rationale says that a chart shows.
    """

    other: Reviser
    charts: ChartReviser = field(default_factory=ChartReviser)

    @property
    def settings(self) -> Mapping[str, str]:
        return {**self.other.settings, "reviser-of-charts": self.charts.settings["reviser"]}

    @property
    def strict(self) -> bool:
        return self.other.strict

    def by_rule(self, request: RewriteRequest) -> bool:
        """Whether rules write the rewrite, if anything does; see `WritesByRule`."""
        return request.critic == "charts" or self.charts.by_rule(request)

    def foreign(self, requests: Sequence[RewriteRequest]) -> list[bool]:
        """See `KnowsWords`: sentences about charts need none of the words."""
        if not isinstance(self.other, KnowsWords):
            return [False] * len(requests)
        unknown = self.other.foreign(requests)
        return [far and not self.by_rule(r) for far, r in zip(unknown, requests, strict=True)]

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        ruled = [self.by_rule(request) for request in requests]
        one = iter(
            self.charts.rewrite([r for r, rule in zip(requests, ruled, strict=True) if rule])
        )
        rest = [r for r, rule in zip(requests, ruled, strict=True) if not rule]
        other = iter(self.other.rewrite(rest) if rest else [])
        return [next(one if rule else other) for rule in ruled]
