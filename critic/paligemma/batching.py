"""Batches: rows of similar length up to a token budget, halved where memory runs out.

Batches depend on a call's requests alone, so a run that is resumed or spread over machines computes
the same ones. Only running out of memory changes them, and with them the last digits of an answer,
as another `--batch-size` would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from revise_captions.errors import EngineDead

#: Tokens per forward pass, padding included: as many as a CPU's caches hold; enough for a GPU.
TOKENS = {"cpu": 2048}
MANY_TOKENS = 32_768

Item = TypeVar("Item")


def token_budget(device: str) -> int:
    """Tokens per forward pass on a device, named as in torch (`cpu`, `cuda:1`)."""
    return TOKENS.get(device.partition(":")[0], MANY_TOKENS)


def batched(
    items: Sequence[Item], length: Callable[[Item], int], *, rows: int, tokens: int
) -> Iterator[list[Item]]:
    """Batches items of similar length, longest first, so that memory runs out early if at all.

    Args:
        items: What to batch.
        length: Gives an item's tokens.
        rows: Most items per batch.
        tokens: Most tokens per batch, padded to its longest item; a longer item is alone.
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
            raise EngineDead(f"the device stopped responding: {first}") from error
        raise


@dataclass(slots=True)
class BatchPart(Generic[Item]):
    """Items to compute together, inside `with attempt as items:`.

    Running out of memory inside ends the block without an error: `halving` goes on with halves.

    Attributes:
        items: A batch, or a part of one.
        fits: False for a single, unsplittable item that did not fit: there is nothing to compute.
        failed: Whether memory ran out.
    """

    items: Sequence[Item]
    fits: bool = True
    failed: bool = False

    def __enter__(self) -> Sequence[Item]:
        return self.items

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.failed = isinstance(error, RuntimeError) and out_of_memory(error)
        return self.failed


def halving(
    items: Sequence[Item], split: Callable[[Item], Sequence[Item]] = lambda item: ()
) -> Iterator[BatchPart[Item]]:
    """Items to compute together, or in halves if memory runs out; keeps their order.

    Args:
        items: A batch.
        split: The parts of an item that does not fit alone; none if it cannot be split.

    Yields:
        Parts of the batch to try: larger ones that turn out not to fit, then each that fits, once,
        and each item that never does (`fits` is False).
    """
    import torch

    todo = [items]
    while todo:
        attempt = BatchPart(todo.pop())
        yield attempt
        if not attempt.failed:
            continue
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        parts = split(attempt.items[0]) if len(attempt.items) == 1 else attempt.items
        if len(parts) == 0:
            yield BatchPart(attempt.items, fits=False)
            continue
        middle = (len(parts) + 1) // 2
        todo += [half for half in (parts[middle:], parts[:middle]) if len(half)]
