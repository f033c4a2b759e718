"""ContextRef's changed descriptions as its authors released them: `df_metric_*.csv`.

A row is a rating of an original (`descr_original`) beside its changed `description`, `context` or
image. As in the authors' analysis, a description counts once for each file and image, and one that
is the original is no change, unless the context or the image is what was changed. Scores are then
compared to three decimals (`summary`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, csv_rows
from revise_captions.benchmarks.readers.contextref import (
    GOLD,
    IMAGES,
    METRIC_FILES,
    given,
    image_of,
    metric_folder,
)
from revise_captions.benchmarks.types import Example
from revise_captions.metrics.protocol import MetricInput, StoredImage
from revise_captions.pipelines.stress.checks import CHECKS
from revise_captions.pipelines.stress.items import RatedItems
from revise_captions.pipelines.stress.scores import ORIGINAL, Variants

#: A part of each file's name, in the order in which the authors look for them, and its check.
FILES: Mapping[str, str] = {
    "wordshuffling": "shuffled words",
    "frankenstein": "Frankenstein images",
    "continuation_long": "long continuation",
    "continuation_short": "short continuation",
    "irrfinalsentence": "irrelevant final sentence",
    "modelerrors": "frequent alignment errors",
    "propernames": "proper name replacement",
    "repeatedsentence": "exact repetition",
    "context": "shuffled contexts",
    "shuffleddescr": "shuffled descriptions",
}
#: Checks that leave the description as it is.
_SAME_TEXT = ("Frankenstein images", "shuffled contexts")
_WITH_DISTRACTORS = tuple(f"{at}_wdistractors" for at in IMAGES if at != ".")


def released(folder: Path, items: RatedItems, originals: Sequence[Example]) -> Variants:
    """Reads the changes of `items`, and counts what of the files is not used.

    Args:
        folder: The authors' folder `data`, or one with its `df_metric_*.csv`.
        items: What is scored, a part of the originals.
        originals: All of them.

    Raises:
        UserError: There are no such files, or a row is not as published.
    """
    originals_of: dict[str, list[str]] = defaultdict(list)
    for example in originals:
        originals_of[example.image].append(example.caption)
    place = {(item.image, item.given.text): k for k, item in enumerate(items.items)}
    left_out: Counter[str] = Counter()
    inputs: dict[str, list[MetricInput | None]] = {
        ORIGINAL: [item.given for item in items.items],
        **{check.name: [None] * len(items.items) for check in CHECKS},
    }
    for check, entry in _changed(metric_folder(folder), left_out):
        image = re.sub(r"_.*\.png", ".jpg", str(entry["img_id"]))
        texts = originals_of[image]
        # the authors join on the image alone
        of = texts[0] if len(texts) == 1 else str(entry["descr_original"])
        k = place.get((image, of))
        if of not in texts:
            left_out["changed descriptions without their original"] += 1
        elif k is not None and inputs[check][k] is not None:
            left_out["further changes of the same original"] += 1
        elif k is not None:  # it is not of another part
            inputs[check][k] = _input(check, entry, items.items[k].given, folder)
    return Variants(inputs, dict(left_out))


def _changed(folder: Path, left_out: Counter[str]) -> Iterator[tuple[str, Entry]]:
    """Each change once, with its check."""
    for path in sorted(folder.glob(METRIC_FILES)):
        check = next((check for part, check in FILES.items() if part in path.name), "")
        if not check and path.name != GOLD:
            left_out[f"file, {path.name}, which is no check of the paper"] += 1
        if not check:
            continue
        seen = set()
        for entry in csv_rows(path):
            text = entry.text("description")
            key = entry["img_id"], text
            if key not in seen and (text != entry["descr_original"] or check in _SAME_TEXT):
                yield check, entry
            seen.add(key)


def _input(check: str, entry: Entry, original: MetricInput, folder: Path) -> MetricInput:
    changed = replace(original, text=entry.text("description"), context=given(entry, "context"))
    if check != "Frankenstein images":
        return changed
    image = image_of(str(entry["img_id"]), folder, _WITH_DISTRACTORS)
    return replace(changed, image=StoredImage(image, folder))
