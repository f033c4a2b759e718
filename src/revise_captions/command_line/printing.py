"""What commands print: text from outside is shown, not obeyed."""

from __future__ import annotations

import contextlib

import click

from revise_captions.outside_text import plain


def echo(text: str, *, err: bool = False) -> None:
    """Prints text that may come from outside: control characters in it are spelled out."""
    # An error that cannot be said (standard error is full, too) must not become a traceback.
    with contextlib.suppress(*((OSError,) if err else ())):
        click.echo(plain(text), err=err)
