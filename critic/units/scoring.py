"""From names to a decomposer and a verifier of its units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.critic.load import load_critic, resolve_critic
from revise_captions.critic.profile import expect_one_critic
from revise_captions.critic.unit_verifier import CriticVerifier
from revise_captions.dcscore.ensemble import EnsembleVerifier, VotingRule
from revise_captions.dcscore.units import Decomposer, UnitVerifier
from revise_captions.engines.load import load_engine
from revise_captions.engines.model_spec import ModelSpec
from revise_captions.errors import UserError

GRAPH, SENTENCES = "graph", "sentences"


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
    return UnitScoring(_decomposer(units, options), verifier)


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
            members.append(_language(spec, batch_size))
            continue
        critic = load_critic(spec, batch_size=batch_size, threshold=threshold, profile=profile)
        members.append(CriticVerifier(critic, claims_only=whole))
    return members[0] if len(members) == 1 else EnsembleVerifier(members, vote)


def _decomposer(units: str, options: dict[str, Any]) -> Decomposer:
    if units == SENTENCES:
        from revise_captions.dcscore.sentence_decomposer import SentenceDecomposer

        return SentenceDecomposer()
    if units == GRAPH:
        from revise_captions.dcscore.graph_decomposer import GraphDecomposer
        from revise_captions.graphs.parse import BUNDLED, load_pipeline

        load_pipeline(BUNDLED)
        return GraphDecomposer()
    from revise_captions.dcscore.language import LanguageDecomposer

    return LanguageDecomposer(load_engine(units, option="--units", **options))


def _language(spec: ModelSpec, batch_size: int) -> UnitVerifier:
    from revise_captions.dcscore.language import LanguageVerifier

    return LanguageVerifier(
        load_engine(spec, option="--verifier", batch_size=batch_size, scores=True)
    )
