"""The commands of `captions annotate`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.pipelines.annotate.options import (
    ConvertOptions,
    ExportOptions,
    ImportOptions,
    MatchOptions,
)


@command(ExportOptions)
def export(options: ExportOptions) -> None:
    """Draw a stratified sample of a run's sentences and write annotation tasks for it.

    RUN is the output of revise-captions. OUT gets a folder for each interface, with tasks and a
    configuration for Label Studio and a CSV sheet for other tools: `factuality` and `critique`, as
    in the paper's appendix C, and `preference`, which compares original and rewrite. Do not give
    OUT/key.jsonl to the raters: it identifies each item.
    """
    from revise_captions.pipelines.annotate.tasks.export import export as write_tasks
    from revise_captions.pipelines.annotate.terminal import exported_text

    echo(exported_text(options, write_tasks(options)))


@command(ImportOptions, name="import")
def import_(options: ImportOptions) -> None:
    """Turn raters' answers into labels, agreement, the paper's Tables 5 and 6, and training data.

    EXPORT is the folder that `captions annotate export` wrote or, for decisions made in a report or
    with `captions explore`, the run itself; the figures then describe what was decided, which is
    not a sample. ANSWERS are Label Studio exports (JSON, JSON-MIN, CSV), filled-in sheets of any
    interface, or decisions, in one or several files; a sheet that does not name its rater is
    attributed to its file name. OUT/problems.jsonl lists the answers that cannot be used. OUT can
    be passed to captions finetune as DATA.
    """
    from revise_captions.pipelines.annotate.answers.import_answers import import_answers
    from revise_captions.pipelines.annotate.terminal import imported_text

    echo(imported_text(options, import_answers(options)))


@command(ConvertOptions)
def convert(options: ConvertOptions) -> None:
    """Convert the labeled captions in DIR into training data for captions finetune, split by image.

    NAME is a benchmark of `captions benchmarks list` with sentence labels: m-haldetect, chocolate,
    plain (your own), … OUT gets train.jsonl, validation.jsonl, images and data.json, which records
    the data's origin and license.
    """
    from revise_captions.pipelines.annotate.data.convert import convert_data
    from revise_captions.pipelines.annotate.terminal import converted_text

    echo(converted_text(options, convert_data(options)))


@command(MatchOptions)
def match(options: MatchOptions) -> None:
    """Turn unlabeled captions into training data: does a sentence belong to the image?

    CAPTIONS is anything that revise-captions reads. Use OUT to introduce a small critic to a new
    domain before labeled sentences teach it what is wrong: run captions finetune on OUT first, then
    on the labeled data, starting from the result. Large models do not need this step.
    """
    from revise_captions.pipelines.annotate.data.matching import match as write_rows
    from revise_captions.pipelines.annotate.terminal import matched_text

    echo(matched_text(options, write_rows(options)))
