"""From options to loaded models, and to the settings that determine every answer of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from revise_captions.command_line.printing import echo
from revise_captions.critic.checkpoints import GOES_WITH
from revise_captions.critic.panel import EXPERTS, experts_of
from revise_captions.critic.reading.rationale import VERSION as READING
from revise_captions.errors import UserError
from revise_captions.io.rows import Row
from revise_captions.io.source import WINDOW
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
from revise_captions.pipelines.job.window import stored_signature
from revise_captions.pipelines.options import (
    JobOptions,
    ModelOptions,
    RunOptions,
    Stage,
    VerifyOptions,
)
from revise_captions.reviser import guards
from revise_captions.runs.inputs import input_settings
from revise_captions.runs.progress import announced
from revise_captions.signature import settings_of, signature

if TYPE_CHECKING:
    from revise_captions.critic.options import CriticOptions
    from revise_captions.critic.protocol import Critic
    from revise_captions.engines.protocol import Engine
    from revise_captions.io.source import Source
    from revise_captions.reviser.protocol import Reviser

#: How many rows are searched for the results of an earlier stage.
FIRST_ROWS = 100


def load_models(job: JobOptions, source: Source) -> tuple[LoadedModels, RevisionSettings]:
    """Loads what the stage needs. Raises `UserError` where a model is not available."""
    stage = job.run.stage
    if job.verify.verify != "none":  # before loading the models, which takes minutes
        from revise_captions.pipelines.verify.load import check_parser, check_references

        check_parser(job.verify)
        check_references(source, job.verify.reference_field)
    rows = (row.data for row in source.rows() if isinstance(row, Row))
    earlier = earlier_signature(rows, stage)
    before = settings_of(earlier)
    if stage != "critique":
        check_reviser(job.models, before)
    critic = reviser = None
    if stage == "revise" and job.models.critic_profile is not None:
        from revise_captions.critic.known_errors import expect_profile

        expect_profile(before, job.models.critic_profile)
    if stage != "revise":
        with announced(f"loading the critic {job.models.critic} …"):
            critic = load_critic_of(job.models)
    if stage != "critique":
        with announced(f"loading the reviser {job.models.reviser or ''} …".replace("  ", " ")):
            check_reviser(job.models, before, critic)
            reviser = load_reviser_of(job.models, critic, before)
    settings = [each.settings for each in (critic, reviser) if each is not None]
    for line in sorted({line for found in settings for line in server_findings(found)}):
        echo(line, err=True)
    return assembled(critic, reviser, job.models, job.run, job.verify, earlier)


def server_findings(settings: Mapping[str, str]) -> list[str]:
    """What is known about each server that these settings name, one line each."""
    found = (key.removesuffix("-can") for key in settings if key.endswith("server-can"))
    return [f"{settings[key]}: {settings[f'{key}-can']}" for key in found]


def critic_options(models: ModelOptions) -> CriticOptions:
    """The options for loading a critic."""
    from revise_captions.critic.options import CriticOptions

    return CriticOptions(
        models.placement,
        models.threshold,
        models.target_precision,
        models.adapter,
        models.critic_profile,
        models.samples,
        models.compile,
    )


def load_critic_of(models: ModelOptions) -> Critic:
    """The critic, or the panel, that the options name."""
    from revise_captions.critic.load import expert_options, load_critic

    experts = expert_options(models.expert)
    return load_critic(models.critic, critic_options(models), experts)


def check_reviser(
    models: ModelOptions, earlier: Mapping[str, str] | None = None, critic: Critic | None = None
) -> None:
    """Raises `UserError` where no reviser is named and a critic has no default one.

    Args:
        models: What the options name.
        earlier: The settings of an earlier stage; {} or None where there was none.
        critic: The critic, if it is already loaded.
    """
    if models.reviser is not None:
        return
    settings = critic.settings if critic is not None else earlier or {}
    for name, own in experts_of(settings).items() if settings else ():
        if GOES_WITH not in own and _engine_of(critic, name) is None:
            raise _needs_reviser(own.get("critic", "given"))
    if not settings:
        _check_names(models.critic)


def _check_names(critic: str) -> None:
    """The same check before anything is loaded, as far as names and cards allow."""
    from revise_captions.critic.load import PALIGEMMA, resolve_critic
    from revise_captions.critic.locate import stored_card

    for name in critic.split(","):
        named = resolve_critic(name.strip())
        if named.entry == PALIGEMMA and not stored_card(named.argument).goes_with:
            raise _needs_reviser(named.name)


def _needs_reviser(critic: str) -> UserError:
    return UserError(
        f"the critic {critic} needs a reviser: it judges and explains, but cannot rewrite",
        hint="name one with --reviser, such as Qwen/Qwen3-14B; `drop` deletes what is flagged; "
        "`smollm2` rewrites English offline, `bundled` without it picture-book sentences only",
    )


def _engine_of(critic: Critic | None, expert: str) -> Engine | None:
    """The engine of a critic, or of a panel's expert, that is an instruct model and so can rewrite;
    None for others."""
    from revise_captions.critic.instruct import InstructCritic
    from revise_captions.critic.panel import PanelCritic
    from revise_captions.critic.protocol import unwrapped

    own = critic.experts.get(expert) if isinstance(critic, PanelCritic) else critic
    own = None if own is None else unwrapped(own)
    return own.engine if isinstance(own, InstructCritic) else None


def load_reviser_of(
    models: ModelOptions, critic: Critic | None = None, earlier: Mapping[str, str] | None = None
) -> Reviser:
    """The reviser that the options name; by default the revisers that go with the critic's experts.
    An instruct critic is its own reviser.

    Args:
        models: What the options name.
        critic: The run's critic, loaded; None in stage `revise`.
        earlier: The settings of an earlier stage, which name its critic's default reviser.
    """
    from revise_captions.reviser.chat import ChatReviser
    from revise_captions.reviser.load import load_reviser
    from revise_captions.reviser.panel import PanelReviser
    from revise_captions.text.content_words import read_dictionary

    read_dictionary()

    if models.reviser is not None:
        return load_reviser(models.reviser, models.placement)
    settings = critic.settings if critic is not None else earlier or {}
    revisers: dict[str, Reviser] = {}
    for expert, own in experts_of(settings).items():
        engine = _engine_of(critic, expert)
        named = own.get(GOES_WITH, "bundled")
        revisers[expert] = (
            load_reviser(named, models.placement) if engine is None else ChatReviser(engine)
        )
    return revisers[""] if "" in revisers else PanelReviser(revisers)


def assembled(
    critic: Critic | None,
    reviser: Reviser | None,
    models: ModelOptions,
    run: RunOptions,
    verify: VerifyOptions,
    earlier: str = "",
) -> tuple[LoadedModels, RevisionSettings]:
    """The models with their signature. `earlier`: the signature of the previous stage, if any.

    Raises `UserError` where this stage does not fit the previous one.
    """
    before = settings_of(earlier)
    if critic is not None:
        mine, theirs = _rater(critic.settings), _rater(before)
        if "critic" in before and theirs != mine:
            raise UserError(
                f"the input was judged by the critic {theirs}, but this critic is {mine}",
                hint="use that critic, or judge again: give the original captions, or --stage all",
            )
    guard = run.guard or ("strict" if reviser is None or reviser.strict else "warn")
    in_place = run.write == "caption"
    settings = RevisionSettings(run.stage, run.rounds, run.on_unfixable, guard, in_place)
    named = named_settings(critic, reviser, settings, models.threshold)
    verifier = None
    if verify.verify != "none":
        from revise_captions.pipelines.verify.load import load_verifier

        verifier = load_verifier(verify, models.placement, critic)
    again = models.threshold if critic is None else None
    return LoadedModels(critic, reviser, signature(named), verifier, again), settings


def _rater(settings: Mapping[str, str]) -> str:
    """A critic's name, and whether it judges clauses, too."""
    by_clauses = any(key.rpartition(".")[2] == "clauses" for key in settings)
    return settings.get("critic", "none") + " by clauses" * by_clauses


def earlier_signature(rows: Iterable[Mapping[str, Any]], stage: Stage) -> str:
    """The signature of the previous stage, from the first rows; "" where there was none.

    Raises `UserError` where `revise` finds no critique to continue from.
    """
    if stage == "all":
        return ""
    found = (stored_signature(row) for row in islice(rows, FIRST_ROWS))
    earlier = next(filter(None, found), "")
    if stage == "revise" and "critic" not in settings_of(earlier):
        raise UserError(
            "--stage revise continues the output of --stage critique, but there is no `revision` "
            f"in the first {FIRST_ROWS} rows",
            hint="run --stage critique first, and give its output here",
        )
    return earlier


def named_settings(
    critic: Critic | None,
    reviser: Reviser | None,
    settings: RevisionSettings,
    threshold: float | None = None,
) -> dict[str, str]:
    """The settings in the signature. The stage is not one: running the stages in turn gives the
    same results as `all`.

    `threshold`: for a stage without a critic, where it overrides the previous stage's.
    """
    named: dict[str, str] = {} if critic is None else dict(critic.settings)
    if critic is not None and EXPERTS not in critic.settings:
        threshold = critic.threshold
    if threshold is not None:
        named["threshold"] = f"{threshold:.4f}"
    named |= {"rounds": str(settings.rounds), "on-unfixable": settings.on_unfixable}
    if reviser is not None:
        named |= {**reviser.settings, "guard": settings.guard}
        named |= {"guards": guards.VERSION, "reading": READING}
    return named


def run_settings(
    models: LoadedModels, settings: RevisionSettings, job: JobOptions
) -> dict[str, Any]:
    """Everything that determines the output: the journal's key, also shown in the report."""
    verification: dict[str, Any] = {}
    if models.verifier is not None:
        verification = {
            "verification": models.verifier.signature,
            "reference-field": job.verify.reference_field,
        }
    return {
        **verification,
        **named_settings(models.critic, models.reviser, settings, models.threshold),
        "stage": settings.stage,
        "write": job.run.write,
        "batch-size": job.models.batch_size,
        "window": WINDOW,
        **input_settings(job.inputs),
        "signature": models.signature,
    }
