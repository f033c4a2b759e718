"""The command `annotate`."""

from __future__ import annotations

import click

from revise_captions.commands import run_command
from revise_captions.pipelines.annotate import commands

EPILOG = """
\b
Examples:
  annotate export revised.jsonl ask --size 300      # tasks for five raters each
  annotate import ask answers-*.json --out data     # figures, and data for finetune-critic
  annotate convert chocolate DIR data               # a public data set as training data
  annotate match captions.jsonl matched             # captions that nobody judged, for a first look
"""


@click.group(epilog=EPILOG, context_settings={"show_default": True, "max_content_width": 100})
@click.version_option(package_name="revise-captions")
def annotate() -> None:
    """From a run to people, and from people to training data and figures.

    The protocol is that of VNLI-Critique (sections 3 and 4.3, appendix C): five raters each, the
    majority decides, the longest rationale counts.
    """


annotate.add_command(commands.export)
annotate.add_command(commands.import_)
annotate.add_command(commands.convert)
annotate.add_command(commands.match)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(annotate, "annotate", arguments)


if __name__ == "__main__":
    main()
