"""Command-line options that several commands share, each declared once.

A field of a command's options names the one it is; keywords adjust what differs:

    caption_field: str | None = shared_option("--caption-field")
    batch_size: int = shared_option("--batch-size", help="Prompts per forward pass.")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import click.shell_completion

from revise_captions import registry
from revise_captions.command_line.options import option
from revise_captions.errors import UserError


class OutputPath(click.Path):
    """A file or folder that a command writes; what it only reads exists (`EXISTING_FILE`).

    Of two options with the same target only what is written last would be kept. Whether what is
    there may be replaced is for `io.writing.check_writable` and `check_new_folder` to say:
    `tests/package/test_targets.py` tries it with every option of this type.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. Raises `UserError` if another option has the same."""
        path = super().convert(value, param, ctx)
        if ctx is None or param is None or str(path) == "-":
            return path
        taken: dict[str, str] = ctx.meta.setdefault(__name__, {})
        real = os.path.realpath(os.fsdecode(path))
        mine = param.opts[-1] if isinstance(param, click.Option) else param.make_metavar(ctx)
        if other := next((name for name, at in taken.items() if at == real and name != mine), ""):
            hint = "choose another name for one of them"
            raise UserError(f"{value} is the file of both {mine} and {other}", hint=hint)
        taken[mine] = real
        return path


class Named(click.types.StringParamType):
    """The name of something installed, ours or another package's (`registry`)."""

    name = "name"

    def __init__(self, kind: registry.Kind) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name. Raises `UserError` where nothing has it."""
        if value not in registry.entries(self.kind):
            raise registry.unknown(self.kind, value)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """The names that begin so."""
        names = registry.names(self.kind)
        return [
            click.shell_completion.CompletionItem(name)
            for name in names
            if name.startswith(incomplete)
        ]


class Listed(click.ParamType[tuple[Any, ...]]):
    """Several values in one text, separated by commas, for a field that is a tuple."""

    name = "text"

    def __init__(self, of: Callable[[str], Any] = str, expected: str = "names") -> None:
        self.of, self.expected = of, expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The values, as a tuple; a default is one. Raises `click.BadParameter`."""
        if not isinstance(value, str):
            return value
        try:
            return tuple(self.of(part.strip()) for part in value.split(",") if part.strip())
        except ValueError:
            self.fail(f"{value}: expected comma-separated {self.expected}", param, ctx)


def listed_option(default: tuple[Any, ...], help: str, **more: Any) -> Any:
    """A dataclass field, a tuple, whose values stand in one option, separated by commas.

    Args:
        default: Of the field.
        help: One line for `--help`.
        more: As in `option`.
    """
    return option(default, help, **{"type": Listed(), "multiple": False, **more})


class ExistingPath(click.Path):
    """A path that must exist; a misspelled one is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = "" if os.path.lexists(value) else registry.nearest_path(Path(value))
            if not near:
                raise
            self.fail(error.message.rstrip(".") + near, param, ctx)


#: Argument and option types.
EXISTING = ExistingPath(path_type=Path, exists=True)
EXISTING_FILE = ExistingPath(path_type=Path, exists=True, dir_okay=False)
EXISTING_FOLDER = ExistingPath(path_type=Path, exists=True, file_okay=False)
OUT_FILE = OutputPath(path_type=Path, dir_okay=False)
OUT_FOLDER = OutputPath(path_type=Path, file_okay=False)
#: A file, a folder in the formats that are one, or `-`; a text, so that `folder/` stays one.
OUT = OutputPath(allow_dash=True)
COUNT = click.IntRange(1)


def _read_config(
    context: click.Context, parameter: click.Parameter, value: Path | None
) -> Path | None:
    """Takes defaults from a TOML file, by the options' long names."""
    if value is None:
        return None
    import tomllib

    known = {p.name for p in context.command.params if isinstance(p, click.Option)}
    try:
        found = tomllib.loads(value.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise click.BadParameter(f"{value} is not readable TOML: {error}") from error
    values = {name.replace("-", "_"): v for name, v in found.items()}
    if unknown := sorted(set(values) - (known - {parameter.name})):
        raise click.BadParameter(
            f"{value} sets {', '.join(unknown)}; valid names are the long options without --"
        )
    context.default_map = {**(context.default_map or {}), **values}
    return value


_OPTIONS: dict[str, Mapping[str, Any]] = {
    "--config": {
        "type": EXISTING_FILE,
        "is_eager": True,
        "callback": _read_config,
        "help": "TOML file of option values; options on the command line take precedence.",
    },
    # input
    "--image-field": {"help": "Field that holds the image.  [default: detected by name]"},
    "--caption-field": {
        "help": "Field that holds the caption; separate several with commas.  [default: detected "
        "by name]"
    },
    "--image-root": {
        "type": EXISTING_FOLDER,
        "help": "Folder that relative image paths start from; images outside it are refused.  "
        "[default: the folder of the input]",
    },
    "--allow-urls": {"is_flag": True, "help": "Download images given as public http(s) URLs."},
    "--strict": {
        "is_flag": True,
        "help": "Stop if the input may be missing rows, as in a truncated tar archive; without "
        "this option, only warn.",
    },
    "--limit": {"type": COUNT, "help": "Stop after this many records."},
    # models
    "--critic": {
        "default": "bundled",
        "help": "Critic model: `bundled` (drawn scenes; charts with the extra `charts`), "
        "`charts`, a checkpoint folder, a Hugging Face model id, or MODEL@http://host:8000/v1 "
        "for a model on an OpenAI-compatible server. Separate several with commas: each image "
        "goes to the first critic that accepts it.",
    },
    "--expert": {
        "default": (),
        "multiple": True,
        "metavar": "NAME.OPTION=VALUE",
        "help": "Set an option of one of several critics, such as charts.threshold=0.4; "
        "repeatable.",
    },
    "--adapter": {"help": "LoRA adapter for the critic: a folder or a Hugging Face model id."},
    "--critic-profile": {
        "type": EXISTING_FILE,
        "help": "Profile of the critic, from `captions calibrate`: calibrates its P(factual), "
        "and adds shares corrected for its errors.",
    },
    "--reviser": {
        "help": "Reviser model: as for --critic, or `smollm2`, a small offline model for "
        "English, or `drop`, which deletes flagged sentences.  [default: the bundled reviser for "
        "the bundled critic; an instruct model is its own reviser; any other critic needs one]",
    },
    "--engine": {
        "type": Named(registry.ENGINES),
        "default": "transformers",
        "help": "Inference engine for models without a server address: `transformers` or `vllm` "
        "(needs the extra `vllm`), both in this process, or one from another package. `openai`: "
        "every model must have a server address.",
    },
    "--samples": {
        "type": click.IntRange(0, 100),
        "default": 0,
        "show_default": False,
        "help": "For a critic on a server without log-probabilities: estimate P(factual) as the "
        "fraction of Yes among this many sampled answers (5 in the paper).  [default: 0, which "
        "leaves such sentences unscored]",
    },
    "--batch-size": {"type": COUNT, "default": 16, "help": "Captions per forward pass."},
    "--dtype": {
        "type": click.Choice(["auto", "float32", "bfloat16", "float16"]),
        "default": "auto",
        "help": "Floating-point type for inference; `auto`: bfloat16 on a GPU, float32 on a CPU.",
    },
    "--device": {
        "default": "auto",
        "help": "Device for inference: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`, …",
    },
    "--compile": {
        "is_flag": True,
        "help": "Compile the critic's layers: slower start, faster inference. Only for PaliGemma 2 "
        "critics in this process; on a CPU it needs a C++ compiler.",
    },
    "--trust-remote-code": {
        "is_flag": True,
        "help": "Run Python code shipped with an instruct model (`auto_map`). It runs with your "
        "permissions: read it first. Without this option, no such code runs.",
    },
    # decisions
    "--threshold": {
        "type": click.FloatRange(0, 1),
        "help": "Flag sentences whose P(factual) is below this.  [default: the critic's "
        "calibrated threshold]",
    },
    "--target-precision": {
        "type": click.FloatRange(0, 1, min_open=True),
        "help": "Instead of --threshold: use the threshold with this precision on the critic's "
        "validation data, the fraction of flagged sentences that are nonfactual.",
    },
    # verification
    "--verify": {
        "metavar": "CHECKS",
        "help": "Checks to run on the revisions, comma-separated (need the extra `posh`): "
        "`text`, claims lost or changed though no rationale names them; `critic`, each claim "
        "judged by the critic; `posh`, mistakes and omissions compared with a reference caption.",
    },
    "--reference-field": {
        "metavar": "FIELD",
        "help": "Field that holds the reference caption, or a list of them, for `--verify posh`.",
    },
    "--units": {
        "default": "graph",
        "help": "How captions are split into units: `graph`, statements from scene graphs (needs "
        "the extra `posh`); `sentences`, whole sentences judged in their caption; or a language "
        "model's name.",
    },
    "--verifier": {
        "multiple": True,
        "default": ("bundled",),
        "help": "Model that decides whether a unit is true, as for --critic of revise-captions; "
        "several vote.",
    },
    "--judge": {
        "default": "offline",
        "help": "POSH judge: `offline` (a sentence encoder), a model folder, a Hugging Face model "
        "id, or MODEL@URL.",
    },
    "--parser": {
        "default": "bundled",
        "help": "Dependency parser: `bundled`, or a spaCy pipeline's name or folder.",
    },
    # output and statistics
    "--resume": {"is_flag": True, "help": "Continue an interrupted run of the same command."},
    "--force": {"is_flag": True, "help": "Overwrite OUT and discard an unfinished run of it."},
    "--allow-unscored": {
        "is_flag": True,
        "help": "Continue even if almost no sentence of the first 64 records can be judged, which "
        "otherwise ends the run.",
    },
    "--max-quarantine": {
        "type": click.FloatRange(0, 1),
        "metavar": "FRACTION",
        "help": "Exit with status 5 if more than this fraction of the records is quarantined.  "
        "[default: only if all are]",
    },
    "--report": {"type": OUT_FILE, "help": "Write an HTML report to this file."},
    "--group-by": {"metavar": "FIELD", "help": "Also report figures for each value of this field."},
    "--replicates": {
        "type": click.IntRange(100),
        "help": "Bootstrap resamples and permutations behind intervals and tests.",
    },
    "--seed": {"type": int, "default": 0, "help": "Seed of every random choice."},
}


def shared_option(name: str, **changes: Any) -> Any:
    """A dataclass field that is a shared option.

    Args:
        name: Its spelling, such as `--critic`.
        changes: As in `option`: what replaces the declared keywords.
    """
    told: dict[str, Any] = {**_OPTIONS[name], **changes}
    default = told.pop("default", False if told.pop("is_flag", False) else None)
    return option(default, told.pop("help"), **told)
