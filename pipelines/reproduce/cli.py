"""The command `captions reproduce`."""

from __future__ import annotations

from typing import Any

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared

EPILOG = """
\b
Examples:
  captions reproduce --list
  captions reproduce posh:table2                       # on a made-up sample, offline
  captions reproduce vnli-critique:table4 --data DIR --model Qwen/Qwen3-VL-8B-Instruct
  captions reproduce posh:table3-docent --data DIR --protocol released --prompts prompts \\
    --model Qwen/Qwen3-14B --model parser=en_core_web_trf --model coreference=maverick
  captions reproduce dcscore:table11 --data DIR mine=captions.jsonl
"""
_PLACEMENT = ("engine", "device", "batch_size", "trust_remote_code")


@command(name="reproduce", heading="Measure captions and metrics", epilog=EPILOG)
@click.argument("table", metavar="[PAPER:TABLE]", required=False)
@click.argument("files", metavar="[[NAME=]FILE]…", nargs=-1)
@click.option(
    "--list", "list_", is_flag=True, help="List the tables: what each needs, costs and prints."
)
@click.option(
    "--data",
    type=EXISTING_FOLDER,
    help="Folder of the released data, or of a sub-folder for each benchmark by its name.  "
    "[default: a made-up sample]",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[ROLE=]NAME",
    help="A model of the table, by its role (--list); repeatable.",
)
@click.option(
    "--protocol",
    type=click.Choice(["paper", "released"]),
    help="As the paper says it, or as the authors' code does it.  [default: the table's first]",
)
@click.option(
    "--prompts",
    type=EXISTING_FOLDER,
    help="Your copy of the authors' prompts, for the protocol `released`.",
)
@shared("--limit", help="Take only this many rows of the data.")
@shared("--engine", "--device", "--trust-remote-code")
@shared("--batch-size", help="Prompts, or captions of a critic, per forward pass.")
@click.option("--json", "out", type=OUT_FILE, help="Write the table to this JSON file.")
def reproduce_table(table: str | None, list_: bool, **options: Any) -> None:
    """Compute a paper's table from data in its released format.

    Compute the rows of your models in a table of a paper, beside the rows that the paper prints.

    What makes the two not comparable, such as another judge or other prompts, is said below the
    table. Without --data a sample that was made up for it is used, to try the command.
    """
    from revise_captions.pipelines.reproduce.catalog import tables
    from revise_captions.pipelines.reproduce.display import listed
    from revise_captions.pipelines.reproduce.run import ReproduceOptions, reproduce

    placement = {name: options.pop(name) for name in _PLACEMENT}
    if list_ or table is None:
        known = tables().values()
        echo(listed(one for one in known if table is None or one.id.startswith(table)))
        return
    echo(reproduce(ReproduceOptions(table, placement=placement, **options)))
