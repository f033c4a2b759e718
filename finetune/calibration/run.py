"""`captions calibrate`: loads the critic, measures it, and writes its profile or its card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from revise_captions import registry
from revise_captions.critic import chat_prompts, prompts
from revise_captions.critic.checkpoints import CARD, CriticCard, asks_by_chat, read_card
from revise_captions.critic.load import load_critic
from revise_captions.critic.locate import SHIPPED, critic_folders
from revise_captions.critic.options import DEFAULT, CriticOptions
from revise_captions.critic.panel import first_of
from revise_captions.critic.profile import FORMAT, CriticProfile
from revise_captions.errors import UserError
from revise_captions.finetune.calibration.measure import (
    CalibrationOptions,
    judged,
    profile_of,
)
from revise_captions.finetune.calibration.sentences import (
    read_benchmark,
    read_folder,
    with_rewrites,
)
from revise_captions.io.writing import check_writable, write_json
from revise_captions.stats.error_correction import MeasuredShare
from revise_captions.stats.probability_maps import IDENTITY, METHODS
from revise_captions.text.formatting import plural


def calibrate(
    critic: str,
    data: Path,
    out: Path | None,
    *,
    into_card: bool = False,
    benchmark: str | None = None,
    rewrites: Path | None = None,
    force: bool = False,
    method: str = "auto",
    wrong_share: float | None = None,
    false_alarms: float | None = None,
    held_out: float = 0.5,
    replicates: int = 1000,
    models: CriticOptions = DEFAULT,
) -> CriticProfile:
    """Calibrates a critic on labeled sentences; see `captions calibrate --help`.

    Args:
        critic: Its name.
        data: Labeled sentences.
        out: The profile's file.
        into_card: Whether to write to the critic's own card instead.
        benchmark: The benchmark to read `data` as.
        rewrites: More labeled data, of which only the rewrites are used.
        force: Whether `out` may be replaced.
        method: See `CalibrationOptions`; likewise the next four.
        models: How the critic is loaded; for a panel, the first expert is calibrated.

    Raises:
        UserError: Nothing can be measured, or nothing may be written. Raised before judging
            starts if it can be known by then.
    """
    if (out is None) is not into_card:
        raise UserError("no output is named", hint="give --out FILE for a profile, or --into-card")
    card = _own_card(critic, models.adapter)
    if into_card:
        _check_card(critic, card, method)
    if out is not None:
        check_writable(out, [critic, data], force=force, ours=lambda head: FORMAT.encode() in head)
    trained_on = None if card is None else card.training.get("data")
    read = read_benchmark(benchmark, data) if benchmark else read_folder(data, trained_on)
    if rewrites is not None:
        read = with_rewrites(read, read_folder(rewrites, None))
    loaded = first_of(load_critic(critic, models))
    found = judged(loaded, read.captions)
    methods = tuple(name for name in METHODS if name != "isotonic" or not into_card)
    options = CalibrationOptions(method, methods, wrong_share, false_alarms, held_out, replicates)
    profile = profile_of(loaded, read, found, options)
    if out is not None:
        write_json(out, profile.as_json())
    else:
        assert card is not None
        _with(card, profile).write(Path(critic).expanduser())
    return profile


def _check_card(critic: str, card: CriticCard | None, method: str) -> None:
    """Raises `UserError` if a critic has no card to write to, or one that cannot hold the map."""
    if card is None or not registry.is_folder(registry.CRITICS, critic):
        raise UserError(
            f"{critic} is not a folder with a {CARD} to write to", hint="write a profile with --out"
        )
    if method == "isotonic":
        raise UserError(
            "a card cannot hold an isotonic map of P(factual)",
            hint="write a profile with --out, or choose --map logistic",
        )


def _with(card: CriticCard, profile: CriticProfile) -> CriticCard:
    """The card with the measurements; the map is applied after the one already there."""
    kept = {"figures": card.calibration["figures"]} if "figures" in card.calibration else {}
    more = {"measured": profile.sentences.as_json(), "reviser": dict(profile.reviser)}
    map_ = profile.map.after(card.map)
    return replace(
        card,
        threshold=profile.threshold,
        probability_map={} if map_ is IDENTITY else map_.as_json(),
        calibration={**profile.calibration, **kept, **more},
    )


def _own_card(critic: str, adapter: str | None) -> CriticCard | None:
    """The card of a checkpoint of ours; None for any other model."""
    if critic not in SHIPPED and not registry.is_folder(registry.CRITICS, critic):
        return None
    folder = critic_folders(critic, adapter)[0]
    if not (folder / CARD).exists():
        return None
    version = chat_prompts.VERSION if asks_by_chat(folder) else prompts.VERSION
    return read_card(folder, version)


def as_text(profile: CriticProfile) -> str:
    """The text that the command prints for a profile."""
    about, stored = profile.measured_on, profile.calibration
    lines = [f"{profile.critic.get('critic')}, measured on {about['data']}", ""]
    for key, label in (("fitted", "fitted on"), ("held_out", "held out")):
        part = about[key]
        wrong = part["sentences"] - part["true"]
        lines.append(
            f"{label:<12}{plural(part['images'], 'image')}, "
            f"{plural(part['sentences'], 'sentence')}, {wrong:,} of them wrong"
        )
    reasons = ", ".join(f"{why} ({count:,})" for why, count in about["unscored"].items())
    lines += [f"unscored    {sum(about['unscored'].values()):,}{reasons and ': '}{reasons}"]
    if about.get("sample"):
        lines += [f"note        {about['sample']}"]
    scores = profile.figures["brier_cross_validated"].items()
    tried = ", ".join(f"{name} {score:.4f}" for name, score in scores)
    lines += [f"map         {_map(profile)}{tried and f' (Brier score: {tried})'}", ""]
    lines += [f"{'of what was held out':<28}{'before':<24}after"]
    before, after = profile.figures["before"], profile.figures["after"]
    for key, label in (("ece", "calibration error (ECE)"), ("macro_f1", "macro-F1")):
        lines.append(f"{label:<28}{_interval(before[key]):<24}{_interval(after[key])}")
    lines += ["", f"threshold   {profile.threshold:.4f}" + _asked(stored)]
    rates = profile.rates(profile.threshold, profile.reviser)
    assert rates is not None
    kept, passed = rates.true_kept, rates.wrong_kept
    lines += [
        f"{'true sentences flagged':<28}{_share(1 - kept.share, kept)}",
        f"{'wrong sentences flagged':<28}{_share(1 - passed.share, passed)}",
    ]
    if (rewrites := rates.rewrites_true) is not None:
        lines.append(f"{'accepted rewrites, true':<28}{_share(rewrites.share, rewrites)}")
    return "\n".join(lines)


def _map(profile: CriticProfile) -> str:
    map_ = profile.map
    if map_.method in ("temperature", "logistic"):
        shift = f", shift {map_.shift:+.3f}" if map_.method == "logistic" else ""
        return f"{map_.method}: temperature {1 / map_.scale:.3f}{shift}"
    return map_.method


def _asked(stored: Mapping[str, Any]) -> str:
    """The criterion that the threshold was chosen by."""
    share, alarms = stored["wrong_share"], stored["false_alarms"]
    parts = [
        "the best macro-F1",
        *([] if share is None else [f"for {share:.0%} wrong sentences"]),
        *([] if alarms is None else [f"with at most {alarms:g} of the true sentences flagged"]),
    ]
    return f", {' '.join(parts)}"


def _interval(figure: Mapping[str, float | None]) -> str:
    if figure["low"] is None:
        return f"{figure['value']:.3f}"
    return f"{figure['value']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"


def _share(value: float, of: MeasuredShare) -> str:
    """A share with the central 95 % of its posterior."""
    low, high = np.quantile(of.draws(0, 10_000), [0.025, 0.975])
    if abs(value - of.share) > 1e-12:
        low, high = 1 - high, 1 - low
    return f"{value:.3f} [{min(low, value):.3f}, {max(high, value):.3f}] of {of.sentences:,}"
