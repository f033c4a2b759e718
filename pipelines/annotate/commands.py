"""The commands of `annotate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

_IN = click.Path(path_type=Path, exists=True)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_DATA = click.Path(path_type=Path, file_okay=False, exists=True)
_image_root = click.option(
    "--image-root", type=_DATA, help="Folder that image paths start from.  [default: the input's]"
)
_image_field = click.option(
    "--image-field", help="Field that holds the image.  [default: found by its name]"
)
_caption_field = click.option(
    "--caption-field", help="Field that holds the caption.  [default: found by its name]"
)


def _share(default: float) -> Any:
    return click.option(
        "--validation",
        type=click.FloatRange(0, 0.9, min_open=True),
        default=default,
        help="Share of the images that goes into validation.jsonl.",
    )


@click.command()
@click.argument("run")
@click.argument("out", type=_FOLDER)
@click.option("--size", type=click.IntRange(1), default=300, help="Sentences to draw.")
@click.option(
    "--by",
    default="p,rewrite,error",
    help="Strata: P(factual), rewrite accepted or rejected, type of error where the input has it.",
)
@click.option("--bins", default="0.2,0.4,0.6,0.8", help="Bounds of P(factual) between strata.")
@click.option(
    "--allocation",
    type=click.Choice(["equal", "proportional"]),
    default="equal",
    help="As many of each stratum, or as many as its size asks for.",
)
@click.option("--seed", type=int, default=0, help="Another seed draws another sample.")
@click.option(
    "--interface",
    "only",
    multiple=True,
    type=click.Choice(["factuality", "critique", "preference"]),
    help="Only these.  [default: all]",
)
@click.option("--raters", type=click.IntRange(1), default=5, help="Planned answers to each item.")
@click.option(
    "--images",
    type=click.Choice(["copy", "embed", "path"]),
    default="copy",
    help="Into OUT/images; into the tasks too; or left where they are.",
)
@click.option(
    "--image-prefix",
    default="",
    help="What stands before an image's path in a task.  [default: Label Studio's local files]",
)
@_image_field
@_caption_field
@_image_root
@click.option("--allow-urls", is_flag=True, help="Fetch images from public http(s) addresses.")
def export(run: str, out: Path, **options: Any) -> None:
    """Draw a stratified sample of a run's sentences, and write them as tasks for people.

    RUN is what revise-captions wrote. OUT gets a folder for each interface, with tasks and
    configuration for Label Studio and a sheet for everybody else: `factuality` and `critique` as in
    the paper's appendix C, and `preference`, original against rewrite. OUT/key.jsonl says what the
    items are: raters must not see it.
    """
    from revise_captions.io.fields import Fields
    from revise_captions.pipelines.annotate.tasks.export import ExportOptions
    from revise_captions.pipelines.annotate.tasks.export import export as write_tasks
    from revise_captions.pipelines.annotate.tasks.interfaces import INTERFACES
    from revise_captions.pipelines.annotate.tasks.sampling import Design
    from revise_captions.pipelines.annotate.text import exported_text

    design = Design(
        _names(options["by"]), _numbers(options["bins"]), options["allocation"], options["size"],
        options["seed"],
    )  # fmt: skip
    captions = tuple(_names(options["caption_field"] or ""))
    job = ExportOptions(
        run,
        out,
        design,
        options["only"] or tuple(INTERFACES),
        options["raters"],
        options["images"],
        options["image_prefix"],
        Fields(options["image_field"], captions),
        options["image_root"],
        options["allow_urls"],
    )
    click.echo(exported_text(job, write_tasks(job)))


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in _names(text))
    except ValueError:
        raise click.BadParameter(
            f"{text}: expected numbers with commas", param_hint="--bins"
        ) from None


@click.command("import")
@click.argument("asked", metavar="ASKED", type=_DATA)
@click.argument("answers", metavar="ANSWERS…", nargs=-1, required=True, type=_IN)
@click.option("--out", required=True, type=_FOLDER, help="Folder to write.")
@click.option(
    "--min-raters",
    type=click.IntRange(1),
    help="Items with fewer answers are not used.  [default: more than half of those planned]",
)
@_share(0.1)
@click.option(
    "--replicates", type=click.IntRange(100), default=1000, help="Resamples for the intervals."
)
def import_(asked: Path, answers: tuple[Path, ...], out: Path, **options: Any) -> None:
    """Read raters' answers back: labels, agreement, the paper's Tables 5 and 6, training data.

    ASKED is what `annotate export` wrote. ANSWERS are Label Studio's exports (JSON, JSON-MIN, CSV)
    or filled-in sheets, of any interface, one file or several; a sheet without the rater's name in
    it is the rater that its file is named after. What cannot be used is counted and named in
    OUT/problems.jsonl. OUT is then the DATA of finetune-critic.
    """
    from revise_captions.pipelines.annotate.answers.import_answers import (
        ImportOptions,
        import_answers,
    )
    from revise_captions.pipelines.annotate.text import imported_text

    job = ImportOptions(
        asked, answers, out, options["min_raters"], options["validation"], options["replicates"]
    )
    click.echo(imported_text(job, import_answers(job)))


@click.command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=_DATA)
@click.argument("out", type=_FOLDER)
@_share(0.1)
@click.option(
    "--test",
    type=click.FloatRange(0, 0.9),
    default=0.0,
    help="Share of the images that is kept back, in OUT/test, for evaluate-metric.",
)
@click.option(
    "--subset",
    "subsets",
    multiple=True,
    help="Only captions of this subset.  [default: all; m-haldetect: its training files]",
)
@_image_root
@click.option(
    "--images",
    type=click.Choice(["copy", "path"]),
    default="copy",
    help="Into OUT/images, or left where they are.",
)
@click.option("--limit", type=click.IntRange(1), help="Only so many captions.")
@click.option(
    "--allow-benchmark",
    is_flag=True,
    help="Also data that is the benchmark itself; data.json then says so for good.",
)
def convert(name: str, folder: Path, out: Path, **options: Any) -> None:
    """Turn labelled captions into training data for finetune-critic, split by image.

    NAME is one of `caption-benchmarks list` with labels of sentences: m-haldetect, chocolate, plain
    (your own), … OUT gets train.jsonl, validation.jsonl, images and data.json, which says what the
    data are and under what licence.
    """
    from revise_captions.pipelines.annotate.data.convert import ConvertOptions, convert_data
    from revise_captions.pipelines.annotate.text import converted_text

    job = ConvertOptions(name, folder, out, **options)
    click.echo(converted_text(job, convert_data(job)))


@click.command()
@click.argument("captions")
@click.argument("out", type=_FOLDER)
@click.option(
    "--others",
    type=click.IntRange(1),
    default=6,
    help="Sentences of other images beside those in the caption.",
)
@click.option(
    "--contrasts",
    type=click.FloatRange(0, 1),
    default=0.8,
    help="Share of these that differ from an own one in one place, where there are such.",
)
@_share(0.02)
@click.option("--seed", type=int, default=0, help="Another seed draws other sentences.")
@_image_field
@_caption_field
@_image_root
@click.option("--limit", type=click.IntRange(1), help="Only so many rows.")
def match(captions: str, out: Path, **options: Any) -> None:
    """Turn captions that nobody judged into training data: is a sentence the image's own?

    CAPTIONS is what revise-captions reads. A small critic that knows nothing of a domain learns its
    words from OUT, before judged sentences teach it what is wrong: finetune-critic with OUT first,
    then with the judged data from what came of it. Large models need no such thing.
    """
    from revise_captions.io.fields import Fields
    from revise_captions.pipelines.annotate.data.matching import MatchOptions
    from revise_captions.pipelines.annotate.data.matching import match as write_rows
    from revise_captions.pipelines.annotate.text import matched_text

    fields = Fields(options.pop("image_field"), tuple(_names(options.pop("caption_field") or "")))
    job = MatchOptions(captions, out, fields=fields, **options)
    click.echo(matched_text(job, write_rows(job)))
