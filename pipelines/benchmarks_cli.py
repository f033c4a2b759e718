"""The command `caption-benchmarks`."""

from __future__ import annotations

import sys

import click

from revise_captions.pipelines import benchmarks_commands

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


caption_benchmarks.add_command(benchmarks_commands.list_)
caption_benchmarks.add_command(benchmarks_commands.show)
caption_benchmarks.add_command(benchmarks_commands.check)
caption_benchmarks.add_command(benchmarks_commands.export)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: a user's mistake is one line and exit 2."""
    from revise_captions.errors import UserError

    try:
        caption_benchmarks.main(arguments, "caption-benchmarks", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except UserError as error:
        click.echo(f"caption-benchmarks: {error}", err=True)
        sys.exit(2)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("caption-benchmarks: interrupted", err=True)
        sys.exit(130)
