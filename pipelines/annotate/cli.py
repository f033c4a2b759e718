"""The command `annotate`."""

from __future__ import annotations

import click

from revise_captions.cli_options import SETTINGS, version_option
from revise_captions.commands import run_command
from revise_captions.pipelines.annotate import commands

EPILOG = """
\b
Examples:
  annotate export revised.jsonl tasks --size 300    # tasks for five raters each
  annotate import tasks answers-*.json --out data   # figures, and data for finetune-critic
  annotate convert chocolate DIR data               # a public dataset as training data
  annotate match captions.jsonl matched             # unlabeled captions, to adapt a small critic
"""


@click.group(epilog=EPILOG, context_settings=SETTINGS)
@version_option
def annotate() -> None:
    """Have people annotate a run; turn annotations into figures and training data.

    The protocol is that of VNLI-Critique (sections 3 and 4.3, appendix C): five raters per item,
    majority vote, and the longest rationale.
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
