"""CapArena: which of two detailed captions people found better (Cheng et al. 2025).

`winner` is one of the two sources, or `equal`, `skip` or `bad`; like the paper, this counts the
last three as ties. The original answer stays in `verdict`. Captions by `human` are DOCCI's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import record, rows, shown
from revise_captions.benchmarks.types import HUMAN, Example, Item, Preference
from revise_captions.records import ImageRef

TIES = ("equal", "skip", "bad")


def read(folder: Path) -> Iterator[Item]:
    """Reads every caption once, then the preference of each comparison."""
    seen: dict[tuple[str, str, str], str] = {}
    for entry in rows(folder / "caparena_annots_eval.json"):
        image = entry.text("img")
        sources = entry.text("source1"), entry.text("source2")
        ids = []
        for source, caption in zip(
            sources, (entry.text("caption1"), entry.text("caption2")), strict=True
        ):
            key = image, source, caption
            new = key not in seen
            ids.append(seen.setdefault(key, f"{image}-{source}-{len(seen)}"))
            if new:
                reference = () if source == HUMAN else (entry.text("ref"),)
                row = record(entry, caption, ImageRef(path=image))
                yield Example(ids[-1], row, image, source, references=reference)
        winner = entry.text("winner")
        values = dict.fromkeys(TIES, 0.0) | {sources[0]: 1.0, sources[1]: -1.0}
        if winner not in values:
            raise entry.error(
                f"the winner is {shown(winner)}; expected one of {', '.join(map(str, values))}"
            )
        yield Preference(
            image,
            *sources,
            "better caption",
            values[winner],
            ids[0],
            ids[1],
            subset=str(entry.data.get("cluster") or ""),
            verdict=winner,
        )
