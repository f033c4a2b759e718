"""The main job's options as one value, shared by the command and the function."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError


@dataclass(frozen=True, slots=True)
class Options:
    """As the user gave them; `revise-captions --help` says what each means."""

    source: str = ""
    out: str = ""
    image_field: str | None = None
    caption_field: str | None = None
    image_root: Path | None = None
    allow_urls: bool = False
    critic: str = "bundled"
    adapter: str | None = None
    reviser: str = "bundled"
    engine: str = "transformers"
    samples: int = 0
    threshold: float | None = None
    target_precision: float | None = None
    rounds: int = 2
    on_unfixable: str = "keep"
    guard: str | None = None
    stage: str = "all"
    batch_size: int = 16
    dtype: str = "auto"
    compile: bool = False
    device: str = "auto"
    limit: int | None = None
    shard: str = "0/1"
    resume: bool = False
    force: bool = False
    dry_run: bool = False
    report: Path | None = None
    group_by: str | None = None
    verify: str = "none"
    reference_field: str | None = None
    judge: str = "offline"
    parser: str = "bundled"
    runner: str = "local"
    replicas: int | None = None
    ray_address: str | None = None

    @classmethod
    def from_cli(cls, options: Mapping[str, Any]) -> Options:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in options.items() if name in known})

    def check(self) -> None:
        """Raises `UserError` where options contradict each other, whatever the input holds."""
        if self.threshold is not None and self.target_precision is not None:
            raise UserError("--threshold and --target-precision contradict", hint="give one")
        if self.stage == "revise" and self.target_precision is not None:
            raise UserError(
                "--stage revise uses the threshold that the sentences were flagged with",
                hint="give --target-precision to --stage critique, or a --threshold here",
            )
        if self.stage == "revise" and (self.adapter is not None or self.compile):
            useless = "--compile" if self.compile else "--adapter"
            raise UserError(f"--stage revise loads no critic, so {useless} has no use")
        self._check_verification()
        parse_shard(self.shard)

    def _check_verification(self) -> None:
        from revise_captions.pipelines.verify.names import checks_of

        checks = checks_of(self.verify)
        if "critic" in checks and self.stage == "revise":
            raise UserError(
                "--verify critic needs the critic, and --stage revise loads none",
                hint="verify the last --stage critique, or its output with verify-revisions",
            )
        if "posh" in checks and self.reference_field is None:
            raise UserError(
                "--verify posh compares with a reference caption",
                hint="name its field with --reference-field",
            )
        if "posh" not in checks and self.reference_field is not None:
            raise UserError(
                "--reference-field is for POSH, which is not asked for", hint="add --verify posh"
            )


def parse_shard(text: str) -> tuple[int, int]:
    """`"3/8"` to (3, 8): every eighth record from the fourth. Raises `UserError`."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()):
        raise UserError(f"--shard {text}: expected I/N, such as 0/8 to 7/8")
    if int(index) >= int(count):
        raise UserError(
            f"there is no shard {text}",
            hint=f"the shards are 0/{count} to {int(count) - 1}/{count}",
        )
    return int(index), int(count)


def command_to_resume(arguments: Sequence[str]) -> str:
    """The command line that goes on where the one with these arguments stopped."""
    kept = [argument for argument in arguments if argument not in ("--force", "--resume")]
    return shlex.join(["revise-captions", *kept, "--resume"])
