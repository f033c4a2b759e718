"""From records to revisions, window by window: the whole flow on one screen.

Work goes in fixed windows of the input. Batches are made inside a window and never across two, so
what is computed together never depends on where a run was cut, resumed or sharded to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from PIL import Image

from revise_captions.critic.protocol import Critic, PreparesImages
from revise_captions.errors import BadRecord, Reason
from revise_captions.io.images import LoadImage
from revise_captions.io.readers import WINDOW
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.draft import Draft, flagged, new_draft, resumed, revision_of
from revise_captions.pipelines.job import rounds
from revise_captions.pipelines.output.schema import from_json
from revise_captions.records import Record, Revision
from revise_captions.reviser.protocol import Reviser
from revise_captions.signature import merged
from revise_captions.text.sentences import split

if TYPE_CHECKING:
    from revise_captions.pipelines.verify.verifier import Verifier

#: Pixels. A window's images are held decoded, twice over, so larger ones are first reduced to this,
#: which is more than any critic's tower looks at (896 × 896).
LARGEST = 1_500_000

Stage = Literal["all", "critique", "revise"]
OnUnfixable = Literal["keep", "drop", "flag"]


@dataclass(frozen=True, slots=True)
class RevisionSettings:
    """What decides the loop, next to the critic (which has its threshold) and the reviser."""

    stage: Stage = "all"
    rounds: int = 2
    on_unfixable: OnUnfixable = "keep"
    guard: Literal["strict", "warn"] = "strict"


@dataclass(frozen=True, slots=True)
class Tools:
    """The models of a run: `critique` needs no reviser, `revise` only the critic's threshold."""

    critic: Critic | None
    reviser: Reviser | None
    threshold: float
    signature: str
    verifier: Verifier | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One record and, by caption field, what became of its captions.

    `verifications`: what a verifier found of them, as it stands in a row (`verify.as_json`).
    """

    record: Record
    revisions: Mapping[str, Revision]
    verifications: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def revise_records(
    rows: Iterable[Record | BadRow],
    tools: Tools,
    settings: RevisionSettings,
    load: LoadImage,
    *,
    window: int = WINDOW,
) -> Iterator[Result | BadRow]:
    """One `Result` per record, in order; what cannot be processed comes out as a `BadRow`."""
    for loaded in with_images(windows_of(rows, window), settings, load, tools.critic):
        yield from revise_window(loaded, tools, settings)


Loaded = tuple[Record, "Image.Image | None"]


def windows_of(
    rows: Iterable[Record | BadRow], window: int = WINDOW
) -> Iterator[list[Record | BadRow]]:
    """The input cut into fixed windows."""
    source = iter(rows)
    while batch := list(islice(source, window)):
        yield batch


def with_images(
    windows: Iterable[Sequence[Record | BadRow]],
    settings: RevisionSettings,
    load: LoadImage,
    critic: Critic | None = None,
) -> Iterator[list[Loaded | BadRow]]:
    """The windows with their images, which are read while the window before is in work, and
    prepared for the critic.

    Stage `revise` looks at no images.
    """
    if settings.stage == "revise":
        for window in windows:
            yield [row if isinstance(row, BadRow) else (row, None) for row in window]
        return
    prepare = critic.prepare if isinstance(critic, PreparesImages) else None
    pool = ThreadPoolExecutor(min(8, 1 + (os.cpu_count() or 1)))
    try:
        ahead: list[Future[Loaded | BadRow]] = []
        for window in windows:
            reading = [pool.submit(_with_image, row, load, prepare) for row in window]
            if ahead:
                yield [row.result() for row in ahead]
            ahead = reading
        if ahead:
            yield [row.result() for row in ahead]
    finally:
        # Whoever stops here (Ctrl-C, a full disk) does not wait for a hundred images.
        pool.shutdown(wait=False, cancel_futures=True)


def _with_image(
    row: Record | BadRow, load: LoadImage, prepare: Callable[[Image.Image], None] | None
) -> Loaded | BadRow:
    if isinstance(row, BadRow):
        return row
    try:
        image = reduced(load(row))
    except BadRecord as error:
        return BadRow.of(row, row.source, error)
    if prepare is not None:
        prepare(image)
    return row, image


def reduced(image: Image.Image, pixels: int = LARGEST) -> Image.Image:
    """The image, made smaller where it has more than so many pixels; its shape stays."""
    share = (pixels / (image.width * image.height)) ** 0.5
    if share >= 1:
        return image
    size = (max(1, int(image.width * share)), max(1, int(image.height * share)))
    return image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)


def revise_window(
    loaded: Sequence[Loaded | BadRow], tools: Tools, settings: RevisionSettings
) -> list[Result | BadRow]:
    """One window through the stages. All its captions are judged, explained, rewritten together."""
    results: list[Result | BadRow] = []
    drafts: list[Draft] = []
    owners: list[tuple[dict[str, Revision], str, str]] = []
    for row in loaded:
        if isinstance(row, BadRow):
            results.append(row)
            continue
        record, image = row
        revisions: dict[str, Revision] = {}
        try:
            new = drafts_of(record, image, settings.stage)
        except BadRecord as error:
            results.append(BadRow.of(record, record.source, error))
            continue
        for name, (draft, earlier) in new.items():
            drafts.append(draft)
            owners.append((revisions, name, merged(earlier, tools.signature)))
        results.append(Result(record, revisions))
    done = run_stages(drafts, tools, settings)
    for (revisions, name, signature), draft in zip(owners, done, strict=True):
        revisions[name] = revision_of(draft, signature)
    if tools.verifier is not None:
        pictures = [None if isinstance(row, BadRow) else row[1] for row in loaded]
        return verified(results, pictures, tools.verifier)
    return results


def verified(
    results: Sequence[Result | BadRow],
    pictures: Sequence[Image.Image | None],
    verifier: Verifier,
) -> list[Result | BadRow]:
    """The results with their verifications: the captions of a window are verified together."""
    cases = [
        verifier.case(result.record, revision, picture)
        for result, picture in zip(results, pictures, strict=True)
        if isinstance(result, Result)
        for revision in result.revisions.values()
    ]
    found = iter(verifier.verify(cases))
    return [
        result
        if isinstance(result, BadRow)
        else replace(result, verifications={name: next(found) for name in result.revisions})
        for result in results
    ]


def drafts_of(
    record: Record, image: Image.Image | None, stage: Stage
) -> dict[str, tuple[Draft, str]]:
    """A draft per caption of a record, and the signature of the stage before.

    Stage `all` begins anew, whatever an earlier run left in the record; the others go on where the
    stage before stopped. Raises `BadRecord(BAD_REVISION)` where there is nothing to revise.
    """
    stored = None if stage == "all" else record.fields.get("revision")
    if stored is None and stage == "revise":
        raise BadRecord(Reason.BAD_REVISION, "no `revision`: run --stage critique first")
    drafts = {}
    for name, caption in record.captions.items():
        if stored is None:
            drafts[name] = (new_draft(image, caption, split(caption)), "")
            continue
        row = {key: record.fields.get(key) for key in _ADDED}
        if len(record.captions) > 1:
            row = {key: _of_field(value, name) for key, value in row.items()}
        revision = from_json(caption, row)
        drafts[name] = (resumed(image, revision), revision.signature)
    return drafts


_ADDED = ("revised_caption", "revision")


def _of_field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


def stored_signature(row: Mapping[str, object]) -> str:
    """What an earlier stage signed a row with; "" where there was none."""
    stored = row.get("revision")
    for part in [stored, *(stored.values() if isinstance(stored, Mapping) else ())]:
        found = _of_field(part, "signature")
        if isinstance(found, str):
            return found
    return ""


def run_stages(drafts: list[Draft], tools: Tools, settings: RevisionSettings) -> list[Draft]:
    """`all`: judge, explain, then rounds of rewriting and judging. A stage does its part."""
    if settings.stage == "revise":
        assert tools.reviser is not None
        return _revise(drafts, tools, settings)
    assert tools.critic is not None
    drafts = _critique(drafts, tools.critic)
    if settings.stage == "all":
        for _ in range(settings.rounds):
            drafts = _critique(_revise(drafts, tools, settings), tools.critic)
    if settings.on_unfixable == "drop":
        spent = [draft.rounds >= settings.rounds for draft in drafts]
        dropped = iter(
            rounds.drop_unfixable(
                [d for d, s in zip(drafts, spent, strict=True) if s], tools.critic
            )
        )
        drafts = [next(dropped) if s else d for d, s in zip(drafts, spent, strict=True)]
    return drafts


def _critique(drafts: list[Draft], critic: Critic) -> list[Draft]:
    return rounds.explain(rounds.judge(drafts, critic), critic)


def _revise(drafts: list[Draft], tools: Tools, settings: RevisionSettings) -> list[Draft]:
    """One round for the drafts that have rounds left and something flagged."""
    assert tools.reviser is not None
    open_ = [
        k
        for k, draft in enumerate(drafts)
        if draft.stale is None
        and draft.rounds < settings.rounds
        and flagged(draft, tools.threshold)
    ]
    revised = rounds.revise(
        [drafts[k] for k in open_], tools.reviser, tools.threshold, settings.guard
    )
    result = list(drafts)
    for k, draft in zip(open_, revised, strict=True):
        result[k] = draft
    return result
