"""Batches within a window: shown as progress, and kept in case the run is interrupted.

The runner of windows installs a `BatchObserver`. Engines, critics and revisers report each batch to
it, and engines ask it for batches that an interrupted run has already computed. Batches are
identified by content, so that what is computed together, and hence every answer, stays the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeVar

from revise_captions.engines.protocol import AnswerScores, Completion, Failed, Picture, Prompt
from revise_captions.records import Unscored

Answer = TypeVar("Answer")
Item = TypeVar("Item")
Batch = TypeVar("Batch", bound=Sequence[Any])


class BatchObserver(Protocol):
    """Is told about batches. Its methods may be called from several threads."""

    def progress(self, doing: str, done: int, of: int) -> None:
        """`done` of the `of` items of one call are done."""
        ...

    def recall(self, key: str) -> list[Any] | None:
        """The batch's stored answers, each in the form that `stored` returns."""
        ...

    def keep(self, key: str, answers: list[Any]) -> None:
        """Stores a batch's answers."""
        ...


_OBSERVER: ContextVar[BatchObserver | None] = ContextVar("batch_observer", default=None)


@contextmanager
def observed_by(observer: BatchObserver) -> Iterator[None]:
    """A context whose batches are reported to the observer."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def reported(doing: str, batches: Iterable[Batch], of: int) -> Iterator[Batch]:
    """Yields the batches; asking for the next one reports the previous as done."""
    done = 0
    for batch in batches:
        if not done and (observer := _OBSERVER.get()) is not None:
            observer.progress(doing, 0, of)
        yield batch
        done += len(batch)
        if (observer := _OBSERVER.get()) is not None:
            observer.progress(doing, done, of)


def kept(
    model: str, kind: str, items: Sequence[Any], compute: Callable[[], list[Answer]]
) -> list[Answer]:
    """A batch's answers, from an interrupted run, or else computed and kept.

    Args:
        model: The model's name.
        kind: What is asked for, and with which settings; "" for sampled answers, which are not
            kept, as each advances the random generator.
        items: `Prompt`s or `EncodedPrompt`s; or tuples of `Prompt`s, images, and objects whose
            `repr` identifies their content.
        compute: Makes the answers: `AnswerScores`, `Completion`, `Failed`, tuples of floats, or
            JSON-compatible lists.
    """
    observer = _OBSERVER.get()
    if observer is None or not kind:
        return compute()
    name = key_of(f"{model} {kind}", items)
    found = observer.recall(name)
    if found is not None:
        answers: list[Any] = [restored(answer) for answer in found]
        return answers
    computed = compute()
    observer.keep(name, [stored(answer) for answer in computed])
    return computed


def in_batches(
    model: str,
    kind: str,
    items: Sequence[Item],
    size: int,
    compute: Callable[[Sequence[Item]], list[Answer]],
) -> list[Answer]:
    """The answers, at most `size` items at a time, reported and kept.

    `model`, `kind`: see `kept`; the first word of `kind` is shown to people.
    """
    doing = kind.partition(" ")[0] or "writing"
    every = (items[start : start + size] for start in range(0, len(items), size))
    return [
        answer
        for batch in reported(doing, every, len(items))
        for answer in kept(model, kind, batch, partial(compute, batch))
    ]


def key_of(kind: str, items: Sequence[Any]) -> str:
    """A hash of what is asked, including texts and pictures."""
    total = hashlib.blake2b(kind.encode(), digest_size=16)
    for item in items:
        for part in _content(item):
            total.update(b"%d:" % len(part))
            total.update(part)
    return total.hexdigest()


def _content(item: Any) -> Iterator[bytes]:
    if isinstance(item, Prompt):
        yield item.system.encode("utf-8", "surrogatepass")
        for part in item.parts:
            if isinstance(part, Picture):
                yield repr(part.image.size).encode() + part.image.tobytes()
            else:
                yield f"{type(part).__name__} {part.text}".encode("utf-8", "surrogatepass")
    elif isinstance(item, tuple):
        for part in item:
            if hasattr(part, "tobytes"):
                yield repr(part.size).encode() + part.tobytes()
            else:
                yield from _content(part) if isinstance(part, Prompt) else [repr(part).encode()]
    else:
        yield repr((item.ids, sorted(item.kinds.items()), item.answer)).encode()
        for name, value in sorted(item.pictures.items()):
            yield name.encode() + value.detach().cpu().contiguous().float().numpy().tobytes()


def stored(answer: object) -> list[Any]:
    """An answer in JSON-compatible form."""
    if isinstance(answer, AnswerScores):
        return ["scores", list(answer.logprobs), answer.answer_mass]
    if isinstance(answer, Completion):
        return ["text", answer.text, answer.complete]
    if isinstance(answer, Failed):
        return ["failed", str(answer.reason), answer.detail]
    if isinstance(answer, tuple):
        return ["floats", list(answer)]
    if isinstance(answer, list):
        return ["list", answer]
    raise TypeError(f"no answer of an engine: {answer!r}")


def restored(
    found: Sequence[Any],
) -> AnswerScores | Completion | Failed | tuple[float, ...] | list[Any]:
    """The inverse of `stored`, for several answers."""
    match found:
        case ["scores", logprobs, mass]:
            return AnswerScores(tuple(logprobs), mass)
        case ["text", text, complete]:
            return Completion(text, complete)
        case ["failed", reason, detail]:
            return Failed(Unscored(reason), detail)
        case ["floats", values]:
            return tuple(values)
        case ["list", values]:
            return list(values)
    raise ValueError(f"no stored answer: {found!r}")
