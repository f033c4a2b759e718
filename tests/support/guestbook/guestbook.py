"""Another package of somebody else's, with a benchmark of its own."""

from __future__ import annotations

from revise_captions.benchmarks.catalog.benchmark import Benchmark
from revise_captions.benchmarks.entries import image_at, record, rows
from revise_captions.benchmarks.types import Example, HumanScore


def read_guestbook(folder):
    for row in rows(folder / "guests.jsonl"):
        caption, image = row.text("said"), row.text("photo")
        scores = (HumanScore("calm", row.number_at("calm")),)
        entry = record(row, caption, image_at(image))
        yield Example(str(row.number), entry, image, captioner=row.text("guest"), scores=scores)


GUESTBOOK = Benchmark(
    name="guestbook",
    title="What guests wrote below the photographs of a hotel",
    citation="nobody's",
    licence="CC0",
    source="the hotel",
    files=("guests.jsonl",),
    reader=read_guestbook,
    labels="scores: how calm a caption is",
    expected={"summer": {"captions": 4, "images": 4}},
)
