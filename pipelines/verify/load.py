"""From options to a verifier with its parser, critic and judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from revise_captions.errors import UserError
from revise_captions.io.rows import Row
from revise_captions.pipelines.options import VerifyOptions
from revise_captions.pipelines.verify.names import checks_of
from revise_captions.pipelines.verify.verifier import Verifier, references_in
from revise_captions.posh.load import load_judge
from revise_captions.signature import signature

if TYPE_CHECKING:
    from revise_captions.critic.protocol import Critic
    from revise_captions.engines.model_spec import Placement
    from revise_captions.graphs.grading.judge import Judge
    from revise_captions.io.source import Source

#: Rows that are looked through for a reference.
FIRST_ROWS = 100


def load_verifier(
    options: VerifyOptions,
    placement: Placement,
    critic: Critic | None,
    judge: Judge | None = None,
) -> Verifier | None:
    """Loads what the chosen checks need.

    Args:
        options: Which checks, and with what.
        placement: What computes a judge that is a model.
        critic: The run's own critic, or another.

    Returns:
        None if no check is chosen.

    Raises:
        UserError: The parser or the judge is not available.
    """
    checks = checks_of(options.verify)
    if not checks:
        return None
    from revise_captions.graphs.parse import settings

    named = {"verify": ",".join(checks), **settings(options.parser)}
    if "critic" in checks and critic is not None:
        named |= {**critic.settings, "threshold": f"{critic.threshold:.4f}"}
    if "posh" in checks:
        judge = judge or load_judge(options.judge, placement)
        named |= judge.settings
    return Verifier(
        checks,
        signature(named),
        options.parser,
        critic if "critic" in checks else None,
        judge if "posh" in checks else None,
        options.reference_field,
    )


def check_parser(options: VerifyOptions) -> None:
    """Raises `UserError` if the chosen checks need a parser that is not there."""
    if checks_of(options.verify):
        from revise_captions.graphs.parse import settings

        settings(options.parser)  # loads it, for `load_verifier` too


def check_references(source: Source, field: str | None) -> None:
    """Raises `UserError` if the first rows have no reference in that field."""
    if field is None:
        return
    rows = list(islice((row.data for row in source.rows() if isinstance(row, Row)), FIRST_ROWS))
    if rows and not any_reference(rows, field):
        names = dict.fromkeys(name for row in rows for name in row)
        raise UserError(
            f'no text in the field "{field}" in the first {len(rows)} rows',
            hint=f"--reference-field takes a field with one text or a list of texts; fields found: "
            f"{', '.join(list(names)[:20])}",
        )


def any_reference(rows: Iterable[Mapping[str, Any]], field: str) -> bool:
    return any(references_in(row, field) for row in rows)
