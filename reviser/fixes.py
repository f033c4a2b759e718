"""A reviser without a model: it applies those of the critic's fixes that are certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from revise_captions.charts.claims.edits import with_fixes
from revise_captions.records import Fix
from revise_captions.reviser.protocol import RewriteRequest


@dataclass(frozen=True, slots=True)
class FixReviser:
    """The reviser `fixes`. Uncertain fixes are left to a person."""

    strict: bool = False

    @property
    def settings(self) -> Mapping[str, str]:
        return {"reviser": "fixes-1"}

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        """Each sentence with its certain fixes; None if it has none, or they failed before."""
        return [_rewritten(request) for request in requests]

    def by_rule(self, request: RewriteRequest) -> bool:
        """Everything that it writes is."""
        return bool(_certain(request))


def _certain(request: RewriteRequest) -> list[Fix]:
    return [fix for fix in request.fixes if fix.certain]


def _rewritten(request: RewriteRequest) -> str | None:
    text = with_fixes(request.sentence, _certain(request))
    return None if text == request.sentence or text in request.failed else text
