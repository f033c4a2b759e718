"""Joint training on ratings and on worse versions (ContextRef, section 6, and the authors' code).

For an original with score s and rating y, and its worse version with score w:

    loss = log(1 + exp(a (w − s)))  +  r (a s + b − y)²

The first term has the target “the worse one scores lower”; the second preserves the agreement with
people, which is otherwise lost. a and b map scores to ratings; they are fitted once, before
training. The authors' code uses w − s itself in the first term; in units of rating points, the same
settings serve cosines and probabilities.
"""

from __future__ import annotations

import logging
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from revise_captions.errors import UserError
from revise_captions.finetune.metric.data import StressData, WorsePair
from revise_captions.finetune.metric.scorers import TrainableScorer
from revise_captions.finetune.metric.settings import JointSettings
from revise_captions.metrics.protocol import MetricInput
from revise_captions.metrics.registry import scored
from revise_captions.stats.bootstrap import ratio_interval
from revise_captions.stats.pearson import pearson

logger = logging.getLogger(__name__)
Progress = Callable[[dict[str, Any]], None]
_SLOPE = 4.0  # a, if the data does not determine it: scores 0 to 1 are ratings 1 to 5


@dataclass(frozen=True, slots=True)
class MetricFigures:
    """A metric on one part of the data.

    Attributes:
        lower: By check: the share of pairs in which the worse version scores lower, an `Estimate`
            as JSON.
        pearson: `value`, `low`, `high` of the correlation with the ratings of the originals.
        rated: Originals in it.
    """

    lower: dict[str, dict[str, float | int | None]]
    pearson: dict[str, float | None]
    rated: int


def figures(scorer: TrainableScorer, data: StressData) -> MetricFigures:
    """Table 1's figures, by the metric itself."""
    metric = scorer.metric()
    training = scorer.model.training
    scorer.model.eval()
    originals = _values(metric, [pair.original for pair in data.pairs])
    worse = _values(metric, [pair.worse for pair in data.pairs])
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for pair, before, after in zip(data.pairs, originals, worse, strict=True):
        if before is not None and after is not None:
            own = counts[pair.check][_image(pair.original)]
            own[0], own[1] = own[0] + (after < before), own[1] + 1
    rated = [(given, rating) for given, rating in data.originals if rating is not None]
    known = [
        (value, rating, _image(given))
        for value, (given, rating) in zip(
            _values(metric, [given for given, _ in rated]), rated, strict=True
        )
        if value is not None
    ]
    scorer.model.train(training)
    x, y, images = zip(*known, strict=True) if known else ((), (), ())
    return MetricFigures(
        {
            check: ratio_interval(*np.array(list(own.values())).T).as_json()
            for check, own in counts.items()
        },
        pearson(np.array(x, dtype=np.float64), np.array(y, dtype=np.float64), images),
        len(known),
    )


def _image(item: MetricInput) -> str:
    """The unit of resampling."""
    return item.image.key if item.image is not None else ""


def _values(metric: Any, items: Sequence[MetricInput]) -> list[float | None]:
    distinct = list(dict.fromkeys(items))
    found = {
        item: score.value for item, score in zip(distinct, scored(metric, distinct), strict=True)
    }
    return [found[item] for item in items]


def fitted(scorer: TrainableScorer, data: StressData) -> tuple[float, float]:
    """a > 0 and b that map the untrained scores to the ratings.

    If scores do not rise with ratings, a maps the scores' spread to that of the ratings.
    """
    rated = [(given, rating) for given, rating in data.originals if rating is not None]
    values = _values(scorer.metric(), [given for given, _ in rated])
    known = [(v, y) for v, (_, y) in zip(values, rated, strict=True) if v is not None]
    if len(known) < 3:
        raise UserError(f"only {len(known)} rated originals could be scored; expected 3 or more")
    x, y = (np.array(values) for values in zip(*known, strict=True))
    if np.ptp(x) == 0:
        return _SLOPE, float(y.mean() - _SLOPE * x.mean())
    slope = float(np.polyfit(x, y, 1)[0])
    slope = max(slope, float(y.std() / x.std()) or _SLOPE)
    return slope, float(y.mean() - slope * x.mean())


def train(
    scorer: TrainableScorer, data: StressData, settings: JointSettings, progress: Progress
) -> dict[str, Any]:
    """Trains in place.

    Args:
        scorer: The metric.
        data: Pairs of the training images only.
        settings: How.
        progress: Receives a line of figures from time to time.

    Returns:
        Steps, pairs and the number skipped.
    """
    slope, offset = fitted(scorer, data)
    usable = [pair for pair in data.pairs if _usable(pair)]
    if not usable:
        raise UserError("no pair has an image for both sides")
    trained = [weight for weight in scorer.model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=settings.learning_rate)
    total = max(1, round(settings.epochs * len(usable)))
    seen = steps = skipped = 0
    shown = time.monotonic()
    losses: list[float] = []
    for batch in _batches(usable, total, settings):
        optimizer.zero_grad()
        for start in range(0, len(batch), settings.micro_batch):
            part = batch[start : start + settings.micro_batch]
            loss, left_out = joint_loss(scorer, part, slope, offset, settings.rating_weight)
            skipped += left_out
            if loss is not None:
                (loss / len(batch)).backward()  # type: ignore[no-untyped-call]
                losses.append(float(loss.detach()) / max(1, len(part) - left_out))
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        seen, steps = seen + len(batch), steps + 1
        if time.monotonic() - shown > 20:
            shown = time.monotonic()
            progress({"pairs": seen, "of": total, "loss": round(float(np.mean(losses)), 4)})
            losses = []
    return {"slope": slope, "offset": offset, "pairs": seen, "steps": steps, "skipped": skipped,
            **asdict(settings)}  # fmt: skip


def _usable(pair: WorsePair) -> bool:
    return pair.original.image is not None and pair.worse.image is not None


def _batches(
    pairs: Sequence[WorsePair], total: int, settings: JointSettings
) -> Iterator[list[WorsePair]]:
    """`total` pairs in batches, every epoch in another order."""
    rng = random.Random(settings.seed)
    waiting: list[WorsePair] = []
    while total:
        if not waiting:
            waiting = rng.sample(list(pairs), len(pairs))
        size = min(settings.batch_size, len(waiting), total)
        yield waiting[:size]
        waiting, total = waiting[size:], total - size


def joint_loss(
    scorer: TrainableScorer,
    pairs: Sequence[WorsePair],
    slope: float,
    offset: float,
    rating_weight: float,
) -> tuple[torch.Tensor | None, int]:
    """The sum of the losses of pairs, and how many pairs have no score.

    None if none of them has one.
    """
    values = scorer.scores([item for pair in pairs for item in (pair.original, pair.worse)])
    original, worse = values[0::2], values[1::2]
    known = torch.isfinite(original) & torch.isfinite(worse)
    left_out = len(pairs) - int(known.sum())
    if left_out == len(pairs):
        return None, left_out
    loss = torch.nn.functional.softplus(slope * (worse - original)[known]).sum()
    ratings = torch.tensor(
        [float("nan") if pair.rating is None else pair.rating for pair in pairs],
        dtype=values.dtype,
        device=values.device,
    )
    rated = known & torch.isfinite(ratings)
    errors = slope * original[rated] + offset - ratings[rated]
    return loss + rating_weight * errors.square().sum(), left_out
