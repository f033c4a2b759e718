"""DeCapBench: captioners' files scored by DCScore against units made by hand, beside Table 11.

A row of a captions file names its image as the benchmark does, with or without a folder. What the
benchmark has and a file lacks is in no mean, and counted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.benchmarks.catalog.decapbench import CAPARENA, JUDGE, SOURCE, TABLE_11
from revise_captions.benchmarks.types import Example
from revise_captions.dcscore.load import load_scorer
from revise_captions.dcscore.options import UnitModels
from revise_captions.dcscore.released import ReleasedScorer
from revise_captions.dcscore.rows import ScoredRow, means, row_of
from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask
from revise_captions.errors import UserError
from revise_captions.io.fields import look_up
from revise_captions.io.rows import BadRow
from revise_captions.records import Record
from revise_captions.runs.inputs import image_loader, open_input
from revise_captions.runs.options import InputOptions
from revise_captions.runs.window_images import LoadedRecord, windows_of, with_images
from revise_captions.signature import signature
from revise_captions.stats.correlations import correlation

#: Fields that name a row's image where no field holds the image itself.
NAMES = ("image_name", "image_id", "image", "image_key", "image/key", "file_name", "id")
#: Fewer captioners than this have no rank correlation.
LEAST = 3


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """A captioner on the benchmark.

    Attributes:
        name: As the user called it.
        rows: A score for each of its captions of a benchmark image.
        unknown: Captions of other images.
        bad: Rows that could not be read, or twice of one image.
    """

    name: str
    rows: tuple[ScoredRow, ...]
    unknown: int
    bad: int


def run(
    entry: Benchmark,
    folder: Path,
    files: Sequence[str],
    models: UnitModels,
    *,
    image_root: Path | None = None,
    scorer: CaptionScorer | ReleasedScorer | None = None,
) -> str:
    """Scores each file and prints its row, the published table, and rank correlations.

    Raises:
        UserError: No file is given, it cannot be read, or it has no caption of the benchmark.
    """
    if not files:
        raise UserError(
            "no file of captions is given", hint=f"captions benchmarks run {entry.name} DIR FILE"
        )
    examples = examples_of(entry, folder)
    scorer = scorer or load_scorer(models)
    found = score_files(files, examples, scorer, image_root=image_root, looks=models.looks)
    same = all(JUDGE in str(who) for who in (models.decomposer, models.matcher, *models.verifier))
    lines = [*_table(found, len(examples)), "", *_published(same), "", *_ranks(found)]
    return "\n".join([*lines, "", signature(scorer.settings)])


def examples_of(entry: Benchmark, folder: Path) -> dict[str, Example]:
    """The benchmark's captions by their image's name, without folder and ending."""
    return {_stem(e.image): e for e in entry.read(folder) if isinstance(e, Example)}


def score_files(
    files: Sequence[str],
    examples: Mapping[str, Example],
    scorer: CaptionScorer | ReleasedScorer,
    *,
    image_root: Path | None = None,
    looks: bool = False,
) -> list[BenchmarkRow]:
    """Scores captioners' files, `[NAME=]FILE`, against the benchmark's units.

    Raises:
        UserError: A file cannot be read, or has no caption of the benchmark.
    """
    return [
        _scored(
            name, InputOptions(source=path, image_root=image_root), examples, scorer, looks=looks
        )
        for name, path in map(_named, files)
    ]


def _named(given: str) -> tuple[str, str]:
    name, equals, path = given.partition("=")
    return (name, path) if equals else (Path(given).stem, given)


def _stem(image: str) -> str:
    """The image's name as files may write it: without folder and ending."""
    return PurePosixPath(image.replace("\\", "/")).stem


def _scored(
    name: str,
    inputs: InputOptions,
    examples: Mapping[str, Example],
    scorer: CaptionScorer | ReleasedScorer,
    *,
    looks: bool,
) -> BenchmarkRow:
    rows: dict[str, ScoredRow] = {}
    unknown = bad = 0
    with closing(open_input(inputs, "-", need_image=looks)) as source:
        load = image_loader(source, inputs) if looks else None
        for window in with_images(windows_of(source), load):
            kept = list(_matched(window, examples))
            unknown += sum(not isinstance(row, BadRow) for row in window) - len(kept)
            bad += sum(isinstance(row, BadRow) for row in window)
            scores = scorer.score([task for _, task in kept])
            for (image, _), scored in zip(kept, scores, strict=True):
                bad += image in rows
                rows.setdefault(image, row_of(image, scored))
    if not rows:
        raise UserError(
            f"{inputs.source} has no caption of an image of the benchmark",
            hint=f"a field such as {NAMES[0]!r} names the image as the benchmark does: "
            f"{next(iter(examples.values())).image}",
        )
    return BenchmarkRow(name, tuple(rows.values()), unknown, bad)


def _matched(
    window: Sequence[LoadedRecord | BadRow], examples: Mapping[str, Example]
) -> Iterator[tuple[str, CaptionTask]]:
    for row in window:
        if isinstance(row, BadRow):
            continue
        record, image = row
        stem = next((stem for stem in _names(record) if stem in examples), None)
        if stem is not None:
            example = examples[stem]
            units = tuple(fact.text for fact in example.facts)
            caption = next(iter(record.captions.values()))
            yield stem, CaptionTask(caption, image, (example.caption,), units)


def _names(record: Record) -> Iterator[str]:
    if record.image.path:
        yield _stem(record.image.path)
    for name in NAMES:
        value = look_up(record.fields, name)
        if isinstance(value, str):
            yield _stem(value)


def _table(found: Sequence[BenchmarkRow], images: int) -> Iterator[str]:
    yield f"{'captioner':<28}{'F':>7}{'95 %':>17}{'s_p':>7}{'s_r':>7}{'units':>7}  captions"
    for one in found:
        mean = means(one.rows)
        score = mean["dcscore"]
        spread = "" if score.low is None else f"{100 * score.low:.2f} to {100 * score.high:.2f}"  # type: ignore[operator]
        figures = [_percent(mean[key].value) for key in ("s_p", "s_r")]
        units = mean["n_units"].value
        notes = [f"{len(one.rows)} of {images}"]
        notes += [f"{score.unscored} unscored"] * bool(score.unscored)
        notes += [f"{one.unknown} of other images"] * bool(one.unknown)
        notes += [f"{one.bad} bad or repeated rows"] * bool(one.bad)
        yield (
            f"{one.name[:27]:<28}{_percent(score.value):>7}{spread:>17}"
            f"{figures[0]:>7}{figures[1]:>7}{0 if units is None else units:>7.1f}  "
            f"{', '.join(notes)}"
        )


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"


def _published(same: bool) -> Iterator[str]:
    if same:
        yield f"published ({SOURCE}; the same judge, {JUDGE}, with the paper's own prompts):"
    else:
        yield f"published ({SOURCE}; the judge is GPT-4o: not comparable with the rows above):"
    for name, score in sorted(TABLE_11.items(), key=lambda row: -row[1]):
        yield f"  {name:<28}{score:>7.2f}"


def _ranks(found: Sequence[BenchmarkRow]) -> Iterator[str]:
    """Spearman's ρ with people's votes: of the published table, and of the files given."""
    both = [name for name in CAPARENA if name in TABLE_11]
    order = [-CAPARENA.index(name) for name in both]
    known = correlation("spearman", [TABLE_11[name] for name in both], order)
    yield f"Spearman of Table 11 with CapArena's votes of people: {known:.3f} ({len(both)} models)"
    for title, scale in (
        ("Table 11", TABLE_11),
        ("CapArena's votes", {name: -place for place, name in enumerate(CAPARENA)}),
    ):
        pairs = [
            (value, scale[one.name])
            for one in found
            if one.name in scale and (value := means(one.rows)["dcscore"].value) is not None
        ]
        if len(pairs) >= LEAST:
            x, y = zip(*pairs, strict=True)
            rho = correlation("spearman", x, y)
            yield f"Spearman of the rows above with {title}: {rho:.3f} ({len(x)} models)"
