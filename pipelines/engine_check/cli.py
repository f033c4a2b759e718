"""The command `captions check-engine`."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import COUNT, shared

EPILOG = """
\b
Examples:
  captions check-engine captions.jsonl --critic ./my-critic --against dtype=bfloat16
  captions check-engine captions.jsonl --critic ./my-critic --against layout=single,batch-size=1
  captions check-engine captions.jsonl --critic Qwen/Qwen3-VL-8B-Instruct --against engine=vllm
  captions check-engine captions.jsonl --critic ./qwen --against critic=qwen@http://localhost:8000/v1
"""


@command(
    name="check-engine",
    heading="Large jobs and engines",
    epilog=EPILOG,
)
@click.argument("source", metavar="IN")
@click.option(
    "--against",
    default="layout=single,batch-size=1",
    help="What the second setup changes, comma-separated: critic=, engine=, dtype=, device=, "
    "batch-size=, layout=packed|single, compile=yes|no, attention-mode=prefix|image-prefix|causal.",
)
@shared("--critic", "--critic-profile", "--adapter", "--engine", "--threshold", "--samples")
@shared("--batch-size", "--dtype", "--compile", "--device", "--trust-remote-code")
@click.option("--sample", type=COUNT, default=64, help="Number of records to judge.")
@shared("--image-field", "--caption-field", "--image-root", "--allow-urls")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def check_engine(against: str, sample: int, as_json: bool, **options: Any) -> None:
    """Compare a critic's answers in two setups.

    Judge a sample of the captions in IN with two setups of a critic and compare the answers.

    The exit status is 0 if the answers are the same or close, 1 if they differ. The critic keeps
    its own attention mode unless --against sets attention-mode=.
    """
    from revise_captions.pipelines.engine_check.compare import Setup, as_text, check, drawn
    from revise_captions.pipelines.options import JobOptions
    from revise_captions.runs.inputs import image_loader, open_input

    job = JobOptions.of(options)
    first = Setup(job.models)
    second = first.changed(against)

    # OUT is never written: standard input is copied beside a file of that name
    with closing(open_input(job.inputs, "check-engine")) as source:
        records = drawn(source, sample)
        result = check(first, second, records, image_loader(source, job.inputs))
    echo(json.dumps(result, indent=1) if as_json else as_text(result))
    sys.exit(0 if result["verdict"] in ("same", "close") else 1)
