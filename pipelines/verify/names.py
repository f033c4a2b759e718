"""The names of the checks: `--verify text,critic,posh`."""

from __future__ import annotations

from revise_captions.errors import UserError

CHECKS = ("text", "critic", "posh")


def checks_of(names: str) -> tuple[str, ...]:
    """`text,posh` as checks in their order; () for `none`. Raises `UserError`."""
    given = {name.strip() for name in names.split(",") if name.strip()} - {"none"}
    if unknown := sorted(given - set(CHECKS)):
        raise UserError(
            f"--verify {', '.join(unknown)}: unknown check",
            hint=f"expected none, or a comma-separated list of {', '.join(CHECKS)}",
        )
    return tuple(name for name in CHECKS if name in given)
