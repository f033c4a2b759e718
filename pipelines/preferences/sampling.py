"""The captions of an image: sampled from a policy, found in its row, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from revise_captions.engines.protocol import Engine, Failed, Picture, Prompt, Sampling, Template
from revise_captions.errors import BadRecord, Reason
from revise_captions.io.fields import look_up
from revise_captions.pipelines.preferences.options import PreferenceOptions
from revise_captions.records import Record

if TYPE_CHECKING:
    from PIL.Image import Image

#: What a policy is asked that has no prompt of its own.
PROMPT = "Describe this image in detail."
#: Seeds of a window's samples are this far from the next window's.
_STRIDE = 1_000_003


@dataclass(frozen=True, slots=True)
class CaptionSource:
    """What writes captions; `engine` None: only captions that are given."""

    engine: Engine | None
    options: PreferenceOptions

    @property
    def settings(self) -> Mapping[str, str]:
        """Everything that decides a caption, by name."""
        own = {"given": ",".join(self.options.given)} if self.options.given else {}
        if self.engine is None:
            return own
        model = {
            "policy" if k == "model" else f"policy-{k}": v for k, v in self.engine.settings.items()
        }
        return {
            **own,
            **model,
            "prompts": " / ".join(self.options.prompts or (PROMPT,)),
            "samples": str(self.options.samples),
            "temperature": f"{self.options.temperature:g}",
            "top-p": f"{self.options.top_p:g}",
            "max-tokens": str(self.options.max_tokens),
            "seed": str(self.options.seed),
        }

    def prompt(self, line: int) -> str:
        """What is asked about the image of a line."""
        prompts = self.options.prompts or (PROMPT,)
        return prompts[(line - 1) % len(prompts)]

    def captions(
        self, window: int, asked: Sequence[tuple[Record, Image]]
    ) -> list[list[str] | BadRecord]:
        """Each record's captions, given ones first, or what is wrong with it.

        Args:
            window: Number of the window, for the seed.
            asked: Its records, with their images.
        """
        found = [self._given(record) for record, _ in asked]
        sampled = self._sampled(window, asked) if self.engine is not None else [[] for _ in asked]
        return [
            own if isinstance(own, BadRecord) else _together(own, more)
            for own, more in zip(found, sampled, strict=True)
        ]

    def _given(self, record: Record) -> list[str] | BadRecord:
        texts: list[str] = []
        for name in self.options.given:
            value = look_up(record.fields, name)
            listed = value if isinstance(value, list) else [value]
            if not all(isinstance(one, str) and one.strip() for one in listed):
                detail = f'"{name}" holds no caption, and no list of captions'
                return BadRecord(Reason.CAPTION_NOT_TEXT, detail)
            texts += listed
        return texts

    def _sampled(
        self, window: int, asked: Sequence[tuple[Record, Image]]
    ) -> list[list[str | Failed]]:
        assert self.engine is not None
        count = self.options.samples
        prompts = [
            Prompt((Picture(image), Template(self.prompt(record.line))), shared=2)
            for record, image in asked
        ]
        sampling = Sampling(
            self.options.temperature,
            self.options.top_p,
            seed=self.options.seed + window * _STRIDE,
        )
        several = [prompt for prompt in prompts for _ in range(count)]
        answers = self.engine.generate(several, self.options.max_tokens, sampling)
        texts = [answer if isinstance(answer, Failed) else answer.text for answer in answers]
        return [texts[k : k + count] for k in range(0, len(texts), count)]


def _together(given: Sequence[str], sampled: Sequence[str | Failed]) -> list[str] | BadRecord:
    """A record's captions. `BadRecord`: there are not two."""
    texts = [*given, *(one for one in sampled if isinstance(one, str) and one.strip())]
    if len(texts) > 1:
        return texts
    failed = [one for one in sampled if isinstance(one, Failed)]
    said = f": {failed[0].reason}: {failed[0].detail}" if failed else ""
    return BadRecord(Reason.MISSING_CAPTION, f"{len(texts)} captions, but a pair needs two{said}")
