"""The main job's options, grouped by who uses them; the command and the function share them.

InputOptions    what is read            the readers (`runs.inputs`)
ModelOptions    which models, how       `job.models`
VerifyOptions   checks of revisions     `verify`
RunOptions      what is done, and where to write it
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from revise_captions.errors import UserError
from revise_captions.runs.inputs import InputOptions, parse_shard

Stage = Literal["all", "critique", "revise"]
OnUnfixable = Literal["keep", "drop", "flag"]
Guard = Literal["strict", "warn"]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Which models judge and rewrite, and how they are computed."""

    critic: str = "bundled"
    critic_profile: Path | None = None
    adapter: str | None = None
    reviser: str | None = None
    engine: str = "transformers"
    samples: int = 0
    threshold: float | None = None
    target_precision: float | None = None
    batch_size: int = 16
    dtype: str = "auto"
    compile: bool = False
    device: str = "auto"
    trust_remote_code: bool = False


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Which checks are made of the revisions, and with what."""

    verify: str = "none"
    reference_field: str | None = None
    judge: str = "offline"
    parser: str = "bundled"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is done with the records, where it is computed, and where it is written."""

    out: str = ""
    stage: Stage = "all"
    rounds: int = 2
    on_unfixable: OnUnfixable = "keep"
    guard: Guard | None = None
    resume: bool = False
    force: bool = False
    dry_run: bool = False
    allow_unscored: bool = False
    max_quarantine: float | None = None
    report: Path | None = None
    group_by: str | None = None
    runner: str = "local"
    replicas: int | None = None
    ray_address: str | None = None


_Group = TypeVar("_Group", InputOptions, ModelOptions, VerifyOptions, RunOptions)


@dataclass(frozen=True, slots=True)
class JobOptions:
    """All of a run's options; each part goes only where it is used."""

    inputs: InputOptions = field(default_factory=InputOptions)
    models: ModelOptions = field(default_factory=ModelOptions)
    verify: VerifyOptions = field(default_factory=VerifyOptions)
    run: RunOptions = field(default_factory=RunOptions)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> JobOptions:
        """Options by name, each put into its group; names of no option are left out."""

        def part(group: type[_Group]) -> _Group:
            return group(**{f.name: values[f.name] for f in fields(group) if f.name in values})

        return cls(part(InputOptions), part(ModelOptions), part(VerifyOptions), part(RunOptions))

    def check(self) -> None:
        """Raises `UserError` where options contradict each other, whatever the input holds."""
        models, run = self.models, self.run
        if models.threshold is not None and models.target_precision is not None:
            raise UserError("--threshold and --target-precision contradict", hint="give one")
        if run.stage == "revise" and models.target_precision is not None:
            raise UserError(
                "--stage revise uses the threshold that the sentences were flagged with",
                hint="give --target-precision to --stage critique, or a --threshold here",
            )
        if run.stage == "revise" and (models.adapter is not None or models.compile):
            useless = "--compile" if models.compile else "--adapter"
            raise UserError(f"--stage revise loads no critic, so {useless} has no use")
        _check_verification(self.verify, run.stage)
        parse_shard(self.inputs.shard)

    def reads(self) -> list[str]:
        """The input, the file of options, and the models that may be files or folders."""
        models, verify = self.models, self.verify
        config = str(self.inputs.config or "")
        named = (models.critic, models.adapter, models.reviser, verify.judge, verify.parser)
        profile = str(models.critic_profile or "")
        return [name for name in (self.inputs.source, config, profile, *named) if name]


def option_names() -> dict[str, Any]:
    """Every option's default, by its name."""
    job = JobOptions()
    groups = (job.inputs, job.models, job.verify, job.run)
    return {f.name: getattr(group, f.name) for group in groups for f in fields(group)}


def _check_verification(options: VerifyOptions, stage: Stage) -> None:
    from revise_captions.pipelines.verify.names import checks_of

    checks = checks_of(options.verify)
    if "critic" in checks and stage == "revise":
        raise UserError(
            "--verify critic needs the critic, and --stage revise loads none",
            hint="verify the last --stage critique, or its output with verify-revisions",
        )
    if "posh" in checks and options.reference_field is None:
        raise UserError(
            "--verify posh compares with a reference caption",
            hint="name its field with --reference-field",
        )
    if "posh" not in checks and options.reference_field is not None:
        raise UserError(
            "--reference-field is for POSH, which is not asked for", hint="add --verify posh"
        )


def command_to_resume(arguments: Sequence[str]) -> str:
    """The command line that goes on where the one with these arguments stopped."""
    kept = [argument for argument in arguments if argument not in ("--force", "--resume")]
    return shlex.join(["revise-captions", *kept, "--resume"])
