"""The command `caption-benchmarks`."""

from __future__ import annotations

import click

from revise_captions.cli_options import SETTINGS, version_option
from revise_captions.commands import run_command
from revise_captions.pipelines.benchmarks import commands

EPILOG = """
\b
Examples:
  caption-benchmarks show chocolate
  caption-benchmarks check chocolate DIR
  caption-benchmarks run decapbench DIR mine=captions.jsonl
  caption-benchmarks export chocolate DIR chocolate.jsonl
  caption-benchmarks run longcap-arena DIR metric:vela=my-vela
  revise-captions chocolate.jsonl judged.jsonl --stage critique --image-root DIR
"""


@click.group(epilog=EPILOG, context_settings=SETTINGS)
@version_option
def caption_benchmarks() -> None:
    """List public caption benchmarks, check your copies of them, and export their captions.

    Nothing is downloaded: `show` says where to get a benchmark, and under what license.
    """


caption_benchmarks.add_command(commands.list_)
caption_benchmarks.add_command(commands.show)
caption_benchmarks.add_command(commands.check)
caption_benchmarks.add_command(commands.export)
caption_benchmarks.add_command(commands.run)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(caption_benchmarks, "caption-benchmarks", arguments)
