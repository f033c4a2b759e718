"""Batches: rows of similar length up to a token budget, halved where memory runs out.

Batches depend on a call's requests alone, so a run that is resumed or spread over machines computes
the same ones. Only running out of memory changes them, and with them the last digits of an answer,
as another `--batch-size` would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from revise_captions.errors import EngineDead

#: Tokens of a forward pass, padding included: what a CPU's caches hold, and enough for a GPU.
TOKENS = {"cpu": 2048}
MANY_TOKENS = 32_768

Item = TypeVar("Item")
Result = TypeVar("Result")


def token_budget(device: str) -> int:
    """Tokens of a forward pass on a device, as torch names it (`cpu`, `cuda:1`)."""
    return TOKENS.get(device.partition(":")[0], MANY_TOKENS)


def batched(
    items: Sequence[Item], length: Callable[[Item], int], *, rows: int, tokens: int
) -> Iterator[list[Item]]:
    """Items of similar length together, longest first, so that running out of memory comes early.

    Args:
        items: What to batch.
        length: Tokens of an item.
        rows: Most items of a batch.
        tokens: Most tokens of a batch, padded to its longest item; a longer item is alone.
    """
    batch: list[Item] = []
    for item in sorted(items, key=lambda item: -length(item)):
        if batch and (len(batch) == rows or (len(batch) + 1) * length(batch[0]) > tokens):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


def out_of_memory(error: RuntimeError) -> bool:
    """Whether an error means that torch ran out of memory, on any device."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text


@contextmanager
def device_alive() -> Iterator[None]:
    """Turns errors of the device, as opposed to the input, into `EngineDead`."""
    try:
        yield
    except RuntimeError as error:
        if "CUDA error" in str(error) or out_of_memory(error):
            first = str(error).strip().splitlines()[0]
            raise EngineDead(f"the device stopped answering: {first}") from error
        raise


def halving(
    items: Sequence[Item],
    run: Callable[[Sequence[Item]], Result],
    split: Callable[[Item], Sequence[Item]] = lambda item: (),
) -> Iterator[tuple[Sequence[Item], Result | None]]:
    """Runs items together, or in halves where memory runs out; keeps their order.

    Args:
        items: A batch.
        run: Computes some of it.
        split: The parts of an item that does not fit alone; none where it cannot be split.

    Yields:
        Items that ran together and their result; None for an item that does not fit.
    """
    import torch

    try:
        result = run(items)
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
    else:
        yield items, result
        return
    # outside the handler, where the error's traceback would keep the tensors alive
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    parts = split(items[0]) if len(items) == 1 else items
    if len(parts) == 0:
        yield items, None
        return
    middle = (len(parts) + 1) // 2
    for half in (parts[:middle], parts[middle:]):
        if len(half):
            yield from halving(half, run, split)
