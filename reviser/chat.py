"""An instruct model as a reviser through an engine: vLLM or a server.

The prompt is the same as in `instruct.py`; the engine treats the request as untrusted data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from revise_captions.engines.protocol import Data, Engine, Failed, Prompt
from revise_captions.reviser import prompts
from revise_captions.reviser.protocol import RewriteRequest

#: New tokens of an answer; an answer that is cut off does not count.
MAX_ANSWER = 512


@dataclass(frozen=True, slots=True)
class ChatReviser:
    """A reviser over any engine, decoding greedily.

    Attributes:
        engine: What computes the answers.
        strict: See `Reviser`.
    """

    engine: Engine
    strict: bool = False

    @property
    def settings(self) -> Mapping[str, str]:
        own = {
            "reviser" if key == "model" else f"reviser-{key}": value
            for key, value in self.engine.settings.items()
        }
        return {**own, "reviser-prompt": prompts.VERSION}

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        asked = [
            Prompt((Data(prompts.user_data(request)),), system=prompts.SYSTEM)
            for request in requests
        ]
        written = self.engine.generate(asked, MAX_ANSWER) if asked else []
        answers: list[str | None] = []
        for request, found in zip(requests, written, strict=True):
            if isinstance(found, Failed) or not found.complete:
                answers.append(None)
                continue
            answer = prompts.read_answer(found.text, request.sentence)
            refused = {failed.casefold() for failed in request.failed}
            answers.append(None if answer is not None and answer.casefold() in refused else answer)
        return answers
