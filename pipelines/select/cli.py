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
    """Keep the records of a run of which a condition holds.

    OUT is what revise-captions wrote; KEPT and REST get its rows as they are, in its layout and
    order. A record without a value that the condition needs, such as the share of factual
    sentences where none could be judged, is not kept. `captions columns OUT` lists the columns.
    """
    from revise_captions.errors import UserError
    from revise_captions.pipelines.select.run import select
    from revise_captions.text.formatting import plural

    if options.stratify and options.sample is None:
        raise UserError("--stratify says how a sample is drawn", hint="add --sample N")
    kept, rest = select(options)
    echo(f"{plural(kept.rows, 'record')} in {options.kept}")
    if rest is not None:
        echo(f"{plural(rest.rows, 'record')} in {options.rest}")
    if kept.quarantine is not None:
        echo(f"{plural(kept.quarantined, 'row')} in {kept.quarantine}")


@command(ColumnsOptions, name="columns", heading="Correct captions")
def list_columns(options: ColumnsOptions) -> None:
    """List what records of a run can be chosen by.

    Each column with its meaning and its values in OUT: quantiles of numbers, how many records are
    true, the most frequent texts. `captions select` keeps the records of which a condition holds.
    """
    from revise_captions.pipelines.select.listing import listing

    for line in listing(options):
        echo(line)
