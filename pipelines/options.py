"""The main job's options, grouped by who uses them; the command and the function share them.

Each is declared here with its type, default and help; `shared_option` marks those that other
commands take too.

InputOptions    what is read            the readers (`runs.inputs`)
ModelOptions    which models, how       `job.models`
VerifyOptions   checks of revisions     `verify`
RunOptions      what is done, and where to write it
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from revise_captions.command_line.options import (
    argument,
    filled,
    group,
    grouped,
    option,
    option_name,
)
from revise_captions.command_line.shared import COUNT, OUT, shared_option
from revise_captions.engines.model_spec import Placement
from revise_captions.engines.server_options import ServerOptions
from revise_captions.errors import UserError
from revise_captions.layouts.style import Evidence, Write
from revise_captions.runs.options import InputOptions, parse_shard

Stage = Literal["all", "critique", "revise"]
OnUnfixable = Literal["keep", "drop", "flag"]
Guard = Literal["strict", "warn"]
Runner = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Which critic judges, and how models are run: options of every command that judges."""

    critic: str = shared_option("--critic")
    expert: tuple[str, ...] = shared_option("--expert")
    critic_profile: Path | None = shared_option("--critic-profile")
    adapter: str | None = shared_option("--adapter")
    engine: str = shared_option("--engine")
    samples: int = shared_option("--samples")
    threshold: float | None = shared_option("--threshold")
    target_precision: float | None = shared_option("--target-precision")
    batch_size: int = shared_option("--batch-size")
    dtype: str = shared_option("--dtype")
    compile: bool = shared_option("--compile")
    device: str = shared_option("--device")
    trust_remote_code: bool = shared_option("--trust-remote-code")
    server: ServerOptions = group(ServerOptions)

    @property
    def placement(self) -> Placement:
        """Where and how critic and reviser are run."""
        code = self.trust_remote_code
        return Placement(self.engine, self.device, self.dtype, self.batch_size, code, self.server)


@dataclass(frozen=True, slots=True)
class ModelOptions(JudgeOptions):
    """Which models judge and rewrite, and how they are run."""

    reviser: str | None = shared_option("--reviser")


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Which checks the revisions undergo, and with what."""

    verify: str = shared_option("--verify", default="none")
    reference_field: str | None = shared_option("--reference-field")
    judge: str = shared_option("--judge")
    parser: str = shared_option("--parser")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is done with the records, where it runs, and where the results are written."""

    out: str = argument("OUT", default="", type=OUT)
    stage: Stage = option(
        "all",
        "`critique` loads only the critic, `revise` only the reviser. Run in turn on each other's "
        "output, they give the same result as `all`.",
    )
    rounds: int = option(2, "Rewrites tried for each flagged sentence.", type=click.IntRange(0, 20))
    on_unfixable: OnUnfixable = option(
        "keep",
        "What to do with a sentence that is still nonfactual after all rounds: `keep` it, `drop` "
        "the sentence (never the record), or keep it and `flag` the row with "
        "revision.needs_review.",
    )
    write: Write = option(
        "both",
        "Where the corrected caption goes: beside the caption, as `revised_caption` (`both`), or "
        "in its place (`caption`), with the original in `caption_original`.",
    )
    evidence: Evidence = option(
        "row",
        "Where the findings (`revision`) go: into the `row`, into a `sidecar`, "
        "OUT.evidence.jsonl, which other commands read with OUT, or nowhere (`none`).",
    )
    guard: Guard | None = option(
        None,
        "What to do with a rewrite that contains words from neither the sentence nor its "
        "rationale: refuse it, or accept it with a warning.  [default: strict for the bundled "
        "reviser, else warn]",
    )
    resume: bool = shared_option("--resume")
    force: bool = shared_option("--force")
    dry_run: bool = option(
        False,
        "Only count, check and estimate; write nothing. The bundled critic judges a few records.",
    )
    allow_unscored: bool = shared_option("--allow-unscored")
    max_quarantine: float | None = shared_option("--max-quarantine")
    report: Path | None = shared_option("--report")
    group_by: str | None = shared_option("--group-by")
    runner: Runner = option(
        "local", "Run in this process, or on a Ray cluster (needs the extra `ray`)."
    )
    replicas: int | None = option(
        None,
        "Copies of the models on the cluster.  [default: one per GPU, or per CPU but one]",
        type=COUNT,
    )
    ray_address: str | None = option(
        None, "Address of the Ray cluster.  [default: start a local one]"
    )


_Group = TypeVar("_Group", InputOptions, ModelOptions, VerifyOptions, RunOptions)


@dataclass(frozen=True, slots=True)
class JobOptions:
    """All of a run's options; each group goes only where it is used."""

    inputs: InputOptions = field(default_factory=InputOptions)
    models: ModelOptions = field(default_factory=ModelOptions)
    verify: VerifyOptions = field(default_factory=VerifyOptions)
    run: RunOptions = field(default_factory=RunOptions)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> JobOptions:
        """Sorts options by name into their groups, ignoring unknown names. Those of `server` may
        also be nested under that name, as `asdict` gives them."""
        values = {**values, **values.get("server", {})}

        def part(group: type[_Group]) -> _Group:
            made: _Group = filled(group, values)
            return made

        return cls(part(InputOptions), part(ModelOptions), part(VerifyOptions), part(RunOptions))

    def check(self) -> None:
        """Raises `UserError` where options contradict each other, whatever the input holds."""
        models, run = self.models, self.run
        models.server.check()
        if models.threshold is not None and models.target_precision is not None:
            raise UserError(
                "--threshold and --target-precision cannot be combined", hint="give one"
            )
        if run.stage == "revise" and models.target_precision is not None:
            raise UserError(
                "--stage revise uses the threshold that the sentences were flagged with",
                hint="give --target-precision to --stage critique, or a --threshold here",
            )
        if run.stage == "revise" and (models.adapter is not None or models.compile):
            useless = "--compile" if models.compile else "--adapter"
            raise UserError(f"--stage revise loads no critic, so {useless} has no effect")
        if run.evidence == "none" and (run.stage == "critique" or self.inputs.shard != "0/1"):
            found = "--evidence none leaves nothing for `captions merge` and for the next stage"
            raise UserError(found, hint="keep the evidence beside OUT: --evidence sidecar")
        _check_verification(self.verify, run.stage)
        parse_shard(self.inputs.shard)

    def reads(self) -> list[str]:
        """The input, the options file, and models that may be files or folders."""
        models, verify = self.models, self.verify
        config = str(self.inputs.config or "")
        named = (models.critic, models.adapter, models.reviser, verify.judge, verify.parser)
        profile = str(models.critic_profile or "")
        return [name for name in (self.inputs.source, config, profile, *named) if name]


def option_names() -> dict[str, Any]:
    """Every option's default, by its name."""
    job = JobOptions()
    groups = (job.inputs, job.models, job.verify, job.run)
    return {option_name(item): item.default for group in groups for _, item in grouped(group)}


def _check_verification(options: VerifyOptions, stage: Stage) -> None:
    from revise_captions.pipelines.verify.names import checks_of

    checks = checks_of(options.verify)
    if "critic" in checks and stage == "revise":
        raise UserError(
            "--verify critic needs the critic, but --stage revise loads none",
            hint="use --verify with the last --stage critique, or run captions verify on its "
            "output",
        )
    if "posh" in checks and options.reference_field is None:
        raise UserError(
            "--verify posh compares with a reference caption",
            hint="name its field with --reference-field",
        )
    if "posh" not in checks and options.reference_field is not None:
        raise UserError(
            "--reference-field is for POSH, which was not requested", hint="add --verify posh"
        )


def command_to_resume(arguments: Sequence[str]) -> str:
    """The command line that resumes the run started with these arguments."""
    kept = [argument for argument in arguments if argument not in ("--force", "--resume")]
    return shlex.join(["revise-captions", *kept, "--resume"])
