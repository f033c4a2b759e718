"""A critic by name, whatever computes it.

    charts                                 reading and claims      in process, no model
    bundled, a folder with critic.json     our own PaliGemma 2     in process, packed, or vLLM;
                                                                   charts go to `charts`
    a PaliGemma 2 without one              prefix attention        in process, one prompt a sentence
    any other vision–language model        through its chat format in process, or through vLLM
    MODEL@http://host:port/v1              a server's model        OpenAI's protocol

A PaliGemma's answers depend on its attention mode (`packing.AttentionMode`): an engine that cannot
compute the checkpoint's refuses it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from revise_captions.critic import chat_prompts
from revise_captions.critic.adapters import check_base, with_adapter
from revise_captions.critic.checkpoints import CARD, CriticCard, asks_by_chat, read_card
from revise_captions.critic.locate import (
    BUNDLED,
    chosen_threshold,
    critic_folders,
    weights_digest,
)
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.vllm import expect_attention_mode, load_vllm_critic
from revise_captions.critic.profile import (
    CALIBRATION,
    UNCALIBRATED,
    CalibratedCritic,
    CriticProfile,
    read_profile,
)
from revise_captions.critic.protocol import Critic
from revise_captions.engines.model_files import model_type
from revise_captions.engines.model_spec import ModelSpec, resolve_model
from revise_captions.errors import UserError

logger = logging.getLogger(__name__)

#: The critic that reads charts, and needs no weights of a network.
CHARTS = "charts"
#: The card of a model that was never calibrated as a critic.
NO_CARD = CriticCard(AttentionMode.CAUSAL)


def resolve_critic(
    name: str,
    *,
    engine: str = "transformers",
    device: str = "auto",
    dtype: str = "auto",
    any_attention_mode: bool = False,
    trust_remote_code: bool = False,
) -> ModelSpec:
    """What a critic's name stands for. Loads no weights; what only a hub has is downloaded.

    Args:
        name: `bundled`, a folder, a hub id, or a server's model.
        engine: What computes it, unless its name is a server's.
        device: See `ModelSpec`.
        dtype: See `ModelSpec`.
        any_attention_mode: Whether its attention mode will be overridden.
        trust_remote_code: See `ModelSpec`; no code of a PaliGemma critic ever runs.

    Raises:
        UserError: It cannot be found, or the engine cannot compute it.
    """
    if name == CHARTS and not Path(name).is_dir():
        return ModelSpec(name, "charts", "")
    spec = resolve_model(
        name,
        engine=engine,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        option="--critic",
    )
    if spec.engine == "openai":
        return spec
    own, folder, _ = critic_folders(name)
    is_own = not asks_by_chat(own) and (
        name == "bundled" or (own / CARD).exists() or model_type(folder) == "paligemma"
    )
    if not is_own:
        return spec
    if engine == "vllm" and not any_attention_mode:
        expect_attention_mode(read_card(own).attention_mode, folder)
    source = str(BUNDLED) if name == "bundled" else spec.source
    return replace(spec, kind="paligemma", source=source)


def load_critic(
    critic: str | ModelSpec = "bundled",
    *,
    engine: str = "transformers",
    adapter: str | None = None,
    dtype: str = "auto",
    device: str = "auto",
    batch_size: int = 16,
    threshold: float | None = None,
    target_precision: float | None = None,
    profile: Path | str | None = None,
    packed: bool = True,
    attention_mode: str | None = None,
    samples: int = 0,
    compiled: bool = False,
    trust_remote_code: bool = False,
    routed: bool = True,
) -> Critic:
    """Loads a critic. One without card and profile says in the log that it is uncalibrated.

    Args:
        critic: A name (see the module), or what `resolve_critic` made of one: then its engine,
            device, dtype and trust are its own.
        engine: `transformers`, `vllm` or `openai`.
        adapter: A LoRA adapter's folder or hub id, added to the weights.
        dtype: See `ModelSpec`.
        device: See `ModelSpec`.
        batch_size: Most rows of a forward pass, one caption or prompt each.
        threshold: Overrides the checkpoint's, or the profile's.
        target_precision: Overrides it with the threshold at which flagged sentences reached this
            precision on the checkpoint's validation data, or the profile's.
        profile: File of `captions calibrate`, which P(factual) and threshold are calibrated by.
        packed: Whether the sentences of a caption share a forward pass; if not, the answers are
            the same and come more slowly.
        attention_mode: Overrides the checkpoint's. The answers are then wrong: for experiments.
        samples: Answers to sample from a server that returns no log-probabilities.
        compiled: Compiles the layers: the same answers but for rounding.
        trust_remote_code: See `ModelSpec`.
        routed: Whether `bundled` hands charts to the critic of charts. An adapter, a profile, a
            target precision and another attention mode are about its own weights: with them, it
            does not.

    Raises:
        UserError: The critic cannot be loaded as asked. Raised before any data is read.
    """
    own_only = any(x is not None for x in (adapter, profile, target_precision, attention_mode))
    known = None if profile is None else read_profile(profile)
    limit = None if known is None else chosen_threshold(known, threshold, target_precision)
    if known is not None and limit is not None:
        threshold, target_precision = known.map.before(limit), None
    spec = critic
    if isinstance(spec, str):
        spec = resolve_critic(
            spec,
            engine=engine,
            device=device,
            dtype=dtype,
            any_attention_mode=attention_mode is not None,
            trust_remote_code=trust_remote_code,
        )
    _check_options(spec, compiled, attention_mode)
    options = {"threshold": threshold, "target_precision": target_precision, "adapter": adapter}
    local = {"packed": packed, "compiled": compiled}
    loaded = _of_kind(spec, options, local, batch_size, samples, attention_mode)
    if spec.name == "bundled" and routed and not own_only:
        return _routed(loaded)
    return _calibrated(loaded, spec.name, known, limit)


def _of_kind(
    spec: ModelSpec,
    options: Mapping[str, Any],
    local: Mapping[str, Any],
    batch_size: int,
    samples: int,
    attention_mode: str | None,
) -> Critic:
    """The critic, by what computes it. `local`: options of our own network in this process."""
    if spec.kind == "charts":
        return _charts(**{name: options[name] for name in ("threshold", "target_precision")})
    if spec.kind != "paligemma":
        return _instruct(spec, batch_size=batch_size, samples=samples, **options)
    ours = {**options, "dtype": spec.dtype, "attention_mode": attention_mode}
    if spec.engine == "vllm":
        return load_vllm_critic(spec.name, **ours)
    return load_paligemma(spec.name, device=spec.device, batch_size=batch_size, **ours, **local)


def _check_options(spec: ModelSpec, compiled: bool, attention_mode: str | None) -> None:
    """Raises `UserError` for options that are only for some critics."""
    if compiled and (spec.kind, spec.engine) != ("paligemma", "transformers"):
        raise UserError(
            f"--compile is for PaliGemma 2 critics in this process, and {spec.name} is not one",
            hint="leave it out: vLLM and servers do their own compiling",
        )
    if spec.kind != "paligemma" and attention_mode is not None:
        raise UserError("only PaliGemma 2 critics have an attention mode to choose")


def _calibrated(
    critic: Critic, name: str, profile: CriticProfile | None, threshold: float | None
) -> Critic:
    """The critic with its profile; without card and profile, a warning in the log."""
    if profile is not None and threshold is not None:
        profile.check(critic.settings)
        return CalibratedCritic(critic, profile, threshold)
    if critic.settings.get(CALIBRATION) == UNCALIBRATED:
        logger.warning(
            "the critic %s was never calibrated: its threshold is %g, and nobody measured how often"
            " it errs (captions calibrate does, --critic-profile applies it)",
            *(name, critic.threshold),
        )
    return critic


def _routed(own: Critic) -> Critic:
    """The bundled critic, and behind it the critic of charts, where what reads them is installed.

    The domain gate goes first, so that runs without charts cost what they cost without them.
    """
    from revise_captions.critic.charts.critic import ChartCritic
    from revise_captions.critic.charts.language import chart_language
    from revise_captions.critic.charts.missing import MissingChartCritic
    from revise_captions.critic.panel import PanelCritic

    charts: Critic = MissingChartCritic() if _absent() else ChartCritic(language=chart_language())
    return PanelCritic({"picturebook": own, "charts": charts})


def _absent() -> list[str]:
    """The libraries that reading charts needs and that are not installed."""
    from importlib.util import find_spec

    return [name for name in ("cv2", "rapidocr", "onnxruntime") if find_spec(name) is None]


def _charts(*, threshold: float | None, target_precision: float | None) -> Critic:
    """The critic of charts, where what reads them is installed."""
    from revise_captions.critic.charts.critic import ChartCritic
    from revise_captions.critic.charts.language import chart_language

    if absent := _absent():
        raise UserError(
            f"the critic charts needs the library {absent[0]}, which is not installed",
            hint="pip install 'revise-captions[charts]'",
        )
    if target_precision is not None:
        raise UserError(
            "the critic charts stores no precision–recall curve",
            hint="give a --threshold instead of a --target-precision",
        )
    return ChartCritic(threshold=threshold, language=chart_language())


def _instruct(
    spec: ModelSpec,
    *,
    adapter: str | None,
    threshold: float | None,
    target_precision: float | None,
    batch_size: int,
    samples: int,
) -> Critic:
    """An instruct model as a critic, fine-tuned or not."""
    from revise_captions.critic.instruct import InstructCritic
    from revise_captions.engines.load import load_engine
    from revise_captions.engines.transformers.engine import TransformersEngine

    own: Path | None = None
    added: Path | None = None
    if spec.engine != "openai":
        own, folder, added = critic_folders(spec.name, adapter)
        if added is not None:
            spec = replace(spec, name=str(folder), source=str(folder))
            check_base(added, weights_digest(folder), folder)
    if (adapter is not None or added is not None) and spec.engine != "transformers":
        raise UserError(
            f"--engine {spec.engine} cannot add an adapter to a model",
            hint="train with --merge and name the merged folder",
        )
    card = NO_CARD
    if own is not None and asks_by_chat(own):
        card = read_card(own, chat_prompts.VERSION)
    limit = chosen_threshold(card, threshold, target_precision)
    loaded = load_engine(
        spec, option="--critic", batch_size=batch_size, samples=samples, scores=True
    )
    if added is not None:
        assert isinstance(loaded, TransformersEngine)
        loaded.model = with_adapter(loaded.model, added).eval()
        digest = weights_digest(added)
        loaded.settings = {**loaded.settings, "adapter": f"{added.name}@{digest}"}
    return InstructCritic(loaded, threshold=limit, calibrated=bool(card.calibration))
