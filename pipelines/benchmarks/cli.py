"""The command `caption-benchmarks`."""

from __future__ import annotations

import click

from revise_captions.commands import run_command
from revise_captions.pipelines.benchmarks import commands

EPILOG = """
\b
Examples:
  caption-benchmarks show chocolate
  caption-benchmarks check chocolate DIR
  caption-benchmarks export chocolate DIR chocolate.jsonl
  revise-captions chocolate.jsonl judged.jsonl --stage critique --image-root DIR
"""


@click.group(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(package_name="revise-captions")
def caption_benchmarks() -> None:
    """Public benchmarks of captions: what they are, where to get them, what is in your copy.

    Nothing is ever fetched: `show` says where a benchmark is to be had, and under what licence.
    """


caption_benchmarks.add_command(commands.list_)
caption_benchmarks.add_command(commands.show)
caption_benchmarks.add_command(commands.check)
caption_benchmarks.add_command(commands.export)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(caption_benchmarks, "caption-benchmarks", arguments)
