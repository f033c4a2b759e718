"""Options of `captions preferences`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.pipelines.options import RunOptions
from revise_captions.pipelines.preferences.pairs import SCORES
from revise_captions.runs.options import InputOptions


@dataclass(frozen=True, slots=True)
class PreferenceOptions:
    """`captions preferences --help` says what each option means."""

    source: str = ""
    out: str = ""
    policy: str | None = None
    samples: int = 8
    temperature: float = 1.0
    top_p: float = 0.7
    max_tokens: int = 512
    seed: int = 0
    prompts: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    units: str = "graph"
    verifier: tuple[str, ...] = ("bundled",)
    critic_profile: Path | None = None
    by: tuple[str, ...] = SCORES
    margin: float = 0.0
    pairs: int = 1
    from_revisions: bool = False
    image_field: str | None = None
    image_root: Path | None = None
    allow_urls: bool = False
    limit: int | None = None
    engine: str = "transformers"
    device: str = "auto"
    dtype: str = "auto"
    batch_size: int = 16
    trust_remote_code: bool = False
    resume: bool = False
    force: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> PreferenceOptions:
        """Options by name; others are left out."""
        return cls(**{name: values[name] for name in cls.__slots__ if name in values})

    def check(self) -> None:
        """Raises `UserError` where options contradict each other, whatever the input holds."""
        if self.from_revisions and (self.policy is not None or self.given):
            raise UserError("--from-revisions takes both captions of a pair from IN")
        if not self.from_revisions and self.policy is None and not self.given:
            raise UserError(
                "no captions to compare: neither --policy nor --given",
                hint="sample them with --policy MODEL, or name the fields of IN that hold them",
            )
        if self.policy is not None and self.samples + len(self.given) < 2:
            raise UserError("one caption of an image makes no pair", hint="raise --samples")
        if not self.out.endswith(".jsonl"):
            raise UserError(f"{self.out}: pairs are written as JSON Lines", hint="name it .jsonl")

    @property
    def inputs(self) -> InputOptions:
        """What is read, as the main job names it."""
        return InputOptions(
            self.source,
            self.image_field,
            image_root=self.image_root,
            allow_urls=self.allow_urls,
            limit=self.limit,
        )

    @property
    def run(self) -> RunOptions:
        """Where it is written, as the main job names it."""
        return RunOptions(out=self.out, resume=self.resume, force=self.force)

    def reads(self) -> list[str]:
        """The input, and the models that may be files or folders."""
        profile = str(self.critic_profile or "")
        return [name for name in (self.source, profile, self.policy, *self.verifier) if name]
