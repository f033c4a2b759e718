"""Loads, by name, what decomposes captions, and matches and verifies their units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from revise_captions.critic.load import CHAT, load_critic, resolve_critic
from revise_captions.critic.options import DEFAULT, CriticOptions
from revise_captions.critic.profile import expect_one_critic
from revise_captions.dcscore.options import OFFLINE, UnitModels
from revise_captions.dcscore.released import ReleasedPrompts, ReleasedScorer
from revise_captions.dcscore.scorer import CaptionScorer
from revise_captions.dcscore.units import Decomposer, UnitMatcher, UnitVerifier
from revise_captions.dcscore.verifiers import CriticVerifier, EnsembleVerifier, VotingRule
from revise_captions.engines.load import load_engine
from revise_captions.engines.model_spec import HERE, ModelSpec, Placement, resolve_model
from revise_captions.engines.protocol import Engine
from revise_captions.errors import UserError
from revise_captions.graphs.parse import BUNDLED

#: `load_unit_scoring`'s names for the offline decomposer, and for whole sentences.
GRAPH, SENTENCES = "graph", "sentences"


def load_scorer(models: UnitModels) -> CaptionScorer | ReleasedScorer:
    """Loads everything that the options name. Raises UserError before any data is read."""
    models.check()
    if models.prompts is not None:
        prompts = ReleasedPrompts.read(models.prompts)
        decomposer = _engine(models.decomposer, models.placement, "--decomposer")
        matcher = _engine(models.matcher, models.placement, "--matcher")
        verifier = _engine(models.verifier[0], models.placement, "--verifier")
        return ReleasedScorer(prompts, decomposer, matcher, verifier)
    return _load_steps(models)


def _load_steps(models: UnitModels) -> CaptionScorer:
    decomposer = load_decomposer(models.decomposer, models.placement, parser=models.parser)
    if models.looks:
        verifier = load_verifier(
            models.verifier,
            CriticOptions(models.placement, models.threshold, profile=models.critic_profile),
            vote=VotingRule(models.vote),
        )
    else:
        expect_one_critic((), (), models.critic_profile)
        verifier = None
    return CaptionScorer(decomposer, load_matcher(models), verifier, models.protocol)


@dataclass(frozen=True, slots=True)
class UnitScoring:
    """Decomposes captions, and says which units are true of the image."""

    decomposer: Decomposer
    verifier: UnitVerifier

    @property
    def settings(self) -> Mapping[str, str]:
        """Everything that determines a score, by name."""
        return {**self.decomposer.settings, **self.verifier.settings}


def load_unit_scoring(
    units: str,
    verifiers: Sequence[str],
    placement: Placement = HERE,
    *,
    profile: Path | None = None,
) -> UnitScoring:
    """Loads what scores units.

    Args:
        units: `graph` decomposes captions by scene graphs, `sentences` keeps sentences whole, and
            any other name is a language model's.
        verifiers: Models that say whether a unit is true; several vote. Our own critics judge the
            unit in place of its sentence; any other model answers FeedQuill's question about it
            or, for whole sentences, the critic's question in the context of the caption.
        placement: Where and how the models run.
        profile: For the only verifier, which must be a critic.

    Raises:
        UserError: A model cannot be loaded.
    """
    options = CriticOptions(placement, profile=profile)
    verifier = load_verifier(verifiers, options, whole=units == SENTENCES)
    return UnitScoring(load_decomposer(units, placement, option="--units"), verifier)


def load_decomposer(
    name: str,
    placement: Placement = HERE,
    *,
    option: str = "--decomposer",
    parser: str = BUNDLED,
) -> Decomposer:
    """Loads a decomposer.

    Args:
        name: `offline` or `graph`: by scene graphs; `sentences`: keeps them whole; or a language
            model.
        placement: Where and how the model runs.
        option: The option that gave the name, for messages.
        parser: The spaCy pipeline of scene graphs.

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

    return LanguageDecomposer(_engine(name, placement, option))


def load_matcher(models: UnitModels) -> UnitMatcher:
    """The judge of scene graphs, or a language model."""
    if models.matcher == OFFLINE:
        from revise_captions.dcscore.offline_matcher import OfflineMatcher
        from revise_captions.text.sentence_encoder import load_encoder

        device = models.placement.device
        device = "cpu" if device == "auto" else device
        return OfflineMatcher(load_encoder(models.encoder, device=device), models.parser)
    from revise_captions.dcscore.language import LanguageMatcher

    return LanguageMatcher(_engine(models.matcher, models.placement, "--matcher"))


def load_verifier(
    names: Sequence[str],
    options: CriticOptions = DEFAULT,
    *,
    vote: VotingRule = VotingRule.MAJORITY,
    whole: bool = False,
) -> UnitVerifier:
    """Loads a verifier; several models form an ensemble.

    Args:
        names: As `verifiers` of `load_unit_scoring`.
        options: How critics are loaded, and the placement of other models; a profile is for the
            only verifier.
        vote: How an ensemble decides.
        whole: Whether units are whole sentences.

    Raises:
        UserError: No model is named, or one cannot be loaded.
    """
    if not names:
        raise UserError("no verifier is named", hint="name one with --verifier")
    named = [resolve_critic(name) for name in names]
    asked = [one for one in named if one.entry != CHAT or whole]
    profile = None if options.profile is None else Path(options.profile)
    expect_one_critic(names, [one.name for one in asked], profile)
    members: list[UnitVerifier] = [
        CriticVerifier(load_critic(one.name, options), claims_only=whole)
        if one in asked
        else _language(one.argument, options.placement)
        for one in named
    ]
    return members[0] if len(members) == 1 else EnsembleVerifier(members, vote)


def _language(name: str, placement: Placement) -> UnitVerifier:
    from revise_captions.dcscore.language import LanguageVerifier

    return LanguageVerifier(load_engine(name, placement, option="--verifier", scores=True))


def _engine(name: str, placement: Placement, option: str) -> Engine:
    """A language model's engine; decomposer and matcher share it if they have the same name."""
    return _loaded(resolve_model(name, placement, option=option))


@cache
def _loaded(spec: ModelSpec) -> Engine:
    return load_engine(spec)
