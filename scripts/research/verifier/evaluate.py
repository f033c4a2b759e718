"""Does a higher score mean a truer caption, or a better revision? The verifier against the oracle.

    python -m scripts.research.verifier.evaluate --scenes 30

Each caption of the picture-book world is revised in eleven ways (`revision_variants`), from perfect
to everything deleted. Each metric's scores are correlated (Spearman) with exact truths, with
intervals over scenes: over all revisions, and within scenes (score and truth less their means over
the revisions of the caption), because a verifier compares a caption before and after. Beside them
stand baselines that must lose: how long the caption is, and how much of it was deleted. A metric
beats them where it is better than the better of the two, whichever direction that one takes, by a
paired permutation test over scenes. Printed are those within scenes; `--out` has all figures, and
`--write` keeps them in `figures.json` beside this file, from which a test renders the page again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import numpy.typing as npt

from revise_captions.io.writing import write_text
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.stats.paired_tests import ResampledFigure, compared, measured, ranks
from scripts.research.bundled_models.card import ROOT
from scripts.research.frame.blocks import write_to_pages
from scripts.research.verifier.tables import (
    BASELINES,
    MEANT_FOR,
    TRUTHS,
    as_summary,
    as_text,
)

if TYPE_CHECKING:
    from revise_captions.critic.protocol import Critic
    from revise_captions.graphs.graph import Graph
    from revise_captions.pipelines.verify.visual import ComponentAnswer
    from revise_captions.posh.judge import Judge
    from scripts.research.frame.held_out import Item
    from scripts.research.verifier.revision_variants import Variant

Floats = npt.NDArray[np.float64]
#: Where `--write` keeps the figures that the page shows.
KEPT = "scripts/research/verifier/figures.json"
#: Share of the words up to which nothing counts as deleted.
LITTLE = 0.1


def graphs_of(revised: Sequence[Variant], parser: str = "bundled") -> dict[str, Graph]:
    """The graph of every caption and rationale."""
    from revise_captions.graphs.parse import parse

    texts = dict.fromkeys(text for v in revised for text in (v.change.before, v.change.after))
    texts |= dict.fromkeys(s.rationale for v in revised for s in v.change.slots if s.rationale)
    return dict(zip(texts, parse(texts, parser), strict=True))


def scores_of(
    items: Sequence[Item],
    revised: Sequence[Variant],
    graphs: Mapping[str, Graph],
    answers: Sequence[Sequence[ComponentAnswer]],
    critic: Critic,
    judge: Judge,
    parser: str = "bundled",
) -> dict[str, list[float | None]]:
    """Each metric's score of each revision; None where it has none."""
    found: dict[str, list[float | None]] = {}
    found |= _posh_scores(items, revised, judge, parser)
    found |= _text_scores(revised, graphs)
    found |= _visual_scores(answers)
    found["the critic's own share"] = _own_share(items, revised, critic)
    lengths = [(len(v.change.before.split()), len(v.change.after.split())) for v in revised]
    found["words"] = [float(after) for _, after in lengths]
    found["share of words deleted"] = [max(0.0, 1 - b / a) for a, b in lengths]
    return found


def _text_scores(
    revised: Sequence[Variant], graphs: Mapping[str, Graph]
) -> dict[str, list[float | None]]:
    from revise_captions.pipelines.verify.claims import check

    checks = [
        check(v.change, graphs[v.change.before], graphs[v.change.after], graphs) for v in revised
    ]
    return {
        "preservation": [_ratio(c.kept, c.free) for c in checks],
        "edit scope": [_ratio(c.named, c.changed) for c in checks],
    }


def answers_of(
    items: Sequence[Item], revised: Sequence[Variant], graphs: Mapping[str, Graph], critic: Critic
) -> list[tuple[ComponentAnswer, ...]]:
    """What the critic says of every revision's components."""
    from revise_captions.pipelines.verify.visual import look, questions

    asked = [(items[v.scene].image, questions(graphs[v.change.after])) for v in revised]
    return look(asked, critic)


def _visual_scores(answers: Sequence[Sequence[ComponentAnswer]]) -> dict[str, list[float | None]]:
    shares: list[float | None] = []
    means: list[float | None] = []
    for found in answers:
        p = [a.verdict.p_factual for a in found if a.verdict.p_factual is not None]
        shares.append(_ratio(sum(bool(a.yes) for a in found), len(p)))
        means.append(float(np.mean(p)) if p else None)
    return {"visual": shares, "visual, mean P": means}


def _posh_scores(
    items: Sequence[Item], revised: Sequence[Variant], judge: Judge, parser: str
) -> dict[str, list[float | None]]:
    from revise_captions.posh.scoring import Pair, score_captions

    references = [reference_of(number, item) for number, item in enumerate(items)]
    pairs = {k: Pair(v.change.after, (references[v.scene],)) for k, v in enumerate(revised)}
    distinct = dict.fromkeys(pair for pair in pairs.values() if pair.generation.strip())
    scores = dict(zip(distinct, score_captions(distinct, judge, parser), strict=True))
    rows = [scores.get(pairs[k]) for k in range(len(revised))]
    return {
        "posh mistakes": [None if s is None else s.mistakes.score for s in rows],
        "posh omissions": [None if s is None else s.omissions.score for s in rows],
        "posh overall": [None if s is None else s.overall for s in rows],
    }


def reference_of(number: int, item: Item) -> str:
    """Another caption of the scene, in which everything is true."""
    rng = random.Random(f"reference.{number}")
    return caption(item.scene, rng, error_rate=0.0, sentences=9, richness=0.9).text


def _own_share(
    items: Sequence[Item], revised: Sequence[Variant], critic: Critic
) -> list[float | None]:
    """What the pipeline itself says: the share of sentences that the critic judges factual."""
    from revise_captions.critic.protocol import JudgeRequest
    from scripts.research.verifier.revision_variants import spans_after

    standing = {k: spans_after(v.change) for k, v in enumerate(revised)}
    asked = {
        k: JudgeRequest(items[revised[k].scene].image, revised[k].change.after, spans)
        for k, spans in standing.items()
        if spans
    }
    found: list[float | None] = [None] * len(revised)
    for k, verdicts in zip(asked, critic.judge(list(asked.values())), strict=True):
        p = [v.p_factual for v in verdicts if v.p_factual is not None]
        found[k] = _ratio(sum(value >= critic.threshold for value in p), len(p))
    return found


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


# --- Against the truth --------------------------------------------------------------------------


def right_edits(
    items: Sequence[Item], revised: Sequence[Variant], graphs: Mapping[str, Graph]
) -> list[float | None]:
    """Of the components that came or went and that the oracle can read, the share that was right
    to: false ones that went, true ones that came. Components are told apart by their questions.
    """
    from revise_captions.pipelines.verify.visual import questions

    asked = {text: {q.text for q in questions(graph)} for text, graph in graphs.items()}
    found = []
    for v in revised:
        scene = items[v.scene].scene
        before, after = asked[v.change.before], asked[v.change.after]
        went = [oracle(scene, "", text) for text in before - after]
        came = [oracle(scene, "", text) for text in after - before]
        right = went.count(Truth.FALSE) + came.count(Truth.TRUE)
        found.append(_ratio(right, right + went.count(Truth.TRUE) + came.count(Truth.FALSE)))
    return found


def components(
    items: Sequence[Item], revised: Sequence[Variant], answers: Sequence[Sequence[ComponentAnswer]]
) -> dict[str, Any]:
    """How well the critic answers about single components that the oracle can read, by part.

    Each question about a scene counts once, in however many revisions it is asked.
    """
    from sklearn.metrics import roc_auc_score

    told = {
        (v.scene, answer.question.text): answer
        for v, found in zip(revised, answers, strict=True)
        for answer in found
    }
    rows: dict[str, list[tuple[Truth, ComponentAnswer]]] = {}
    for (scene, text), answer in told.items():
        truth = oracle(items[scene].scene, "", text)
        rows.setdefault(str(answer.question.part), []).append((truth, answer))
    made = {}
    for part, found in rows.items():
        known = [
            (truth is Truth.TRUE, bool(answer.yes), answer.verdict.p_factual)
            for truth, answer in found
            if truth in (Truth.TRUE, Truth.FALSE) and answer.yes is not None
        ]
        if not known:
            continue
        right, said, p = (np.array(column) for column in zip(*known, strict=True))
        made[part] = {
            "asked": len(found),
            "readable": len(known),
            "true": float(right.mean()),
            "accuracy": float((said == right).mean()),
            "roc_auc": float(roc_auc_score(right, p)) if 0 < right.sum() < len(right) else None,
        }
    return made


def spearman(x: Floats, y: Floats) -> float:
    """Rank correlation; NaN where one does not vary."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def centered(values: Floats, scenes: Sequence[str]) -> Floats:
    """Values less their mean over the scene."""
    groups = np.unique(scenes, return_inverse=True)[1]
    means = np.bincount(groups, values) / np.maximum(np.bincount(groups), 1)
    return np.round(values - means[groups], 9)


def agreement(
    scores: Mapping[str, Sequence[float | None]],
    truth: Sequence[float | None],
    scenes: Sequence[str],
    tested: Collection[str] = (),
    replicates: int = 1000,
) -> dict[str, Any]:
    """Each metric's correlations with one truth, and the `tested` ones' test against the baselines.

    A revision without a score, or a truth, is in none of that metric's figures; `rows` counts.
    """
    made: dict[str, Any] = {}
    for name, values in scores.items():
        both = zip(values, truth, strict=True)
        rows = [k for k, (a, b) in enumerate(both) if a is not None and b is not None]
        names = [scenes[k] for k in rows]
        x, y = (np.array([part[k] for k in rows], dtype=np.float64) for part in (values, truth))
        overall = measured(spearman, x, y, names, replicates)
        x, y = centered(x, names), centered(y, names)
        within = measured(spearman, x, y, names, replicates)
        made[name] = {"rows": len(rows), "overall": _shown(overall), "within": _shown(within)}
        if name not in tested or within.value is None:
            continue
        rivals = {
            base: centered(np.array([scores[base][k] for k in rows], dtype=np.float64), names)
            for base in BASELINES
        }
        rhos = {base: float(np.nan_to_num(spearman(z, y))) for base, z in rivals.items()}
        best = max(rhos, key=lambda base: abs(rhos[base]))
        turned = rivals[best] * (1 if rhos[best] >= 0 else -1)
        test = compared(spearman, x, turned, y, names, replicates=replicates)
        made[name] |= {
            "best_baseline": best,
            "baseline_rho": rhos[best],
            "difference": test.difference,
            "p_value": test.p_value,
            "least_p": test.least_p,
        }
    return made


def _shown(found: ResampledFigure) -> dict[str, Any]:
    return {"rho": found.value, "low": found.low, "high": found.high}


def evaluate(
    items: Sequence[Item],
    revised: Sequence[Variant],
    scores: Mapping[str, Sequence[float | None]],
    edits: Sequence[float | None],
    replicates: int = 1000,
) -> dict[str, Any]:
    """Correlations by truth, of all revisions and of those that delete nothing, and means."""
    from scripts.research.verifier.revision_variants import truths_of

    truths = [truths_of(items[v.scene], v.change) for v in revised]
    columns: dict[str, Sequence[float | None]] = {
        **{name: [getattr(t, name) for t in truths] for name in TRUTHS if name != "edits"},
        "edits": edits,
        **scores,
    }
    whole = [k for k, x in enumerate(scores["share of words deleted"]) if (x or 0.0) <= LITTLE]
    parts = {"all": list(range(len(revised))), "nothing deleted": whole}
    kinds = dict.fromkeys(v.name for v in revised)
    return {
        "scenes": len(items),
        "revisions": {part: len(rows) for part, rows in parts.items()},
        "agreement": {
            part: {
                truth: agreement(
                    {name: [scores[name][k] for k in rows] for name in scores},
                    [columns[truth][k] for k in rows],
                    [str(revised[k].scene) for k in rows],
                    [name for name, meant in MEANT_FOR.items() if meant == truth],
                    replicates,
                )
                for truth in TRUTHS
            }
            for part, rows in parts.items()
        },
        "means": {
            kind: {
                name: _mean([x for x, v in zip(values, revised, strict=True) if v.name == kind])
                for name, values in columns.items()
            }
            for kind in kinds
        },
    }


def blocks(found: Mapping[str, Any]) -> dict[str, str]:
    """What the page shows of the figures, by the names of its marks."""
    return {"verifier": f"```\n{as_summary(found)}\n```"}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


@click.command(help=__doc__.splitlines()[0])
@click.option("--scenes", default=30, show_default=True, help="Captions, each revised eleven ways.")
@click.option("--split", default="test", show_default=True)
@click.option("--critic", default="bundled", show_default=True)
@click.option("--reviser", default="bundled", show_default=True)
@click.option("--parser", default="bundled", show_default=True)
@click.option("--replicates", default=1000, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Figures as JSON.")
@click.option("--write", is_flag=True, help="Also the summary into the checkout's page for it.")
def main(
    scenes: int,
    split: str,
    critic: str,
    reviser: str,
    parser: str,
    replicates: int,
    out: Path | None,
    write: bool,
) -> None:
    from revise_captions.pipelines.job.models import load_critic_of, load_reviser_of
    from revise_captions.pipelines.options import ModelOptions
    from revise_captions.posh.offline_judge import OfflineJudge
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.frame.held_out import held_out
    from scripts.research.verifier.revision_variants import variants

    options = ModelOptions(critic=critic, reviser=reviser)
    judge = OfflineJudge(load_encoder())
    reader, writer = load_critic_of(options), load_reviser_of(options)
    items = held_out(split, scenes)
    revised = variants(items, reader, writer)
    graphs = graphs_of(revised, parser)
    answers = answers_of(items, revised, graphs, reader)
    scores = scores_of(items, revised, graphs, answers, reader, judge, parser)
    found = evaluate(items, revised, scores, right_edits(items, revised, graphs), replicates)
    found["components"] = components(items, revised, answers)
    click.echo(as_text(found))
    if out is not None:
        write_text(out, json.dumps(found, indent=1) + "\n")
    if write:
        write_to_pages(ROOT, blocks(found))
        write_text(ROOT / KEPT, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
