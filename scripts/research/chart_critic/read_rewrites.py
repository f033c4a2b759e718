"""How often the chart critic's fixes are right, by kind: read by eye beside CHOCOLATE's charts.

    python -m scripts.research.chart_critic.read_rewrites DIR --readings read.jsonl --write

DIR is CHOCOLATE as published; the readings are those of `measure`. Of the development half, each
flagged sentence with fixes is rewritten by all of them, certain or not, and judged again as a run
judges it. What was read stands in `rewrites_read.jsonl`: the caption's id, the sentence's number,
the fixes without the sentence's own words, and a verdict: `right` (all of it is true now), `partly`
(something else is still wrong), `wrong`; `again` is the verdict of a second reading, and right is
what both call so. A removal is right where people labeled the sentence wrong. `--unread` prints the
rewrites that nobody has read yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from revise_captions.benchmarks.readers.chocolate import read
from revise_captions.charts.claims.edits import with_fixes
from revise_captions.command_line.printing import echo
from revise_captions.critic.charts.card import (
    DECIDING,
    MEASURED,
    ChartCard,
    read_cards,
    with_card,
)
from revise_captions.critic.charts.critic import ChartCritic, ChartReading, evidence_of
from revise_captions.critic.charts.evidence import NAMES
from revise_captions.critic.charts.rationale import (
    FOREIGN,
    GARBLED,
    UNLIKELY,
    mean_of_others,
    rationale_of,
)
from revise_captions.critic.profile import MeasuredSentences
from revise_captions.engines.smollm2 import is_installed
from revise_captions.io.writing import write_text
from revise_captions.records import Fix
from revise_captions.reviser.fixes import FixReviser
from scripts.research.chart_critic.halves import is_development
from scripts.research.chart_critic.kept_answers import KeptAnswers, block_of
from scripts.research.chart_critic.measure import NEUTRAL, readings_of
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.figures import counted_share, rows_as_table
from scripts.research.frame.report import ROOT, write_option

READ = Path(__file__).with_name("rewrites_read.jsonl")
RIGHT, PARTLY, WRONG = "right", "partly", "wrong"
ORIGIN = "CHOCOLATE's development half, on which the rules were chosen"
#: (start, end, right) of each fix.
FixKey = tuple[tuple[int, int, str], ...]
Verdicts = Mapping[tuple[str, int, FixKey], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ProposedRewrite:
    """What would become of a sentence.

    Attributes:
        caption: CHOCOLATE's id of its caption.
        image: The name of its image.
        captioner: The model that wrote it.
        index: Its number in the caption, from 0.
        sentence: Its text.
        erroneous: Whether people labeled it wrong.
        flagged: Whether the critic did.
        fixes: What the critic names.
        accepted: Whether a run would take them all.
        p: P(factual) of the sentence.
        p_after: Of the rewrite; None where nothing is left.
    """

    caption: str
    image: str
    captioner: str
    index: int
    sentence: str
    erroneous: bool
    flagged: bool
    fixes: tuple[Fix, ...] = ()
    accepted: bool = False
    p: float = 0.0
    p_after: float | None = None

    @property
    def certain(self) -> bool:
        """Whether a run writes it."""
        return bool(self.fixes) and all(fix.certain for fix in self.fixes)

    @property
    def removed(self) -> bool:
        """Whether nothing is left of it."""
        return bool(self.fixes) and not with_fixes(self.sentence, self.fixes)

    @property
    def population(self) -> str:
        """Captions of one captioner about charts of one kind."""
        return f"{self.captioner} {self.image.partition('_')[0]}"

    @property
    def kind(self) -> str:
        """The kinds of claims that are mended, in one word or several."""
        return " and ".join(sorted({fix.kind for fix in self.fixes}))

    @property
    def key(self) -> tuple[str, int, FixKey]:
        """What a verdict of it is known by."""
        return self.caption, self.index, tuple((*fix.span, fix.right) for fix in self.fixes)


@dataclass(frozen=True, slots=True)
class UnreadSentence:
    """A sentence that no run judges, as nothing could be read in its chart.

    Attributes:
        caption: CHOCOLATE's id of its caption.
        sentence: Its text.
        erroneous: Whether people labeled it wrong.
    """

    caption: str
    sentence: str
    erroneous: bool


def unread_sentences(
    folder: Path, readings: Mapping[str, ChartReading]
) -> Iterator[UnreadSentence]:
    """Every sentence of the development half whose chart could not be read."""
    for example in read(folder):
        name = Path(example.image).name
        if not is_development(name) or ((found := readings.get(name)) and found.readable):
            continue
        for one in example.sentences:
            wrong = any(error != NEUTRAL for error in one.error_types)
            yield UnreadSentence(example.id, one.span.of(example.caption), wrong)


def proposals(
    folder: Path, readings: Mapping[str, ChartReading], critic: ChartCritic
) -> Iterator[ProposedRewrite]:
    """Every sentence of the development half whose chart could be read."""
    for example in read(folder):
        name = Path(example.image).name
        reading = readings.get(name)
        if reading is None or not reading.readable or not is_development(name):
            continue
        texts = [one.span.of(example.caption) for one in example.sentences]
        whose = example.id, name, example.captioner
        chances = _judged(reading, texts, critic)
        removal = critic.removal_chances(reading, texts)
        for k, (one, text, p) in enumerate(zip(example.sentences, texts, chances, strict=True)):
            erroneous = any(error != NEUTRAL for error in one.error_types)
            if p >= critic.threshold:
                yield ProposedRewrite(*whose, k, text, erroneous, False, p=p)
                continue
            rest = mean_of_others(removal, k)
            found = rationale_of(
                text, reading.charts, reading.lines, reading.places, removal[k], rest
            )
            fixes = found.fixes
            after = with_fixes(text, fixes)
            accepted, now = bool(fixes) and not after, None
            if fixes and after:
                now = _judged(reading, [*texts[:k], after, *texts[k + 1 :]], critic)[k]
                accepted = now >= critic.threshold and now > p
            yield ProposedRewrite(*whose, k, text, erroneous, True, fixes, accepted, p, now)


def _judged(reading: ChartReading, texts: Sequence[str], critic: ChartCritic) -> list[float]:
    found = evidence_of(reading, texts, critic.language)
    return critic.weights.probabilities(NAMES, [one.values for one in found])


def verdicts() -> dict[tuple[str, int, FixKey], tuple[str, ...]]:
    """What was read, once or twice, by `ProposedRewrite.key`."""
    rows = map(json.loads, READ.read_text(encoding="utf-8").splitlines())
    return {
        (row["caption"], row["sentence"], tuple(tuple(fix) for fix in row["fixes"])): tuple(
            row[reading] for reading in ("verdict", "again") if reading in row
        )
        for row in rows
    }


def is_right(one: ProposedRewrite, known: Verdicts) -> bool | None:
    """Whether a rewrite, or a removal, is right; None where nobody has read it."""
    if one.removed:
        return one.erroneous
    found = known.get(one.key)
    return None if found is None else set(found) == {RIGHT}


def table(every: Sequence[ProposedRewrite], known: Verdicts) -> list[list[str]]:
    """A row per kind of fix: what is proposed, certain and accepted, and how much of it right."""
    rows = [["fix", "proposed", "certain", "certain and accepted", "… right", "others, right"]]
    proposed = [one for one in every if one.fixes]
    kinds = sorted({one.kind for one in proposed}, key=lambda kind: (kind in _REMOVALS, kind))
    for kind in (*kinds, ""):
        part = [one for one in proposed if kind in ("", one.kind)]
        written = [one for one in part if one.certain and one.accepted]
        others = [one for one in part if not one.certain and one.accepted]
        rows.append([
            _REMOVALS.get(kind, kind) or "all",
            str(len(part)),
            str(sum(one.certain for one in part)),
            str(len(written)),
            _right(written, known),
            _right(others, known),
        ])  # fmt: skip
    return rows


_REMOVALS = {
    GARBLED: "removal, garbled",
    FOREIGN: "removal, about nothing shown",
    UNLIKELY: "removal, unlikely",
}


def _right(part: Sequence[ProposedRewrite], known: Verdicts) -> str:
    found = [right for one in part if (right := is_right(one, known)) is not None]
    return counted_share(sum(found), len(found))


def figures(
    every: Sequence[ProposedRewrite], unread: Sequence[UnreadSentence], known: Verdicts
) -> str:
    """The block of the page; unscored sentences stay as they are, and count with the others."""
    wrong = [one for one in every if one.erroneous]
    right = [one for one in every if not one.erroneous]
    said = [one.sentence for one in wrong] + [one.sentence for one in unread if one.erroneous]
    captions = {one.caption for one in every} | {one.caption for one in unread}
    all_right = len(right) + sum(not one.erroneous for one in unread)
    written = [one for one in every if one.certain and one.accepted]
    mended = sum(one.erroneous and is_right(one, known) is True for one in written)
    bare = sum(not any(map(str.isalpha, sentence)) for sentence in said)
    twice = [found for one in every if len(found := known.get(one.key, ())) > 1]
    harmed = sum(not one.erroneous and is_right(one, known) is False for one in written)
    changed = sum(not one.erroneous for one in written)
    flagged = [sum(one.flagged for one in part) for part in (right, wrong)]
    agreed = sum(a == b for a, b in twice)
    return "\n".join([
        rows_as_table(table(every, known)),
        "",
        f"{len(every) + len(unread):,} sentences of "
        f"{len(captions)} captions, {len(unread)} of them "
        f"unscored, as their charts could not be read. Wrong ones that are right or gone "
        f"afterwards: {counted_share(mended, len(said))}; without the {bare} that have no "
        f"letter, such as numbers of lists, and stay: "
        f"{counted_share(mended, len(said) - bare)}; of those that were scored: "
        f"{counted_share(mended, len(wrong))}. Right ones that are changed or removed: "
        f"{counted_share(changed, all_right)}; made false or removed: "
        f"{counted_share(harmed, all_right)}. Of those that were scored are flagged "
        f"{counted_share(flagged[0], len(right))} of the right and "
        f"{counted_share(flagged[1], len(wrong))} of the wrong sentences. The two "
        f"readings agree on {counted_share(agreed, len(twice))} rewrites.",
    ])  # fmt: skip


def card_of(
    every: Sequence[ProposedRewrite],
    known: Verdicts,
    critic: ChartCritic,
) -> ChartCard:
    """What is known of the critic: each sentence, and each rewrite that a run writes; and what
    `modern` put onto its card."""
    images = {name: k for k, name in enumerate(dict.fromkeys(one.image for one in every))}
    groups = {name: k for k, name in enumerate(sorted({one.population for one in every}))}
    rows = [(images[one.image], groups[one.population], one.p, not one.erroneous) for one in every]
    written = [
        (images[one.image], groups[one.population], one.p_after, found)
        for one in every
        if one.certain and one.accepted and one.p_after is not None
        if (found := is_right(one, known)) is not None
    ]
    image, whose, p, factual = zip(*rows, *written, strict=True)
    before = next((one.elsewhere for one in read_cards() if one.is_of(critic.settings)), None)
    sentences = MeasuredSentences(
        np.array(image), np.array(p), np.array(factual),
        np.arange(len(image)) >= len(rows), np.ones(len(image)), np.array(whose),
        np.array([*(one.certain and one.accepted for one in every), *(False for _ in written)]),
    )  # fmt: skip
    return ChartCard(
        {key: critic.settings[key] for key in DECIDING}, FixReviser().settings,
        sentences.as_json(), ORIGIN, before,
    )  # fmt: skip


@click.command(help=__doc__.splitlines()[0])
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--readings", type=click.Path(path_type=Path, exists=True), required=True)
@click.option(
    "--unread", is_flag=True, help="Print what nobody has read, for `rewrites_read.jsonl`."
)
@click.option("--language/--no-language", default=True, help="Ask SmolLM2, where it is installed.")
@click.option("--answers", type=click.Path(path_type=Path), help="File that keeps its answers.")
@write_option
def main(
    folder: Path, readings: Path, unread: bool, language: bool, answers: Path | None, write: bool
) -> None:
    found = readings_of(folder, readings, more=False)
    critic = ChartCritic(language=KeptAnswers(answers) if language and is_installed() else None)
    every, known = list(proposals(folder, found, critic)), verdicts()
    if unread:
        for one in every:
            if one.accepted and is_right(one, known) is None:
                row = {"caption": one.caption, "sentence": one.index, "fixes": one.key[2]}
                echo(f"{one.image}\n{one.sentence}\n{with_fixes(one.sentence, one.fixes)}")
                echo(json.dumps({**row, "certain": one.certain, "verdict": ""}))
        return
    block = figures(every, list(unread_sentences(folder, found)), known)
    echo(block)
    if write:
        write_text(MEASURED, with_card(read_cards(), card_of(every, known, critic)))
        # behind the card, of which the block's stamp is, too
        write_to_pages(ROOT, {block_of("fixes", critic): block})


if __name__ == "__main__":
    main()
