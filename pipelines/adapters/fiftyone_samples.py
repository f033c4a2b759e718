"""FiftyOne: the records of a run as samples, with captions, verdicts and boxes as labels.

dataset.add_samples(samples("revised.jsonl"))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import fiftyone as fo

from revise_captions.errors import UserError
from revise_captions.io.images import load_image, resolve_path
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.output.outcomes import captions_of
from revise_captions.pipelines.select.run import expect_run
from revise_captions.records import Record


def samples(out: str | Path, *, image_root: str | Path | None = None) -> Iterator[fo.Sample]:
    """The records of a run, in order.

    A sample has the texts `caption` and `revised_caption`; `sentences`, a classification of each
    sentence as it came (`factual`, `nonfactual`, `unscored`; its confidence is P(factual)) with
    `text`, `rationale`, the accepted `rewrite` and `p_after`; `fixes`, boxes of what shows that a
    sentence is wrong, with what is `wrong` and `right` there; and the tag `needs_review` where a
    person should look. Where a row has several captions, the fields of each begin with its name.

    Args:
        out: What `revise-captions` wrote, in any layout.
        image_root: Where relative image paths start, as in the run.

    Raises:
        UserError: OUT is no run, or a record's image is no file, as FiftyOne shows files.
        BadRecord: An image with boxes cannot be read.
    """
    root = None if image_root is None else Path(image_root)
    with closing(open_source(str(out))) as source:
        expect_run(source)
        for record in source:
            if isinstance(record, BadRow) or record.image.path is None:
                why = (
                    f"{record.reason}: {record.detail}" if isinstance(record, BadRow) else "no file"
                )
                raise UserError(
                    f"{source.name}, line {record.line}: {why}",
                    hint="expected the output of revise-captions, with images in files",
                )
            yield _sample(record, root, source.folder)


def _sample(record: Record, root: Path | None, folder: Path | None) -> fo.Sample:
    assert record.image.path is not None
    path = resolve_path(record.image.path, root, folder)
    sample = fo.Sample(filepath=str(path.absolute()))
    parts = captions_of(record.fields)
    boxed = any(
        fix["evidence"] for *_, part in parts for one in part["sentences"] for fix in one["fixes"]
    )
    size = load_image(record.image, root=root, folder=folder).size if boxed else (1, 1)
    for field, revised, part in parts:
        before = f"{field}_" if field else ""
        caption = record.captions[field] if field else next(iter(record.captions.values()))
        sample[f"{before}caption"], sample[f"{before}revised_caption"] = caption, revised
        sample[f"{before}sentences"] = fo.Classifications(
            classifications=[_verdict(caption, one) for one in part["sentences"]]
        )
        sample[f"{before}fixes"] = fo.Detections(
            detections=[box for one in part["sentences"] for box in _boxes(caption, one, size)]
        )
    if any(part.get("needs_review") for *_, part in parts):
        sample.tags.append("needs_review")
    return sample


def _verdict(caption: str, sentence: Mapping[str, Any]) -> fo.Classification:
    return fo.Classification(
        label=sentence["label"],
        confidence=sentence["p_factual"],
        text=_text(caption, sentence),
        rationale=sentence["rationale"],
        rewrite=sentence["rewrite"] if sentence["accepted"] else None,
        p_after=sentence["p_after"],
    )


def _boxes(caption: str, sentence: Mapping[str, Any], size: tuple[int, int]) -> list[fo.Detection]:
    text, (width, height) = _text(caption, sentence), size
    found = []
    for fix in sentence["fixes"]:
        for seen in fix["evidence"]:
            left, top, right, bottom = seen["box"]
            share = [left / width, top / height, (right - left) / width, (bottom - top) / height]
            found.append(
                fo.Detection(
                    label=seen["label"],
                    bounding_box=share,
                    wrong=text[slice(*fix["span"])],
                    right=fix["right"],
                    certain=fix["certain"],
                )
            )
    return found


def _text(caption: str, sentence: Mapping[str, Any]) -> str:
    return caption[slice(*sentence["span"])]
