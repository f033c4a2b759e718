"""The command `check-engine`."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from revise_captions.commands import run_command

EPILOG = """
\b
Examples:
  check-engine captions.jsonl --critic ./my-critic --against dtype=bfloat16
  check-engine captions.jsonl --critic ./my-critic --against layout=single,batch-size=1
  check-engine captions.jsonl --critic Qwen/Qwen3-VL-8B-Instruct --against engine=vllm
  check-engine captions.jsonl --critic ./qwen --against critic=qwen@http://localhost:8000/v1
"""


@click.command(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.argument("source", metavar="IN")
@click.option(
    "--against",
    default="layout=single,batch-size=1",
    help="What to change in the second computation: critic=, engine=, dtype=, device=, "
    "batch-size=, layout=packed|single, compile=yes|no, "
    "attention-mode=prefix|image-prefix|causal; separate several with commas.",
)
@click.option(
    "--critic",
    default="bundled",
    help="Critic: `bundled`, a folder, a hub id, or a server's model, MODEL@http://host:8000/v1.",
)
@click.option("--adapter", help="LoRA adapter for the critic: a folder or a hub id.")
@click.option(
    "--engine",
    type=click.Choice(["transformers", "vllm", "openai"]),
    default="transformers",
    help="As for revise-captions.",
)
@click.option("--threshold", type=click.FloatRange(0, 1), help="As for revise-captions.")
@click.option("--samples", type=click.IntRange(0, 100), default=0, help="As for revise-captions.")
@click.option("--batch-size", type=click.IntRange(1), default=16, help="Captions per forward pass.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "float32", "bfloat16", "float16"]),
    default="auto",
    help="Of the model's arithmetic; `auto`: bfloat16 on a GPU, else float32.",
)
@click.option("--compile", is_flag=True, help="As for revise-captions.")
@click.option("--device", default="auto", help="`auto`, `cpu`, `cuda`, `cuda:1`, `mps`, …")
@click.option("--sample", type=click.IntRange(1), default=64, help="Records to judge.")
@click.option("--image-field", help="Field that holds the image.  [default: found by its name]")
@click.option("--caption-field", help="Field that holds the caption; several with commas.")
@click.option(
    "--image-root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that image paths start from and never leave.  [default: IN's folder]",
)
@click.option("--allow-urls", is_flag=True, help="Fetch images from public http(s) addresses.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check_engine(against: str, sample: int, as_json: bool, **options: Any) -> None:
    """Judge a sample of IN's captions twice, in two ways of computing the critic, and compare.

    Ends with 0 where the answers are the same or close, with 1 where they differ. A critic is
    never computed under another attention mode than its own, unless attention-mode= asks for it.
    """
    from revise_captions.pipelines.engine_check.compare import Setup, as_text, check, drawn
    from revise_captions.pipelines.job.inputs import image_loader, open_input
    from revise_captions.pipelines.options import Options

    # OUT is never written; its name is where a standard input would be spooled to
    asked = Options.from_cli({**options, "out": "check-engine"})
    first = Setup(asked)
    second = first.changed(against)

    with closing(open_input(asked)) as source:
        records = drawn(source, sample)
        result = check(first, second, records, image_loader(source, asked))
    click.echo(json.dumps(result, indent=1) if as_json else as_text(result))
    sys.exit(0 if result["verdict"] in ("same", "close") else 1)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(check_engine, "check-engine", arguments)


if __name__ == "__main__":
    main()
