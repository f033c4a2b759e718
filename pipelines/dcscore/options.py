"""The options of `score-dcscore`, and the models they name."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from revise_captions.dcscore.scorer import CaptionScorer
from revise_captions.dcscore.units import Decomposer, UnitMatcher, UnitVerifier
from revise_captions.engines.model_spec import ModelSpec
from revise_captions.engines.protocol import Engine
from revise_captions.errors import UserError
from revise_captions.pipelines.options import InputOptions

OFFLINE, REFERENCE = "offline", "reference"


@dataclass(frozen=True, slots=True)
class UnitModels:
    """Who takes captions apart, matches and verifies; `score-dcscore --help` says more."""

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


@dataclass(frozen=True, slots=True)
class DcscoreOptions:
    """The command's arguments."""

    out: Path
    inputs: InputOptions
    models: UnitModels = field(default_factory=UnitModels)
    reference_field: str = "reference"
    units_field: str = "oracle_facts"
    group_field: str = ""
    html: Path | None = None
    show: int = 0
    force: bool = False


def load_scorer(models: UnitModels) -> CaptionScorer:
    """Loads everything that the options name. Raises UserError before any data is read."""
    if REFERENCE in models.verifier and models.looks:
        raise UserError(
            "--verifier reference looks at no image, so it cannot vote with other verifiers",
            hint="leave it out: units are matched with the reference anyway",
        )
    return CaptionScorer(load_decomposer(models), load_matcher(models), load_verifier(models))


def load_decomposer(models: UnitModels) -> Decomposer:
    """The offline decomposer, or a language model."""
    if models.decomposer == OFFLINE:
        from revise_captions.dcscore.graph_decomposer import GraphDecomposer
        from revise_captions.graphs.parse import load_pipeline

        load_pipeline(models.parser)
        return GraphDecomposer(models.parser)
    from revise_captions.dcscore.language import LanguageDecomposer

    return LanguageDecomposer(_engine(models.decomposer, models, "--decomposer"))


def load_matcher(models: UnitModels) -> UnitMatcher:
    """POSH's offline judge, or a language model."""
    if models.matcher == OFFLINE:
        from revise_captions.dcscore.offline_matcher import OfflineMatcher
        from revise_captions.text.sentence_encoder import load_encoder

        device = "cpu" if models.device == "auto" else models.device
        return OfflineMatcher(load_encoder(models.encoder, device=device), models.parser)
    from revise_captions.dcscore.language import LanguageMatcher

    return LanguageMatcher(_engine(models.matcher, models, "--matcher"))


def _engine(name: str, models: UnitModels, option: str, *, scores: bool = False) -> Engine:
    """A language model's engine; decomposer and matcher share one of the same name."""
    from revise_captions.engines.model_spec import resolve_model

    spec = resolve_model(
        name,
        engine=models.engine,
        device=models.device,
        trust_remote_code=models.trust_remote_code,
        option=option,
    )
    return _loaded(spec, models.batch_size, scores)


@cache
def _loaded(spec: ModelSpec, batch_size: int, scores: bool) -> Engine:
    from revise_captions.engines.load import load_engine

    return load_engine(spec, batch_size=batch_size, scores=scores)


def load_verifier(models: UnitModels) -> UnitVerifier | None:
    """None for reference-only; several are an ensemble."""
    from revise_captions.critic.profile import expect_one_critic

    if not models.looks:
        expect_one_critic((), (), models.critic_profile)
        return None
    specs = [_spec(name, models) for name in models.verifier]
    critics = [spec.name for spec in specs if spec.kind == "paligemma"]
    expect_one_critic(models.verifier, critics, models.critic_profile)
    members = [_load_one(spec, models) for spec in specs]
    if len(members) == 1:
        return members[0]
    from revise_captions.dcscore.ensemble import EnsembleVerifier, VotingRule

    return EnsembleVerifier(members, VotingRule(models.vote))


def _spec(name: str, models: UnitModels) -> ModelSpec:
    from revise_captions.critic.load import resolve_critic

    return resolve_critic(
        name,
        engine=models.engine,
        device=models.device,
        trust_remote_code=models.trust_remote_code,
    )


def _load_one(spec: ModelSpec, models: UnitModels) -> UnitVerifier:
    """A critic of ours judges units as sentences, any other model answers the paper's question."""
    from revise_captions.critic.load import load_critic
    from revise_captions.critic.unit_verifier import CriticVerifier

    if spec.kind != "paligemma":
        from revise_captions.dcscore.language import LanguageVerifier

        return LanguageVerifier(_engine(spec.name, models, "--verifier", scores=True))
    critic = load_critic(
        spec,
        batch_size=models.batch_size,
        threshold=models.threshold,
        profile=models.critic_profile,
    )
    return CriticVerifier(critic)
