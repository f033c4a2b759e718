"""What pairs look like: how many, how decided, and whether the longer caption wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from revise_captions.command_line.printing import echo
from revise_captions.runs.outputs import OutputCounts


@dataclass(slots=True)
class SideSums:
    """Sums over the pairs that one score decided."""

    pairs: int = 0
    ties: int = 0
    margin: float = 0.0
    chosen_words: int = 0
    rejected_words: int = 0
    longer: int = 0
    shorter: int = 0

    def add(self, margin: float, chosen: int, rejected: int) -> None:
        """Counts a pair, its captions' words given."""
        self.pairs += 1
        self.margin += margin
        self.chosen_words += chosen
        self.rejected_words += rejected
        self.longer += chosen > rejected
        self.shorter += chosen < rejected


@dataclass(slots=True)
class PairTally:
    """Counts of a run, for its table.

    Attributes:
        by: Scores, in the table's order.
        signature: Everything that decided the pairs.
    """

    by: Sequence[str]
    signature: str
    images: int = 0
    without: int = 0
    captions: int = 0
    units: int = 0
    true: float = 0.0
    judged: int = 0
    unscored: int = 0
    sums: dict[str, SideSums] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sums = {name: SideSums() for name in self.by}

    def add(self, found: Mapping[str, Any]) -> None:
        """Counts an image, as its row of the journal has it."""
        self.images += 1
        self.without += not found["pairs"]
        for caption in found["captions"]:
            self.captions += 1
            self.units += caption["c_r"]
            self.unscored += sum("unscored" in unit for unit in caption["units"])
            if caption["c_p"] is not None:
                self.judged += 1
                self.true += caption["c_p"]
        for by, chosen, rejected, margin in found["pairs"]:
            words = [found["captions"][k]["words"] for k in (chosen, rejected)]
            self.sums[by].add(margin, *words)
        for by, ties in found["ties"].items():
            self.sums[by].ties += ties

    def show(self, written: OutputCounts) -> None:
        """Prints the table."""
        shown = f"{self.images:,} images, {self.without:,} of them without a pair"
        if written.quarantined:
            shown += f"; {written.quarantined:,} rows in {written.quarantine}"
        echo(shown)
        if self.captions:
            mean = f"{self.true / self.judged:.3f}" if self.judged else "n/a"
            echo(
                f"{self.captions:,} captions: c_p {mean}, c_r {self.units / self.captions:.2f} "
                f"units a caption; {self.unscored:,} units unscored, "
                f"{self.captions - self.judged:,} captions without c_p"
            )
        row = "{:<9} {:>7} {:>7} {:>8} {:>13} {:>15} {:>14}"
        echo(
            row.format(
                "by", "pairs", "ties", "margin", "chosen words", "rejected words", "longer wins"
            )
        )
        for name, sums in self.sums.items():
            n = max(sums.pairs, 1)
            decided = sums.longer + sums.shorter
            wins = f"{sums.longer / decided:.2f}" if decided else "n/a"
            values = (sums.margin / n, sums.chosen_words / n, sums.rejected_words / n)
            margin, chosen, rejected = (f"{v:.2f}" if sums.pairs else "n/a" for v in values)
            echo(row.format(name, sums.pairs, sums.ties, margin, chosen, rejected, wins))
        echo(self.signature)
