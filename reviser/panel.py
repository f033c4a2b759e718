"""Several revisers as one: a sentence goes to the reviser of the expert that flagged it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from revise_captions.reviser.protocol import KnowsWords, Reviser, RewriteRequest, WritesByRule


@dataclass(frozen=True, slots=True)
class PanelReviser:
    """Revisers by the expert that they go with. Sentences flagged by other experts stay unchanged.

    Attributes:
        revisers: At least one.
    """

    revisers: Mapping[str, Reviser]

    @property
    def settings(self) -> Mapping[str, str]:
        """Each reviser's settings, under its expert's name (`signature.of_expert`)."""
        own = {
            f"{expert}.{key}": value
            for expert, reviser in self.revisers.items()
            for key, value in reviser.settings.items()
        }
        return {"reviser": "+".join(r.settings["reviser"] for r in self.revisers.values()), **own}

    @property
    def strict(self) -> bool:
        """Whether any of them is strict; rewrites made by rule are exempt."""
        return any(reviser.strict for reviser in self.revisers.values())

    def by_rule(self, request: RewriteRequest) -> bool:
        """See `WritesByRule`."""
        own = self.revisers.get(request.expert)
        return isinstance(own, WritesByRule) and own.by_rule(request)

    def foreign(self, requests: Sequence[RewriteRequest]) -> list[bool]:
        """See `KnowsWords`: each request is answered by the reviser that it goes to."""
        found = [False] * len(requests)
        for reviser, mine in self._shared(requests):
            if isinstance(reviser, KnowsWords):
                answers = reviser.foreign([requests[k] for k in mine])
                for k, answer in zip(mine, answers, strict=True):
                    found[k] = answer
        return found

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        """One rewrite per request, from the reviser of the expert that flagged it."""
        found: list[str | None] = [None] * len(requests)
        for reviser, mine in self._shared(requests):
            answers = reviser.rewrite([requests[k] for k in mine])
            for k, answer in zip(mine, answers, strict=True):
                found[k] = answer
        return found

    def _shared(self, requests: Sequence[RewriteRequest]) -> list[tuple[Reviser, list[int]]]:
        """Each reviser with something to do, and the indices of its requests."""
        shares = [
            (reviser, [k for k, request in enumerate(requests) if request.expert == expert])
            for expert, reviser in self.revisers.items()
        ]
        return [(reviser, mine) for reviser, mine in shares if mine]
