"""Command-line options from dataclass fields: each field holds its default, help and choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import click

from revise_captions.commands import RenamedOptions, echo


def option(
    default: Any,
    help: str,
    *,
    name: str = "",
    choices: tuple[str, ...] = (),
    research: bool = False,
) -> Any:
    """A dataclass field that is an option too.

    Args:
        default: An immutable value, which gives the option its type.
        help: One line for `--help`.
        name: The option's name with underscores, where it is not the field's.
        choices: The values that a string may take.
        research: Whether only `--help-research` shows it.
    """
    more = {"help": help, "option": name, "choices": choices, "research": research}
    return field(default=default, metadata=more)


def option_name(item: Field[Any]) -> str:
    return str(item.metadata["option"] or item.name)


def grouped(settings: Any) -> Iterator[tuple[str, Field[Any]]]:
    """Each option of a settings class or instance, with its group's field, "" for none."""
    for item in fields(settings):
        group = item.default_factory
        if is_dataclass(group):
            yield from ((item.name, member) for member in fields(group))
        else:
            yield "", item


def with_values(settings: Any, values: Mapping[str, Any]) -> Any:
    """Settings with those of `values` that are named like one of their options."""
    changed: dict[str, dict[str, Any]] = {}
    for group, item in grouped(settings):
        if (name := option_name(item)) in values:
            changed.setdefault(group, {})[item.name] = values[name]
    whole = changed.pop("", {})
    groups = {group: replace(getattr(settings, group), **new) for group, new in changed.items()}
    return replace(settings, **groups, **whole)


def add_options(settings: Any) -> Any:
    """A decorator that gives a command the options of a settings class."""

    def decorate(command: Any) -> Any:
        for _, item in reversed(list(grouped(settings))):
            name, default = option_name(item), item.default
            flag = f"--{name.replace('_', '-')}"
            more: dict[str, Any] = {"type": type(default)}
            if isinstance(default, bool):
                flag, more = f"{flag}/--no-{flag[2:]}", {}
            elif item.metadata["choices"]:
                more = {"type": click.Choice(item.metadata["choices"])}
                default = str(default)
            command = click.option(
                flag, name, default=default, show_default=True, help=item.metadata["help"], **more
            )(command)
        return command

    return decorate


class GroupedOptions(RenamedOptions):
    """A command whose help has a section for each group of `SETTINGS`, titled by its docstring."""

    SETTINGS: ClassVar[Any] = None
    #: Values by preset and option; the first preset is that of the defaults.
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        titles: Mapping[str, str] = {
            item.name: str(item.default_factory.__doc__).rstrip(".")
            for item in fields(self.SETTINGS)
            if is_dataclass(item.default_factory)
        }
        homes = {option_name(item): (group, item) for group, item in grouped(self.SETTINGS)}
        for parameter in self.get_params(ctx):
            group, item = homes.get(parameter.name or "", ("", None))
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            hidden = item is not None and item.metadata["research"]
            if record and (not hidden or ctx.meta.get("research")):
                shown = self._with_presets(parameter, record)
                sections.setdefault(titles.get(group, "Options"), []).append(shown)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def _with_presets(self, parameter: click.Parameter, record: tuple[str, str]) -> tuple[str, str]:
        """The help with the value that each preset sets, where it is not the default."""
        name, (flags, text) = parameter.name or "", record
        set_by = {preset: v[name] for preset, v in self.PRESETS.items() if name in v}
        others = [f"{preset} {value}" for preset, value in set_by.items()]
        if not others:
            return record
        first = f"{next(iter(self.PRESETS))} {parameter.default}"
        return flags, f"{text.rpartition('  [default: ')[0]}  [{', '.join([first, *others])}]"


def help_research(command: Any) -> Any:
    """Adds `--help-research`, which shows the hidden options too."""

    def show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
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
    )(command)
