"""How far the AutoRater's leaderboard can be trusted, on a world whose truth is known.

    python -m scripts.research.autorater.evaluate --images 300 --scores rater.jsonl

All fourteen simulated captioners describe the same held-out pictures. The critic rates every
sentence, the oracle knows the truth, and the two leaderboards are compared: Spearman's ρ and
Kendall's τ-b over captioners, by the paper's three criteria and in the ways of `rater_estimates`,
with intervals over images; how many images that takes; and what a shifted threshold, sentences
left unscored, and longer or shorter captions do to the order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from revise_captions.errors import UserError
from revise_captions.io.writing import write_text
from revise_captions.picturebook.captioners import CAPTIONERS
from revise_captions.stats.correlations import Kind, correlation, row_correlations
from revise_captions.stats.leaderboard import (
    COLUMNS,
    CRITERIA,
    Criterion,
    Ratings,
    keys_of,
    length_controlled,
    resamples,
)
from scripts.research.autorater.estimates import (
    ESTIMATORS,
    ratings,
    thresholded,
    truth,
)
from scripts.research.autorater.scores import CaptionScores, Rater, complete
from scripts.research.bundled_models.card import ROOT
from scripts.research.frame.blocks import write_to_pages

Floats = NDArray[np.float64]
#: Where `--write` keeps the figures that the page shows.
KEPT = "scripts/research/autorater/figures.json"
REPLICATES = 1000
#: Of the small leaderboards for the curve: images, and random choices of so many.
SIZES = (5, 10, 20, 50, 100, 150, 200, 500)
DRAWS = 200
KINDS: tuple[Kind, ...] = ("spearman", "kendall-b")
TARGET = 0.98


def agreement(ours: Ratings, oracle: Ratings) -> dict[str, dict[str, Any]]:
    """By criterion: ρ and τ-b over captioners with 95 % intervals over images, and how far scores
    are from the truth in the mean."""
    keys = keys_of(oracle.images)
    result: dict[str, dict[str, Any]] = {}
    for criterion in CRITERIA:
        values = [_values(r, criterion) for r in (ours, oracle)]
        drawn = [resamples(*r.sums(criterion), keys, REPLICATES) for r in (ours, oracle)]
        result[criterion] = {kind: _figure(kind, values, drawn) for kind in KINDS}
        result[criterion]["mean error"] = float(np.abs(values[0] - values[1]).mean())
    return result


def _figure(kind: Kind, values: Sequence[Floats], drawn: Sequence[Floats]) -> dict[str, float]:
    low, high = _quantiles(row_correlations(kind, *drawn), [0.025, 0.975])
    return {"value": correlation(kind, *values), "low": low, "high": high}


def _quantiles(values: Floats, at: Sequence[float]) -> list[float]:
    known = values[np.isfinite(values)]
    return [float(v) for v in np.quantile(known, at)] if len(known) else [float("nan")] * len(at)


def _values(of: Ratings, criterion: Criterion) -> Floats:
    top, bottom = of.sums(criterion)
    sums = bottom.sum(1)
    return np.divide(top.sum(1), sums, out=np.full(len(sums), np.nan), where=sums > 0)


def curve(ours: Ratings, oracle: Ratings) -> list[dict[str, Any]]:
    """ρ when only so many images are looked at, against the truth of all: by criterion the median
    and the central 90 % of random choices, and the median of a rater that is always right."""
    rng = np.random.default_rng(0)
    images = len(oracle.images)
    points = []
    for size in (s for s in SIZES if 2 * s <= images):
        chosen = [rng.choice(images, size, replace=False) for _ in range(DRAWS)]
        point: dict[str, Any] = {"images": size}
        for criterion in CRITERIA:
            whole = _values(oracle, criterion)
            spread = _drawn(ours, criterion, chosen, whole)
            low, middle, high = _quantiles(spread, [0.05, 0.5, 0.95])
            perfect = _quantiles(_drawn(oracle, criterion, chosen, whole), [0.5])[0]
            point[criterion] = {"median": middle, "low": low, "high": high, "perfect": perfect}
        points.append(point)
    return points


def _drawn(
    of: Ratings, criterion: Criterion, chosen: Sequence[NDArray[np.int64]], whole: Floats
) -> Floats:
    top, bottom = of.sums(criterion)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.array([top[:, part].sum(1) / bottom[:, part].sum(1) for part in chosen])
    return row_correlations("spearman", shares, np.broadcast_to(whole, shares.shape))


def disturbed(
    captions: Sequence[CaptionScores], rater: Rater
) -> dict[str, tuple[list[CaptionScores], float]]:
    """What a rater may meet: name to captions and threshold. “Every other”: of the captioners."""
    rng = np.random.default_rng(1)
    odd = {c.name for c in CAPTIONERS[1::2]}
    t = rater.threshold
    gaps = np.concatenate([np.abs(c.p - t) for c in captions])
    unsure = _quantiles(gaps, [0.2])[0]

    def but(change: Any) -> tuple[list[CaptionScores], float]:
        return [change(c) for c in captions], t

    def at_random(c: CaptionScores) -> CaptionScores:
        return replace(c, p=np.where(rng.random(len(c.p)) < 0.2, np.nan, c.p))

    def where_unsure(c: CaptionScores) -> CaptionScores:
        return replace(c, p=np.where(np.abs(c.p - t) < unsure, np.nan, c.p))

    def padded(c: CaptionScores) -> CaptionScores:
        return _padded(c, 5) if c.captioner in odd else c

    def short(c: CaptionScores) -> CaptionScores:
        return _kept(c, np.arange(len(c.p)) < 3) if c.captioner in odd else c

    return {
        "threshold lower by 0.2": (list(captions), t - 0.2),
        "threshold higher by 0.2": (list(captions), t + 0.2),
        "a fifth of the sentences unscored, at random": but(at_random),
        "a fifth unscored, the least sure": but(where_unsure),
        "every other adds 5 sentences that claim nothing": but(padded),
        # whatever was added is gone with the rest of what claims nothing
        "the same, such sentences left out": but(lambda c: _kept(c, c.assessable)),
        "every other stops after 3 sentences": but(short),
    }


def _padded(c: CaptionScores, more: int) -> CaptionScores:
    """More sentences that claim nothing, each of four words, which every rater lets pass."""
    return replace(
        c,
        words=c.words + 4 * more,
        p=np.append(c.p, np.ones(more)),
        factual=np.append(c.factual, np.ones(more, dtype=bool)),
        assessable=np.append(c.assessable, np.zeros(more, dtype=bool)),
    )


def _kept(c: CaptionScores, keep: NDArray[np.bool_]) -> CaptionScores:
    words = max(1, round(c.words * keep.sum() / max(1, len(keep))))
    return replace(c, words=words, p=c.p[keep], factual=c.factual[keep],
                   assessable=c.assessable[keep])  # fmt: skip


def figures(captions: Sequence[CaptionScores], rater: Rater) -> dict[str, Any]:
    """Everything that is printed."""
    oracle = truth(captions)
    ways = {
        name: agreement(ratings(captions, way(captions, rater)), oracle)
        for name, way in ESTIMATORS.items()
    }
    ours = ratings(captions, thresholded(captions, rater))
    words = oracle.counts[:, :, COLUMNS.index("words")].sum(1)
    changed = {
        name: _against(ratings(other, thresholded(other, replace(rater, threshold=cut))), oracle)
        for name, (other, cut) in disturbed(captions, rater).items()
    }
    return {
        "critic": rater.settings["critic"],
        "images": len(oracle.images),
        "sentences": sum(len(c.p) for c in captions),
        "unscored": float(np.mean(np.concatenate([np.isnan(c.p) for c in captions]))),
        "threshold": rater.threshold,
        "agreement": ways,
        "floor": {c: correlation("spearman", words, _values(oracle, c)) for c in CRITERIA},
        "enough": enough(points := curve(ours, oracle)),
        "curve": points,
        "disturbed": {"nothing": _against(ours, oracle)} | changed,
        "scores": {
            name: {
                c: {"rater": float(_values(ours, c)[k]), "oracle": float(_values(oracle, c)[k])}
                for c in CRITERIA
            }
            for k, name in enumerate(oracle.captioners)
        },
    }


def _against(ours: Ratings, oracle: Ratings) -> dict[str, Any]:
    """ρ by criterion with its interval, and ρ of the length-controlled mean per description."""
    keys = keys_of(oracle.images)
    found: dict[str, Any] = {}
    for criterion in CRITERIA:
        values = [_values(r, criterion) for r in (ours, oracle)]
        drawn = [resamples(*r.sums(criterion), keys, REPLICATES) for r in (ours, oracle)]
        found[criterion] = _figure("spearman", values, drawn)
    controlled = length_controlled(ours)
    same = [controlled.get(name, float("nan")) for name in oracle.captioners]
    found["at equal length"] = correlation("spearman", same, _values(oracle, "per_description"))
    return found


def enough(points: Sequence[Mapping[str, Any]]) -> dict[str, int | None]:
    """By criterion the fewest images from which on the median ρ is at least `TARGET`."""
    found: dict[str, int | None] = {}
    for criterion in CRITERIA:
        short = [p["images"] for p in points if not p[criterion]["median"] >= TARGET]
        more = [p["images"] for p in points if p["images"] > max(short, default=0)]
        found[criterion] = min(more, default=None)
    return found


def as_markdown(found: Mapping[str, Any]) -> str:
    parts = [_agreement_table(found), _curve_table(found), _disturbed_table(found)]
    parts.append(
        f"{found['images']} images × {len(CAPTIONERS)} captioners, {found['sentences']:,} "
        f"sentences, {found['unscored']:.1%} unscored; critic {found['critic']}, threshold "
        f"{found['threshold']:.4f}. 95 % intervals over images."
    )
    return "\n\n".join(parts)


def _agreement_table(found: Mapping[str, Any]) -> str:
    lines = ["| criterion | way | Spearman ρ | Kendall τ-b | mean error |",
             "| --- | --- | --- | --- | ---: |"]  # fmt: skip
    for criterion in CRITERIA:
        for way, by_criterion in found["agreement"].items():
            own = by_criterion[criterion]
            rho, tau = (_interval(own[kind]) for kind in KINDS)
            error = f"{100 * own['mean error']:.1f} points"
            lines.append(f"| {_shown(criterion)} | {way} | {rho} | {tau} | {error} |")
        floor = found["floor"][criterion]
        lines.append(f"| {_shown(criterion)} | floor: the longer the better | {floor:.3f} |  |  |")
    return "\n".join(lines)


def _curve_table(found: Mapping[str, Any]) -> str:
    names = " | ".join(map(_shown, CRITERIA))
    lines = [f"| images | {names} | a perfect rater, overall |", "| ---: | --- | --- | --- | --- |"]
    for point in found["curve"]:
        cells = " | ".join(_interval(point[c], "median") for c in CRITERIA)
        perfect = point["overall"]["perfect"]
        lines.append(f"| {point['images']} | {cells} | {perfect:.3f} |")
    least = "; ".join(
        f"{_shown(c)} {'more than these' if n is None else n}" for c, n in found["enough"].items()
    )
    return "\n".join([*lines, "", f"Images for a median ρ ≥ {TARGET}: {least}."])


def _disturbed_table(found: Mapping[str, Any]) -> str:
    names = " | ".join(map(_shown, CRITERIA))
    lines = [f"| disturbance | {names} | at equal length |", "| --- | --- | --- | --- | --- |"]
    for name, own in found["disturbed"].items():
        cells = " | ".join(_interval(own[c]) for c in CRITERIA)
        lines.append(f"| {name} | {cells} | {own['at equal length']:.3f} |")
    return "\n".join(lines)


def _interval(figure: Mapping[str, float | None], value: str = "value") -> str:
    point = figure[value]
    if point is None or np.isnan(point):
        return "none"
    return f"{point:.3f} ({figure['low']:.3f}–{figure['high']:.3f})"


def _finite(value: Any) -> Any:
    """For JSON, which has no NaN: null."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def _shown(criterion: str) -> str:
    return criterion.replace("_", " ")


#: What a page shows; all the rest is printed.
_SHOWN = ("thresholded", "prior adjusted")


def summary(found: Mapping[str, Any]) -> str:
    """The paper's way and the prior-adjusted one by criterion, and how many images it takes."""
    ways = " | ".join(f"ρ, {way}" for way in _SHOWN)
    lines = [
        f"| criterion | {ways} | ρ, longer is better | images for ρ ≥ {TARGET} |",
        f"| --- |{' --- |' * len(_SHOWN)} --- | --- |",
    ]
    most = max((point["images"] for point in found["curve"]), default=0)
    for criterion in CRITERIA:
        own = (found["agreement"][way][criterion]["spearman"] for way in _SHOWN)
        cells = [*map(_interval, own), f"{found['floor'][criterion]:.3f}"]
        least = found["enough"][criterion]
        cells.append(f"more than {most}" if least is None else str(least))
        lines.append(f"| {_shown(criterion)} | {' | '.join(cells)} |")
    errors = " and ".join(
        f"{100 * found['agreement'][way]['overall']['mean error']:.1f}" for way in _SHOWN
    )
    return "\n".join(
        [
            *lines,
            "",
            f"{found['images']} pictures × {len(CAPTIONERS)} simulated captioners, "
            f"{found['sentences']:,} sentences, 95 % intervals over pictures. The overall scores "
            f"are {errors} points from the truth in the mean. Command: "
            "`python -m scripts.research.autorater.evaluate`; it also prints "
            "Kendall's τ, the curve over pictures, and what a shifted threshold, unscored "
            "sentences, and longer or shorter captions do to the order.",
        ]
    )


def blocks(found: Mapping[str, Any]) -> dict[str, str]:
    """What the page shows of the figures, by the names of its marks."""
    return {"rater": summary(found)}


@click.command()
@click.option("--critic", default="bundled", show_default=True)
@click.option("--images", type=click.IntRange(2), default=300, show_default=True)
@click.option(
    "--scores",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of P(factual) by sentence: made if it is not there, continued if it is short.",
)
@click.option("--json", "as_json", is_flag=True, help="All figures as JSON.")
@click.option("--write", is_flag=True, help="Also a summary into the checkout's page for it.")
def main(critic: str, images: int, scores: Path, as_json: bool, write: bool) -> None:
    """Rate the fourteen simulated captioners and compare with the exact truth."""
    try:
        rater, captions = complete(scores, critic, images)
        found = figures(captions, rater)
        if write:
            kept = _finite(found)
            write_to_pages(ROOT, blocks(kept))
            write_text(ROOT / KEPT, json.dumps(kept, indent=1) + "\n")
    except UserError as error:
        raise click.ClickException(str(error)) from None
    click.echo(json.dumps(_finite(found), indent=1) if as_json else as_markdown(found))


if __name__ == "__main__":
    main()
