"""`captions preferences`: windows, journal and quarantine of the main job, pairs as output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.command_line.printing import echo
from revise_captions.errors import BadRecord
from revise_captions.io.fields import Fields, look_up
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.pipelines.output.writers import check_output
from revise_captions.pipelines.preferences.finished import is_complete
from revise_captions.pipelines.preferences.options import PreferenceOptions
from revise_captions.pipelines.preferences.pairs import Candidate, preferences
from revise_captions.pipelines.preferences.rows import pair_row
from revise_captions.pipelines.preferences.sampling import CaptionSource
from revise_captions.pipelines.preferences.scoring import candidates_of
from revise_captions.pipelines.preferences.statistics import PairTally
from revise_captions.runs.begin import open_journal, refuse_unfinished
from revise_captions.runs.inputs import image_loader, input_settings
from revise_captions.runs.journal import Journal, RowResult
from revise_captions.runs.outputs import OutputCounts, write_rows
from revise_captions.runs.progress import Progress, shown
from revise_captions.runs.window_images import LoadedRecord
from revise_captions.runs.windows import unfinished_windows
from revise_captions.signature import signature

if TYPE_CHECKING:
    from revise_captions.dcscore.load import UnitScoring


def collect(options: PreferenceOptions) -> OutputCounts | None:
    """Writes preference pairs for the images of a file, and prints what they are.

    Returns:
        How many rows made pairs or none, and how many could not be processed; None where
        `--resume` found the finished run.

    Raises:
        UserError: Something that the user can mend.
        EngineDead: A model stopped answering; the journal makes the run resumable.
    """
    options.check()
    refuse_unfinished(options.run)
    with closing(open_images(options)) as source:
        if is_complete(source, options):
            return None
        reads = options.reads()
        check_output(source, options.out, force=options.force, resume=options.resume, reads=reads)
        policy, scoring = _load(options)
        decisive = _settings(options, policy, scoring)
        with open_journal(options.run, decisive) as journal:
            with Progress(source.count()) as progress:
                _journal_windows(source, options, policy, scoring, journal, progress)
            tally = PairTally(options.by, signature(_named(decisive)))
            written = _write(source, options, policy, journal, tally, progress.total)
            journal.delete()
        say_where_images_are(source, options)
    tally.show(written)
    return written


def open_images(options: PreferenceOptions) -> Source:
    """The input; its rows need an image, and no caption. Raises `UserError`."""
    fields = Fields(options.image_field, captionless=True)
    return open_source(options.source, fields=fields, limit=options.limit)


def _load(options: PreferenceOptions) -> tuple[CaptionSource, UnitScoring]:
    from revise_captions.dcscore.load import load_unit_scoring
    from revise_captions.engines.load import load_engine

    placement = options.placement
    scoring = load_unit_scoring(
        options.units, options.verifier, placement, profile=options.critic_profile
    )
    engine = None
    if options.policy is not None:
        engine = load_engine(options.policy, placement, option="--policy")
    return CaptionSource(engine, options), scoring


def _settings(
    options: PreferenceOptions, policy: CaptionSource, scoring: UnitScoring
) -> Mapping[str, Any]:
    """Everything that decides a pair."""
    return {
        **policy.settings,
        **scoring.settings,
        "by": ",".join(options.by),
        "margin": f"{options.margin:g}",
        "pairs": str(options.pairs),
        "batch-size": options.placement.batch_size,
        **input_settings(options.inputs),
    }


def _named(decisive: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in decisive.items() if value is not None}


def _journal_windows(
    source: Source,
    options: PreferenceOptions,
    policy: CaptionSource,
    scoring: UnitScoring,
    journal: Journal,
    progress: Progress,
) -> None:
    """Journals every window that is not done yet."""
    load = image_loader(source, options.inputs)
    for number, digest, loaded in unfinished_windows(
        source, options.image_root, journal, load, progress
    ):
        rows = scored_rows(number, loaded, options, policy, scoring)
        journal.append(number, digest, rows)
        progress.advance(len(rows), sum(map(_units, rows)))


def _units(row: RowResult | BadRow) -> int:
    captions = [] if isinstance(row, BadRow) else row.revised["captions"]
    return sum(caption["c_r"] for caption in captions)


def scored_rows(
    window: int,
    loaded: Sequence[LoadedRecord | BadRow],
    options: PreferenceOptions,
    policy: CaptionSource,
    scoring: UnitScoring,
) -> list[RowResult | BadRow]:
    """A window's rows with their captions, scored, and the pairs that they make."""
    asked = [
        (record, image)
        for record, image in (row for row in loaded if not isinstance(row, BadRow))
        if image is not None
    ]
    captions = policy.captions(window, asked)
    usable = [
        (image, texts)
        for (_, image), texts in zip(asked, captions, strict=True)
        if not isinstance(texts, BadRecord)
    ]
    scored = iter(candidates_of(usable, scoring))
    answers = iter(zip(asked, captions, strict=True))
    results: list[RowResult | BadRow] = []
    for row in loaded:
        if isinstance(row, BadRow):
            results.append(row)
            continue
        (record, _), texts = next(answers)
        if isinstance(texts, BadRecord):
            results.append(BadRow.of(record, record.source, texts))
        else:
            results.append(_result(record.line, next(scored), options))
    return results


def _result(line: int, own: Sequence[Candidate], options: PreferenceOptions) -> RowResult:
    """An image's captions and pairs, as the journal keeps them."""
    made = preferences(own, options.by, margin=options.margin, most=options.pairs)
    return RowResult(
        line,
        {
            "captions": [candidate.as_json() for candidate in own],
            "pairs": [[one.by, one.chosen, one.rejected, one.margin] for one in made.pairs],
            "ties": dict(made.ties),
        },
    )


def say_where_images_are(source: Source, options: PreferenceOptions) -> None:
    """Tells users of OUT where relative paths in it start, unless it is beside IN."""
    start = options.image_root or source.folder
    if start.resolve() != Path(options.out).resolve().parent:
        echo(
            f"relative image paths start from {start}: pass it to train-preferences with "
            "--image-root"
        )


def _write(
    source: Source,
    options: PreferenceOptions,
    policy: CaptionSource,
    journal: Journal,
    tally: PairTally,
    total: int | None,
) -> OutputCounts:
    """The pairs of all rows, in order."""

    def rows(row: Row, result: RowResult) -> Iterator[dict[str, Any]]:
        tally.add(result.revised)
        image = look_up(row.data, source.fields.image or "")
        captions = result.revised["captions"]
        for by, chosen, rejected, margin in result.revised["pairs"]:
            yield pair_row(
                image,
                policy.prompt(row.line),
                captions[chosen],
                captions[rejected],
                by=by,
                margin=margin,
            )

    return write_rows(source, shown(journal.results(), "writing", total), options.out, rows)
