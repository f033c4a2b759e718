"""The main job as functions: `revise` for a stream of records, `judge` for one caption."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, get_args

from revise_captions.engines.server_options import Without
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.decoding import reduced
from revise_captions.io.fields import Fields, recognize, to_record
from revise_captions.io.images import LoadImage, load_image
from revise_captions.io.rows import BadRow, Row
from revise_captions.pipelines.job.models import (
    FIRST_ROWS,
    assembled,
    check_reviser,
    earlier_signature,
    load_critic_of,
    load_reviser_of,
)
from revise_captions.pipelines.job.window import WINDOW, Result, revise_records
from revise_captions.pipelines.keywords import Options, as_arguments, naming_arguments
from revise_captions.pipelines.options import (
    Guard,
    JobOptions,
    ModelOptions,
    OnUnfixable,
    RunOptions,
    Stage,
    VerifyOptions,
    option_names,
)
from revise_captions.records import Record, Revision
from revise_captions.runs.options import InputOptions
from revise_captions.signature import settings_of

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.critic.protocol import Critic
    from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
    from revise_captions.reviser.protocol import Reviser

#: The source name of rows given in memory.
MEMORY = "memory"
_CHOICES = {"stage": Stage, "on_unfixable": OnUnfixable, "guard": Guard} | {
    "without_logprobs": Without
}

Given = InputOptions | ModelOptions | VerifyOptions | RunOptions


def revise(
    records: Iterable[Record | Mapping[str, Any]],
    *groups: Given,
    critic: str | Critic = "bundled",
    reviser: str | Reviser | None = None,
    caption_fields: Sequence[str] = (),
    window: int = WINDOW,
    **options: Unpack[Options],
) -> Iterator[Result | BadRow]:
    """Judges and revises records, one window at a time, so the stream may be endless.

    Args:
        records: Mappings with an image (path, bytes, data URI, base64, Pillow image, NumPy
            array, URL) and a caption under any known field name (looked for in the first hundred),
            or `Record`s.
        *groups: Options as values: `InputOptions`, `ModelOptions`, `VerifyOptions`, `RunOptions`.
        critic: A name (`bundled`, a folder, a hub id, `MODEL@http://…/v1`), or an object with the
            protocol `Critic`.
        reviser: A name (also `drop`), or an object with the protocol `Reviser`. Defaults to the
            bundled one for the bundled critic, and to the critic itself where that is an instruct
            model; with any other critic it must be given.
        caption_fields: The fields that hold captions, if their names are not known ones.
        window: How many records are worked on together.
        **options: The command's options by name (`revise-captions --help`), such as `threshold`,
            `rounds`, `image_root`, `device`; they override `groups`.

    Yields:
        In order, one `Result` for each record, or the `BadRow` that says why there is none. With
        `verify`, a result's `verifications` hold what was found, as a row would.

    Raises:
        UserError: A model or the fields cannot be found, or options contradict each other. This is
            raised, and the models are loaded, before the call returns.
        TypeError: An option is unknown.
    """
    if caption_fields:
        options["caption_field"] = ",".join(caption_fields)
    with naming_arguments():
        job = _job(groups, options, critic, reviser)
    _check(job, window)
    with naming_arguments():
        found = _results(records, job, (critic, reviser), _loader(job.inputs), window)
    return _told(found)


class BatchReviser:
    """`revise` for batches of rows from another pipeline, with models loaded once.

    The first batch loads the models and determines the fields. Neither is pickled, so each worker
    of a pipeline loads its own.
    """

    def __init__(
        self,
        critic: str = "bundled",
        reviser: str | None = None,
        window: int = WINDOW,
        **options: Unpack[Options],
    ) -> None:
        """Takes the arguments of `revise`; `stage` is `all` or `critique`.

        Raises:
            UserError: Options contradict each other.
            TypeError: An option is unknown.
        """
        with naming_arguments():
            self._job = _job((), options, critic, reviser)
        _check(self._job, window)
        if self._job.run.stage == "revise":
            raise UserError(
                "stage revise does not work here: it continues from the critiques in a file"
            )
        self._names, self._window = (critic, reviser), window
        self._ready: tuple[Fields, LoadedModels, RevisionSettings] | None = None

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> list[Result | BadRow]:
        """A result for each row, in order. Raises `UserError` as `revise` does."""
        if not rows:
            return []
        job = self._job
        if self._ready is None:
            with naming_arguments():
                fields = _fields_of(rows, job.inputs, job.run.stage)
                self._ready = (fields, *_loaded(job, self._names))
        fields, models, settings = self._ready
        items, load = as_records(rows, fields), _loader(job.inputs)
        return list(_told(revise_records(items, models, settings, load, window=self._window)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}


def _check(job: JobOptions, window: int) -> None:
    if window < 1 or job.run.rounds < 0:
        raise UserError(f"window {window} and rounds {job.run.rounds}: expected at least 1 and 0")


def _loader(inputs: InputOptions) -> Callable[[Record], Image]:
    root = None if inputs.image_root is None else Path(inputs.image_root)

    def load(record: Record) -> Image:
        return load_image(record.image, root=root, allow_urls=inputs.allow_urls, keep=reduced)

    return load


def _told(results: Iterator[Result | BadRow]) -> Iterator[Result | BadRow]:
    for found in results:
        if isinstance(found, BadRow):
            found = replace(found, detail=as_arguments(found.detail))
        yield found


def judge(
    image: object, caption: str, *, critic: str | Critic = "bundled", **options: Unpack[Options]
) -> Revision:
    """Judges the sentences of one caption; nothing is rewritten.

    Args:
        image: A path, bytes, a data URI, base64, a Pillow image, a NumPy array (height × width × 3
            bytes), or a URL.
        caption: Any text.
        critic: As for `revise`. A critic named without further options is loaded only once.
        **options: As for `revise`.

    Returns:
        A revision that changes nothing: each of its `sentences` has a `verdict`, and a `rationale`
        if it was flagged.

    Raises:
        BadRecord: The image or the caption cannot be read.
        UserError: The critic cannot be found.
    """
    if isinstance(critic, str) and not options:
        critic = _loaded_critic(critic)
    rows = [{"image": image, "caption": caption}]
    fields: dict[str, Any] = {"image_field": "image", "caption_field": "caption"}
    given: Any = fields | {"stage": "critique"} | dict(options)
    (result,) = revise(rows, critic=critic, **given)
    if isinstance(result, BadRow):
        raise BadRecord(result.reason, result.detail)
    return result.revisions["caption"]


@lru_cache(maxsize=1)
def _loaded_critic(name: str) -> Critic:
    return load_critic_of(ModelOptions(critic=name))


def _job(
    groups: Sequence[Given],
    options: Mapping[str, Any],
    critic: str | Critic,
    reviser: str | Reviser | None,
) -> JobOptions:
    """The options as one checked value. Raises `UserError`, or TypeError for unknown options."""
    known = option_names()
    for name in options:
        if name not in Options.__annotations__:
            near = get_close_matches(name, Options.__annotations__, n=1)
            raise TypeError(
                f"revise() has no option {name!r}{f'; did you mean {near[0]!r}?' if near else ''}"
            )
    values: dict[str, Any] = {}
    for group in [part for given in groups for part in (given, getattr(given, "server", None))]:
        values |= {name: getattr(group, name) for name in known if hasattr(group, name)}
    values |= options
    for name, kind in _CHOICES.items():
        value = values.get(name)
        if value is not None and value not in get_args(kind):
            raise UserError(f"{name}={value!r}: expected one of {', '.join(get_args(kind))}")
    own = [values.get(name) for name in ("threshold", "target_precision", "adapter")]
    if not isinstance(critic, str) and any(value is not None for value in own):
        raise UserError("a critic given as an object brings its own threshold and weights")
    if isinstance(critic, str) and critic != known["critic"]:
        values["critic"] = critic
    if isinstance(reviser, str):
        values["reviser"] = reviser
    job = JobOptions.of(values)
    job.check()
    return job


def _results(
    records: Iterable[Record | Mapping[str, Any]],
    job: JobOptions,
    models: tuple[str | Critic, str | Reviser | None],
    load: Callable[[Record], Image],
    window: int,
) -> Iterator[Result | BadRow]:
    """Loads models, then works through the records."""
    stage = job.run.stage
    stream = iter(records)
    first = list(islice(stream, FIRST_ROWS))
    rows = [item.fields if isinstance(item, Record) else item for item in first]
    fields = _fields_of(first, job.inputs, stage)
    loaded, settings = _loaded(job, models, earlier_signature(rows, stage))
    images: LoadImage | None = load if stage != "revise" else None
    items = as_records(chain(first, stream), fields)
    return revise_records(items, loaded, settings, images, window=window)


def _loaded(
    job: JobOptions, models: tuple[str | Critic, str | Reviser | None], earlier: str = ""
) -> tuple[LoadedModels, RevisionSettings]:
    """Loads the models given by name that the stage needs. `earlier`: the rows' signature."""
    (critic, reviser), stage = models, job.run.stage
    judge = rewriter = None
    if stage != "revise":
        judge = load_critic_of(job.models) if isinstance(critic, str) else critic
    if stage != "critique" and not isinstance(reviser, str | None):
        rewriter = reviser
    elif stage != "critique":
        before = settings_of(earlier)
        check_reviser(job.models, before, judge)
        rewriter = load_reviser_of(job.models, judge, before)
    return assembled(judge, rewriter, job.models, job.run, job.verify, earlier)


def _fields_of(
    first: Sequence[Record | Mapping[str, Any]], inputs: InputOptions, stage: Stage
) -> Fields:
    """The given fields, completed from the first mappings; `Record`s already have theirs."""
    given = Fields(inputs.image_field, inputs.caption_fields)
    mappings = [item for item in first if not isinstance(item, Record)]
    if not mappings:
        return given
    return recognize(mappings, given, need_image=stage != "revise")


def as_records(
    items: Iterable[Record | Mapping[str, Any]], fields: Fields
) -> Iterator[Record | BadRow]:
    """Mappings as records, numbered by position as their line; `Record`s as they are."""
    for number, item in enumerate(items, start=1):
        if isinstance(item, Record):
            yield item
            continue
        row = Row(number, item)
        try:
            yield to_record(row, fields, source=MEMORY)
        except BadRecord as error:
            yield BadRow.of(row, MEMORY, error)
