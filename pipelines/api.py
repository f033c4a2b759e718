"""`revise_captions.revise`: the main job as a function, on a stream of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.fields import Fields, recognize, to_record
from revise_captions.io.images import load_image
from revise_captions.io.rows import BadRow, Row
from revise_captions.pipelines.job.models import (
    earlier_signature,
    load_critic_of,
    load_reviser_of,
    tools_of,
)
from revise_captions.pipelines.job.window import (
    WINDOW,
    OnUnfixable,
    Result,
    Stage,
    revise_records,
)
from revise_captions.pipelines.options import Options
from revise_captions.records import Record

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.critic.protocol import Critic
    from revise_captions.reviser.protocol import Reviser

#: Where rows given in memory say they come from.
MEMORY = "memory"
#: Rows that are looked at before the first result: for their fields, and for an earlier stage.
FIRST_ROWS = 100

Guard = Literal["strict", "warn"]


def revise(
    records: Iterable[Record | Mapping[str, Any]],
    *,
    critic: str | Critic = "bundled",
    adapter: str | None = None,
    reviser: str | Reviser = "bundled",
    engine: str = "transformers",
    samples: int = 0,
    threshold: float | None = None,
    target_precision: float | None = None,
    rounds: int = 2,
    on_unfixable: OnUnfixable = "keep",
    guard: Guard | None = None,
    stage: Stage = "all",
    image_field: str | None = None,
    caption_fields: Sequence[str] = (),
    image_root: str | Path | None = None,
    allow_urls: bool = False,
    batch_size: int = 16,
    dtype: str = "auto",
    device: str = "auto",
    compile: bool = False,
    window: int = WINDOW,
    verify: str = "none",
    reference_field: str | None = None,
    judge: str = "offline",
    parser: str = "bundled",
) -> Iterator[Result | BadRow]:
    """Yields, in order, one `Result` for each record, or the `BadRow` that says why there is none.

    `records`: mappings with an image (path, bytes, data URI, base64, `PIL.Image`, URL) and a
    caption under any known field name (looked for in the first hundred), or `Record`s. `critic`
    and `reviser` are names (a folder, a hub id, `bundled`, `drop`, `MODEL@http://…/v1`) or
    objects with their protocols. The other options are the command's (`revise-captions --help`).
    With `verify` a result's `verifications` say what was found, as it would stand in a row.
    Works a window at a time, so an endless stream is fine; models are loaded before this returns.

    Raises `UserError` where a model or the fields are not to be found, or options contradict.
    """
    _check_choices(on_unfixable=on_unfixable, guard=guard, stage=stage)
    own = [value for value in (threshold, target_precision, adapter) if value is not None]
    if own and not isinstance(critic, str):
        raise UserError("a critic given as an object brings its own threshold and weights")
    if window < 1 or rounds < 0:
        raise UserError(f"window {window} and rounds {rounds}: expected at least 1 and 0")
    options = Options(
        critic=critic if isinstance(critic, str) else "",
        adapter=adapter,
        reviser=reviser if isinstance(reviser, str) else "",
        engine=engine,
        samples=samples,
        threshold=threshold,
        target_precision=target_precision,
        rounds=rounds,
        on_unfixable=on_unfixable,
        guard=guard,
        stage=stage,
        batch_size=batch_size,
        dtype=dtype,
        device=device,
        compile=compile,
        verify=verify,
        reference_field=reference_field,
        judge=judge,
        parser=parser,
    )
    options.check()
    root = None if image_root is None else Path(image_root)

    def load(record: Record) -> Image:
        return load_image(record.image, root=root, allow_urls=allow_urls)

    wanted = Fields(image_field, tuple(caption_fields))
    return _results(records, wanted, options, (critic, reviser), load, window)


def _results(
    records: Iterable[Record | Mapping[str, Any]],
    wanted: Fields,
    options: Options,
    models: tuple[str | Critic, str | Reviser],
    load: Callable[[Record], Image],
    window: int,
) -> Iterator[Result | BadRow]:
    """Loads what is named of the models that the stage needs, then works through the records."""
    critic, reviser = models
    stream = iter(records)
    first = list(islice(stream, FIRST_ROWS))
    rows = [item.fields if isinstance(item, Record) else item for item in first]
    earlier = earlier_signature(rows, options.stage)
    fields = _fields_of(first, wanted, options.stage)
    reader = writer = None
    if options.stage != "revise":
        reader = load_critic_of(options) if isinstance(critic, str) else critic
    if options.stage != "critique":
        writer = load_reviser_of(options) if isinstance(reviser, str) else reviser
    tools, settings = tools_of(reader, writer, options, earlier)
    items = as_records(chain(first, stream), fields)
    return revise_records(items, tools, settings, load, window=window)


def _check_choices(on_unfixable: str, guard: str | None, stage: str) -> None:
    for name, value, kind in (
        ("on_unfixable", on_unfixable, OnUnfixable),
        ("guard", guard, Guard),
        ("stage", stage, Stage),
    ):
        if value is not None and value not in get_args(kind):
            raise UserError(f"{name}={value!r}: expected one of {', '.join(get_args(kind))}")


def _fields_of(first: Sequence[Record | Mapping[str, Any]], given: Fields, stage: str) -> Fields:
    """`given`, completed from the first mappings; `Record`s know theirs."""
    mappings = [item for item in first if not isinstance(item, Record)]
    if not mappings:
        return given
    return recognize(mappings, given, need_image=stage != "revise")


def as_records(
    items: Iterable[Record | Mapping[str, Any]], fields: Fields
) -> Iterator[Record | BadRow]:
    """Mappings as records with the number of their place as line; `Record`s as they are."""
    for number, item in enumerate(items, start=1):
        if isinstance(item, Record):
            yield item
            continue
        row = Row(number, item)
        try:
            yield to_record(row, fields, source=MEMORY)
        except BadRecord as error:
            yield BadRow.of(row, MEMORY, error)
