"""What takes captions apart, matches and verifies their units, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from revise_captions.critic.load import load_critic, resolve_critic
from revise_captions.critic.profile import expect_one_critic
from revise_captions.dcscore.critic_verifier import CriticVerifier
from revise_captions.dcscore.ensemble import EnsembleVerifier, VotingRule
from revise_captions.dcscore.scorer import CaptionScorer
from revise_captions.dcscore.units import Decomposer, UnitMatcher, UnitVerifier
from revise_captions.engines.load import load_engine
from revise_captions.engines.model_spec import ModelSpec, resolve_model
from revise_captions.engines.protocol import Engine
from revise_captions.errors import UserError
from revise_captions.graphs.parse import BUNDLED

OFFLINE, REFERENCE = "offline", "reference"
#: What `load_unit_scoring` calls the offline decomposer, and whole sentences.
GRAPH, SENTENCES = "graph", "sentences"


@dataclass(frozen=True, slots=True)
class UnitModels:
    """Who takes captions apart, matches and verifies; `captions dcscore --help` says more."""

    decomposer: str = OFFLINE
    matcher: str = OFFLINE
    verifier: tuple[str, ...] = (REFERENCE,)
    vote: str = "majority"
    threshold: float | None = None
    critic_profile: Path | None = None
    parser: str = "bundled"
    encoder: str = ""
    engine: str = "transformers"
    device: str = "auto"
    batch_size: int = 16
    trust_remote_code: bool = False

    @property
    def looks(self) -> bool:
        """Whether an image is looked at."""
        return self.verifier != (REFERENCE,)

    @property
    def options(self) -> dict[str, Any]:
        """How models are computed."""
        return {
            "engine": self.engine,
            "device": self.device,
            "batch_size": self.batch_size,
            "trust_remote_code": self.trust_remote_code,
        }

    def check(self) -> None:
        """Raises `UserError` where the options contradict each other."""
        if REFERENCE in self.verifier and self.looks:
            raise UserError(
                "--verifier reference looks at no image, so it cannot vote with other verifiers",
                hint="leave it out: units are matched with the reference anyway",
            )


def load_scorer(models: UnitModels) -> CaptionScorer:
    """Loads everything that the options name. Raises UserError before any data is read."""
    models.check()
    decomposer = load_decomposer(models.decomposer, parser=models.parser, **models.options)
    if models.looks:
        verifier = load_verifier(
            models.verifier,
            vote=VotingRule(models.vote),
            threshold=models.threshold,
            profile=models.critic_profile,
            **models.options,
        )
    else:
        expect_one_critic((), (), models.critic_profile)
        verifier = None
    return CaptionScorer(decomposer, load_matcher(models), verifier)


@dataclass(frozen=True, slots=True)
class UnitScoring:
    """Takes captions apart, and says which units are true of the image."""

    decomposer: Decomposer
    verifier: UnitVerifier

    @property
    def settings(self) -> Mapping[str, str]:
        """Everything that decides a score, by name."""
        return {**self.decomposer.settings, **self.verifier.settings}


def load_unit_scoring(
    units: str,
    verifiers: Sequence[str],
    *,
    engine: str = "transformers",
    device: str = "auto",
    dtype: str = "auto",
    batch_size: int = 16,
    trust_remote_code: bool = False,
    profile: Path | None = None,
) -> UnitScoring:
    """Loads what scores units.

    Args:
        units: `graph` takes captions apart by scene graphs, `sentences` leaves sentences whole, and
            any other name is a language model's.
        verifiers: Models that say whether a unit is true; several vote. A critic of ours judges the
            unit in its sentence's place, any other model answers the paper's question about it, or,
            of whole sentences, the critic's question in their caption.
        engine: See `load_critic`; likewise the next four.
        profile: Of the one verifier, which must be a critic.

    Raises:
        UserError: A model cannot be loaded.
    """
    options: dict[str, Any] = {
        "engine": engine,
        "device": device,
        "dtype": dtype,
        "batch_size": batch_size,
        "trust_remote_code": trust_remote_code,
    }
    verifier = load_verifier(verifiers, whole=units == SENTENCES, profile=profile, **options)
    return UnitScoring(load_decomposer(units, option="--units", **options), verifier)


def load_decomposer(
    name: str, *, option: str = "--decomposer", parser: str = BUNDLED, **options: Any
) -> Decomposer:
    """Loads what takes captions apart.

    Args:
        name: `offline` or `graph`: by scene graphs; `sentences`: leaves them whole; or a language
            model.
        option: The option that the user gave the name to, for messages.
        parser: The spaCy pipeline of scene graphs.
        options: See `load_unit_scoring`.

    Raises:
        UserError: It cannot be loaded.
    """
    if name == SENTENCES:
        from revise_captions.dcscore.decomposers.sentences import SentenceDecomposer

        return SentenceDecomposer()
    if name in (OFFLINE, GRAPH):
        from revise_captions.dcscore.decomposers.graph import GraphDecomposer
        from revise_captions.graphs.parse import load_pipeline

        load_pipeline(parser)
        return GraphDecomposer(parser)
    from revise_captions.dcscore.language import LanguageDecomposer

    return LanguageDecomposer(_engine(name, option, **options))


def load_matcher(models: UnitModels) -> UnitMatcher:
    """The judge of scene graphs, or a language model."""
    if models.matcher == OFFLINE:
        from revise_captions.dcscore.offline_matcher import OfflineMatcher
        from revise_captions.text.sentence_encoder import load_encoder

        device = "cpu" if models.device == "auto" else models.device
        return OfflineMatcher(load_encoder(models.encoder, device=device), models.parser)
    from revise_captions.dcscore.language import LanguageMatcher

    return LanguageMatcher(_engine(models.matcher, "--matcher", **models.options))


def load_verifier(
    names: Sequence[str],
    *,
    vote: VotingRule = VotingRule.MAJORITY,
    threshold: float | None = None,
    profile: Path | None = None,
    whole: bool = False,
    batch_size: int = 16,
    **options: Any,
) -> UnitVerifier:
    """Loads what says whether a unit is true; several models are an ensemble.

    Args:
        names: As `verifiers` of `load_unit_scoring`.
        vote: How an ensemble decides.
        threshold: Of critics of ours; None for their own.
        profile: Of the one verifier, which must be a critic.
        whole: Whether units are whole sentences.
        batch_size: Captions, or prompts, per forward pass.
        options: See `resolve_critic`.

    Raises:
        UserError: None is named, or one cannot be loaded.
    """
    if not names:
        raise UserError("no verifier is named", hint="name one with --verifier")
    specs = [resolve_critic(name, **options) for name in names]
    asked = [spec for spec in specs if spec.kind == "paligemma" or whole]
    expect_one_critic(names, [spec.name for spec in asked], profile)
    members: list[UnitVerifier] = []
    for spec in specs:
        if spec not in asked:
            from revise_captions.dcscore.language import LanguageVerifier

            loaded = load_engine(spec, option="--verifier", batch_size=batch_size, scores=True)
            members.append(LanguageVerifier(loaded))
            continue
        critic = load_critic(spec, batch_size=batch_size, threshold=threshold, profile=profile)
        members.append(CriticVerifier(critic, claims_only=whole))
    return members[0] if len(members) == 1 else EnsembleVerifier(members, vote)


def _engine(name: str, option: str, *, batch_size: int, **options: Any) -> Engine:
    """A language model's engine; decomposer and matcher share one of the same name."""
    return _loaded(resolve_model(name, option=option, **options), batch_size)


@cache
def _loaded(spec: ModelSpec, batch_size: int) -> Engine:
    return load_engine(spec, batch_size=batch_size)
