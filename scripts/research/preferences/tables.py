"""Print what preference training did to the captioner, and write it into docs/preferences.md.

    python -m scripts.research.preferences.tables RUNS [--write]

RUNS is what `proof.py` made. Figures are of held-out scenes, one caption each, with 95 % intervals
over scenes; differences are paired, on the same scenes. `--write` puts the tables between the marks
in docs/preferences.md and draws docs/preferences.svg.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from revise_captions.dcscore.score import normalized
from revise_captions.picturebook.oracle.truth import failures
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.stats.bootstrap import Estimate, Sums, weights
from scripts.research.markdown import write_to_pages
from scripts.research.preferences.plot import PlottedPolicy, plotted
from scripts.research.preferences.proof import METHODS, SCORES, VERIFIERS
from scripts.research.preferences.world import rows

ROOT = Path(__file__).parents[3]
#: Columns of a caption's counts.
TRUE, JUDGED, UNITS, WORDS, CAPTIONS, PASSED, FALSE, CLAIMED = range(8)
NAMES = {"teacher": "the teacher's captions", "sft": "before: taught on them"}
REPLICATES = 1000


@dataclass(frozen=True, slots=True)
class Captions:
    """A policy's captions of held-out scenes.

    Attributes:
        policy: Its name.
        rows: As `proof.py` wrote them, by scene.
    """

    policy: str
    rows: tuple[Mapping[str, Any], ...]

    def counts(self) -> np.ndarray:
        """(scenes, columns)."""
        return np.array([_counts(row) for row in self.rows], dtype=np.int64)


def _counts(row: Mapping[str, Any]) -> list[int]:
    oracle, critic = row["oracle"], row["critic"]
    judged = [truth for truth in oracle if truth is not None]
    distinct = {
        normalized(text)
        for text, truth in zip(row["sentences"], oracle, strict=True)
        if truth is not None
    }
    passed = sum(o is False and c is True for o, c in zip(oracle, critic, strict=True))
    both = [c for c in critic if c is not None]
    return [
        sum(judged),
        len(judged),
        len(distinct),
        len(row["caption"].split()),
        1,
        passed,
        len(judged) - sum(judged),
        sum(both),
    ]


def read(runs: Path) -> dict[str, Captions]:
    """All policies' captions, by name."""
    found = {}
    for path in sorted((runs / "captions").glob("*.jsonl")):
        own = sorted(rows(path), key=lambda row: row["scene"])
        found[path.stem] = Captions(path.stem, tuple(own))
    return found


def arms() -> Iterator[str]:
    """Names of all policies, in the table's order."""
    yield from NAMES
    for method in METHODS:
        for verifier in VERIFIERS:
            yield from (f"{method}.{verifier}.{score}" for score in SCORES)


def figures(before: Captions, after: Captions) -> tuple[Sums, int]:
    """Sums of both policies' columns, resampled by scene; the second's start at that column."""
    first, second = before.counts(), after.counts()
    both = np.hstack([first, second])
    sums = Sums(both.shape[1], REPLICATES)
    drawn = weights(np.arange(len(both), dtype=np.uint64), REPLICATES)
    sums.add(both, drawn.astype(np.float64))
    return sums, first.shape[1]


def shown(estimate: Estimate, *, sign: bool = False, digits: int = 3) -> str:
    """A figure with its interval."""
    if estimate.value is None:
        return "n/a"
    form = f"{'+' if sign else ''}.{digits}f"
    text = f"{estimate.value:{form}}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({estimate.low:{form}} to {estimate.high:{form}})"


def main_table(found: Mapping[str, Captions]) -> str:
    """Factuality, units and length, before and after."""
    lines = [
        "| policy | factuality | change | units a caption | change | words | critic's c_p |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    base = found["sft"]
    for name in (name for name in arms() if name in found):
        sums, at = figures(base, found[name])
        factuality = sums.ratio(at + TRUE, at + JUDGED)
        change, richer = "", ""
        if name not in NAMES:
            moved = sums.change((TRUE, JUDGED), (at + TRUE, at + JUDGED))
            change = shown(moved, sign=True)
            more = sums.change((UNITS, CAPTIONS), (at + UNITS, at + CAPTIONS))
            richer = shown(more, sign=True, digits=2)
        units = sums.ratio(at + UNITS, at + CAPTIONS)
        words = sums.ratio(at + WORDS, at + CAPTIONS)
        said = np.mean([c for row in found[name].rows for c in row["critic"] if c is not None])
        label = label_of(name)
        lines.append(
            f"| {label} | {shown(factuality)} | {change} | {units.value or 0:.2f} | {richer} | "
            f"{words.value or 0:.1f} | {said:.3f} |"
        )
    scenes = len(base.rows)
    lines += [
        "",
        f"{scenes} held-out scenes, one caption each, sampled at temperature 1 and top-p 0.7; 95 % "
        "intervals over scenes, changes paired. Factuality: true sentences of those that the "
        "oracle judges. Units: distinct ones of these. Critic's c_p: the share of sentences that "
        "the bundled critic passes. "
        "Command: `python -m scripts.research.preferences.tables RUNS --write`.",
    ]
    return "\n".join(lines)


def label_of(name: str) -> str:
    """A policy in words."""
    if name in NAMES:
        return NAMES[name]
    method, verifier, score = name.split(".")
    rewards = {"c_p": "c_p alone", "c_r": "c_r alone", "both": "c_p + 0.5 c_r"}
    return f"{method.upper()}, {rewards[score]}, by the {verifier}"


def topics(captions: Captions) -> tuple[Counter[str], Counter[str]]:
    """What false sentences are wrong about, and how many of them the critic passes."""
    false: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for row in captions.rows:
        scene = sample_scene(row["scene"], "test")
        for number, truth in enumerate(row["oracle"]):
            if truth is not False:
                continue
            context = " ".join(row["sentences"][:number])
            wrong = failures(scene, context, row["sentences"][number])
            topic = topic_of(wrong[0].topic if wrong else "other")
            false[topic] += 1
            passed[topic] += row["critic"][number] is True
    return false, passed


def topic_of(topic: str) -> str:
    """The oracle's topic in a reader's word."""
    known = {
        "exists": "something that is not there",
        "count": "number",
        "relation": "relation",
        "place": "place in the picture",
        "size": "size",
        "holding": "what somebody holds",
    }
    if topic.startswith("slot:"):
        return "color, action, or another quality"
    if topic.startswith("scene:"):
        return "setting"
    return known.get(topic, "other")


def blind_table(found: Mapping[str, Captions], after: Sequence[str]) -> str:
    """False sentences that the critic passes, for every 100 captions, by what is wrong."""
    names = [name for name in ("teacher", "sft", *after) if name in found]
    counted = {name: topics(found[name]) for name in names}
    every = sorted(
        {topic for false, _ in counted.values() for topic in false},
        key=lambda topic: -sum(passed[topic] for _, passed in counted.values()),
    )
    heads = [label_of(name) for name in names]
    lines = [f"| wrong about | {' | '.join(heads)} |", f"| --- |{' --- |' * len(heads)}"]
    for topic in [*every, ""]:
        cells = []
        for name in names:
            false, passed = counted[name]
            scenes = len(found[name].rows)
            n, k = (false[topic], passed[topic]) if topic else (false.total(), passed.total())
            cells.append(f"{100 * k / scenes:.0f} of {100 * n / scenes:.0f}")
        lines.append(f"| {topic or 'all'} | {' | '.join(cells)} |")
    lines += ["", "False sentences that the critic passes, of all false ones, per 100 captions."]
    return "\n".join(lines)


def points(found: Mapping[str, Captions]) -> list[PlottedPolicy]:
    """What the plot shows of each policy."""
    made = []
    for name in (name for name in arms() if name in found):
        sums, at = figures(found["sft"], found[name])
        made.append(
            PlottedPolicy(
                name,
                label_of(name),
                sums.ratio(at + UNITS, at + CAPTIONS),
                sums.ratio(at + TRUE, at + JUDGED),
            )
        )
    return made


@click.command(help=__doc__.splitlines()[0])
@click.argument("runs", type=click.Path(path_type=Path, exists=True))
@click.option("--write", is_flag=True, help="Write them into docs/preferences.md, and the plot.")
def main(runs: Path, write: bool) -> None:
    found = read(runs)
    after = [name for name in arms() if name in found and name not in NAMES]
    first = [name for name in after if name.endswith("critic.both")]
    blocks = {
        "preference training": main_table(found),
        "blind spots": blind_table(found, first),
    }
    for block in blocks.values():
        click.echo(f"{block}\n")
    if write:
        write_to_pages(ROOT, blocks)
        (ROOT / "docs" / "preferences.svg").write_text(plotted(points(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
