"""The commands of `captions annotate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import COUNT, EXISTING_FOLDER, OUT_FOLDER, shared

_ANSWERS = click.Path(path_type=Path, exists=True)
_image_root = shared("--image-root", type=EXISTING_FOLDER)


def _validation(default: float) -> Any:
    return click.option(
        "--validation",
        type=click.FloatRange(0, 0.9, min_open=True),
        default=default,
        help="Fraction of the images that goes into validation.jsonl.",
    )


@command()
@click.argument("run")
@click.argument("out", type=OUT_FOLDER)
@click.option("--size", type=COUNT, default=300, help="Number of sentences to sample.")
@click.option(
    "--by",
    default="p,rewrite,error",
    help="What to stratify by, comma-separated: `p`, P(factual); `rewrite`, whether a rewrite was "
    "accepted; `error`, the error type, if the input has one.",
)
@click.option(
    "--bins", default="0.2,0.4,0.6,0.8", help="Boundaries between the strata of P(factual)."
)
@click.option(
    "--allocation",
    type=click.Choice(["equal", "proportional"]),
    default="equal",
    help="Sample the same number from each stratum, or in proportion to its size.",
)
@shared("--seed", help="Seed of the sample.")
@click.option(
    "--interface",
    "interfaces",
    multiple=True,
    type=click.Choice(["factuality", "critique", "preference"]),
    help="Write this interface only; repeat for several.  [default: all]",
)
@click.option("--raters", type=COUNT, default=5, help="Planned raters per item.")
@click.option(
    "--images",
    type=click.Choice(["copy", "embed", "path"]),
    default="copy",
    help="Copy images to OUT/images, also embed them in the tasks, or only refer to their paths.",
)
@click.option(
    "--image-prefix",
    default="",
    show_default=False,
    help="Prefix of image paths in the tasks.  [default: Label Studio's local files]",
)
@shared("--image-field", "--caption-field")
@_image_root
@shared("--allow-urls")
def export(run: str, out: Path, **options: Any) -> None:
    """Draw a stratified sample of a run's sentences and write annotation tasks for it.

    RUN is the output of revise-captions. OUT gets a folder for each interface, with tasks and a
    configuration for Label Studio and a CSV sheet for other tools: `factuality` and `critique`, as
    in the paper's appendix C, and `preference`, which compares original and rewrite. Keep
    OUT/key.jsonl from the raters: it says what each item is.
    """
    from revise_captions.pipelines.annotate.tasks.export import ExportOptions
    from revise_captions.pipelines.annotate.tasks.export import export as write_tasks
    from revise_captions.pipelines.annotate.tasks.interfaces import INTERFACES
    from revise_captions.pipelines.annotate.tasks.sampling import SamplingDesign
    from revise_captions.pipelines.annotate.terminal import exported_text

    design = SamplingDesign(
        by=_names(options.pop("by")),
        bins=_numbers(options.pop("bins")),
        **{name: options.pop(name) for name in ("allocation", "size", "seed")},
    )
    options["interfaces"] = options["interfaces"] or tuple(INTERFACES)
    settings = ExportOptions(run, out, design, fields=_fields(options), **options)
    echo(exported_text(settings, write_tasks(settings)))


def _fields(options: dict[str, Any]) -> Any:
    """Takes --image-field and --caption-field out of `options`."""
    from revise_captions.io.fields import Fields

    return Fields(options.pop("image_field"), _names(options.pop("caption_field") or ""))


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in _names(text))
    except ValueError:
        raise click.BadParameter(
            f"{text}: expected comma-separated numbers", param_hint="--bins"
        ) from None


@command(name="import")
@click.argument("export", metavar="EXPORT", type=click.Path(path_type=Path, exists=True))
@click.argument("answers", metavar="ANSWERS…", nargs=-1, required=True, type=_ANSWERS)
@click.option("--out", required=True, type=OUT_FOLDER, help="Folder to write.")
@click.option(
    "--min-raters",
    type=COUNT,
    help="Ignore items with fewer answers.  [default: more than half of the planned raters]",
)
@_validation(0.1)
@_image_root
@shared("--replicates", default=1000, help="Bootstrap resamples behind the intervals.")
def import_(**options: Any) -> None:
    """Turn raters' answers into labels, agreement, the paper's Tables 5 and 6, and training data.

    EXPORT is the folder that `captions annotate export` wrote, or, for decisions made in a report
    or with `captions explore`, the run itself: its figures are then about what was decided, which
    is no sample. ANSWERS are Label Studio exports (JSON, JSON-MIN, CSV), filled-in sheets, of any
    interface, or decisions, in one file or several; a sheet that does not name its rater is
    attributed to its file's name. OUT/problems.jsonl lists the answers that cannot be used. OUT can
    be passed to captions finetune as DATA.
    """
    from revise_captions.pipelines.annotate.answers.import_answers import (
        ImportOptions,
        import_answers,
    )
    from revise_captions.pipelines.annotate.terminal import imported_text

    settings = ImportOptions(**options)
    echo(imported_text(settings, import_answers(settings)))


@command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
@click.argument("out", type=OUT_FOLDER)
@_validation(0.1)
@click.option(
    "--test",
    type=click.FloatRange(0, 0.9),
    default=0.0,
    help="Fraction of the images held out in OUT/test, for captions evaluate-metric.",
)
@click.option(
    "--subset",
    "subsets",
    multiple=True,
    help="Convert this subset only; repeat for several.  [default: all; m-haldetect: its training "
    "files]",
)
@_image_root
@click.option(
    "--images",
    type=click.Choice(["copy", "path"]),
    default="copy",
    help="Copy images to OUT/images, or only refer to their paths.",
)
@shared("--limit", help="Stop after this many captions.")
@click.option(
    "--allow-benchmark",
    is_flag=True,
    help="Allow data that critics are evaluated on; data.json then marks them as such for good.",
)
def convert(**options: Any) -> None:
    """Convert the labeled captions in DIR into training data for captions finetune, split by image.

    NAME is a benchmark of `captions benchmarks list` with sentence labels: m-haldetect, chocolate,
    plain (your own), … OUT gets train.jsonl, validation.jsonl, images and data.json, which records
    the data's origin and license.
    """
    from revise_captions.pipelines.annotate.data.convert import ConvertOptions, convert_data
    from revise_captions.pipelines.annotate.terminal import converted_text

    settings = ConvertOptions(**options)
    echo(converted_text(settings, convert_data(settings)))


@command()
@click.argument("captions")
@click.argument("out", type=OUT_FOLDER)
@click.option(
    "--others",
    type=COUNT,
    default=6,
    help="Sentences of other images per caption, in addition to those inside it.",
)
@click.option(
    "--contrasts",
    type=click.FloatRange(0, 1),
    default=0.8,
    help="Fraction of these that differ from one of the image's own sentences in one place, if "
    "such sentences exist.",
)
@_validation(0.02)
@shared("--seed", help="Seed of the sampled sentences.")
@shared("--image-field", "--caption-field")
@_image_root
@shared("--limit")
def match(captions: str, out: Path, **options: Any) -> None:
    """Turn unlabeled captions into training data: does a sentence belong to the image?

    CAPTIONS is anything that revise-captions reads. Use OUT to introduce a small critic to a new
    domain before labeled sentences teach it what is wrong: run captions finetune on OUT first, then
    on the labeled data, starting from the result. Large models do not need this step.
    """
    from revise_captions.pipelines.annotate.data.matching import MatchOptions
    from revise_captions.pipelines.annotate.data.matching import match as write_rows
    from revise_captions.pipelines.annotate.terminal import matched_text

    settings = MatchOptions(captions, out, fields=_fields(options), **options)
    echo(matched_text(settings, write_rows(settings)))
