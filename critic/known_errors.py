"""A critic's known error rates, for correcting the shares that it reports.

A profile says most: it holds the sentences measured, so any threshold can be evaluated. So does a
card written by `captions calibrate --into-card`; one from `captions finetune` has the
precision–recall curve of its validation split. The charts critic has a card of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from revise_captions import registry
from revise_captions.critic.charts.card import read_cards
from revise_captions.critic.checkpoints import CARD, asks_by_chat, read_card
from revise_captions.critic.locate import SHIPPED, critic_folders, weights_digest
from revise_captions.critic.panel import experts_of
from revise_captions.critic.profile import CALIBRATION, MeasuredSentences, of_reviser, read_profile
from revise_captions.errors import UserError
from revise_captions.stats.error_correction import ErrorRates, MeasuredShare
from revise_captions.stats.verdict_levels import fitted_levels


def known_errors(
    settings: Mapping[str, str],
    critic: str = "bundled",
    adapter: str | None = None,
    profile: Path | None = None,
) -> ErrorRates | None:
    """Error rates of a run's critic, at the run's threshold.

    Args:
        settings: Of the run's signature.
        critic: The critic's name, or the names of a panel; a card is used if it belongs to the
            weights of the run's critic.
        adapter: The adapter's name.
        profile: A profile; it is used if the run was judged with it.

    Returns:
        None where nothing is known.
    """
    if "threshold" not in settings:
        return None
    threshold = float(settings["threshold"])
    if CALIBRATION in settings:
        found = None if profile is None else read_profile(profile)
        if found is None or settings[CALIBRATION] != found.name:
            return None
        return found.rates(threshold, settings)
    card = next((one for one in read_cards() if one.is_of(settings)), None)
    if card is not None:
        same = of_reviser(card.reviser, settings)
        own = MeasuredSentences.read(card.sentences)
        return _widened(own, card.origin, card.elsewhere, threshold, same)
    calibration = _card_of(settings, critic, adapter)
    if calibration is None:
        return None
    if stored := calibration.get("measured"):
        same = of_reviser(calibration.get("reviser") or {}, settings)
        own = MeasuredSentences.read(stored)
        other = calibration.get("elsewhere")
        return _widened(own, "the critic's card", other, threshold, same)
    return rates_of_curve(calibration, threshold)


def _widened(
    own: MeasuredSentences,
    origin: str,
    other: Mapping[str, Any] | None,
    threshold: float,
    same_reviser: bool,
) -> ErrorRates | None:
    """Error rates, supplemented with those on captions of another kind if a card has them; if it
    groups captions by author, as a function of the share of sentences called factual."""
    rates = own.rates(threshold, origin, same_reviser)
    if rates is None or other is None:
        return rates
    found = MeasuredSentences.read(other["sentences"])
    levels = fitted_levels([*own.populations(threshold), *found.populations(threshold)])
    if levels is not None:
        # another reviser leaves other sentences
        return replace(rates, levels=levels if same_reviser else replace(levels, left=0.0))
    return replace(rates, elsewhere=found.rates(threshold, other["origin"], same_reviser))


def expect_profile(settings: Mapping[str, str], profile: Path) -> None:
    """Raises `UserError` if captions with these settings were not judged with the profile."""
    found = read_profile(profile)
    fitting = [own for own in experts_of(settings).values() if found.fits(own)]
    if not fitting:
        found.check(settings)
    settings = fitting[0] if fitting else settings
    if settings.get(CALIBRATION) != found.name:
        raise UserError(
            f"these captions were judged with calibration {settings.get(CALIBRATION, 'by card')}, "
            f"not with the profile {found.name}",
            hint="judge them again with --critic-profile, or leave it out here",
        )


def _card_of(
    settings: Mapping[str, str], critic: str, adapter: str | None
) -> Mapping[str, Any] | None:
    """The calibration on the card of the run's critic; None if the card is not at hand."""
    for name in critic.split(","):
        is_folder = registry.is_folder(registry.CRITICS, name) and Path(name).expanduser().is_dir()
        if name not in SHIPPED and not is_folder:
            continue
        own, base, added = critic_folders(name, adapter)
        key, folder = ("critic", base) if added is None else ("adapter", added)
        named, _, digest = settings.get(key, "").rpartition("@")
        usable = bool(named) and (own / CARD).exists() and not asks_by_chat(own)
        if usable and digest == weights_digest(folder):
            return read_card(own).calibration
    return None


def rates_of_curve(calibration: Mapping[str, Any], threshold: float) -> ErrorRates | None:
    """Error rates from a stored precision–recall curve, interpolated between its points.

    The card does not say which sentences share an image, so all are treated as independent.

    Args:
        calibration: As `stats.calibration.Calibration.as_dict`.
        threshold: Of P(factual).
    """
    curve = calibration.get("curve")
    if not curve:
        return None
    true = int(calibration["factual"])
    wrong = int(calibration["sentences"]) - true
    share = calibration.get("wrong_share") or wrong / (true + wrong)
    at, precision, recall = (
        np.array([point[key] for point in curve]) for key in ("threshold", "precision", "recall")
    )
    alarms = share * recall * (1 - precision) / np.maximum(precision, 1e-9) / (1 - share)
    flagged, alarm = (float(np.interp(threshold, at, rate, left=0.0)) for rate in (recall, alarms))
    return ErrorRates(
        MeasuredShare(1 - min(alarm, 1.0), true, true),
        MeasuredShare(1 - flagged, wrong, wrong),
        None,
        "the figures on the critic's card",
    )
