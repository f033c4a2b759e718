"""A critic by name, on any engine.

    bundled                                picturebook, then charts
    picturebook                            our own PaliGemma 2     in process, packed, or vLLM
    charts                                 reading and claims      in process
    text                                   quotes against an OCR   in process
    a folder with critic.json              a fine-tuned critic     in process, packed, or vLLM
    a PaliGemma 2 without one              prefix attention        in process, a prompt per sentence
    any other vision–language model        through its chat format in process, or through vLLM
    MODEL@http://host:port/v1              a server's model        OpenAI's protocol
    NAME or NAME=ARGUMENT                  from other packages     (`registry.CRITICS`)
    several of these, by commas            a panel: each image goes to the first that takes it,
                                           and quotes to `text`

An entry point is a function `load(argument, options)` that returns a `Critic`; the argument is the
text after `=`. A PaliGemma's answers depend on its attention mode (`packing.AttentionMode`), so an
engine that does not support the checkpoint's mode refuses it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from revise_captions import registry
from revise_captions.critic.checkpoints import CARD, asks_by_chat
from revise_captions.critic.locate import chosen_threshold, critic_folders
from revise_captions.critic.options import DEFAULT, CriticOptions
from revise_captions.critic.panel import PanelCritic
from revise_captions.critic.profile import (
    CALIBRATION,
    UNCALIBRATED,
    CalibratedCritic,
    CriticProfile,
    read_profile,
)
from revise_captions.critic.protocol import Critic
from revise_captions.engines.model_files import model_type
from revise_captions.engines.model_spec import HUB_ID, served
from revise_captions.errors import UserError

logger = logging.getLogger(__name__)

#: Entries that load a model by name: one prompted as it was trained, and any other.
PALIGEMMA, CHAT = "paligemma", "chat"
_KINDS: Mapping[str, Callable[[str], object]] = {
    "float | None": float,
    "int": int,
    "bool": lambda text: text != "no",
}


@dataclass(frozen=True, slots=True)
class NamedCritic:
    """What a critic's name stands for: an entry of `registry.CRITICS`, and its argument."""

    name: str
    entry: str
    argument: str = ""

    @property
    def expert(self) -> str:
        """Its name in a panel: the entry's name, or the last part of a model's."""
        if self.entry not in (PALIGEMMA, CHAT):
            return self.entry
        model, url = served(self.argument) or (self.argument, "")
        model = model or str(urlsplit(url).hostname).replace(".", "-")
        return Path(model.rstrip("/")).name.replace(",", "-").replace("|", "-")


def resolve_critic(name: str) -> NamedCritic:
    """What one critic's name stands for. Loads no weights, but downloads what only a hub has.

    Raises:
        UserError: It stands for nothing.
    """
    entry, _, argument = name.partition("=")
    known = registry.entries(registry.CRITICS)
    if entry in known and ("=" in name or served(name) is None):
        return NamedCritic(name, entry, argument)
    if served(name) is not None:
        return NamedCritic(name, CHAT, name)
    if not registry.is_folder(registry.CRITICS, name) and not HUB_ID.fullmatch(name):
        raise registry.unknown(
            registry.CRITICS, name, hint="or name a folder, a hub id, or MODEL@http://host:8000/v1"
        )
    own, folder, _ = critic_folders(name)
    asked = not asks_by_chat(own) and ((own / CARD).exists() or model_type(folder) == PALIGEMMA)
    return NamedCritic(name, PALIGEMMA if asked else CHAT, name)


def load_critic(
    name: str = "bundled",
    options: CriticOptions = DEFAULT,
    experts: Mapping[str, Mapping[str, str]] | None = None,
) -> Critic:
    """Loads a critic. If it has neither card nor profile, a warning says that it is uncalibrated.

    Args:
        name: See the module; several, separated by commas, form a panel.
        options: How it is loaded; a panel's experts share them.
        experts: Options for single experts of a panel, by name, as text from the command line.

    Raises:
        UserError: The critic cannot be loaded as asked. Raised before any data is read.
    """
    named = [resolve_critic(part.strip()) for part in name.split(",")]
    own = dict(experts or {})
    if len(named) == 1 and not own:
        return _loaded(named[0], options)
    if options.of_one:
        option = options.of_one[0]
        raise UserError(
            f"whose is --{option.replace('_', '-')}? {name} is a panel of {len(named)} critics",
            hint=f"say --expert {named[-1].expert}.{option}=…",
        )
    if strangers := own.keys() - {one.expert for one in named}:
        raise UserError(
            f"--expert {sorted(strangers)[0]}: the panel has {', '.join(o.expert for o in named)}"
        )
    return PanelCritic(
        {one.expert: _loaded(one, with_text(options, own.get(one.expert, {}))) for one in named}
    )


def with_text(options: CriticOptions, given: Mapping[str, str]) -> CriticOptions:
    """The options with some replaced by values given as text, by name.

    Raises:
        UserError: There is no such option, or the text is not a valid value for it.
    """
    kinds: dict[str, Any] = {f.name: f.type for f in fields(options) if f.name != "placement"}
    values: dict[str, Any] = {}
    for name, text in given.items():
        key = name.replace("-", "_")
        if key not in kinds:
            near = registry.did_you_mean(key, kinds)
            raise UserError(f"an expert has no option {name!r}{near}", hint=", ".join(kinds))
        try:
            values[key] = _KINDS.get(str(kinds[key]), str)(text)
        except ValueError:
            raise UserError(f"--expert {name}={text}: expected {kinds[key]}") from None
    return replace(options, **values)


def expert_options(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """`NAME.OPTION=VALUE` texts by expert and option. Raises `UserError` for other texts."""
    found: dict[str, dict[str, str]] = {}
    for text in given:
        place, equals, value = text.partition("=")
        expert, dot, option = place.rpartition(".")
        if not (equals and dot and expert and option):
            raise UserError(
                f"--expert {text}: expected NAME.OPTION=VALUE", hint="such as charts.threshold=0.4"
            )
        found.setdefault(expert, {})[option] = value
    return found


def _loaded(named: NamedCritic, options: CriticOptions) -> Critic:
    """One critic, with its profile if there is one."""
    known = None if options.profile is None else read_profile(options.profile)
    limit = None
    if known is not None:
        limit = chosen_threshold(known, options.threshold, options.target_precision)
        options = replace(options, threshold=known.map.before(limit), target_precision=None)
    loaded: Critic = registry.load(registry.CRITICS, named.entry)(named.argument, options)
    return _calibrated(loaded, named.name, known, limit)


def _calibrated(
    critic: Critic, name: str, profile: CriticProfile | None, threshold: float | None
) -> Critic:
    """The critic with its profile; logs a warning if it has neither card nor profile."""
    if profile is not None and threshold is not None:
        profile.check(critic.settings)
        return CalibratedCritic(critic, profile, threshold)
    if critic.settings.get(CALIBRATION) == UNCALIBRATED:
        logger.warning(
            "the critic %s was never calibrated: its threshold is %g, and its error rates were "
            "never measured (captions calibrate does, --critic-profile applies the result)",
            *(name, critic.threshold),
        )
    return critic
