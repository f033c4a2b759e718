"""Files of decisions about a run, as the explorer keeps them."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

from revise_captions.io.readers import open_source
from revise_captions.pipelines.annotate.tasks.decided import (
    decidable,
    decided_unit,
    decision_rows,
    row_image_name,
)
from revise_captions.pipelines.annotate.tasks.units import captions_in

EDITED = "Somebody wrote this."


def decide(out: Path, name: str, choose, annotator: str = "anna") -> dict:
    """A file of decisions as the explorer keeps it; `choose(number)` gives decision and text.
    Returns decisions and units by sentence."""
    source = open_source(str(out), need_image=False)
    made, rows = {}, []
    for judged in captions_in(source):
        image = row_image_name(judged.row.data, source.fields)
        for sentence in decidable(judged.stored):
            unit = decided_unit(judged, image, sentence, source.name)
            decision, text = choose(len(made))
            if decision == "accept" and unit.revised is None and not unit.gone:
                decision = "reject"
            made[unit.id] = decision, text, unit
            if decision:
                lines = decision_rows(unit, decision, text)
                rows += [{"annotator": annotator} | line for line in lines]
    (out.parent / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return made


def in_turn(*choices):
    turns = cycle(choices)
    return lambda number: next(turns)


ALL = in_turn(("accept", ""), ("reject", ""), ("edit", EDITED), ("edit", ""), ("", ""))
