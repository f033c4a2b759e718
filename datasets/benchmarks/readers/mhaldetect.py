"""M-HalDetect: segments of descriptions by InstructBLIP, labeled by people (Gunjal et al. 2024).

Accurate, inaccurate, analysis (an interpretation: nothing to assess) or unsure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, record, rows
from revise_captions.benchmarks.types import Example, LabeledSentence
from revise_captions.records import ImageRef, Span

CAPTIONER = "InstructBLIP"
_LABELS: dict[str, tuple[bool | None, bool | None]] = {
    "accurate": (True, True),
    "inaccurate": (False, True),
    "analysis": (None, False),
    "unsure": (None, None),
}


def read(folder: Path) -> Iterator[Example]:
    for path in sorted([*folder.glob("*.json"), *folder.glob("*.jsonl")]):
        for entry in rows(path):
            caption = entry.text("response")
            found = [_segment(segment, caption) for segment in entry.within("annotations")]
            image = str(entry["image"])
            yield Example(
                f"{path.stem}-{entry.number}",
                record(entry, caption, ImageRef(path=image)),
                image,
                CAPTIONER,
                path.stem,
                sentences=tuple(sentence for sentence, _ in found),
                doubts=tuple(doubt for _, doubt in found if doubt),
            )


def _segment(segment: Entry, caption: str) -> tuple[LabeledSentence, str]:
    start, end = int(segment.number_at("start")), int(segment.number_at("end"))
    if not 0 <= start <= end <= len(caption):
        raise segment.error(f"{start} to {end} is no span of a response of {len(caption)}")
    label = segment.text("label").strip().lower()
    if label not in _LABELS:
        raise segment.error(f"the label is “{label}”; expected one of {', '.join(_LABELS)}")
    factual, assessable = _LABELS[label]
    text = segment.text("text")
    doubt = "" if caption[start:end].strip() == text.strip() else "text is not what the span covers"
    return LabeledSentence(Span(start, end), factual, assessable), doubt
