"""VNLI-Critique's tables (2506.07631).

Table 2 does not say how a captioner's sentences are averaged, nor what its 2-grams are made of.
Here the length of a sentence is its caption's mean, averaged over captions, and 2-grams are pairs
of neighboring words of a caption, in lower case and without punctuation: neither is the paper's.
Table 3's coefficients compare ranks, so that they are the same of shares as of their ranks; of the
54 that it prints, 33 follow from the ranks that Tables 7 to 9 print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.catalog.published import BENCHMARKS, TABLE_4
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import Example
from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.errors import BadRecord, UserError
from revise_captions.metrics.protocol import ScoresParts, StoredImage
from revise_captions.metrics.registry import MetricOptions, load_metric, scored_parts
from revise_captions.pipelines.metrics.autorater import KINDS, people_of, rater_of, shares
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.pipelines.metrics.scores import METRIC, metric_input
from revise_captions.pipelines.reproduce.table import (
    OURS,
    Asked,
    Figures,
    PaperTable,
    TableModel,
    TableRows,
    published,
)
from revise_captions.signature import signature
from revise_captions.stats.classification import HALF, macro_f1, roc_auc
from revise_captions.stats.correlations import correlation
from revise_captions.stats.leaderboard import CRITERIA, Criterion, Ratings

Floats = npt.NDArray[np.float64]
#: Captions whose images are held at a time.
_WINDOW = 64
DOCCI = "docci-critique"


FILES = "a further rater: metric:NAME or metric:NAME=MODEL, which scores sentences"


@dataclass(frozen=True, slots=True)
class SentenceRater:
    """Whose answers are compared with people's.

    Attributes:
        name: What tables call it.
        threshold: A sentence is factual from it on.
        settings: What decides its answers.
        values: One for each labeled sentence of some captions, in order; NaN where unscored.
    """

    name: str
    threshold: float
    settings: Mapping[str, str]
    values: Callable[[list[Example], Path], list[list[float]]]


def _raters(asked: Asked) -> list[SentenceRater]:
    """The critic of `--model`, and each metric that is given."""
    name = asked.models["critic"]
    critic = load_critic(name, CriticOptions(asked.placement))
    known = {f"critic {key}": value for key, value in critic.settings.items()}
    found = [SentenceRater(f"critic {name}", critic.threshold, known, partial(_verdicts, critic))]
    return [*found, *(_metric(given, asked) for given in asked.files)]


def _metric(given: str, asked: Asked) -> SentenceRater:
    metric = None
    if given.startswith(METRIC):
        metric = load_metric(given.removeprefix(METRIC), MetricOptions(asked.placement))
    if not isinstance(metric, ScoresParts):
        raise UserError(f"{given} scores no sentences", hint=f"FILE is {FILES}")
    cut = HALF if metric.threshold is None else metric.threshold
    settings = {f"{given} {key}": value for key, value in metric.settings.items()}
    return SentenceRater(given, cut, settings, partial(_scored, metric))


def _scored(metric: ScoresParts, examples: list[Example], folder: Path) -> list[list[float]]:
    inputs = [metric_input(example, folder) for example in examples]
    spans = [[sentence.span for sentence in example.sentences] for example in examples]
    found = scored_parts(metric, inputs, spans)
    return [[np.nan if one.value is None else one.value for one in own] for own in found]


def sentences(asked: Asked) -> TableRows:
    """Table 4: labeled sentences judged as they are, after the rest of their caption."""
    there = [name for name in BENCHMARKS if (asked.data / name).is_dir()]
    if not there:
        raise UserError(
            f"{asked.data} has no folder {', '.join(BENCHMARKS)}",
            hint="put each benchmark's files into a subfolder with its name",
        )
    raters = _raters(asked)
    rows: dict[str, list[float | None]] = {rater.name: [] for rater in raters}
    notes = [f"{name}: not in the data" for name in BENCHMARKS if name not in there]
    for name in BENCHMARKS:
        if name not in there:
            rows = {who: [*figures, None, None] for who, figures in rows.items()}
            continue
        for rater, (p, truth) in zip(raters, _judged(asked, name, raters), strict=True):
            known = np.isfinite(p)
            found = roc_auc(p[known], truth[known]), macro_f1(p[known], truth[known])
            rows[rater.name] += [value if np.isfinite(value) else None for value in found]
            counts = f"{known.sum()} sentences judged, {(~known).sum()} unscored"
            notes.append(f"{name}, {rater.name}: {counts}")
    return TableRows(rows, _settings(raters), tuple(notes))


def _settings(raters: Sequence[SentenceRater]) -> dict[str, str]:
    return {name: value for rater in raters for name, value in rater.settings.items()}


def _judged(
    asked: Asked, name: str, raters: Sequence[SentenceRater]
) -> list[tuple[Floats, Floats]]:
    """Each rater's values of the labeled sentences, NaN where unscored, and which are factual."""
    found = [
        (*answers, float(sentence.factual))
        for example, values in _examples(asked, name, raters)
        for sentence, *answers in zip(example.sentences, *values, strict=True)
        if sentence.factual is not None
    ]
    columns = np.array(found, dtype=float).reshape(-1, len(raters) + 1).T
    return [(own, columns[-1]) for own in columns[:-1]]


def _examples(
    asked: Asked, name: str, raters: Sequence[SentenceRater] = ()
) -> Iterator[tuple[Example, list[list[float]]]]:
    """A benchmark's captions, with each rater's values of the labeled sentences."""
    folder = asked.folder(name)
    items = (item for item in benchmark(name).read(folder) if isinstance(item, Example))
    examples = islice(items, asked.limit)
    while window := list(islice(examples, _WINDOW)):
        found = [rater.values(window, folder) for rater in raters]
        for k, example in enumerate(window):
            yield example, [own[k] for own in found]


def _verdicts(critic: Critic, examples: list[Example], folder: Path) -> list[list[float]]:
    """P(factual) of labeled sentences; an unreadable image leaves its caption unscored."""
    asked: dict[int, JudgeRequest] = {}
    for k, example in enumerate(examples):
        spans = tuple(sentence.span for sentence in example.sentences)
        try:
            image = StoredImage(example.record.image, folder).load()
        except BadRecord:
            continue
        asked[k] = JudgeRequest(image, example.caption, spans)
    answers = dict(zip(asked, critic.judge(list(asked.values())) if asked else [], strict=True))
    return [
        [np.nan if v.p_factual is None else v.p_factual for v in answers[k]]
        if k in answers
        else [np.nan] * len(example.sentences)
        for k, example in enumerate(examples)
    ]


def statistics(asked: Asked) -> TableRows:
    """Table 2: what captioners write, and how much of it people call right."""
    examples = [example for example, _ in _examples(asked, DOCCI)]
    right = dict(_shares(people_of(examples), "per_description"))
    by: dict[str, list[Example]] = {}
    for example in examples:
        by.setdefault(example.captioner, []).append(example)
    rows = {who: _described(own, right.get(who)) for who, own in by.items()}
    rows["TOTAL"] = _described(examples, _mean([v for v in right.values() if v is not None]))
    return TableRows(rows, {}, (f"{len(examples)} captions",))


def _described(examples: Sequence[Example], right: float | None) -> Figures:
    pairs = {pair for e in examples for pair in pairwise(re.findall(r"[\w'-]+", e.caption.lower()))}
    lengths = [[s.span.end - s.span.start for s in e.sentences] for e in examples]
    return [
        _mean([len(example.caption) for example in examples]),
        _mean([len(own) for own in lengths]),
        _mean([_mean(own) or 0.0 for own in lengths if own]),
        None if right is None else 100 * right,
        len(pairs),
    ]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _shares(ratings: Ratings, criterion: Criterion) -> Iterator[tuple[str, float | None]]:
    for who, share in zip(ratings.captioners, shares(ratings, criterion), strict=True):
        yield who, float(share) if np.isfinite(share) else None


@dataclass(frozen=True, slots=True)
class DocciRatings:
    """People's ratings of DOCCI-Critique's captioners and each rater's, at its threshold."""

    people: Ratings
    raters: Mapping[str, Ratings]
    settings: Mapping[str, str]
    notes: tuple[str, ...]


def _rated(asked: Asked) -> DocciRatings:
    raters = _raters(asked)
    found = list(_examples(asked, DOCCI, raters))
    examples = [example for example, _ in found]
    own: dict[str, Ratings] = {}
    settings, notes = _settings(raters), []
    for n, rater in enumerate(raters):
        values = {
            (example.id, k): value if np.isfinite(value) else None
            for example, answers in found
            for k, value in enumerate(answers[n])
        }
        scores = Scores(rater.name, signature(rater.settings), {}, values, {}, {})
        own[rater.name] = rater_of(examples, scores, rater.threshold)
        unscored = sum(value is None for value in values.values())
        cut = f"{rater.threshold:g}"
        notes.append(f"{rater.name}: {len(values)} sentences, {unscored} unscored; from {cut} on")
        settings[f"{rater.name} factual"] = cut
    return DocciRatings(people_of(examples), own, settings, tuple(notes))


def autoraters(asked: Asked) -> TableRows:
    """Table 3: captioners' shares by each rater against those by people."""
    found = _rated(asked)
    rows = {name: _correlations(found.people, own) for name, own in found.raters.items()}
    return TableRows(rows, found.settings, found.notes)


def _correlations(people: Ratings, rater: Ratings) -> list[float | None]:
    figures: list[float | None] = []
    for criterion in CRITERIA:
        human, own = shares(people, criterion), shares(rater, criterion)
        known = np.isfinite(human) & np.isfinite(own)
        for kind in KINDS:
            value = correlation(kind, own[known], human[known])
            figures.append(float(value) if np.isfinite(value) else None)
    return figures


def leaderboard(criterion: Criterion, asked: Asked) -> TableRows:
    """Tables 7 to 9: each captioner's share by people and by each rater."""
    found = _rated(asked)
    columns = [dict(_shares(own, criterion)) for own in found.raters.values()]
    rows = {
        who: [share, *(own[who] for own in columns)]
        for who, share in _shares(found.people, criterion)
    }
    none = [None] * len(_OTHERS)
    spread = {who: [*row[:2], *none, *row[2:]] for who, row in rows.items()}
    further = tuple(found.raters)[1:]
    return TableRows(spread, found.settings, found.notes, further=further)


def _number(cell: str) -> float | None:
    return None if cell == "–" else float(cell)


_CRITIC = (TableModel("critic", "bundled", ""),)
_SHARES = published("vnli_tables7to9.csv")
#: The paper's other raters, in the order of its columns.
_OTHERS = (
    *("Gemini-2.0", "GPT-4o", "InstrBLIP", "LLaVA-OV"),
    *("Janus-Pro", "Qwen2.5-VL", "mPLUG-Owl3", "Emu3-Chat"),
)
_COST = "one question a sentence: 10,216 in DOCCI-Critique"


def _leaderboard(number: int, criterion: Criterion, what: str, at: int) -> PaperTable:
    return PaperTable(
        id=f"vnli-critique:table{number}",
        title=f"{what} by captioner, of people and of the critic",
        source=f"2506.07631, Table {number}",
        benchmarks=(DOCCI,),
        cost=_COST,
        columns=("people", "critic", *_OTHERS),
        published={who: row[at : at + 2 + len(_OTHERS)] for who, row in _SHARES.items()},
        roles=_CRITIC,
        run=partial(leaderboard, criterion),
        sample="vnli-critique",
        files=FILES,
        digits=(2,),
    )


TABLES = (
    PaperTable(
        id="vnli-critique:table2",
        title="lengths, share of right sentences in percent, and different 2-grams, by captioner",
        source="2506.07631, Table 2",
        benchmarks=(DOCCI,),
        cost="seconds: no model is asked",
        columns=("chars", "sentences", "chars/sent", "right", "2-grams"),
        published=published("vnli_table2.csv"),
        roles=(),
        run=statistics,
        sample="vnli-critique",
        digits=(1, 1, 1, 1, 0),
        protocols=(OURS,),
        differs={OURS: ("what a 2-gram is and how sentences are averaged is not said there",)},
    ),
    PaperTable(
        id="vnli-critique:table3",
        title="the AutoRater against people: captions, sentences, sentences of a caption right",
        source="2506.07631, Table 3",
        benchmarks=(DOCCI,),
        cost=_COST,
        columns=("resp rho", "resp tau", "sent rho", "sent tau", "desc rho", "desc tau"),
        published=published("vnli_table3.csv"),
        roles=_CRITIC,
        run=autoraters,
        sample="vnli-critique",
        files=FILES,
    ),
    PaperTable(
        id="vnli-critique:table4",
        title="sentences called factual or not: ROC-AUC, and macro-F1 at P(factual) of one half",
        source="2506.07631, Table 4",
        benchmarks=BENCHMARKS,
        cost="one question a sentence: 10,216 in DOCCI-Critique, 3,706 in CHOCOLATE",
        columns=("DOCCI AUC", "DOCCI F1", "M-Hal AUC", "M-Hal F1", "CHOCO AUC", "CHOCO F1"),
        published={rater: tuple(map(_number, row)) for rater, row in TABLE_4.items()},
        roles=_CRITIC,
        run=sentences,
        sample="vnli-critique",
        files=FILES,
        digits=(2,),
    ),
    _leaderboard(7, "response", "captions without an error", 0),
    _leaderboard(8, "per_description", "right sentences of a caption, on average,", 10),
    _leaderboard(9, "overall", "right sentences of all", 20),
)
