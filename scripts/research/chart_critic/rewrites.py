"""What rewriting does to drawn charts' captions, step by step: wrong sentences mended, and harm.

    python -m scripts.research.chart_critic.rewrites --charts 40 --write

The critic `charts` reads each image, the reviser `fixes` rewrites, as in a run. The table that was
drawn decides each sentence as it then stands; what it cannot decide counts as not true. As for the
picture book, a wrong sentence that is removed is no longer false; removals have their own column.
With `exact`, the critic gets the table in place of what was read: what is missing there is the
critic's and the reviser's, the rest the reader's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

import click
from PIL.Image import Image

from revise_captions.chart_world.captions import ChartCaption, sample_caption
from revise_captions.chart_world.drawing import draw_table, styles_of
from revise_captions.chart_world.readings import exact_reading, text_of_chart
from revise_captions.chart_world.statements import ChartStatement
from revise_captions.chart_world.tables import Table, sample_table
from revise_captions.charts.claims import ClaimOutcome, check_sentence
from revise_captions.critic.charts.critic import ChartCritic, ChartReading
from revise_captions.critic.charts.language import chart_language
from revise_captions.critic.charts.places import NumberPlace, numbers_of, words_and_years
from revise_captions.pipelines.draft import new_draft, present_text
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.records import Sentence
from revise_captions.reviser.fixes import FixReviser
from revise_captions.text.sentences import split
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.figures import share_of_hits, spread
from scripts.research.frame.report import ROOT, write_option

STYLES = ("vega", "matplotlib", "infographic")


@dataclass(frozen=True, slots=True)
class SentenceFate:
    """What became of a sentence.

    Attributes:
        chart: Which chart it is about.
        error: Its type of error, "" if it is right.
        unscored: Whether the chart could not be read.
        flagged: Whether the critic ever judged it nonfactual.
        explained: Whether it then had a rationale.
        proposed: Whether the reviser proposed a rewrite or a removal.
        changed: Whether one was accepted.
        removed: Whether it is gone.
        true: Whether it is true of the table in the end, as far as that decides it.
        false: Whether it is false.
    """

    chart: str
    error: str
    unscored: bool
    flagged: bool
    explained: bool
    proposed: bool
    changed: bool
    removed: bool
    true: bool
    false: bool

    @property
    def mended(self) -> bool:
        """Whether it is true, or gone."""
        return self.true or self.removed


def truth_of(text: str, statement: ChartStatement, table: Table) -> bool | None:
    """Whether a sentence is true of a table as it stands after the revision; None: undecided."""
    if text == statement.text:
        return statement.error is None
    if text == statement.rewrite:
        return True
    outcomes = {check.outcome for check in check_sentence(text, [exact_reading(table)])}
    if ClaimOutcome.FALSE in outcomes:
        return False
    return True if ClaimOutcome.TRUE in outcomes else None


def exact(table: Table, rng: random.Random) -> ChartReading:
    """What a reader without errors would read in the chart of a table."""
    text = text_of_chart(exact_reading(table), rng)
    places = tuple(
        NumberPlace(value, words_and_years(beside))
        for line, beside in text
        for value in numbers_of(line)
    )
    return ChartReading((exact_reading(table),), tuple(line for line, _ in text), places=places)


def drawn(style: str, count: int, seed: str) -> Iterator[tuple[str, Table, ChartCaption, Image]]:
    """The first `count` charts of the world that a style draws: name, table, caption, image."""
    number = found = 0
    while found < count:
        rng = random.Random(f"{seed}.{number}")
        number += 1
        table = sample_table(rng)
        caption = sample_caption(rng, table)
        if style in styles_of(table):
            found += 1
            yield f"{style} {number}", table, caption, draw_table(table, rng, style)


def revised(
    name: str, table: Table, caption: ChartCaption, image: Image, models: LoadedModels
) -> list[SentenceFate]:
    """The fates of a chart's sentences; none where the caption is split otherwise than written."""
    spans = split(caption.text)
    if [span.of(caption.text) for span in spans] != [s.text for s in caption.statements]:
        return []
    settings = RevisionSettings(guard="warn")
    (draft,) = run_stages([new_draft(image, caption.text, spans)], models, settings)
    return [
        fate(
            name, statement, sentence, present_text(sentence, draft.caption), table, draft.threshold
        )
        for statement, sentence in zip(caption.statements, draft.sentences, strict=True)
    ]


def fate(
    name: str, statement: ChartStatement, sentence: Sentence, text: str, table: Table,
    threshold: float,
) -> SentenceFate:  # fmt: skip
    """What became of one sentence, which now reads `text`."""
    first = sentence.verdict.p_factual
    truth = truth_of(text, statement, table) if text else None
    return SentenceFate(
        name,
        statement.error or "",
        first is None,
        bool(sentence.attempts) or (first is not None and first < threshold),
        bool(sentence.rationale),
        any(attempt.text or attempt.accepted for attempt in sentence.attempts),
        text != statement.text,
        not text,
        truth is True,
        truth is False,
    )


def row(name: str, reading: str, fates: Sequence[SentenceFate]) -> str:
    """A line of the table: counts, the chain as shares, and the interval of what is mended."""
    wrong = [f for f in fates if f.error]
    shares = [share(wrong, attrgetter(n)) for n in CHAIN]
    return f"| {name} | {reading} | {len(wrong)} | " + " | ".join(shares) + " |"


#: Attributes of `SentenceFate` in the order in which sentences are lost on the way.
CHAIN = ("unscored", "flagged", "explained", "proposed", "changed", "mended", "removed")


def share(fates: Sequence[SentenceFate], of: Callable[[SentenceFate], bool]) -> str:
    """A share, as text; "—" of nothing."""
    return f"{sum(map(of, fates)) / len(fates):.3f}" if fates else "—"


def with_interval(fates: Sequence[SentenceFate], of: Callable[[SentenceFate], bool]) -> str:
    """A share with its 95 % interval over charts; "—" of nothing."""
    if not fates:
        return "—"
    found = share_of_hits([of(one) for one in fates], [one.chart for one in fates])
    return f"{found.value:.3f}{spread(found.low, found.high)}"


def right_row(name: str, reading: str, fates: Sequence[SentenceFate]) -> str:
    """A line of the second table: what is done to sentences that were right."""
    right = [f for f in fates if not f.error]
    return (
        f"| {name} | {reading} | {len(right)} | {share(right, lambda f: f.flagged)} | "
        f"{with_interval(right, lambda f: f.false)} | "
        f"{share(right, lambda f: not f.true and not f.false and not f.removed)} | "
        f"{share(right, lambda f: f.removed)} | {share(right, lambda f: f.true)} |"
    )


def block(found: dict[str, list[SentenceFate]]) -> str:
    """Both tables, as Markdown."""
    lines = [
        "| wrong sentences | reading | number | unscored | flagged | with a rationale | rewrite "
        "proposed | changed | true or gone afterwards | … of these gone |",
        "|" + " --- |" * 10,
    ]
    for reading, fates in found.items():
        lines.append(row("all", reading, fates))
        kinds = sorted({f.error for f in fates if f.error})
        parts = {f"… {kind}": [f for f in fates if f.error == kind] for kind in kinds}
        for style in STYLES:
            parts[f"… drawn by {style}"] = [f for f in fates if f.chart.startswith(style)]
        lines += [row(name, reading, part) for name, part in parts.items()]
    lines += [
        "",
        "| right sentences | reading | number | flagged | made false (95 %) | undecided afterwards "
        "| gone | still true |",
        "|" + " --- |" * 8,
        *(right_row("all", reading, fates) for reading, fates in found.items()),
    ]
    mended = [
        f"{with_interval([f for f in fates if f.error], lambda f: f.mended)} ({reading})"
        for reading, fates in found.items()
    ]
    lines += [
        "",
        f"Wrong sentences true or gone afterwards, 95 % over charts: {', '.join(mended)}.",
    ]
    return "\n".join(lines)


@click.command()
@click.option("--charts", default=40, show_default=True, help="Charts to draw in each style.")
@click.option("--seed", default="rewrites", show_default=True, help="Chooses the charts.")
@click.option(
    "--language", is_flag=True, help="Ask SmolLM2, too, as runs do where it is installed."
)
@write_option
def main(charts: int, seed: str, language: bool, write: bool) -> None:
    """Print what became of wrong and right sentences, by type of error and by style."""
    critic = ChartCritic(language=chart_language() if language else None)
    models = LoadedModels(critic, FixReviser(), "")
    found: dict[str, list[SentenceFate]] = {"the critic's": [], "exact": []}
    for style in STYLES:
        for name, table, caption, image in drawn(style, charts, seed):
            found["the critic's"] += revised(name, table, caption, image, models)
            critic.take(image, exact(table, random.Random(name)))
            found["exact"] += revised(name, table, caption, image, models)
    text = block(found)
    print(text)
    if write:
        write_to_pages(ROOT, {"rewrites": text})


if __name__ == "__main__":
    main()
