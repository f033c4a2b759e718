"""Maps from a critic's P(factual) to a calibrated one, and the choice between them.

    none            P unchanged
    temperature     logit P divided by a temperature (Guo et al. 2017)
    logistic        the same with a shift, for a critic biased to Yes or No (Platt 1999)
    isotonic        the best rising step function, joined by lines (Zadrozny & Elkan 2002)

None of them reorders sentences, so rankings and areas under curves stay; thresholds are mapped too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.errors import UserError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
METHODS = ("none", "temperature", "logistic", "isotonic")
FOLDS = 5
#: P is rounded to four decimals: 0 and 1 are moved half a step inward.
_EDGE = 5e-5
_SCALES = (0.02, 50.0)


@dataclass(frozen=True, slots=True)
class ProbabilityMap:
    """A rising function of P(factual).

    Attributes:
        method: One of `METHODS`.
        scale: Factor of logit P: 1 / temperature.
        shift: Added to it.
        x: Knots of an isotonic map, rising.
        y: Their calibrated values.
    """

    method: str = "none"
    scale: float = 1.0
    shift: float = 0.0
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()

    def __call__(self, p: Floats | np.float64) -> Floats:
        """Calibrated probabilities, rounded to four decimals."""
        if self.method == "none":
            return np.round(p, 4)
        if self.method == "isotonic":
            return np.round(np.interp(p, self.x, self.y), 4)
        return np.round(1 / (1 + np.exp(-(self.scale * _logit(p) + self.shift))), 4)

    def after(self, first: ProbabilityMap) -> ProbabilityMap:
        """This map applied after another. Neither may be isotonic."""
        scale, shift = self.scale * first.scale, self.scale * first.shift + self.shift
        if (scale, shift) == (1.0, 0.0):
            return IDENTITY
        return ProbabilityMap("logistic" if shift else "temperature", scale, shift)

    def before(self, calibrated: float) -> float:
        """The smallest P (with four decimals) mapped to `calibrated` or more; 1 if none is."""
        grid = np.round(np.arange(10_001) / 10_000, 4)
        place = int(np.searchsorted(self(grid), calibrated - 1e-9))
        return float(grid[min(place, len(grid) - 1)])

    def __str__(self) -> str:
        """Its name in settings: `logistic(temperature=1.250, shift=1.020)`."""
        if self.method == "temperature":
            return f"temperature({1 / self.scale:.3f})"
        if self.method == "logistic":
            return f"logistic(temperature={1 / self.scale:.3f}, shift={self.shift:.3f})"
        return self.method

    def as_json(self) -> dict[str, Any]:
        if self.method == "isotonic":
            return {"method": self.method, "x": list(self.x), "y": list(self.y)}
        if self.method == "none":
            return {"method": self.method}
        return {"method": self.method, "temperature": 1 / self.scale, "shift": self.shift}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> ProbabilityMap:
        """The inverse of `as_json`. Raises KeyError, TypeError or ValueError for other data."""
        method = stored["method"]
        if method not in METHODS:
            raise ValueError(f"an unknown map {method!r}")
        if method == "none":
            return cls()
        if method == "isotonic":
            x, y = np.asarray(stored["x"], float), np.asarray(stored["y"], float)
            rising = x.ndim == 1 and len(x) and (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all()
            if not (rising and x.shape == y.shape and y[0] >= 0 and y[-1] <= 1):
                raise ValueError("an isotonic map that does not rise from 0 to 1")
            return cls(method, x=tuple(x.tolist()), y=tuple(y.tolist()))
        temperature, shift = float(stored["temperature"]), float(stored["shift"])
        if not (np.isfinite([temperature, shift]).all() and temperature > 0):
            raise ValueError(f"a temperature of {temperature} and a shift of {shift}")
        return cls(method, scale=1 / temperature, shift=shift)


IDENTITY = ProbabilityMap()


def _logit(p: Floats | np.float64) -> Floats:
    inside = np.clip(p, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(inside / (1 - inside)))


def fitted(method: str, p: Floats, factual: Bools, weights: Floats) -> ProbabilityMap:
    """A method's best-fitting map: by likelihood or, for isotonic, by squared error.

    Args:
        method: One of `METHODS`.
        p: P(factual) of each sentence.
        factual: Whether it is; both classes occur.
        weights: How many sentences each stands for.
    """
    if method == "none":
        return ProbabilityMap()
    if method == "isotonic":
        from sklearn.isotonic import IsotonicRegression

        found = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        found.fit(p, factual.astype(float), sample_weight=weights)
        knots = (found.X_thresholds_.tolist(), found.y_thresholds_.tolist())
        return ProbabilityMap(method, x=tuple(knots[0]), y=tuple(knots[1]))
    from scipy.optimize import minimize

    z, share = _logit(p), weights / weights.sum()
    sign = np.where(factual, 1.0, -1.0)

    def loss(values: Floats) -> tuple[float, Floats]:
        margin = sign * (values[0] * z + (values[1] if len(values) > 1 else 0.0))
        slope = -share * sign / (1 + np.exp(np.minimum(margin, 700)))
        gradient = np.array([slope @ z, slope.sum()][: len(values)])
        return float(share @ np.logaddexp(0, -margin)), gradient

    bounds = [_SCALES, (-50.0, 50.0)][: 1 if method == "temperature" else 2]
    start = np.array([1.0, 0.0][: len(bounds)])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return ProbabilityMap(method, float(best[0]), float(best[1]) if len(best) > 1 else 0.0)


def cross_validated(
    methods: Sequence[str], p: Floats, factual: Bools, weights: Floats, folds: NDArray[np.int64]
) -> dict[str, float]:
    """Each method's Brier score on sentences that its map was not fitted to.

    The Brier score is proper and, unlike the likelihood, finite if an isotonic map gives 0 or 1.

    Args:
        methods: Of `METHODS`.
        p: P(factual) of each sentence.
        factual: Whether it is.
        weights: How many sentences each stands for.
        folds: Each sentence's fold; both classes occur outside every fold.
    """
    scores = {}
    for method in methods:
        mapped = np.empty_like(p)
        for fold in np.unique(folds):
            out = folds == fold
            mapped[out] = fitted(method, p[~out], factual[~out], weights[~out])(p[out])
        scores[method] = float(np.average((mapped - factual) ** 2, weights=weights))
    return scores


def chosen(scores: Mapping[str, float]) -> str:
    """The method with the lowest score; the simplest of equals."""
    return min(scores, key=lambda method: (round(scores[method], 9), METHODS.index(method)))


def spread(units: Sequence[str], factual: Bools) -> NDArray[np.int64]:
    """A position 0, 1, … for each sentence's unit, by which units are dealt to parts of the data.

    Neighboring positions go to different parts, and units with wrong sentences are neighbors, as
    are those with true ones: a class that occurs in two units occurs in two parts.

    Args:
        units: What must not be split, such as each sentence's image.
        factual: For each sentence.

    Raises:
        UserError: A class occurs in fewer than two units.
    """
    import hashlib

    true = {unit for unit, good in zip(units, factual, strict=True) if good}
    wrong = {unit for unit, good in zip(units, factual, strict=True) if not good}
    for named, found in (("true", true), ("wrong", wrong)):
        if len(found) < 2:
            raise UserError(
                f"{named} sentences occur with {len(found)} of {len(true | wrong)} images: too "
                "few to fit on some and measure on others",
                hint="label sentences of more images, true ones and wrong ones",
            )

    def key(unit: str) -> tuple[int, bytes]:
        kind = 0 if unit not in wrong else 1 if unit in true else 2
        return kind, hashlib.sha256(unit.encode("utf-8", "surrogatepass")).digest()

    place = {unit: number for number, unit in enumerate(sorted(true | wrong, key=key))}
    return np.array([place[unit] for unit in units], dtype=np.int64)
