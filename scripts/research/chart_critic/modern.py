"""The chart critic on captions as today's vision-language models write them, mostly right.

    python -m scripts.research.chart_critic.modern read.jsonl --write

The readings are those of `measure`; images of CHOCOLATE's development half are captioned in
`modern_captions.jsonl`: by us, each image in sight, before the code that checks claims was. Half of
the captions are Markdown. `[[right|wrong|kind]]` marks what models get wrong in the way they do.
Each caption is corrected twice as a run corrects it: with all marks wrong, which is half of its
sentences, and with every third, as good models err. A rewrite is right where it says what was
right, numbers within a fortieth; what else was written stands in `modern_read.jsonl`, read by eye.

`--onto-card` puts the error rates on the development half onto the critic's card, beside those on
CHOCOLATE, whose captioners err otherwise: corrected shares widen their intervals by them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from PIL import Image

from revise_captions.command_line.printing import echo
from revise_captions.critic.charts.card import MEASURED, read_cards, with_card
from revise_captions.critic.charts.critic import ChartCritic, ChartReading
from revise_captions.critic.known_errors import known_errors
from revise_captions.critic.profile import MeasuredSentences
from revise_captions.engines.smollm2 import is_installed
from revise_captions.io.writing import write_text
from revise_captions.pipelines.draft import new_draft, present_text
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.reviser.fixes import FixReviser
from revise_captions.stats.classification import roc_auc
from revise_captions.stats.error_correction import CorrectedShare, ErrorRates
from revise_captions.stats.verdict_levels import fitted_levels
from revise_captions.text.markdown import sentence_spans
from scripts.research.chart_critic.corrected import corrected, left_out
from scripts.research.chart_critic.kept_answers import KeptAnswers, block_of
from scripts.research.chart_critic.measure import readings_of, shown
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.figures import counted_share, rows_as_table
from scripts.research.frame.report import ROOT, write_option

CAPTIONS = Path(__file__).with_name("modern_captions.jsonl")
READ = Path(__file__).with_name("modern_read.jsonl")
DEVELOPMENT, REPORTING = "development", "reporting"
ORIGIN = "captions as today's models write them, on charts that the rules were mended on"
_MARK = re.compile(r"\[\[(?P<right>[^|\]]*)\|(?P<wrong>[^|\]]*)\|(?P<kind>\w+)\]\]")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d\b")
#: Of the marks, every so many are wrong.
EVERY = {"half wrong": 1, "a quarter wrong": 3}
_NEAR = 0.025
#: Of the development half's images.
SPLITS = 100


@dataclass(frozen=True, slots=True)
class GoldSentence:
    """A sentence of a caption.

    Attributes:
        text: As it stands in the caption.
        right: What would be true in its place; "" for nothing.
        kinds: Its errors; () where it is right.
    """

    text: str
    right: str
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModernFate:
    """What became of a sentence.

    Attributes:
        image: The name of its image.
        gold: The sentence.
        p: P(factual) before anything was changed.
        flagged: Whether that is below the threshold.
        after: What stands there in the end; "" where it is gone.
        basis: What each fix that was written rests on.
        p_after: P(factual) of what stands there in the end; None where nothing does.
    """

    image: str
    gold: GoldSentence
    p: float
    flagged: bool
    after: str
    basis: tuple[str, ...]
    p_after: float | None = None

    @property
    def changed(self) -> bool:
        return self.after != self.gold.text

    @property
    def source(self) -> str:
        return self.image.partition("_")[0]

    def is_right(self, known: Mapping[tuple[str, str], bool]) -> bool | None:
        """Whether what stands there is true, or was wrong and is gone; None: nobody has read it."""
        if not self.after:
            return bool(self.gold.kinds)
        if not self.changed:
            return not self.gold.kinds
        if _says(self.after, self.gold.right):
            return True
        return known.get((self.image, self.after))


def _says(text: str, right: str) -> bool:
    """Whether a text has the words and years of another, without hedges, and numbers as near as a
    chart is read."""
    if _YEAR.findall(text) != _YEAR.findall(right):
        return False
    one, other = (_NUMBER.sub("0", t.replace("about ", "")).strip() for t in (text, right))
    numbers = [[float(n.replace(",", "")) for n in _NUMBER.findall(t)] for t in (text, right)]
    return one == other and all(abs(a - b) <= _NEAR * abs(b) for a, b in zip(*numbers, strict=True))


def gold_of(marked: str, every: int) -> tuple[str, list[GoldSentence]]:
    """A caption with one in `every` of its marks wrong, and its sentences."""
    parts: list[str] = []
    marks: list[tuple[int, int, str, str]] = []
    length = cursor = 0
    for number, mark in enumerate(_MARK.finditer(marked)):
        said = mark["wrong"] if number % every == 0 else mark["right"].strip()
        plain = marked[cursor : mark.start()]
        start = length + len(plain)
        length, cursor = start + len(said), mark.end()
        parts += [plain, said]
        if number % every == 0:
            marks.append((start, length, mark["right"].strip(), mark["kind"]))
    text = "".join([*parts, marked[cursor:]])
    found = []
    for span in sentence_spans(text):
        own = [m for m in marks if span.start <= m[0] and m[1] <= span.end]
        right = span.of(text)
        for start, end, instead, _ in reversed(own):
            right = right[: start - span.start] + instead + right[end - span.start :]
        found.append(GoldSentence(span.of(text), right.strip(), tuple(m[3] for m in own)))
    return text, found


def fates(
    half: str, every: int, readings: Mapping[str, ChartReading], critic: ChartCritic
) -> Iterator[ModernFate]:
    """What a run makes of the captions of a half, each whose chart could be read."""
    models = LoadedModels(critic, FixReviser(), "")
    for row in map(json.loads, CAPTIONS.read_text(encoding="utf-8").splitlines()):
        reading = readings.get(row["image"])
        if row["half"] != half or reading is None or not reading.readable:
            continue
        image = Image.new("RGB", (8, 8))
        critic.take(image, reading)
        text, gold = gold_of(row["caption"], every)
        drafts = [new_draft(image, text, sentence_spans(text))]
        (draft,) = run_stages(drafts, models, RevisionSettings())
        for one, sentence in zip(gold, draft.sentences, strict=True):
            p = sentence.verdict.p_factual
            if p is not None:
                after = present_text(sentence, draft.caption)
                fixes = sentence.rationale.fixes if sentence.rationale else ()
                basis = tuple(fix.basis for fix in fixes)
                flagged, now = p < critic.threshold, sentence.now.p_factual if after else None
                yield ModernFate(row["image"], one, p, flagged, after, basis, now)


def verdicts() -> dict[tuple[str, str], bool]:
    """Rewrites that were read by eye, by image and wording."""
    lines = READ.read_text(encoding="utf-8").splitlines() if READ.exists() else []
    return {(row["image"], row["after"]): row["right"] for row in map(json.loads, lines)}


def measured(groups: Sequence[Sequence[ModernFate]]) -> MeasuredSentences:
    """Each sentence as written, and each rewrite that was read, with its P(factual) and truth;
    those of one group and source are a population."""
    every = [(k, one) for k, group in enumerate(groups) for one in group]
    images = {name: k for k, name in enumerate(dict.fromkeys(one.image for _, one in every))}
    known = verdicts()
    rows = [
        (
            images[one.image],
            2 * k + (one.source == "pew"),
            one.p,
            not one.gold.kinds,
            False,
            one.changed,
        )
        for k, one in every
    ]
    rows += [
        (images[one.image], 2 * k + (one.source == "pew"), one.p_after, true, True, False)
        for k, one in every
        if one.changed and one.p_after is not None
        if (true := one.is_right(known)) is not None
    ]
    image, whose, p, factual, rewritten, changed = map(np.array, zip(*rows, strict=True))
    return MeasuredSentences(image, p, factual, rewritten, np.ones(len(p)), whose, changed)


def _onto_card(groups: Sequence[Sequence[ModernFate]], critic: ChartCritic) -> None:
    (card,) = (one for one in read_cards() if one.is_of(critic.settings))
    other = {"origin": ORIGIN, "sentences": measured(groups).as_json()}
    write_text(MEASURED, with_card(read_cards(), replace(card, elsewhere=other)))


def true_shares(every: Sequence[ModernFate]) -> tuple[float, float]:
    """The shares of true sentences before and after."""
    known = verdicts()
    before = np.mean([not one.gold.kinds for one in every])
    after = np.mean([one.is_right(known) is True for one in every if one.after])
    return float(before), float(after)


def corrected_of(
    every: Sequence[ModernFate], rates: ErrorRates
) -> tuple[CorrectedShare, CorrectedShare]:
    """The same as a run reports them, with intervals over images."""
    images = {name: k for k, name in enumerate(dict.fromkeys(one.image for one in every))}
    counts = np.zeros((len(images), 5))
    for one in every:
        stands = one.after != ""
        counts[images[one.image]] += (
            1, not one.flagged, stands and not one.changed and not one.flagged,
            stands and not one.changed and one.flagged, stands and one.changed,
        )  # fmt: skip
    return corrected(counts, rates)


def shares(every: Sequence[ModernFate], rates: ErrorRates) -> Iterator[str]:
    """Both, beside each other."""
    for found, true in zip(corrected_of(every, rates), true_shares(every), strict=True):
        yield f"{found.value:.3f} ({found.low:.3f}–{found.high:.3f}) / {true:.3f}"


def coverage(groups: Mapping[str, Sequence[ModernFate]], critic: ChartCritic) -> str:
    """How often intervals cover the truth: of half of the images, by a card that knows the other
    half, at random; and of each population that the card knows, by the others."""
    (card,) = (one for one in read_cards() if one.is_of(critic.settings))
    own = MeasuredSentences.read(card.sentences)
    rewrites = own.rates(critic.threshold, card.origin, True)
    assert rewrites is not None
    rng, names = np.random.default_rng(0), sorted({o.image for g in groups.values() for o in g})
    hits, off = np.zeros(2), np.zeros(2)
    for _ in range(SPLITS):
        known = set(rng.permutation(names)[: len(names) // 2])
        parts = [[one for one in group if one.image in known] for group in groups.values()]
        levels = fitted_levels(
            [*own.populations(critic.threshold), *measured(parts).populations(critic.threshold)]
        )
        for group in groups.values():
            part = [one for one in group if one.image not in known]
            both = corrected_of(part, replace(rewrites, levels=levels)), true_shares(part)
            for k, (found, true) in enumerate(zip(*both, strict=True)):
                hits[k] += found.low <= true <= found.high
                off[k] += abs((found.value or 0) - true)
    size = SPLITS * len(groups)
    return (
        f"Halves of the development images, {SPLITS} times, by what is known of the other half: "
        f"intervals cover the true share before in {hits[0] / size:.2f} and after in "
        f"{hits[1] / size:.2f} of the runs; shares are off by {off[0] / size:.3f} and "
        f"{off[1] / size:.3f} on average. {left_out(own, critic.threshold)}"
    )


def figures(every: Sequence[ModernFate], rates: ErrorRates | None) -> list[str]:
    """A row of the table, without its name."""
    known = verdicts()
    right = [one for one in every if not one.gold.kinds]
    wrong = [one for one in every if one.gold.kinds]
    written = [one for one in every if one.changed]
    rewrites = [one for one in written if one.after]
    score = np.array([one.p for one in every])
    truth = np.array([not one.gold.kinds for one in every], dtype=float)
    images = np.array([one.image for one in every])
    return [
        str(len(every)),
        shown(roc_auc, score, truth, images),
        counted_share(sum(one.flagged for one in right), len(right)),
        counted_share(sum(not one.flagged for one in wrong), len(wrong)),
        counted_share(sum(one.is_right(known) is True for one in written), len(written)),
        counted_share(sum(one.is_right(known) is True for one in rewrites), len(rewrites)),
        counted_share(sum(one.changed for one in right), len(right)),
        counted_share(sum(one.is_right(known) is True for one in wrong), len(wrong)),
        *(shares(every, rates) if rates else ("–", "–")),
    ]


HEAD = [
    "captions", "sentences", "ROC-AUC", "right ones flagged", "wrong ones missed",
    "fixes written, right", "… rewrites, right", "right ones changed or removed",
    "wrong ones right or gone", "share of true sentences before, reported / true", "… after",
]  # fmt: skip


def table(
    half: str, readings: Mapping[str, ChartReading], critic: ChartCritic
) -> Iterator[tuple[list[str], list[ModernFate]]]:
    """A row, and what it is of, for each share of errors, and each source."""
    settings = {**critic.settings, "reviser": "fixes-1", "threshold": f"{critic.threshold}"}
    rates = known_errors(settings)
    for name, number in EVERY.items():
        found = list(fates(half, number, readings, critic))
        yield [name, *figures(found, rates)], found
        for source in ("pew", "vistext"):
            part = [one for one in found if one.source == source]
            yield [f"… {source}", *figures(part, rates)], []


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("readings", type=click.Path(path_type=Path, exists=True))
@click.option("--development", is_flag=True, help="The half that choices were made on.")
@click.option("--fates", "told", is_flag=True, help="Print what is wrong, flagged, or changed.")
@click.option("--language/--no-language", default=True, help="Ask SmolLM2, where it is installed.")
@click.option("--answers", type=click.Path(path_type=Path), help="File that keeps its answers.")
@click.option("--onto-card", is_flag=True, help="Put the development half's errors on the card.")
@write_option
def main(
    readings: Path,
    development: bool,
    told: bool,
    language: bool,
    answers: Path | None,
    onto_card: bool,
    write: bool,
) -> None:
    critic = ChartCritic(language=KeptAnswers(answers) if language and is_installed() else None)
    half = DEVELOPMENT if development or onto_card else REPORTING
    found = readings_of(readings, readings, more=False)
    rows = list(table(half, found, critic))
    groups = {row[0]: every for row, every in rows if every}
    if onto_card:
        _onto_card(list(groups.values()), critic)
        return
    if told:
        for one in (fate for _, every in rows for fate in every):
            _tell(one)
        return
    block = rows_as_table([HEAD, *(row for row, _ in rows)])
    if half == REPORTING:
        tuned = {name: list(fates(DEVELOPMENT, n, found, critic)) for name, n in EVERY.items()}
        block += f"\n\n{coverage(tuned, critic)}"
    else:
        block += f"\n\n{coverage(groups, critic)}"
    echo(block)
    if write:
        write_to_pages(ROOT, {block_of("modern", critic): block})


def _tell(one: ModernFate) -> None:
    right = one.is_right(verdicts())
    if one.changed or one.flagged or one.gold.kinds:
        name = "CHANGED" if one.changed else "FLAGGED" if one.flagged else "MISSED"
        kinds = " ".join(one.gold.kinds) or "right"
        echo(f"{name} {kinds} p={one.p:.2f} {one.image}: {one.gold.text}")
        if one.flagged:
            echo(f"    → {one.after or '(gone)'}   [{'; '.join(one.basis)}] right: {right}")


if __name__ == "__main__":
    main()
