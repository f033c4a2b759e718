"""The sentences of a run that were decided about in its report or in the explorer.

They take the place of an export: nothing was sampled, and each has the name that its caption and
image give it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.annotate.tasks.decided import (
    decidable,
    decided_unit,
    image_name,
    row_image,
    sentence_id,
)
from revise_captions.pipelines.annotate.tasks.interfaces import FACTUALITY
from revise_captions.pipelines.annotate.tasks.units import ItemTarget, Unit, captions_in, digest
from revise_captions.records import ImageRef

NOT_SAMPLED = "the sentences that somebody chose to decide about: no sample of the run"


@dataclass(frozen=True, slots=True)
class DecidedRun:
    """What an import takes from a run instead of from an export.

    Attributes:
        about: What `sample.json` says of an export.
        units: The decided sentences; their `image` names an image of `images`.
        images: Where the images are.
        folder: Where their paths start.
    """

    about: Mapping[str, Any]
    units: list[Unit]
    images: Mapping[str, ImageRef]
    folder: Path


def decided_in(run: Path, items: set[str]) -> DecidedRun:
    """The sentences of a run that items ask about.

    Raises:
        UserError: The file is no run, or none of the items is about a sentence of it.
    """
    source = open_source(str(run), need_image=False)
    units: list[Unit] = []
    images: dict[str, ImageRef] = {}
    signature = ""
    for judged in captions_in(source):
        if isinstance(judged, BadRow):
            continue
        signature = signature or str(judged.stored.get("signature", ""))
        ref = row_image(judged.row.data, source.fields)
        name = image_name(ref)
        for number in decidable(judged.stored):
            identity = sentence_id(judged.caption, name, judged.field, number)
            asked = (ItemTarget.ORIGINAL, ItemTarget.REVISED)
            if any(digest(f"{identity}\0{target}") in items for target in asked):
                units.append(decided_unit(judged, name, number, source.name))
                images[name] = ref
    if not units:
        raise UserError(
            f"no answer is about a sentence of {run}",
            hint="give the run whose report or explorer the decisions were made in",
        )
    units = list({unit.id: unit for unit in units}.values())
    about = {
        "run": run.name,
        "signature": signature,
        "raters": 1,
        "items": {FACTUALITY: sum(len(unit.asked()) for unit in units)},
        "sample": NOT_SAMPLED,
    }
    return DecidedRun(about, units, images, source.folder)
