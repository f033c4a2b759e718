"""Options of `captions reproduce`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from revise_captions.command_line.options import argument, group, option
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option
from revise_captions.engines.model_spec import Placement


@dataclass(frozen=True, slots=True)
class ReproduceOptions:
    """Which table is computed, of which models and data."""

    table: str | None = argument("[PAPER:TABLE]", default=None)
    files: tuple[str, ...] = argument("[[NAME=]FILE]…", default=())
    list: bool = option(False, "List the tables: what each needs, costs and prints.")
    data: Path | None = option(
        None,
        "Folder with the released data, or with a subfolder for each benchmark, under its name.  "
        "[default: a made-up sample]",
        type=EXISTING_FOLDER,
    )
    models: tuple[str, ...] = option(
        (),
        "A model of the table, by role (see --list); repeatable.",
        name="model",
        metavar="[ROLE=]NAME",
    )
    protocol: Literal["paper", "released", "ours"] | None = option(
        None,
        "As described in the paper, as in the authors' code, or, where neither can be followed, "
        "our own way; --list shows which a table has.  [default: the table's first]",
    )
    prompts: Path | None = option(
        None,
        "Your copy of the authors' prompts, for the protocol `released`.",
        type=EXISTING_FOLDER,
    )
    limit: int | None = shared_option("--limit", help="Take only this many rows of the data.")
    placement: Placement = group(Placement, batch_size=16)
    out: Path | None = option(
        None, "Write the table to this JSON file.", name="json", type=OUT_FILE
    )
