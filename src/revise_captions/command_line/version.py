"""`--version`: this package, what computes, and what is there to be named."""

from __future__ import annotations

import platform
from importlib import metadata

import click

from revise_captions.command_line.printing import echo


def version_option() -> click.Option:
    """The eager option `-V`, `--version`, for any command."""
    return click.Option(
        ["-V", "--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show,
        help="Show versions, models and extras, and exit.",
    )


def _show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        echo(versions())
        ctx.exit()


def versions() -> str:
    """What a report of a fault should begin with; imports no library that computes."""
    from revise_captions import registry
    from revise_captions.command_line.extras import installed_extras

    by = (f"{name} {metadata.version(name)}" for name in ("torch", "transformers"))
    there = [name for name, whole in installed_extras().items() if whole]
    return "\n".join(
        (
            f"captions, version {metadata.version('revise-captions')}",
            f"Python {platform.python_version()}, {', '.join(by)}",
            f"critics: {', '.join(sorted(registry.entries(registry.CRITICS)))}",
            f"revisers: {', '.join(sorted(registry.entries(registry.REVISERS)))}",
            f"extras: {', '.join(there) or 'none'}",
        )
    )
