"""A critic's profile: how its P(factual) is calibrated, and how often it errs.

`captions calibrate` writes one; `--critic-profile` applies it to the critic that it was measured
on: P(factual) is mapped to a calibrated one, and thresholds are the profile's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image

from revise_captions.critic.protocol import Critic, ExplainRequest, JudgeRequest
from revise_captions.errors import UserError
from revise_captions.io.checked_json import checked
from revise_captions.records import Rationale, Verdict
from revise_captions.runs.window_images import prepare
from revise_captions.stats.error_correction import ErrorRates, measured_share
from revise_captions.stats.probability_maps import ProbabilityMap
from revise_captions.stats.verdict_levels import JudgedPopulation

FORMAT = "revise-captions critic profile"
VERSION = 1
#: The setting that says how a critic's P(factual) is calibrated; if absent, by its card.
CALIBRATION, UNCALIBRATED = "calibration", "none"
#: The settings in which a critic has to match its profile. Engine and precision need not match:
#: `captions check-engine` measures how much they change.
IDENTITY = ("critic", "adapter", "prompt", "attention-mode", "samples", "logprobs", "clauses")
_DIGEST = re.compile(r"@([0-9a-f]{12})$")


@dataclass(frozen=True, slots=True)
class MeasuredSentences:
    """The sentences behind a profile's error rates.

    Attributes:
        image: A number for each sentence's image, int64 (sentences,).
        p: Calibrated P(factual).
        factual: The truth.
        rewritten: Whether it is a reviser's rewrite.
        weight: How many sentences of a run each stands for.
        population: A number for the captioner of each sentence; None where that is not known.
        changed: Whether the reviser rewrites or removes it; None where that is not known.
    """

    image: NDArray[np.int64]
    p: NDArray[np.float64]
    factual: NDArray[np.bool_]
    rewritten: NDArray[np.bool_]
    weight: NDArray[np.float64]
    population: NDArray[np.int64] | None = None
    changed: NDArray[np.bool_] | None = None

    def as_json(self) -> dict[str, Any]:
        weights = np.unique(self.weight).tolist() == [1.0]
        return {
            "image": self.image.tolist(),
            "p": self.p.tolist(),
            "factual": self.factual.astype(int).tolist(),
            "rewritten": np.flatnonzero(self.rewritten).tolist(),
            "weight": None if weights else self.weight.tolist(),
            **({} if self.population is None else {"population": self.population.tolist()}),
            **({} if self.changed is None else {"changed": np.flatnonzero(self.changed).tolist()}),
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> MeasuredSentences:
        """The inverse of `as_json`. Raises KeyError, TypeError or ValueError for other data."""
        p = np.asarray(stored["p"], dtype=np.float64)
        rewritten = _marked(stored["rewritten"], len(p))
        given = stored["weight"]
        weight = np.ones(len(p)) if given is None else np.asarray(given, dtype=np.float64)
        whose = stored.get("population")
        found = cls(
            np.asarray(stored["image"], dtype=np.int64),
            p,
            np.asarray(stored["factual"], dtype=bool),
            rewritten,
            weight,
            None if whose is None else np.asarray(whose, dtype=np.int64),
            _marked(stored["changed"], len(p)) if "changed" in stored else None,
        )
        if len({len(values) for values in (found.image, p, found.factual, weight)}) != 1:
            raise ValueError("columns of different lengths")
        if not (((p >= 0) & (p <= 1)).all() and (weight > 0).all()):
            raise ValueError("a P(factual) outside 0…1, or a weight that is not positive")
        return found

    def rates(self, threshold: float, origin: str, rewrites: bool) -> ErrorRates | None:
        """Error rates at a threshold; None where a class is missing.

        Args:
            threshold: Of calibrated P(factual).
            origin: A description of these sentences.
            rewrites: Whether the rewrites among them are by the reviser in question.
        """
        said = self.p >= threshold
        parts = (
            (~self.rewritten & self.factual, said),
            (~self.rewritten & ~self.factual, said),
            (self.rewritten & said & rewrites, self.factual),
        )
        true, wrong, of_rewrites = (
            measured_share(yes[part], self.image[part], self.weight[part]) for part, yes in parts
        )
        if true is None or wrong is None:
            return None
        return ErrorRates(true, wrong, of_rewrites, origin)

    def populations(self, threshold: float) -> list[JudgedPopulation]:
        """Counts of verdicts and truth on the original sentences, for each captioner, and of what
        the reviser leaves of them."""
        if self.population is None:
            return []
        written = ~self.rewritten
        found = []
        for one in np.unique(self.population[written]):
            own = written & (self.population == one)
            kept = own & (self.p >= threshold)
            parts = [kept, own & ~kept]
            if self.changed is not None:
                parts.append(own & ~kept & ~self.changed)
            counts = [both for part in parts for both in (part, part & self.factual)]
            found.append(JudgedPopulation(*(int(part.sum()) for part in counts)))
        return found


def _marked(indexes: Sequence[int], size: int) -> NDArray[np.bool_]:
    """Which of so many sentences are at the indexes."""
    found = np.zeros(size, dtype=bool)
    found[np.asarray(indexes, dtype=np.int64)] = True
    return found


@dataclass(frozen=True, slots=True)
class CriticProfile:
    """How a critic's P(factual) is calibrated, and what is known about its errors.

    Attributes:
        critic: The critic's settings.
        map: From its P(factual) to the calibrated one.
        calibration: `stats.calibration.Calibration.as_dict` of held-out sentences.
        sentences: These sentences.
        reviser: The reviser of the rewrites among them, as settings; {} for none.
        figures: ECE and macro-F1 before and after, with intervals.
        measured_on: Data, split, counts.
        name: `NAME@DIGEST` of its file.
    """

    critic: Mapping[str, str]
    map: ProbabilityMap
    calibration: Mapping[str, Any]
    sentences: MeasuredSentences
    reviser: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    measured_on: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""

    @property
    def threshold(self) -> float:
        return float(self.calibration["threshold"])

    def as_json(self) -> dict[str, Any]:
        """The profile in the form of `_StoredProfile`."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "critic": dict(self.critic),
            "map": self.map.as_json(),
            "figures": dict(self.figures),
            "measured_on": dict(self.measured_on),
            "reviser": dict(self.reviser),
            "calibration": dict(self.calibration),
            "sentences": self.sentences.as_json(),
        }

    def fits(self, settings: Mapping[str, str]) -> bool:
        """Whether the settings are those of the critic that it was measured on."""
        return all(_same(self.critic.get(key), settings.get(key)) for key in IDENTITY)

    def check(self, settings: Mapping[str, str]) -> None:
        """Raises `UserError` if the settings are those of another critic, or of another prompt."""
        for key in IDENTITY:
            mine, given = self.critic.get(key), settings.get(key)
            if not _same(mine, given):
                raise UserError(
                    f"the profile {self.name} is of a critic with {key} {mine or 'none'}, but "
                    f"this one has {given or 'none'}",
                    hint="make a profile of this critic (captions calibrate), or leave out "
                    "--critic-profile",
                )

    def rates(self, threshold: float, settings: Mapping[str, str]) -> ErrorRates | None:
        """The critic's error rates at a threshold, in a run with these settings."""
        same = of_reviser(self.reviser, settings)
        return self.sentences.rates(threshold, f"the profile {self.name}", same)


@dataclass(frozen=True, slots=True)
class _StoredSentences:
    image: list[int]
    p: list[float]
    factual: list[int]
    rewritten: list[int]
    weight: list[float] | None


@dataclass(frozen=True, slots=True)
class _StoredProfile:
    """A profile's file: `CriticProfile.as_json`."""

    format: Literal["revise-captions critic profile"]
    version: Literal[1]
    critic: dict[str, str]
    map: dict[str, Any]
    figures: dict[str, Any]
    measured_on: dict[str, Any]
    reviser: dict[str, str]
    calibration: dict[str, Any]
    sentences: _StoredSentences


def of_reviser(reviser: Mapping[str, str], settings: Mapping[str, str]) -> bool:
    """Whether a run with these settings rewrote with that reviser; False if none is named."""
    return bool(reviser) and all(settings.get(key) == value for key, value in reviser.items())


def _same(one: str | None, other: str | None) -> bool:
    """Whether two values are the same; model names are compared by digest if both have one."""
    digests = [_DIGEST.search(value or "") for value in (one, other)]
    if all(digests):
        return len({found[1] for found in digests if found}) == 1
    return one == other


def read_profile(path: Path | str) -> CriticProfile:
    """Reads what `captions calibrate` wrote.

    Raises:
        UserError: The file is missing, or is not a profile of this version.
    """
    path = Path(path)
    hint = "name a file that captions calibrate wrote"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the profile {path}: {error.strerror}", hint=hint) from None
    wrong = f"{path} is not a critic's profile"
    stored = checked(_StoredProfile, content, wrong, hint=hint)
    try:
        profile = CriticProfile(
            stored.critic,
            ProbabilityMap.read(stored.map),
            _calibration(stored.calibration),
            MeasuredSentences.read(asdict(stored.sentences)),
            stored.reviser,
            stored.figures,
            stored.measured_on,
        )
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        said = f"there is no {error}" if isinstance(error, KeyError) else error
        raise UserError(f"{wrong}: {said}", hint=hint) from None
    return replace(profile, name=f"{path.name}@{hashlib.sha256(content).hexdigest()[:12]}")


def expect_one_critic(names: Sequence[str], critics: Sequence[str], profile: Path | None) -> None:
    """Raises `UserError` if a profile is given without exactly one critic to apply it to.

    Args:
        names: All named models.
        critics: Those of them that are asked the critic's question.
        profile: The profile's file.
    """
    if profile is None or (len(names) == len(critics) == 1):
        return
    raise UserError(
        f"--critic-profile is of one critic, and here "
        f"{', '.join(names) if names else 'no model'} would judge"
        f"{'' if len(names) > 1 or not names else ' by a question of its own'}",
        hint="name one critic, or leave out --critic-profile",
    )


def _calibration(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a profile that gives thresholds. Raises errors that `read_profile` catches."""
    if not 0 <= float(stored["threshold"]) <= 1.0001:
        raise ValueError(f"a threshold of {stored['threshold']}")
    for point in stored["curve"]:
        for key in ("threshold", "precision", "recall"):
            float(point[key])
    return dict(stored)


class CalibratedCritic:
    """A critic whose P(factual) is mapped by its profile.

    Args:
        critic: The critic, with the equivalent threshold before the mapping.
        profile: Its profile.
        threshold: Of calibrated P(factual).
    """

    def __init__(self, critic: Critic, profile: CriticProfile, threshold: float) -> None:
        self.critic, self.profile, self.threshold = critic, profile, threshold
        own = {key: value for key, value in critic.settings.items() if key != CALIBRATION}
        self.settings: Mapping[str, str] = {**own, CALIBRATION: profile.name}

    def prepare(self, image: Image) -> None:
        prepare(self.critic, image)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        return [[self._mapped(v) for v in row] for row in self.critic.judge(requests)]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        return self.critic.explain(requests)

    def _mapped(self, verdict: Verdict) -> Verdict:
        if verdict.p_factual is None:
            return verdict
        p = float(self.profile.map(np.array([verdict.p_factual]))[0])
        return replace(verdict, p_factual=p)
