"""The commands `captions select` and `captions columns`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.pipelines.select.options import ColumnsOptions, SelectOptions

EPILOG = """
\b
Examples:
  captions select OUT KEPT --where "factual_after >= 0.9 and unscored = 0 and not needs_review"
  captions select out.tar kept.tar --rest rest.tar --where "worst_after > 0.8"
  captions select out.jsonl 500.jsonl --where true --sample 500 --stratify captioner
"""


@command(SelectOptions, name="select", heading="Correct captions", epilog=EPILOG)
def select_records(options: SelectOptions) -> None:
    """Keep the records of a run that meet a condition.

    OUT is the output of revise-captions; KEPT and REST get its rows unchanged, in its layout and
    order. A record that lacks a value in the condition is not kept, such as the share of factual
    sentences where none could be judged. `captions columns OUT` lists the columns.
    """
    from revise_captions.errors import UserError
    from revise_captions.pipelines.select.run import select
    from revise_captions.text.formatting import plural

    if options.stratify and options.sample is None:
        raise UserError("--stratify only applies to a sample", hint="add --sample N")
    kept, rest = select(options)
    echo(f"{plural(kept.rows, 'record')} in {options.kept}")
    if rest is not None:
        echo(f"{plural(rest.rows, 'record')} in {options.rest}")
    if kept.quarantine is not None:
        echo(f"{plural(kept.quarantined, 'row')} in {kept.quarantine}")


@command(ColumnsOptions, name="columns", heading="Correct captions")
def list_columns(options: ColumnsOptions) -> None:
    """List the columns that records can be selected by.

    Shows each column's meaning and its values in OUT: quantiles of numbers, how many records are
    true, the most frequent texts. `captions select` keeps the records that meet a condition on
    them.
    """
    from revise_captions.pipelines.select.listing import listing

    for line in listing(options):
        echo(line)
