"""A command of ours: a function of values whose classes declare its options and arguments.

    @command(CountOptions, heading="Measure captions and metrics", epilog=EPILOG)
    def count(options: CountOptions) -> None: ...

The first line of the docstring is what `captions --help` says of it. Every command has `-h`, `-V`
and `-v`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

import click

from revise_captions.command_line.options import filled, group_of, grouped, option_name, parameters
from revise_captions.command_line.version import version_option

#: `context_settings` of every command.
SETTINGS: dict[str, Any] = {
    "show_default": True,
    "max_content_width": 100,
    "help_option_names": ["-h", "--help"],
}
#: The headings of `captions --help`, in their order; others follow.
HEADINGS = (
    "Correct captions",
    "Measure captions and metrics",
    "Label and train",
    "Large jobs and engines",
    "Settings and shell",
)
#: Where commands stand that name no heading.
OTHERS = "From other packages"

#: The sections of a command's help, in their order; a command shows those that it has options for.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Input and output": (
        *("--out", "--image-field", "--caption-field", "--captioner-field", "--image-root"),
        *("--allow-urls", "--limit", "--strict", "--write", "--evidence", "--resume", "--force"),
        "--config",
    ),
    "Filters": ("--drop-duplicates", "--language", "--min-side", "--max-ratio", "--drop-gray"),
    "Models": (
        *("--critic", "--expert", "--critic-profile", "--reviser", "--adapter"),
        *("--engine", "--samples"),
        *("--device", "--dtype"),
        *("--batch-size", "--compile", "--trust-remote-code"),
    ),
    "Models on servers": (
        *("--without-logprobs", "--key-variable", "--header", "--ca-bundle"),
        *("--requests-per-minute", "--tokens-per-minute"),
        *("--price-in", "--price-out", "--max-cost"),
    ),
    "What is flagged and kept": (
        *("--threshold", "--target-precision", "--rounds", "--guard", "--on-unfixable"),
        *("--allow-unscored", "--max-quarantine"),
    ),
    "Inspection": (
        *("--dry-run", "--report", "--group-by", "--people", "--replicates", "--verify"),
        *("--reference-field", "--judge", "--parser"),
    ),
    "Large jobs": ("--stage", "--shard", "--runner", "--replicas", "--ray-address"),
}


#: Makes the line that says how to continue, of the command line.
GoOn = Callable[[Sequence[str]], str]


def nothing_to_say(_: Sequence[str]) -> str:
    """For a command that cannot be continued."""
    return ""


class Command(click.Command):
    """A command whose options are values of classes.

    Attributes:
        settings: These classes, in the order of the function's parameters.
        go_on: See `GoOn`.
        sections: The headings of its help, and under each the options, by spelling.
        presets: Values by preset and option, shown in the help; the first is that of the defaults.
    """

    settings: tuple[type[Any], ...] = ()
    go_on: GoOn = staticmethod(nothing_to_say)
    sections: Mapping[str, Sequence[str]] = {}
    presets: Mapping[str, Mapping[str, Any]] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's; what was given becomes the values that the function takes."""
        rest = super().parse_args(ctx, args)
        if self.settings and not ctx.resilient_parsing:
            assert self.callback is not None
            names = inspect.signature(self.callback).parameters
            made = [filled(settings, ctx.params) for settings in self.settings]
            ctx.params = dict(zip(names, made, strict=True))
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options by section, those for research only where they are asked for."""
        for title, rows in self.help_sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def help_sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Under each heading of the help the options as they are spelled, and what is said."""
        declared = [item for settings in self.settings for _, item in grouped(settings)]
        hidden = {option_name(item) for item in declared if item.metadata["research"]}
        if ctx.meta.get("research"):
            hidden = set()
        records = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and record[1] and parameter.name not in hidden:
                records[max(parameter.opts, key=len)] = self._with_presets(parameter, record)
        found = {
            title: rows
            for title, names in self.sections.items()
            if (rows := [records.pop(name) for name in names if name in records])
        }
        return found | {"Other options" if self.sections else "Options": [*records.values()]}

    def _with_presets(self, parameter: click.Parameter, record: tuple[str, str]) -> tuple[str, str]:
        """The help with the value that each preset sets, where it is not the default."""
        name, (flags, text) = parameter.name or "", record
        set_by = {preset: v[name] for preset, v in self.presets.items() if name in v}
        others = [f"{preset} {value}" for preset, value in set_by.items()]
        if not others:
            return record
        first = f"{next(iter(self.presets))} {parameter.default}"
        return flags, f"{text.rpartition('  [default: ')[0]}  [{', '.join([first, *others])}]"


class CommandGroup(click.Group):
    """Sub-commands of a sub-command."""

    go_on: GoOn = staticmethod(nothing_to_say)


def command(
    *settings: type[Any],
    name: str = "",
    heading: str = OTHERS,
    epilog: str = "",
    go_on: GoOn = nothing_to_say,
    sections: Mapping[str, Sequence[str]] | None = None,
    presets: Mapping[str, Mapping[str, Any]] | None = None,
) -> Callable[[Callable[..., Any]], Command]:
    """A decorator that makes a command of a function.

    Args:
        settings: Dataclasses (`command_line.options`); the function takes a value of each.
        name: By default the function's.
        heading: Of `captions --help`, a literal: it is read without importing the module.
        epilog: What the help ends with.
        go_on: See `GoOn`.
        sections: Of the help. By default one for each group of `settings`, titled by its docstring.
        presets: See `Command`.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        more = getattr(function, "__click_params__", [])
        made = Command(
            name or function.__name__.rstrip("_").replace("_", "-"),
            callback=function,
            params=[*chain(*map(parameters, settings)), *reversed(more), *_common()],
            help=inspect.cleandoc(function.__doc__ or ""),
            epilog=epilog,
            context_settings=SETTINGS,
        )
        made.settings, made.go_on, made.presets = settings, go_on, presets or {}
        made.sections = sections if sections is not None else _by_group(settings)
        return made

    return decorate


def group(
    *,
    name: str = "",
    heading: str = OTHERS,
    epilog: str = "",
    go_on: GoOn = nothing_to_say,
    commands: Sequence[click.Command] = (),
) -> Callable[[Callable[[], None]], CommandGroup]:
    """A decorator that makes a command with sub-commands; arguments as in `command`."""

    def decorate(function: Callable[[], None]) -> CommandGroup:
        made = CommandGroup(
            name or function.__name__.replace("_", "-"),
            callback=function,
            params=[version_option()],
            commands=commands,
            help=inspect.cleandoc(function.__doc__ or ""),
            epilog=epilog,
            context_settings=SETTINGS,
        )
        made.go_on = go_on
        return made

    return decorate


def _by_group(settings: Sequence[type[Any]]) -> dict[str, list[str]]:
    """The options of each group of settings classes, under its docstring."""
    titled = {
        item.name: str(group.__doc__).partition("\n")[0].rstrip(".")
        for each in settings
        for item in fields(each)
        if (group := group_of(item)) is not None
    }
    found: dict[str, list[str]] = {"Options": []} if titled else {}
    for name, item in (pair for each in settings for pair in grouped(each) if titled):
        flag = f"--{option_name(item).replace('_', '-')}"
        found.setdefault(titled.get(name, "Options"), []).append(flag)
    return found


def _common() -> list[click.Parameter]:
    """What every command takes."""
    verbose = click.Option(
        ["-v", "--verbose"],
        count=True,
        show_default=False,
        expose_value=False,
        callback=_start_log,
        help="Log what happens to standard error; -vv also logs details.",
    )
    return [verbose, version_option()]


def _start_log(_: click.Context, __: click.Parameter, verbosity: int) -> None:
    from revise_captions.command_line import log

    log.configure(verbosity)


def help_research(function: Any) -> Any:
    """Adds `--help-research`, which shows the hidden options too."""

    def show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        from revise_captions.command_line.printing import echo

        if wanted and not ctx.resilient_parsing:
            ctx.meta["research"] = True
            echo(ctx.get_help())
            ctx.exit()

    return click.option(
        "--help-research",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show this message with the options for research on small critics, and exit.",
    )(function)
