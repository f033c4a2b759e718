"""A recipe: the whole way from captions to a dataset that trains, as one TOML file.

    in = "captions.jsonl"
    out = "clean.jsonl"
    [judge]
    critic = "Qwen/Qwen3-VL-8B-Instruct"
    [select]
    where = "factual_after >= 0.9"
    [write]
    write = "caption"

Each section takes options of the commands that do its work, by their names, with `-` or `_`.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import click

from revise_captions.command_line.options import filled, option, parameters
from revise_captions.errors import UserError
from revise_captions.pipelines.options import JobOptions, ModelOptions, RunOptions, VerifyOptions
from revise_captions.pipelines.select.options import SelectOptions
from revise_captions.runs.options import InputOptions

Stages = Literal["together", "in turn", "judge only"]


@dataclass(frozen=True, slots=True)
class StageOptions:
    """Which models are in memory together."""

    stages: Stages = option(
        "together",
        "`in turn` loads critic and reviser one after the other, for a GPU that holds one; `judge "
        "only` rewrites nothing.",
    )


@dataclass(frozen=True, slots=True)
class PilotOptions:
    """What a pilot is measured by."""

    least_right: float = option(
        0.8,
        "Go on where at least this share of the rewrites is right.",
        type=click.FloatRange(0, 1),
    )
    price_per_hour: float | None = option(
        None, "What an hour of the machine costs.", type=click.FloatRange(0)
    )


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe that has been read.

    Attributes:
        path: Its file.
        job: Input, models and what is done; `run.out` is OUT.
        stages: Which models are in memory together.
        verify: Whether revisions are verified, as `job.verify` says.
        select: Which records are kept, and in which style.
        pilot: What a pilot is measured by.
    """

    path: Path
    job: JobOptions
    stages: Stages
    verify: bool
    select: SelectOptions
    pilot: PilotOptions = field(default_factory=PilotOptions)


#: Options by section, each with the classes that declare them.
SECTIONS: Mapping[str, Mapping[type[Any], tuple[str, ...]]] = {
    "input": {
        InputOptions: (
            *("image_field", "caption_field", "image_root", "allow_urls", "limit", "strict"),
        )
    },
    "filter": {
        InputOptions: ("drop_duplicates", "language", "min_side", "max_ratio", "drop_gray"),
    },
    "judge": {
        ModelOptions: (
            *("critic", "expert", "critic_profile", "adapter", "engine", "samples", "threshold"),
            *("target_precision", "batch_size", "dtype", "compile", "device", "trust_remote_code"),
        ),
        RunOptions: (*("allow_unscored", "max_quarantine", "runner", "replicas", "ray_address"),),
        StageOptions: ("stages",),
    },
    "revise": {
        ModelOptions: ("reviser",),
        RunOptions: ("rounds", "on_unfixable", "guard"),
    },
    "verify": {VerifyOptions: ("verify", "reference_field", "judge", "parser")},
    "select": {
        SelectOptions: ("where", "rest", "sample", "stratify", "seed", "captioner_field"),
    },
    "write": {SelectOptions: ("write", "evidence")},
    "report": {RunOptions: ("report", "group_by")},
    "pilot": {PilotOptions: ("least_right", "price_per_hour")},
}


def read_recipe(path: Path, source: str | None = None, out: str | None = None) -> Recipe:
    """A recipe's file.

    Args:
        path: The file.
        source: IN, where it is not the file's.
        out: OUT, where it is not the file's.

    Raises:
        UserError: It is no recipe: which key is not known, and which one was meant.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} is not readable TOML: {error}") from None
    _known(path, "the recipe", found, ("in", "out", *SECTIONS))
    found |= {k: v for k, v in {"in": source, "out": out}.items() if v is not None}
    for name in ("in", "out"):
        if not isinstance(found.get(name), str) or not found[name]:
            raise UserError(f'{path}: expected {name} = "…" before the first section')
        if found[name] == "-":
            hint = "its steps are kept beside OUT, and read IN again"
            raise UserError(f"{path}: {name} must be a file or a folder, not -", hint=hint)
    given = {name: _values(path, name, found.get(name, {})) for name in SECTIONS}
    verify = {"verify": "text", **given["verify"]} if "verify" in found else {}
    values: dict[str, Any] = {}
    for name in ("input", "filter", "judge", "revise", "report"):
        values |= given[name]
    job = JobOptions.of({"source": found["in"], "out": found["out"], **values, **verify})
    chosen = {"where": "true", "out": "", "kept": found["out"], **given["select"], **given["write"]}
    if chosen.get("stratify") and not chosen.get("sample"):
        raise UserError(f"{path}: [select] stratify only applies to a sample", hint="add sample")
    select = filled(SelectOptions, chosen)
    stages = values.get("stages", "together")
    run = replace(job.run, stage="critique" if stages == "judge only" else "all")
    replace(job, run=run).check()
    return Recipe(path, job, stages, bool(verify), select, filled(PilotOptions, given["pilot"]))


def _values(path: Path, section: str, found: Any) -> dict[str, Any]:
    """A section's options by field name, each of the type that its option has."""
    if not isinstance(found, dict):
        raise UserError(f"{path}: expected a section [{section}]")
    given = {name.replace("-", "_"): value for name, value in found.items()}
    known = {
        parameter.name: parameter
        for settings, names in SECTIONS[section].items()
        for parameter in parameters(settings)
        if parameter.name in names
    }
    _known(path, f"[{section}]", given, [str(name) for name in known])
    context = click.Context(click.Command("run"))
    values = {}
    for name, value in given.items():
        parameter = known[name]
        several = [value] if parameter.multiple and not isinstance(value, list) else value
        try:
            values[name] = parameter.type_cast_value(context, several)
        except click.BadParameter as error:
            raise UserError(f"{path}: [{section}] {name}: {error.message}") from None
    return values


def _known(path: Path, where: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Raises `UserError` for the first key that is none of `names`."""
    names = list(names)
    for key in given:
        if key not in names:
            near = difflib.get_close_matches(key, names, 1)
            meant = f"did you mean {near[0]}? " if near else ""
            hint = f"{meant}there are: {', '.join(names)}"
            raise UserError(f"{path}: {where} has no {key}", hint=hint)
