"""VNLI-Critique's tables (2506.07631)."""

from __future__ import annotations

from itertools import islice
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
from revise_captions.pipelines.reproduce.table import Asked, PaperTable, TableModel, TableRows
from revise_captions.stats.classification import macro_f1, roc_auc

Floats = npt.NDArray[np.float64]
#: Captions whose images are held at a time.
_WINDOW = 64


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
    folder = asked.data / name
    items = (item for item in benchmark(name).read(folder) if isinstance(item, Example))
    examples = islice(items, asked.limit)
    p: list[float] = []
    truth: list[float] = []
    while window := list(islice(examples, _WINDOW)):
        for example, found in zip(window, _verdicts(window, folder, critic), strict=True):
            for sentence, value in zip(example.sentences, found, strict=True):
                if sentence.factual is not None:
                    p.append(value)
                    truth.append(float(sentence.factual))
    return np.array(p), np.array(truth)


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


def _number(cell: str) -> float | None:
    return None if cell == "–" else float(cell)


TABLES = (
    PaperTable(
        id="vnli-critique:table4",
        title="sentences called factual or not: ROC-AUC, and macro-F1 at P(factual) of one half",
        source="2506.07631, Table 4",
        benchmarks=BENCHMARKS,
        cost="one question a sentence: 10,216 in DOCCI-Critique, 3,706 in CHOCOLATE",
        columns=("DOCCI AUC", "DOCCI F1", "M-Hal AUC", "M-Hal F1", "CHOCO AUC", "CHOCO F1"),
        published={rater: tuple(map(_number, row)) for rater, row in TABLE_4.items()},
        roles=(TableModel("critic", "bundled", ""),),
        run=sentences,
        sample="vnli-critique",
        digits=(2,),
    ),
)
