"""POSH's tables of agreement with people: DOCENT, granular and coarse, and CapArena (2510.19060).

The paper leaves open how a component's grade becomes a token's, and which thresholds are tried; the
authors' evaluation does: a token (spaCy's; punctuation is left out) has the highest grade of the
components over it, 5 where there is none, and ten thresholds from the lowest grade to the highest
are tried. The protocol `paper` tries all of them ("across all alerting thresholds").

Ties of the coarse tables are those of the authors' evaluation: the metric ties in as many pairs as
people do. On CapArena battles with the human caption, which is the reference, are left out, and
both sides' ratings are medians of Elo over resampled battles.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import HUMAN, Example, Item, Preference
from revise_captions.metrics.protocol import ScoredSpan
from revise_captions.metrics.registry import MetricOptions
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.pipelines.metrics.scores import of_metric, read_scores
from revise_captions.pipelines.metrics.spans import mistakes_of, omissions_of
from revise_captions.pipelines.reproduce.table import (
    PAPER,
    RELEASED,
    Asked,
    Figures,
    PaperTable,
    TableModel,
    TableRows,
    published,
)
from revise_captions.posh.metric import load_posh
from revise_captions.records import Span
from revise_captions.stats.bradley_terry import battles, median_elo
from revise_captions.stats.correlations import correlation
from revise_captions.stats.span_agreement import lowest, overlapped

Floats = npt.NDArray[np.float64]
BEST = 5.0
THRESHOLDS = 10
TRIALS = 1000
GRANULAR, COARSE, ARENA = "docent-granular", "docent-coarse", "caparena"
AXES = ("mistakes", "omissions", "overall_quality")
ROLES = (
    TableModel("judge", "offline", "Qwen/Qwen3-14B"),
    TableModel("parser", "bundled", "en_core_web_trf"),
    TableModel("coreference", "rules", "maverick", "not for commercial use"),
)
SCORES = "scores of another metric, as captions evaluate-metric takes them: metric:NAME, floor:…"


def granular(asked: Asked) -> TableRows:
    """Table 2: the best macro-F1 over tokens, of mistakes and of omissions."""
    items = _items(asked, GRANULAR)
    examples = [item for item in items if isinstance(item, Example)]
    tokens = _tokens({e.caption for e in examples} | {e.references[0] for e in examples}, asked)
    rows: dict[str, Figures] = {}
    settings: dict[str, str] = {}
    for scores in _scored(asked, examples):
        settings[f"scores {scores.name}"] = scores.source
        kept = [e for e in examples if e.id in scores.spans and e.id in scores.omissions]
        sides = (
            [(e.caption, scores.spans[e.id], mistakes_of(e)) for e in kept],
            [(e.references[0], scores.omissions[e.id], omissions_of(e)) for e in kept],
        )
        rows[scores.name] = [best_f1(side, tokens, asked.protocol) for side in sides]
    return TableRows(rows, settings, (f"{len(examples)} descriptions",))


def docent(asked: Asked) -> TableRows:
    """Table 3, left: accuracy with ties, and correlations of differences, by criterion."""
    items = _items(asked, COARSE)
    pairs = [item for item in items if isinstance(item, Preference)]
    rows: dict[str, Figures] = {}
    settings, notes = {}, []
    for scores in _scored(asked, [item for item in items if isinstance(item, Example)]):
        settings[f"scores {scores.name}"] = scores.source
        figures: list[float | None] = []
        for axis in AXES:
            own = [p for p in pairs if p.axis == axis]
            gaps, kept = _gaps(scores, own, axis)
            figures += _agreement(gaps, np.array([p.value for p in kept]))
            notes += _left_out(scores.name, axis, len(own) - len(kept))
        rows[scores.name] = figures
    return TableRows(rows, settings, (f"{len(pairs) // len(AXES)} pairs", *notes))


def arena(asked: Asked) -> TableRows:
    """Table 3, right: accuracy by pair; correlations of captioners' Elo by metric and by people."""
    items = _items(asked, ARENA)
    every = [item for item in items if isinstance(item, Preference)]
    pairs = [p for p in every if HUMAN not in (p.first, p.second)]
    examples = [item for item in items if isinstance(item, Example) and item.captioner != HUMAN]
    rows: dict[str, Figures] = {}
    settings = {"elo": f"median of {TRIALS} resamples of battles"}
    notes = [f"{len(pairs)} battles; {len(every) - len(pairs)} with the human caption left out"]
    for scores in _scored(asked, examples):
        settings[f"scores {scores.name}"] = scores.source
        gaps, kept = _gaps(scores, pairs, "")
        rows[scores.name] = _ranked(gaps, kept)
        notes += _left_out(scores.name, "overall", len(pairs) - len(kept))
    return TableRows(rows, settings, tuple(notes))


def _items(asked: Asked, name: str) -> list[Item]:
    """The benchmark's rows; with a limit its first captions, and what compares these."""
    items = list(benchmark(name).read(asked.folder(name)))
    if asked.limit is None:
        return items
    examples = [item for item in items if isinstance(item, Example)][: asked.limit]
    known = {example.id for example in examples}
    pairs = [p for p in items if isinstance(p, Preference) and {p.first_id, p.second_id} <= known]
    return [*examples, *pairs]


def _scored(asked: Asked, examples: Sequence[Example]) -> list[Scores]:
    """POSH's scores, then those of the user's files and metrics."""
    judge = asked.models["judge"]
    posh = load_posh(
        judge,
        MetricOptions(asked.placement),
        parser=asked.models["parser"],
        coreference=asked.models["coreference"],
        prompts="" if asked.prompts is None else str(asked.prompts),
    )
    how = MetricOptions(asked.placement)
    return [
        of_metric(f"POSH, {judge}", posh, examples, asked.data),
        *(read_scores(given, examples, folder=asked.data, how=how) for given in asked.files),
    ]


def _tokens(texts: set[str], asked: Asked) -> dict[str, list[Span]]:
    """spaCy's tokens of each text, without single punctuation marks and white space."""
    from revise_captions.graphs.parse import load_pipeline

    tokenize = load_pipeline(asked.models["parser"]).tokenizer
    return {
        text: [
            Span(token.idx, token.idx + len(token.text))
            for token in tokenize(text)
            if token.text.strip() and token.text not in string.punctuation
        ]
        for text in texts
    }


def best_f1(
    sides: Sequence[tuple[str, Sequence[ScoredSpan], Sequence[Span]]],
    tokens: Mapping[str, Sequence[Span]],
    protocol: str,
) -> float | None:
    """The highest macro-F1 over tokens at a threshold of their grades: at or below it is wrong.

    Args:
        sides: Texts with a metric's spans (score: 5 less the grade) and people's.
        tokens: Of each text.
        protocol: Which thresholds are tried.
    """
    from sklearn.metrics import f1_score

    grades: list[float] = []
    marked: list[bool] = []
    for text, spans, human in sides:
        doubts = lowest(tokens[text], [(s.span, s.score or 0.0) for s in spans])
        grades += [BEST - max(doubt, 0.0) for doubt in doubts]
        marked += overlapped(tokens[text], human)
    if not grades:
        return None
    scored = np.array(grades)
    tried = np.unique(scored)
    if protocol == RELEASED:
        tried = np.linspace(scored.min(), scored.max(), THRESHOLDS)
    return max(float(f1_score(marked, scored <= cut, average="macro")) for cut in tried)


def _gaps(
    scores: Scores, pairs: Sequence[Preference], axis: str
) -> tuple[Floats, list[Preference]]:
    """First score minus second, and the pairs in which both captions have one."""
    found, kept = [], []
    for pair in pairs:
        first, second = (scores.caption(i or "", axis) for i in (pair.first_id, pair.second_id))
        if first is not None and second is not None:
            found.append(first - second)
            kept.append(pair)
    return np.array(found), kept


def votes(gaps: Floats, human: Floats) -> Floats:
    """The metric's preferences, 1, 0 or -1: the smallest gaps tie, as many as people's ties."""
    size, ties = np.sort(np.abs(gaps)), int((human == 0).sum())
    decides = size[ties] if ties < len(size) else np.inf
    return np.where(np.abs(gaps) >= decides, np.sign(gaps), 0.0)


def _agreement(gaps: Floats, human: Floats) -> list[float | None]:
    """Accuracy with ties in percent, Spearman's rho, Kendall's tau-b."""
    if not len(gaps):
        return [None] * 3
    hits = votes(gaps, human) == np.sign(human)
    both = (correlation(kind, gaps, human) for kind in ("spearman", "kendall-b"))
    return [100 * float(hits.mean()), *map(_known, both)]


def _ranked(gaps: Floats, pairs: Sequence[Preference]) -> list[float | None]:
    if not pairs:
        return [None] * 3
    human = np.array([p.value for p in pairs])
    cast = votes(gaps, human)
    hits = cast == np.sign(human)
    ratings = [
        np.floor(
            median_elo(
                battles([(p.first, p.second, (vote + 1) / 2, p.image) for p, vote in each]), TRIALS
            )
            + 0.5
        )
        for each in (zip(pairs, np.sign(human), strict=True), zip(pairs, cast, strict=True))
    ]
    both = (correlation(kind, *ratings) for kind in ("spearman", "kendall-b"))
    return [100 * float(hits.mean()), *map(_known, both)]


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _left_out(name: str, axis: str, count: int) -> list[str]:
    return [f"{name}, {axis}: {count} pairs left out, a caption has no score"] * bool(count)


#: Table 6, of which Table 3 is a part; its rows of one model differ in what the judge sees.
_TABLE_6 = published("posh_table6.csv")
_COST = "on one H100 the paper's judge takes 2 seconds a description; offline, milliseconds"
_BY = ("mistakes", "omissions", "overall")
_FIGURES = ("acc", "rho", "tau")

TABLES = (
    PaperTable(
        id="posh:table2",
        title="macro-F1 over tokens, of mistakes and of omissions, at the best threshold",
        source="2510.19060, Table 2",
        benchmarks=(GRANULAR,),
        cost=f"300 descriptions; {_COST}",
        columns=("mistakes", "omissions"),
        published={
            "random": (0.503, 0.499),
            "4GramEmbed": (0.483, 0.641),
            "SGEmbed": (0.514, 0.658),
            "POSH, Qwen3-14B": (0.580, 0.680),
        },
        roles=ROLES,
        run=granular,
        sample="posh",
        files="OUT of captions posh, or a file of scored spans (captions evaluate-metric --help)",
        protocols=(PAPER, RELEASED),
        differs={PAPER: ("all thresholds are tried; the authors' evaluation tries ten",)},
    ),
    PaperTable(
        id="posh:table3-docent",
        title="DOCENT, coarse: accuracy in percent with ties, and correlations, by criterion",
        source="2510.19060, Tables 3 and 6",
        benchmarks=(COARSE,),
        cost=f"600 pairs of 400 descriptions; {_COST}",
        columns=tuple(f"{axis[:4]} {figure}" for axis in _BY for figure in _FIGURES),
        published={who: row[:9] for who, row in _TABLE_6.items()},
        roles=ROLES,
        run=docent,
        sample="posh",
        digits=(1, 3, 3) * len(_BY),
        files=SCORES,
        protocols=(PAPER, RELEASED),
    ),
    PaperTable(
        id="posh:table3-caparena",
        title="CapArena: accuracy in percent with ties; correlations of captioners' Elo",
        source="2510.19060, Tables 3 and 6",
        benchmarks=(ARENA,),
        cost=f"5,599 pairs of 10,348 descriptions; {_COST}",
        columns=_FIGURES,
        published={who: row[9:] for who, row in _TABLE_6.items() if row[9] is not None},
        roles=ROLES,
        run=arena,
        sample="posh",
        digits=(1, 3, 3),
        files=SCORES,
        protocols=(PAPER, RELEASED),
    ),
)
