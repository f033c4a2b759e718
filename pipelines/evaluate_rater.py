"""How far the AutoRater's leaderboard can be trusted, on a world whose truth is known.

    python -m revise_captions.pipelines.evaluate_rater --images 200

All fourteen simulated captioners describe the same held-out pictures. The critic rates every
sentence, the oracle knows the truth, and the two leaderboards are compared: Spearman's ρ and
Kendall's τ-b over captioners, by the paper's three criteria, with intervals over images; how many
images that takes; and what a shifted threshold, sentences left unscored, and captions padded with
sentences that claim nothing do to the order.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from revise_captions.correlations import correlation
from revise_captions.critic.protocol import Critic, Paragraph
from revise_captions.leaderboard import (
    CRITERIA,
    Ratings,
    Sentence,
    collect,
    counts_of,
    keys_of,
    resamples,
)
from revise_captions.picturebook.captioners import CAPTIONERS, sentence_count
from revise_captions.picturebook.captions import caption
from revise_captions.picturebook.draw import draw
from revise_captions.picturebook.oracle import Truth
from revise_captions.picturebook.sample import sample_scene
from revise_captions.pipelines.held_out import SIZE
from revise_captions.records import Label

SPLIT = "test"
#: Scenes from here on: the critic's own evaluation uses the ones before.
FIRST = 10_000
REPLICATES = 1000
#: Images of a small leaderboard, for the curve; each with so many random choices of images.
SIZES = (5, 10, 20, 50, 100, 200, 500)
DRAWS = 200
KINDS = ("spearman", "kendall-b")


@dataclass(frozen=True, slots=True)
class Judged:
    """One caption: P(factual) of each sentence (NaN: unscored), its truth, whether it claims."""

    captioner: str
    image: str
    words: int
    p: NDArray[np.float64]
    factual: NDArray[np.bool_]
    assessable: NDArray[np.bool_]


def judged(critic: Critic, images: int, *, batch: int = 8) -> list[Judged]:
    """Fourteen captions of each picture, rated. `batch`: pictures at a time."""
    found: list[Judged] = []
    for start in range(FIRST, FIRST + images, batch):
        asked, kept = [], []
        for number in range(start, min(start + batch, FIRST + images)):
            scene = sample_scene(number, SPLIT)
            picture = draw(scene, SIZE)
            for captioner in CAPTIONERS:
                rng = random.Random(f"rater.{number}.{captioner.name}")
                written = caption(
                    scene,
                    rng,
                    error_rate=captioner.error_rate,
                    error_weights=captioner.errors,
                    sentences=sentence_count(captioner, rng),
                )
                spans = tuple(sentence.span for sentence in written.sentences)
                asked.append(Paragraph(picture, written.text, spans))
                kept.append((captioner.name, f"{SPLIT}-{number}", written))
        for (name, image, written), verdicts in zip(kept, critic.judge(asked), strict=True):
            found.append(
                Judged(
                    name,
                    image,
                    len(written.text.split()),
                    np.array([np.nan if v.p_factual is None else v.p_factual for v in verdicts]),
                    np.array([s.truth is not Truth.FALSE for s in written.sentences]),
                    np.array([s.assessable for s in written.sentences]),
                )
            )
    return found


def truth(captions: Sequence[Judged]) -> Ratings:
    """The oracle's leaderboard."""
    return _collected(captions, lambda c: [_label(f) for f in c.factual])


def rated(captions: Sequence[Judged], threshold: float) -> Ratings:
    """The critic's leaderboard."""

    def labels(c: Judged) -> list[Label]:
        return [Label.UNSCORED if np.isnan(p) else _label(p >= threshold) for p in c.p]

    return _collected(captions, labels)


def _label(factual: object) -> Label:
    return Label.FACTUAL if factual else Label.NONFACTUAL


def _collected(captions: Sequence[Judged], labels: Callable[[Judged], list[Label]]) -> Ratings:
    def row(c: Judged) -> tuple[str, str, tuple[float, ...]]:
        pairs = zip(labels(c), c.assessable, strict=True)
        sentences = [Sentence(label, bool(claims)) for label, claims in pairs]
        return c.captioner, c.image, counts_of(sentences, c.words)

    return collect(map(row, captions))


def agreement(ours: Ratings, oracle: Ratings) -> dict[str, dict[str, Any]]:
    """ρ and τ-b over captioners by criterion, each with its 95 % interval over images."""
    keys = keys_of(oracle.images)
    result: dict[str, dict[str, Any]] = {}
    for criterion in CRITERIA:
        values = [_values(ratings, criterion) for ratings in (ours, oracle)]
        drawn = [resamples(*r.sums(criterion), keys, REPLICATES) for r in (ours, oracle)]
        result[criterion] = {}
        for kind in KINDS:
            replicates = [correlation(kind, a, b) for a, b in zip(*drawn, strict=True)]  # type: ignore[arg-type]
            low, high = np.nanquantile(replicates, [0.025, 0.975])
            value = correlation(kind, *values)  # type: ignore[arg-type]
            result[criterion][kind] = {"value": value, "low": float(low), "high": float(high)}
    return result


def _values(ratings: Ratings, criterion: Any) -> NDArray[np.float64]:
    top, bottom = ratings.sums(criterion)
    sums = bottom.sum(1)
    return np.divide(top.sum(1), sums, out=np.full(len(sums), np.nan), where=sums > 0)


def curve(ours: Ratings, oracle: Ratings) -> list[dict[str, float]]:
    """ρ of the overall share when only so many images are looked at, against the whole truth."""
    rng = np.random.default_rng(0)
    whole = _values(oracle, "overall")
    top, bottom = ours.sums("overall")
    points = []
    for size in (s for s in SIZES if s < len(ours.images)):
        chosen = [rng.choice(len(ours.images), size, replace=False) for _ in range(DRAWS)]
        found = [
            correlation("spearman", top[:, part].sum(1) / bottom[:, part].sum(1), whole)
            for part in chosen
        ]
        low, middle, high = np.nanquantile(found, [0.05, 0.5, 0.95])
        points.append({"images": size, "median": middle, "low": low, "high": high})
    return points


def disturbed(captions: Sequence[Judged], threshold: float) -> dict[str, list[Judged] | float]:
    """Captions, or another threshold, that a rater may meet: name to what changes."""
    rng = np.random.default_rng(1)

    def unscored(c: Judged) -> Judged:
        return replace(c, p=np.where(rng.random(len(c.p)) < 0.2, np.nan, c.p))

    odd = {c.name for c in CAPTIONERS[1::2]}

    def padded(c: Judged) -> Judged:
        if c.captioner not in odd:
            return c
        more = 5
        return replace(
            c,
            words=c.words + 4 * more,
            p=np.append(c.p, np.ones(more)),
            factual=np.append(c.factual, np.ones(more, dtype=bool)),
            assessable=np.append(c.assessable, np.zeros(more, dtype=bool)),
        )

    def claims_only(c: Judged) -> Judged:
        keep = padded(c).assessable
        p = padded(c)
        return replace(p, p=p.p[keep], factual=p.factual[keep], assessable=p.assessable[keep])

    return {
        "threshold lower by 0.2": threshold - 0.2,
        "threshold higher by 0.2": threshold + 0.2,
        "a fifth of the sentences unscored": [unscored(c) for c in captions],
        "every other captioner pads with 5 empty sentences": [padded(c) for c in captions],
        "the same, empty sentences left out": [claims_only(c) for c in captions],
    }


def figures(captions: Sequence[Judged], threshold: float) -> dict[str, Any]:
    """Everything that is printed."""
    ours, oracle = rated(captions, threshold), truth(captions)
    lengths = _collected(captions, lambda c: [Label.FACTUAL] * len(c.p))
    words = [
        -float(lengths.counts[k, :, -1].sum() / lengths.counts[k, :, 0].sum())
        for k in range(len(lengths.captioners))
    ]
    changed = {}
    for name, what in disturbed(captions, threshold).items():
        other = rated(captions, what) if isinstance(what, float) else rated(what, threshold)
        changed[name] = correlation("spearman", *(_values(r, "overall") for r in (other, oracle)))
    return {
        "images": len(oracle.images),
        "sentences": sum(len(c.p) for c in captions),
        "unscored": float(np.mean(np.concatenate([np.isnan(c.p) for c in captions]))),
        "threshold": threshold,
        "agreement": agreement(ours, oracle),
        "floor: shorter is better": correlation("spearman", words, _values(oracle, "overall")),
        "curve": curve(ours, oracle),
        "disturbed": changed,
        "scores": {
            name: {"rater": float(a), "oracle": float(b)}
            for name, a, b in zip(
                oracle.captioners, _values(ours, "overall"), _values(oracle, "overall"), strict=True
            )
        },
    }


def as_markdown(found: Mapping[str, Any]) -> str:
    lines = ["| criterion | Spearman ρ | Kendall τ-b |", "| --- | --- | --- |"]
    for criterion, by_kind in found["agreement"].items():
        cells = (
            f"{f['value']:.3f} ({f['low']:.3f}–{f['high']:.3f})"
            for f in (by_kind[kind] for kind in KINDS)
        )
        lines.append(f"| {criterion} | {' | '.join(cells)} |")
    lines.append(f"| floor: shorter is better | {found['floor: shorter is better']:.3f} |  |")
    lines += ["", "| images | ρ, median (5 %–95 %) |", "| ---: | --- |"]
    for p in found["curve"]:
        lines.append(f"| {p['images']} | {p['median']:.3f} ({p['low']:.3f}–{p['high']:.3f}) |")
    lines += ["", "| disturbance | ρ, overall |", "| --- | --- |"]
    lines += [f"| {name} | {value:.3f} |" for name, value in found["disturbed"].items()]
    lines += [
        "",
        f"{found['images']} images × 14 captioners, {found['sentences']:,} sentences, "
        f"{found['unscored']:.1%} unscored, threshold {found['threshold']:.4f}.",
    ]
    return "\n".join(lines)


@click.command()
@click.option("--critic", default="bundled", show_default=True)
@click.option("--images", type=click.IntRange(2), default=200, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="All figures as JSON.")
def main(critic: str, images: int, as_json: bool) -> None:
    """Rate the fourteen simulated captioners and compare with the exact truth."""
    from revise_captions.critic.critic import load_critic

    rater = load_critic(critic)
    found = figures(judged(rater, images), rater.threshold)
    click.echo(json.dumps(found, indent=1) if as_json else as_markdown(found))


if __name__ == "__main__":
    main()
