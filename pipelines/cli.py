"""The command `revise-captions`. Only option parsing here; the work is in `pipelines.run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from revise_captions.commands import run_command

EPILOG = """
\b
Examples:
  revise-captions captions.jsonl revised.jsonl --report report.html
  revise-captions in.parquet out.parquet --critic ./my-critic --reviser Qwen/Qwen3-14B
  revise-captions in.jsonl out.jsonl --resume          # after a crash or Ctrl-C
  revise-captions in.jsonl out.jsonl --dry-run         # counts and problems, loads no model
"""


def _config(context: click.Context, _: click.Parameter, value: Path | None) -> Path | None:
    """Reads option values from a TOML file; the command line overrules them."""
    if value is not None:
        import tomllib

        known = {p.name for p in context.command.params if isinstance(p, click.Option)} - {"config"}
        try:
            found = tomllib.loads(value.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise click.BadParameter(f"{value} is not readable TOML: {error}") from error
        values = {name.replace("-", "_"): v for name, v in found.items()}
        if unknown := sorted(set(values) - known):
            raise click.BadParameter(
                f"{value} sets {', '.join(unknown)}; known names are the long options without --"
            )
        context.default_map = {**(context.default_map or {}), **values}
    return value


@click.command(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(package_name="revise-captions")
@click.argument("source", metavar="IN")
@click.argument("out", metavar="OUT")
@click.option(
    "--config",
    is_eager=True,
    callback=_config,
    type=click.Path(path_type=Path, dir_okay=False),
    help="TOML file with option values; options given here overrule it.",
)
@click.option("--image-field", help="Field that holds the image.  [default: found by its name]")
@click.option(
    "--caption-field",
    help="Field that holds the caption; several with commas.  [default: found by its name]",
)
@click.option(
    "--image-root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that image paths start from and never leave.  [default: IN's folder]",
)
@click.option("--allow-urls", is_flag=True, help="Fetch images from public http(s) addresses.")
@click.option(
    "--critic",
    default="bundled",
    help="Critic: `bundled`, a folder, a hub id, or a server's model, MODEL@http://host:8000/v1.",
)
@click.option("--adapter", help="LoRA adapter for the critic: a folder or a hub id.")
@click.option(
    "--reviser",
    default="bundled",
    help="`bundled`, `drop`, a folder, a hub id, or a server's model, MODEL@http://host:8000/v1.",
)
@click.option(
    "--engine",
    type=click.Choice(["transformers", "vllm", "openai"]),
    default="transformers",
    help="What computes models that are named without a server: transformers or vllm (extra "
    "`vllm`) in this process. `openai`: none is, both have to be a server's.",
)
@click.option(
    "--samples",
    type=click.IntRange(0, 100),
    default=0,
    help="For a critic's server that gives no log-probabilities: P(factual) is the share of Yes "
    "in so many sampled answers (the paper takes 5).  [default: 0, such sentences are unscored]",
    show_default=False,
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Sentences with P(factual) below it are flagged.  [default: the critic's calibrated one]",
)
@click.option(
    "--target-precision",
    type=click.FloatRange(0, 1, min_open=True),
    help="Instead: the threshold at which this share of flagged sentences is wrong on the critic's "
    "validation data.",
)
@click.option(
    "--rounds", type=click.IntRange(0, 20), default=2, help="Rewrites per flagged sentence."
)
@click.option(
    "--on-unfixable",
    type=click.Choice(["keep", "drop", "flag"]),
    default="keep",
    help="What to do with a sentence that stays nonfactual: keep it, drop the sentence (never the "
    "record), or keep it and set revision.needs_review.",
)
@click.option(
    "--guard",
    type=click.Choice(["strict", "warn"]),
    help="Rewrites with content from neither sentence nor rationale: refuse, or accept with a "
    "warning.  [default: strict for the bundled reviser, else warn]",
)
@click.option(
    "--stage",
    type=click.Choice(["all", "critique", "revise"]),
    default="all",
    help="`critique` loads only the critic, `revise` only the reviser. Run them in turn on each "
    "other's output for the same result as `all`.",
)
@click.option("--batch-size", type=click.IntRange(1), default=16, help="Captions per forward pass.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
    default="auto",
    help="Of the models' arithmetic; `auto`: bfloat16 on a GPU, else float32.",
)
@click.option(
    "--compile",
    is_flag=True,
    help="Compile the critic's layers: slower at the start, then faster. Only for PaliGemma "
    "2 critics in this process; on a CPU it takes a C++ compiler.",
)
@click.option("--device", default="auto", help="`auto`, `cpu`, `cuda`, `cuda:1`, `mps`, …")
@click.option("--limit", type=click.IntRange(1), help="Stop after this many records.")
@click.option(
    "--shard",
    default="0/1",
    metavar="I/N",
    help="Take every N-th window of 64 records from the I-th (0 to N-1); merge-shards joins them.",
)
@click.option(
    "--runner",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Where it is computed: in this process, or on a Ray cluster (extra `ray`).",
)
@click.option(
    "--replicas",
    type=click.IntRange(1),
    help="Copies of the models on the cluster.  [default: one a GPU, else one a CPU but one]",
)
@click.option("--ray-address", help="The cluster's address.  [default: one of this machine alone]")
@click.option("--resume", is_flag=True, help="Go on where an earlier run of this command stopped.")
@click.option("--force", is_flag=True, help="Overwrite OUT, and forget an unfinished run of it.")
@click.option("--dry-run", is_flag=True, help="Only count, check and estimate; loads no model.")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Write HTML here.")
@click.option("--group-by", metavar="FIELD", help="Figures per value of this field, too.")
@click.option(
    "--verify",
    default="none",
    metavar="CHECKS",
    help="Check revisions by more than the critic's verdicts, several with commas (extra `posh`): "
    "`text`, what was lost, or changed beyond the rationales; `critic`, single components put to "
    "the critic; `posh`, mistakes and omissions beside a reference caption.",
)
@click.option("--reference-field", metavar="FIELD", help="For `--verify posh`: a text, or a list.")
@click.option(
    "--judge",
    default="offline",
    help="POSH's judge: `offline` (a sentence encoder), a folder, a hub id, MODEL@URL.",
)
@click.option(
    "--parser", default="bundled", help="For `--verify`: a spaCy pipeline, `bundled` or another."
)
def revise_captions(**options: Any) -> None:
    """Judge every sentence of the captions in IN against their images, rewrite what is wrong, and
    write the corrected captions to OUT.

    IN and OUT: .jsonl (also .gz, .zst), `-`, .parquet, a WebDataset .tar; IN also a Hugging Face
    dataset's folder or id (`owner/name`, `owner/name:split`). Each row keeps its fields and gains
    `revised_caption` and `revision`. Rows that cannot be processed go to OUT's .quarantine.jsonl
    with the reason.
    """
    from revise_captions.pipelines.job.run import run
    from revise_captions.pipelines.options import Options

    run(Options.from_cli(options))


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    given = sys.argv[1:] if arguments is None else arguments
    run_command(revise_captions, "revise-captions", given, go_on=lambda: _resume_line(given))


def _resume_line(arguments: list[str]) -> str:
    from revise_captions.pipelines.options import command_to_resume

    fed = ", fed with the same input" if arguments[:1] == ["-"] else ""
    return f"resume with: {command_to_resume(arguments)}{fed}"


if __name__ == "__main__":
    main()
