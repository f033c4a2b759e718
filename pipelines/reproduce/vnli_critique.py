"""VNLI-Critique's tables (2506.07631).

Table 2 does not say how a captioner's sentences are averaged, nor what its 2-grams are made of.
Here the length of a sentence is its caption's mean, averaged over captions, and 2-grams are pairs
of neighbouring words of a caption, in lower case and without punctuation. The correlations of Table
3 are of ranks, where captioners whose shares are equal to two decimals share one; here of shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
from revise_captions.metrics.protocol import StoredImage
from revise_captions.pipelines.metrics.autorater import KINDS, people_of, rater_of, shares
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.pipelines.reproduce.table import (
    PAPER,
    Asked,
    Figures,
    PaperTable,
    TableModel,
    TableRows,
    published,
)
from revise_captions.signature import signature
from revise_captions.stats.classification import macro_f1, roc_auc
from revise_captions.stats.correlations import correlation
from revise_captions.stats.leaderboard import CRITERIA, Criterion, Ratings

Floats = npt.NDArray[np.float64]
#: Captions whose images are held at a time.
_WINDOW = 64
DOCCI = "docci-critique"


def sentences(asked: Asked) -> TableRows:
    """Table 4: labeled sentences judged as they are, after the rest of their caption."""
    there = [name for name in BENCHMARKS if (asked.data / name).is_dir()]
    if not there:
        raise UserError(
            f"{asked.data} has no folder {', '.join(BENCHMARKS)}",
            hint="put the files of each benchmark into a sub-folder of its name",
        )
    critic = load_critic(asked.models["critic"], CriticOptions(asked.placement))
    figures: list[float | None] = []
    notes = []
    for name in BENCHMARKS:
        if name not in there:
            figures += [None, None]
            notes.append(f"{name}: not in the data")
            continue
        p, truth = _judged(asked, name, critic)
        known = np.isfinite(p)
        found = roc_auc(p[known], truth[known]), macro_f1(p[known], truth[known])
        figures += [value if np.isfinite(value) else None for value in found]
        notes.append(f"{name}: {known.sum()} sentences judged, {(~known).sum()} unscored")
    return TableRows({f"critic {asked.models['critic']}": figures}, critic.settings, tuple(notes))


def _judged(asked: Asked, name: str, critic: Critic) -> tuple[Floats, Floats]:
    """P(factual) of each labeled sentence, NaN where unscored, and whether it is factual."""
    found = [
        (value, float(sentence.factual))
        for example, values in _examples(asked, name, critic)
        for sentence, value in zip(example.sentences, values, strict=True)
        if sentence.factual is not None
    ]
    return np.array([value for value, _ in found]), np.array([truth for _, truth in found])


def _examples(
    asked: Asked, name: str, critic: Critic | None
) -> Iterator[tuple[Example, list[float]]]:
    """A benchmark's captions, with one value for each labeled sentence."""
    folder = asked.folder(name)
    items = (item for item in benchmark(name).read(folder) if isinstance(item, Example))
    examples = islice(items, asked.limit)
    while window := list(islice(examples, _WINDOW)):
        found = _verdicts(window, folder, critic) if critic else [[] for _ in window]
        yield from zip(window, found, strict=True)


def _verdicts(examples: list[Example], folder: Path, critic: Critic) -> list[list[float]]:
    """One value per labeled sentence; an image that cannot be read leaves its caption unscored."""
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
    examples = [example for example, _ in _examples(asked, DOCCI, None)]
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


def _rated(asked: Asked) -> tuple[Ratings, Ratings, dict[str, str], tuple[str, ...]]:
    """People's ratings and the critic's, at its threshold; settings and notes."""
    critic = load_critic(asked.models["critic"], CriticOptions(asked.placement))
    found = list(_examples(asked, DOCCI, critic))
    examples = [example for example, _ in found]
    values = {
        (example.id, k): value if np.isfinite(value) else None
        for example, own in found
        for k, value in enumerate(own)
    }
    name = asked.models["critic"]
    scores = Scores(name, signature(critic.settings), {}, values, {}, {})
    unscored = sum(value is None for value in values.values())
    note = f"{len(values)} sentences, {unscored} unscored; factual from {critic.threshold:g} on"
    both = people_of(examples), rater_of(examples, scores, critic.threshold)
    settings = {**critic.settings, "factual": f"{critic.threshold:g}"}
    return *both, settings, (note,)


def autoraters(asked: Asked) -> TableRows:
    """Table 3: captioners' shares by the critic against those by people."""
    people, rater, settings, notes = _rated(asked)
    figures: list[float | None] = []
    for criterion in CRITERIA:
        human, own = shares(people, criterion), shares(rater, criterion)
        known = np.isfinite(human) & np.isfinite(own)
        for kind in KINDS:
            value = correlation(kind, own[known], human[known])
            figures.append(float(value) if np.isfinite(value) else None)
    return TableRows({f"critic {asked.models['critic']}": figures}, settings, notes)


def leaderboard(criterion: Criterion, asked: Asked) -> TableRows:
    """Tables 7 to 9: each captioner's share by people and by the critic."""
    people, rater, settings, notes = _rated(asked)
    own = dict(_shares(rater, criterion))
    rows = {who: [share, own[who]] for who, share in _shares(people, criterion)}
    return TableRows(rows, settings, notes)


def _number(cell: str) -> float | None:
    return None if cell == "–" else float(cell)


_CRITIC = (TableModel("critic", "bundled", ""),)
_SHARES = published("vnli_tables7to9.csv")
_COST = "one question a sentence: 10,216 in DOCCI-Critique"
_RANKS = ("correlations are of shares, the paper's of ranks with ties to two decimals",)


def _leaderboard(number: int, criterion: Criterion, what: str, at: int) -> PaperTable:
    return PaperTable(
        id=f"vnli-critique:table{number}",
        title=f"{what} by captioner, of people and of the critic",
        source=f"2506.07631, Table {number}",
        benchmarks=(DOCCI,),
        cost=_COST,
        columns=("people", "critic"),
        published={who: row[at : at + 2] for who, row in _SHARES.items()},
        roles=_CRITIC,
        run=partial(leaderboard, criterion),
        sample="vnli-critique",
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
        differs={PAPER: ("what a 2-gram is and how sentences are averaged is not said there",)},
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
        differs={PAPER: _RANKS},
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
        digits=(2,),
    ),
    _leaderboard(7, "response", "captions without an error", 0),
    _leaderboard(8, "per_description", "right sentences of a caption, on average,", 2),
    _leaderboard(9, "overall", "right sentences of all", 4),
)
