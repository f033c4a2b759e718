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
from revise_captions.pipelines.options import RunOptions
from revise_captions.runs.inputs import InputOptions

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

    def check(self) -> None:
        """Raises `UserError` where the options contradict each other."""
        if REFERENCE in self.verifier and self.looks:
            raise UserError(
                "--verifier reference looks at no image, so it cannot vote with other verifiers",
                hint="leave it out: units are matched with the reference anyway",
            )


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
    resume: bool = False
    force: bool = False

    @property
    def run(self) -> RunOptions:
        """Where it is written, as the main job names it."""
        return RunOptions(out=str(self.out), resume=self.resume, force=self.force)


def load_scorer(models: UnitModels) -> CaptionScorer:
    """Loads everything that the options name. Raises UserError before any data is read."""
    models.check()
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


def _engine(name: str, models: UnitModels, option: str) -> Engine:
    """A language model's engine; decomposer and matcher share one of the same name."""
    from revise_captions.engines.model_spec import resolve_model

    spec = resolve_model(
        name,
        engine=models.engine,
        device=models.device,
        trust_remote_code=models.trust_remote_code,
        option=option,
    )
    return _loaded(spec, models.batch_size)


@cache
def _loaded(spec: ModelSpec, batch_size: int) -> Engine:
    from revise_captions.engines.load import load_engine

    return load_engine(spec, batch_size=batch_size)


def load_verifier(models: UnitModels) -> UnitVerifier | None:
    """None for reference-only; several are an ensemble."""
    from revise_captions.critic.profile import expect_one_critic
    from revise_captions.critic.units import scoring
    from revise_captions.dcscore.ensemble import VotingRule

    if not models.looks:
        expect_one_critic((), (), models.critic_profile)
        return None
    return scoring.load_verifier(
        models.verifier,
        vote=VotingRule(models.vote),
        threshold=models.threshold,
        profile=models.critic_profile,
        engine=models.engine,
        device=models.device,
        batch_size=models.batch_size,
        trust_remote_code=models.trust_remote_code,
    )
