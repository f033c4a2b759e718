"""Options and arguments of a command from the fields of a dataclass, each declared in one place.

    @dataclass(frozen=True, slots=True)
    class CountOptions:
        source: Path = argument("IN", type=EXISTING_FILE)
        least: int = option(1, "Count words of this many letters and more.")

The annotation gives the type (`bool`: a flag; `Literal`: a choice; `tuple[str, …]`: may be given
again; `X | None`: an X), the field's name gives the option's. A `group`, or a field whose default
is itself a dataclass, holds a group of options. Names on the command line are unique over all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, Field, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import partial
from math import isnan
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click

#: The default of an option that must be given.
REQUIRED: Any = MISSING


def option(
    default: Any,
    help: str,
    *,
    name: str = "",
    choices: tuple[str, ...] = (),
    research: bool = False,
    **more: Any,
) -> Any:
    """A dataclass field that is an option too.

    Args:
        default: An immutable value, or `REQUIRED`.
        help: One line for `--help`.
        name: The option's name with underscores, where it is not the field's.
        choices: The values that a string may take, where its annotation is no `Literal`.
        research: Whether only `--help-research` shows it.
        more: Keywords of `click.option` that say more than the annotation: `type`, `metavar`, …;
            `negatable` adds `--no-NAME` to a flag that is off by default; `short` is a letter.
    """
    if choices:
        more["type"] = click.Choice(choices)
    told = {"help": help, "option": name, "research": research, "click": more}
    return field(default=default, metadata=told)


def argument(metavar: str, *, default: Any = REQUIRED, **more: Any) -> Any:
    """A dataclass field that is an argument: given by its place.

    Args:
        metavar: What the help calls it; in brackets one that can be left out.
        default: Of the field, for those who make the value in Python.
        more: Keywords of `click.argument`, such as `type` and `nargs`.
    """
    more.setdefault("required", not metavar.startswith("["))
    told = {"option": "", "research": False, "argument": metavar, "click": more}
    return field(default=default, metadata=told)


def group(settings: Callable[..., Any], **defaults: Any) -> Any:
    """A dataclass field that holds a group of options, some with defaults of their own.

    Args:
        settings: The group's class.
        defaults: By field, where a command's differ from the group's.
    """
    told = {"group": settings, "defaults": defaults}
    return field(default_factory=partial(settings, **defaults), metadata=told)


def group_of(item: Field[Any]) -> Any:
    """The class of the group that a field holds; None for a field of another kind."""
    if "group" in item.metadata:
        return item.metadata["group"]
    return item.default_factory if is_dataclass(item.default_factory) else None


def option_name(item: Field[Any]) -> str:
    """What the command line calls a field, with underscores."""
    return str(item.metadata["option"] or item.name)


def grouped(settings: Any) -> Iterator[tuple[str, Field[Any]]]:
    """Each option of a settings class or instance, with its group's field, "" for none."""
    for item in fields(settings):
        if (group := group_of(item)) is not None:
            own = item.metadata.get("defaults", {})
            yield from ((item.name, _with_default(member, own)) for _, member in grouped(group))
        elif "option" in item.metadata:
            yield "", item


def _with_default(item: Field[Any], defaults: Mapping[str, Any]) -> Field[Any]:
    """The field, with another default where there is one for it."""
    if item.name in defaults:
        item = copy(item)
        item.default = defaults[item.name]
    return item


def with_values(settings: Any, values: Mapping[str, Any]) -> Any:
    """Settings with those of `values` that are named like one of their options."""
    changed: dict[str, dict[str, Any]] = {}
    for group, item in grouped(settings):
        if (name := option_name(item)) in values:
            changed.setdefault(group, {})[item.name] = values[name]
    whole = changed.pop("", {})
    groups = {group: replace(getattr(settings, group), **new) for group, new in changed.items()}
    return replace(settings, **groups, **whole)


def filled(settings: type[Any], values: Mapping[str, Any]) -> Any:
    """A value of a settings class with what the command line gave."""
    whole: dict[str, Any] = {}
    for item in fields(settings):
        if (group := group_of(item)) is not None:
            own = item.metadata.get("defaults", {})
            whole[item.name] = filled(group, {**own, **values})
        elif "option" in item.metadata and option_name(item) in values:
            whole[item.name] = values[option_name(item)]
    return settings(**whole)


def parameters(settings: type[Any]) -> list[click.Parameter]:
    """What click parses, in the order of the fields."""
    hints = {"": get_type_hints(settings)}
    hints |= {
        item.name: _all_hints(group)
        for item in fields(settings)
        if (group := group_of(item)) is not None
    }
    return [_parameter(item, hints[group][item.name]) for group, item in grouped(settings)]


def _all_hints(settings: type[Any]) -> dict[str, Any]:
    """The annotations of a settings class and of its groups."""
    found = get_type_hints(settings)
    for item in fields(settings):
        if (group := group_of(item)) is not None:
            found |= _all_hints(group)
    return found


def add_options(settings: type[Any]) -> Any:
    """A decorator that gives a command the options of a settings class, as keywords."""

    def decorate(command: Any) -> Any:
        found = getattr(command, "__click_params__", [])
        command.__click_params__ = [*found, *reversed(parameters(settings))]
        return command

    return decorate


class _FloatRange(click.FloatRange):
    """Without NaN, of which no comparison says that it is out of range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isnan(found := super().convert(value, param, ctx)):
            self.fail(f"{found} is not in the range {self._describe_range()}.", param, ctx)
        return found


def _parameter(item: Field[Any], annotation: Any) -> click.Parameter:
    name, more = option_name(item), dict(item.metadata["click"])
    kind, several = _kind(annotation)
    if (metavar := item.metadata.get("argument")) is not None:
        more = {"metavar": metavar, "type": kind, "nargs": -1 if several else 1, **more}
        return click.Argument([name], **more)
    if isinstance(more.get("type"), click.FloatRange):
        given = more["type"]
        more["type"] = _FloatRange(given.min, given.max, given.min_open, given.max_open)
    flag = f"--{name.replace('_', '-')}"
    if kind is bool and "type" not in more:
        flag += f"/--no-{flag[2:]}" if more.pop("negatable", item.default is True) else ""
        more["is_flag"] = True
    elif type(several) is int:
        more = {"type": kind, "nargs": several, **more}
    else:
        more = {"type": kind, "multiple": several, **more}
    if item.default is MISSING:
        more["required"] = True
    else:
        more["default"] = str(item.default) if isinstance(item.default, StrEnum) else item.default
    spellings = [f"-{more.pop('short')}"] if "short" in more else []
    return click.Option(
        [*spellings, flag, name], **{"show_default": True, "help": item.metadata["help"], **more}
    )


def _kind(annotation: Any) -> tuple[Any, int | bool]:
    """The type that click converts to; whether several are given, or how many at once."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        (annotation,) = (part for part in inner if part is not NoneType)
        return _kind(annotation)
    if origin is Literal:
        return click.Choice(inner), False
    if origin is tuple:
        return _kind(inner[0])[0], True if inner[-1] is Ellipsis else len(inner)
    if issubclass(annotation, StrEnum):
        return click.Choice([str(member) for member in annotation]), False
    return (click.Path(path_type=Path) if annotation is Path else annotation), False
