"""Tells a record that makes a shared batch fail from a model that no longer works.

A batch that raises is halved repeatedly, down to single records. All but the records at fault are
then computed together once more, as if those had never been among them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from revise_captions.errors import EngineDead, UserError, described

logger = logging.getLogger(__name__)
#: If at least this many records all fail individually, they are not at fault.
MANY = 16

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Compute = Callable[[Sequence[Item]], Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Raised:
    """What an item raises when computed alone."""

    error: Exception


def isolated(
    items: Sequence[Item], compute: Compute[Item, Answer], ask_plainly: Callable[[], object]
) -> list[Answer | Raised]:
    """An answer for each item, or what the item raises when computed alone.

    Args:
        items: What to compute together.
        compute: Answers in the items' order.
        ask_plainly: Computes something that always works if the models do.

    Raises:
        EngineDead: As `isolated_after`.
    """
    try:
        return list(compute(items))
    except Exception as error:
        return isolated_after(error, items, compute, ask_plainly)


def isolated_after(
    first: Exception,
    items: Sequence[Item],
    compute: Compute[Item, Answer],
    ask_plainly: Callable[[], object],
) -> list[Answer | Raised]:
    """`isolated`, after `compute(items)` has raised `first`.

    Errors of the run pass through: `UserError`, `EngineDead`, MemoryError, operating-system errors.

    Raises:
        EngineDead: `ask_plainly` fails too, or all of at least `MANY` items do: the items are not
            at fault.
    """
    _pass_on(first)
    logger.debug("a batch of %d failed", len(items), exc_info=first)
    try:
        ask_plainly()
    except Exception as error:
        _pass_on(error)
        raise EngineDead(f"the models fail on any caption: {described(error)}") from error
    found = _halved(items, compute)
    rest = [k for k, answer in enumerate(found) if not isinstance(answer, Raised)]
    if not rest and len(items) >= MANY:
        raise EngineDead(f"the models fail on every caption: {described(first)}") from first
    if 0 < len(rest) < len(items):
        try:
            together = compute([items[k] for k in rest])
        except Exception as error:  # they only work separately
            _pass_on(error)
        else:
            for k, answer in zip(rest, together, strict=True):
                found[k] = answer
    return found


def _halved(items: Sequence[Item], compute: Compute[Item, Answer]) -> list[Answer | Raised]:
    try:
        return list(compute(items))
    except Exception as error:
        _pass_on(error)
        if len(items) == 1:
            return [Raised(error)]
    middle = len(items) // 2
    return _halved(items[:middle], compute) + _halved(items[middle:], compute)


def _pass_on(error: Exception) -> None:
    """Re-raises an error that concerns the run. Pillow's own OSErrors, without an errno, do not."""
    of_the_system = isinstance(error, OSError) and error.errno is not None
    if of_the_system or isinstance(error, UserError | EngineDead | MemoryError):
        raise error
