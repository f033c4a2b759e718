"""DCScore's tables (2503.07906): DeCapBench's leaderboard.

A row of a captions file names its image as the benchmark does, with or without a folder. What the
benchmark has and a file lacks is in no mean, and counted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.benchmarks.catalog.decapbench import CAPARENA, JUDGE, SOURCE, TABLE_11
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import Example
from revise_captions.dcscore.load import load_scorer
from revise_captions.dcscore.options import UnitModels
from revise_captions.dcscore.released import ReleasedScorer
from revise_captions.dcscore.rows import ScoredRow, means, row_of
from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask
from revise_captions.errors import UserError
from revise_captions.io.fields import look_up
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.reproduce.table import (
    PAPER,
    RELEASED,
    Asked,
    PaperTable,
    TableModel,
    TableRows,
)
from revise_captions.records import Record
from revise_captions.runs.inputs import image_loader, open_input
from revise_captions.runs.options import InputOptions
from revise_captions.runs.window_images import LoadedRecord, windows_of, with_images
from revise_captions.stats.correlations import correlation

BENCHMARK = "decapbench"
_OWN_PROMPTS = "the prompts are ours; --protocol released --prompts DIR takes the authors'"
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


def leaderboard(asked: Asked) -> TableRows:
    """Table 11: DCScore's F in percent of each captioner's file, with its parts."""
    if not asked.files:
        raise UserError(
            "no file of captions is given", hint="add one for each captioner: NAME=captions.jsonl"
        )
    models = UnitModels(
        decomposer=asked.models["decomposer"],
        matcher=asked.models["matcher"],
        verifier=(asked.models["verifier"],),
        placement=asked.placement,
        protocol=asked.protocol,
        prompts=asked.prompts,
    )
    folder = asked.folder(BENCHMARK)
    examples = dict(islice(examples_of(benchmark(BENCHMARK), folder).items(), asked.limit))
    scorer = load_scorer(models)
    root = folder if models.looks else None
    found = score_files(asked.files, examples, scorer, image_root=root, looks=models.looks)
    rows, notes = {}, []
    for one in found:
        mean = means(one.rows)
        values = [mean[name].value for name in ("dcscore", "s_p", "s_r")]
        rows[one.name] = [None if value is None else 100 * value for value in values]
        score = mean["dcscore"]
        spread = ""
        if score.low is not None and score.high is not None:
            spread = f"F 95 % [{100 * score.low:.2f}, {100 * score.high:.2f}], "
        notes.append(
            f"{one.name}: {spread}{len(one.rows)} of {len(examples)} images, {score.unscored} "
            f"unscored, {one.unknown} of other images, {one.bad} bad or repeated rows"
        )
    f_of = {name: row[0] for name, row in rows.items() if row[0] is not None}
    own = asked.prompts is None
    return TableRows(rows, scorer.settings, (*notes, *_ranks(f_of)), (_OWN_PROMPTS,) * own)


def _ranks(found: Mapping[str, float]) -> Iterator[str]:
    """Spearman's ρ of captioners' F with the paper's, and with people's votes in CapArena."""
    for title, scale in (
        ("Table 11", TABLE_11),
        ("CapArena's votes", {name: -place for place, name in enumerate(CAPARENA)}),
    ):
        both = [name for name in found if name in scale]
        if len(both) >= LEAST:
            x, y = ([values[name] for name in both] for values in (found, scale))
            rho = correlation("spearman", x, y)
            yield f"Spearman of the rows with {title}: {rho:.3f} ({len(both)} models)"


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
            hint=f"a field such as {NAMES[0]!r} must name the image as the benchmark does: "
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


TABLES = (
    PaperTable(
        id="dcscore:table11",
        title="DeCapBench: F of each captioner, in percent; s_p and s_r beside it",
        source=SOURCE,
        benchmarks=(BENCHMARK,),
        cost="400 captions a captioner: three to five long answers of each model a caption",
        columns=("F", "s_p", "s_r"),
        published={who: (value, None, None) for who, value in TABLE_11.items()},
        roles=(
            TableModel("decomposer", "offline", JUDGE),
            TableModel("matcher", "offline", JUDGE),
            TableModel("verifier", "reference", JUDGE, "`reference` looks at no image"),
        ),
        run=leaderboard,
        sample="dcscore",
        protocols=(PAPER, RELEASED),
        files="captions of one captioner: rows with `image_name` and `caption`",
        sample_files=("somebody=decapbench/captions.jsonl",),
        digits=(2,),
    ),
)
