"""From a critic and labeled sentences to its profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.profile import CriticProfile, MeasuredSentences
from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.errors import BadRecord, UserError
from revise_captions.finetune.calibration.sentences import LabeledCaption, LabeledData
from revise_captions.io.perceptual_hash import Fingerprint, fingerprint, groups
from revise_captions.stats import weighted_classification as weighted
from revise_captions.stats.bootstrap import bounds, weights
from revise_captions.stats.calibration import best_threshold, calibrate, class_weights
from revise_captions.stats.leaderboard import keys_of
from revise_captions.stats.probability_maps import (
    FOLDS,
    METHODS,
    ProbabilityMap,
    chosen,
    cross_validated,
    fitted,
    spread,
)

Floats = NDArray[np.float64]
WINDOW = 64


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """`captions calibrate --help` explains the options. `methods`: those that `auto` tries."""

    method: str = "auto"
    methods: tuple[str, ...] = METHODS
    wrong_share: float | None = None
    false_alarms: float | None = None
    held_out: float = 0.5
    replicates: int = 1000


@dataclass(frozen=True, slots=True)
class JudgedSentences:
    """A critic's judgments of labeled sentences; images that look alike share a name.

    Attributes:
        image: Of each sentence.
        p: Its P(factual).
        factual: Its label.
        rewritten: Whether it is a reviser's rewrite.
        weight: How many sentences it stands for.
        left_out: Sentences without P(factual), by reason.
    """

    image: Sequence[str]
    p: Floats
    factual: NDArray[np.bool_]
    rewritten: NDArray[np.bool_]
    weight: Floats
    left_out: Mapping[str, int]

    def part(self, rows: NDArray[np.bool_]) -> JudgedSentences:
        images = [name for name, here in zip(self.image, rows, strict=True) if here]
        truths = self.factual[rows], self.rewritten[rows]
        return JudgedSentences(images, self.p[rows], *truths, self.weight[rows], self.left_out)


def judged(critic: Critic, captions: Sequence[LabeledCaption]) -> JudgedSentences:
    """Has the critic judge every labeled sentence.

    Raises:
        UserError: It left all of them unscored.
    """
    prints: dict[str, Fingerprint] = {}
    rows: list[tuple[str, float, bool, bool, float]] = []
    left_out: Counter[str] = Counter()
    for start in range(0, len(captions), WINDOW):
        asked: list[tuple[LabeledCaption, JudgeRequest]] = []
        for caption in captions[start : start + WINDOW]:
            try:
                image = caption.load()
            except BadRecord as error:
                left_out[f"image: {error.reason}"] += len(caption.sentences)
                continue
            if caption.name not in prints:
                prints[caption.name] = fingerprint(image)
            spans = tuple(sentence.span for sentence in caption.sentences)
            asked.append((caption, JudgeRequest(image, caption.caption, spans)))
        answers = critic.judge([request for _, request in asked]) if asked else []
        for (caption, _), verdicts in zip(asked, answers, strict=True):
            for sentence, verdict in zip(caption.sentences, verdicts, strict=True):
                if verdict.p_factual is None:
                    left_out[str(verdict.unscored)] += 1
                    continue
                more = (sentence.factual, sentence.rewritten, sentence.weight)
                rows.append((caption.name, verdict.p_factual, *more))
    if not rows:
        reasons = ", ".join(f"{count:,} × {why}" for why, count in left_out.most_common())
        raise UserError(
            f"the critic judged none of the labeled sentences ({reasons or 'there are none'})",
            hint="choose data that this critic can judge (check with `captions doctor`)",
        )
    same = groups(prints)
    names, p, factual, rewritten, weight = zip(*rows, strict=True)
    return JudgedSentences(
        [same[name] for name in names],
        np.array(p),
        np.array(factual),
        np.array(rewritten),
        np.array(weight),
        dict(left_out.most_common()),
    )


def profile_of(
    critic: Critic, data: LabeledData, found: JudgedSentences, options: CalibrationOptions
) -> CriticProfile:
    """Fits map and threshold on one part of the images, and measures on the other.

    If a share of wrong sentences is requested, both parts are weighted to have it. Rewrites are in
    neither part: all are kept for measuring the share of true ones among those a run accepts.

    Raises:
        UserError: There are too few images, or sentences of only one class.
    """
    parts = _parts(found, options.held_out)
    fit, held = (_for_share(part, options.wrong_share) for part in parts)
    map_, tried = _map(fit, options)
    threshold, _ = best_threshold(
        map_(fit.p), fit.factual, options.wrong_share, options.false_alarms, fit.weight
    )
    p = map_(held.p)
    calibration = calibrate(
        p,
        held.factual,
        options.wrong_share,
        options.false_alarms,
        weights=held.weight,
        threshold=threshold,
    )
    error, score = weighted.calibration_error, weighted.macro_f1
    before = {
        "ece": _figure(error, held.p, held, options.replicates, reflected=True),
        "macro_f1": _figure(
            partial(score, threshold=critic.threshold), held.p, held, options.replicates
        ),
    }
    after = {
        "ece": _figure(error, p, held, options.replicates, reflected=True),
        "macro_f1": _figure(partial(score, threshold=threshold), p, held, options.replicates),
    }
    rewrites = found.part(found.rewritten)
    counts = {name: _counts(part) for name, part in (("fitted", fit), ("held_out", held))}
    return CriticProfile(
        dict(critic.settings),
        map_,
        calibration.as_dict(),
        _kept(parts[1], rewrites, map_),
        data.reviser if len(rewrites.p) else {},
        {"before": before, "after": after, "brier_cross_validated": tried},
        {
            **data.about,
            "captions": len(data.captions),
            **counts,
            "rewrites": len(rewrites.p),
            "unscored": dict(found.left_out),
            "split": f"by image, {options.held_out:g} held out",
            "intervals": f"95 % bootstrap over images, {options.replicates} resamples",
        },
    )


def _parts(found: JudgedSentences, share: float) -> tuple[JudgedSentences, JudgedSentences]:
    """The captions' own sentences: on images for fitting, and on a held-out share of images."""
    written = found.part(~found.rewritten)
    if written.factual.all() or not written.factual.any():
        what = "true" if len(written.p) and written.factual.all() else "wrong"
        raise UserError(
            f"all {len(written.p):,} judged sentences are {what}",
            hint="calibration needs sentences of both kinds",
        )
    place = spread(written.image, written.factual)
    out = np.floor((place + 1) * share + 1e-9) > np.floor(place * share + 1e-9)
    fit, held = written.part(~out), written.part(out)
    for name, part in (("fitting", fit), ("held-out", held)):
        if len(part.p) == 0 or part.factual.all() or not part.factual.any():
            raise UserError(
                f"the {name} part of the {len(set(written.image))} images has sentences of one "
                "kind only",
                hint="label more images, or set --held-out nearer to 0.5",
            )
    return fit, held


def _for_share(part: JudgedSentences, wrong_share: float | None) -> JudgedSentences:
    """The sentences, weighted so that this share of them is wrong."""
    wrong, right = class_weights(part.factual, wrong_share, part.weight)
    return replace(part, weight=part.weight * np.where(part.factual, right, wrong))


def _map(
    fit: JudgedSentences, options: CalibrationOptions
) -> tuple[ProbabilityMap, dict[str, float]]:
    """A method's map, or the best method's in cross-validation over images; and what was tried."""
    method, tried = options.method, dict[str, float]()
    if method == "auto":
        place = spread(fit.image, fit.factual)
        folds = place % min(FOLDS, int(place.max()) + 1)
        tried = cross_validated(options.methods, fit.p, fit.factual, fit.weight, folds)
        method = chosen(tried)
    return fitted(method, fit.p, fit.factual, fit.weight), tried


def _figure(
    statistic: weighted.Batch,
    p: Floats,
    part: JudgedSentences,
    replicates: int,
    *,
    reflected: bool = False,
) -> dict[str, float | None]:
    """A figure with its interval over images.

    `reflected`: the basic bootstrap interval. The ECE of few sentences is biased upward, and that
    of a resample is biased upward again; reflecting the resamples corrects this.
    """
    truth = part.factual.astype(np.float64)
    names, unit = np.unique(np.asarray(part.image), return_inverse=True)
    value = float(statistic(p, truth, part.weight[:, None])[0])
    drawn = weights(keys_of(list(names)), replicates)[unit] * part.weight[:, None]
    low, high = bounds(statistic(p, truth, drawn), len(names))
    if reflected and low is not None and high is not None:
        low, high = max(0.0, 2 * value - high), max(0.0, 2 * value - low)
    return {"value": value, "low": low, "high": high}


def _counts(part: JudgedSentences) -> dict[str, int]:
    true = int(part.factual.sum())
    return {"images": len(set(part.image)), "sentences": len(part.p), "true": true}


def _kept(
    held: JudgedSentences, rewrites: JudgedSentences, map_: ProbabilityMap
) -> MeasuredSentences:
    """What the profile keeps of the sentences: numbers for images, and no texts."""
    names = [*held.image, *rewrites.image]
    _, image = np.unique(np.asarray(names), return_inverse=True)
    return MeasuredSentences(
        image.astype(np.int64),
        map_(np.concatenate([held.p, rewrites.p])),
        np.concatenate([held.factual, rewrites.factual]),
        np.concatenate([held.rewritten, rewrites.rewritten]),
        np.concatenate([held.weight, rewrites.weight]),
    )
