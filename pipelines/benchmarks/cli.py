"""The command `captions benchmarks`."""

from __future__ import annotations

from revise_captions.command_line.command import group
from revise_captions.pipelines.benchmarks import commands

EPILOG = """
\b
Examples:
  captions benchmarks show chocolate
  captions benchmarks check chocolate DIR
  captions benchmarks export chocolate DIR chocolate.jsonl
  revise-captions chocolate.jsonl judged.jsonl --stage critique --image-root DIR
"""


@group(
    name="benchmarks",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    commands=(commands.list_, commands.show, commands.check, commands.export),
)
def caption_benchmarks() -> None:
    """List public benchmarks; check and export copies of them.

    List public caption benchmarks, check your copies of them, and export their captions.

    Nothing is downloaded: `show` says where to get a benchmark, and under what license.
    """
