"""A package of somebody else's: what it declares in pyproject.toml is used by `captions`.

docs/extending.md shows the parts of this file.
"""

from __future__ import annotations

# --- a metric -------------------------------------------------------------------------------------
from revise_captions.metrics import MetricScore


class Shouting:
    name, settings, needs = "shouting", {"shouting": "1.0"}, frozenset()

    def score(self, items):
        return [MetricScore(-float(item.text.count("!"))) for item in items]


def load_shouting(argument, options):
    """The fewer exclamation marks, the better."""
    return Shouting()


# --- a benchmark ----------------------------------------------------------------------------------
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

# --- a command ------------------------------------------------------------------------------------
from dataclasses import dataclass

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.io.readers import open_source


@dataclass(frozen=True)
class CountOptions:
    source: str = argument("IN")
    least: int = option(1, "Count captions with this many exclamation marks and more.")


@command(CountOptions, heading="Measure captions and metrics")
def count_shouts(options: CountOptions) -> None:
    """Count the captions that shout."""
    found = [text for record in open_source(options.source) for text in record.captions.values()]
    echo(f"{sum(text.count('!') >= options.least for text in found)} of {len(found)} shout")
