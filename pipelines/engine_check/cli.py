"""The command `captions check-engine`."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import COUNT, shared_option
from revise_captions.pipelines.options import JobOptions, JudgeOptions

EPILOG = """
\b
Examples:
  captions check-engine captions.jsonl --critic ./my-critic --against dtype=bfloat16
  captions check-engine captions.jsonl --critic ./my-critic --against layout=single,batch-size=1
  captions check-engine captions.jsonl --critic Qwen/Qwen3-VL-8B-Instruct --against engine=vllm
  captions check-engine captions.jsonl --critic ./qwen --against critic=qwen@http://localhost:8000/v1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCheckOptions(JudgeOptions):
    """Which critic is compared with itself, how, and on what."""

    source: str = argument("IN")
    against: str = option(
        "layout=single,batch-size=1",
        "What the second setup changes, comma-separated: critic=, engine=, dtype=, device=, "
        "batch-size=, layout=packed|single, compile=yes|no, "
        "attention-mode=prefix|image-prefix|causal.",
    )
    sample: int = option(64, "Number of records to judge.", type=COUNT)
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option("--caption-field")
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    as_json: bool = option(False, "Print the comparison as JSON.", name="json")


@command(
    EngineCheckOptions,
    name="check-engine",
    heading="Large jobs and engines",
    epilog=EPILOG,
)
def check_engine(options: EngineCheckOptions) -> None:
    """Compare a critic's answers in two setups.

    Judge a sample of the captions in IN with two setups of a critic and compare the answers.

    The exit status is 0 if the answers are the same or close, 1 if they differ. The critic keeps
    its own attention mode unless --against sets attention-mode=.
    """
    from revise_captions.pipelines.engine_check.compare import Setup, as_text, check, drawn
    from revise_captions.runs.inputs import image_loader, open_input

    job = JobOptions.of(asdict(options))
    first = Setup(job.models)
    second = first.changed(options.against)

    # OUT is never written: standard input is copied beside a file of that name
    with closing(open_input(job.inputs, "check-engine")) as source:
        records = drawn(source, options.sample)
        result = check(first, second, records, image_loader(source, job.inputs))
    echo(json.dumps(result, indent=1) if options.as_json else as_text(result))
    sys.exit(0 if result["verdict"] in ("same", "close") else 1)
