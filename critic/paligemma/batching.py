"""What is computed together: rows of like length to a token budget, halved where memory runs out.

Batches depend on what one call is asked and on nothing else: a run that is resumed or spread over
machines computes the same ones. Only running out of memory changes them, and with them the last
digits of an answer, as another `--batch-size` would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from revise_captions.errors import EngineDead

#: Tokens of a forward pass, padding included: a CPU's caches hold no more, a GPU wants work.
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
    """Items of like length together, longest first: what does not fit in memory fails at once.

    A batch has at most `rows` items and, padded to its longest, at most `tokens` tokens, unless a
    single item is longer.
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
    """Whether torch could not get the memory it wanted, on whatever device."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text


@contextmanager
def device_alive() -> Iterator[None]:
    """Raises `EngineDead` where the device, not the input, is at fault."""
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
    """`run` on the items, or on their halves where memory runs out; the order stays.

    Yields what was run together with its result. An item that does not fit alone is run in the
    parts that `split` makes of it; one without parts has the result None.
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
    # outside of the handler: the error's traceback would keep the tensors alive
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
