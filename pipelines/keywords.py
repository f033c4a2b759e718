"""The keyword arguments of `revise` and `judge`: the command's options that are not about files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypedDict

from revise_captions.engines.server_options import Without
from revise_captions.errors import UserError
from revise_captions.pipelines.options import Guard, OnUnfixable, Stage


class Options(TypedDict, total=False):
    """Each is the command's option of that name; `captions revise --help` says what it means.

    Options about files and commands are left out: a function that is given records needs none.
    """

    image_field: str | None
    caption_field: str | None
    image_root: Path | str | None
    allow_urls: bool
    expert: tuple[str, ...]
    critic_profile: Path | None
    adapter: str | None
    engine: str
    samples: int
    threshold: float | None
    target_precision: float | None
    batch_size: int
    dtype: str
    compile: bool
    device: str
    trust_remote_code: bool
    without_logprobs: Without
    header: tuple[str, ...]
    key_variable: tuple[str, ...]
    ca_bundle: Path | None
    requests_per_minute: int | None
    tokens_per_minute: int | None
    price_in: float | None
    price_out: float | None
    max_cost: float | None
    verify: str
    reference_field: str | None
    judge: str
    parser: str
    stage: Stage
    rounds: int
    on_unfixable: OnUnfixable
    guard: Guard | None


#: The arguments of a call that stand for options of the command.
_ARGUMENTS = {
    f"--{name.replace('_', '-')}": name for name in ("critic", "reviser", *Options.__annotations__)
}


def as_arguments(text: str) -> str:
    """Rewords a message of the command for a function: `image_root` instead of `--image-root`.

    An example value is converted too: `image_field=NAME` instead of `--image-field NAME`. Options
    without a matching argument, and options of other programs, stay as they are.
    """
    for option, argument in _ARGUMENTS.items():
        text = re.sub(rf"{option}(?:[ =]([A-Z]+)\b)?(?![\w-])", partial(_named, argument), text)
    return text


def _named(argument: str, found: re.Match[str]) -> str:
    return f"`{argument}={found[1]}`" if found[1] else f"`{argument}`"


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Makes a `UserError` name arguments, as the caller cannot give the command's options."""
    try:
        yield
    except UserError as error:
        error.message, error.hint = as_arguments(error.message), as_arguments(error.hint)
        error.args = (error.message,)
        raise
