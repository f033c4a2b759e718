"""Requests to revisers as the job makes them: with the rationale read."""

from __future__ import annotations

from revise_captions.critic.reading.rationale import read
from revise_captions.reviser.protocol import RewriteRequest


def asked(
    sentence: str, rationale: str, failed: tuple[str, ...] = (), **more: str
) -> RewriteRequest:
    faults = read(rationale, sentence, apart=not failed)
    return RewriteRequest(
        more.get("context", ""), sentence, rationale, failed, more.get("after", ""), faults=faults
    )
