"""From options to loaded models, and to the settings that decide a run's every answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from revise_captions.errors import UserError
from revise_captions.io.rows import Row
from revise_captions.pipelines.job.window import (
    WINDOW,
    OnUnfixable,
    RevisionSettings,
    Stage,
    Tools,
    stored_signature,
)
from revise_captions.pipelines.options import Options
from revise_captions.signature import settings_of as settings_in
from revise_captions.signature import signature

if TYPE_CHECKING:
    from revise_captions.critic.protocol import Critic
    from revise_captions.io.readers import Source
    from revise_captions.reviser.protocol import Reviser

#: Rows that are looked through for what an earlier stage left.
FIRST_ROWS = 100


def load_tools(options: Options, source: Source) -> tuple[Tools, RevisionSettings]:
    """Loads what the stage needs. Raises `UserError` where a model is not to be had."""
    if options.reference_field is not None:
        from revise_captions.pipelines.verify.load import check_references

        check_references(source, options.reference_field)
    rows = (row.data for row in source.rows() if isinstance(row, Row))
    earlier = earlier_signature(rows, options.stage)
    critic = load_critic_of(options) if options.stage != "revise" else None
    reviser = load_reviser_of(options) if options.stage != "critique" else None
    return tools_of(critic, reviser, options, earlier)


def _no_loading_bars() -> None:
    """Keeps transformers' own progress out of the user's terminal."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def load_critic_of(options: Options) -> Critic:
    from revise_captions.critic.load import load

    _no_loading_bars()
    return load(
        options.critic,
        engine=options.engine,
        adapter=options.adapter,
        device=options.device,
        dtype=options.dtype,
        batch_size=options.batch_size,
        threshold=options.threshold,
        target_precision=options.target_precision,
        samples=options.samples,
        compiled=options.compile,
    )


def load_reviser_of(options: Options) -> Reviser:
    from revise_captions.reviser.content_words import read_dictionary
    from revise_captions.reviser.load import load_reviser

    _no_loading_bars()
    read_dictionary()
    return load_reviser(
        options.reviser,
        engine=options.engine,
        device=options.device,
        dtype=options.dtype,
        batch_size=options.batch_size,
    )


def tools_of(
    critic: Critic | None, reviser: Reviser | None, options: Options, earlier: str = ""
) -> tuple[Tools, RevisionSettings]:
    """The models with what names them. `earlier`: the signature of the stage before, if any.

    Raises `UserError` where this stage does not fit the one before.
    """
    before = settings_in(earlier)
    if critic is None:
        threshold = options.threshold
        if threshold is None:
            threshold = float(before["threshold"])
    else:
        threshold = critic.threshold
        mine, theirs = critic.settings.get("critic"), before.get("critic")
        if theirs is not None and theirs != mine:
            raise UserError(
                f"the input was judged by the critic {theirs}, this one is {mine}",
                hint="go on with that critic, or judge anew: give the original captions, "
                "or --stage all",
            )
    settings = loop_settings_of(options, strict=reviser is None or reviser.strict)
    named = named_settings(critic, reviser, threshold, settings)
    verifier = None
    if options.verify != "none":
        from revise_captions.pipelines.verify.load import load_verifier

        verifier = load_verifier(options, critic, threshold)
    return Tools(critic, reviser, threshold, signature(named), verifier), settings


def earlier_signature(rows: Iterable[Mapping[str, Any]], stage: str) -> str:
    """The signature of the stage before, from the first rows; "" where there was none.

    Raises `UserError` where `revise` has nothing to go on with.
    """
    if stage == "all":
        return ""
    found = (stored_signature(row) for row in islice(rows, FIRST_ROWS))
    earlier = next(filter(None, found), "")
    if stage == "revise" and "threshold" not in settings_in(earlier):
        raise UserError(
            "--stage revise goes on with what --stage critique wrote, and there is no `revision` "
            f"in the first {FIRST_ROWS} rows",
            hint="run --stage critique first, and give its output here",
        )
    return earlier


def loop_settings_of(options: Options, *, strict: bool) -> RevisionSettings:
    guard = options.guard or ("strict" if strict else "warn")
    return RevisionSettings(
        cast(Stage, options.stage),
        options.rounds,
        cast(OnUnfixable, options.on_unfixable),
        "strict" if guard == "strict" else "warn",
    )


def named_settings(
    critic: Critic | None, reviser: Reviser | None, threshold: float, settings: RevisionSettings
) -> dict[str, str]:
    """What the signature says. Not the stage: run in turn, they end where `all` ends."""
    named: dict[str, str] = {} if critic is None else dict(critic.settings)
    named |= {
        "threshold": f"{threshold:.4f}",
        "rounds": str(settings.rounds),
        "on-unfixable": settings.on_unfixable,
    }
    if reviser is not None:
        named |= {**reviser.settings, "guard": settings.guard}
    return named


def run_settings(tools: Tools, settings: RevisionSettings, options: Options) -> dict[str, Any]:
    """Everything that decides what is written: the journal's key, and shown in the report."""
    verification: dict[str, Any] = {}
    if tools.verifier is not None:
        verification = {
            "verification": tools.verifier.signature,
            "reference-field": options.reference_field,
        }
    return {
        **verification,
        **named_settings(tools.critic, tools.reviser, tools.threshold, settings),
        "stage": settings.stage,
        "batch-size": options.batch_size,
        "window": WINDOW,
        "in": options.source,
        "image-field": options.image_field,
        "caption-field": options.caption_field,
        "image-root": str(options.image_root) if options.image_root else None,
        "allow-urls": options.allow_urls,
        "limit": options.limit,
        "shard": options.shard,
        "signature": tools.signature,
    }
