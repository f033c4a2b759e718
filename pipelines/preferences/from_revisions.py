"""Preference pairs from `revise-captions`: the revised caption over the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from statistics import fmean
from typing import Any

from revise_captions.command_line.printing import echo
from revise_captions.errors import BadRecord, Reason, own_step
from revise_captions.io.fields import look_up
from revise_captions.io.rows import BadRow, Row
from revise_captions.pipelines.output.outcomes import captions_of
from revise_captions.pipelines.output.schema import from_json
from revise_captions.pipelines.output.writers import check_output
from revise_captions.pipelines.preferences.finished import is_complete
from revise_captions.pipelines.preferences.options import PreferenceOptions
from revise_captions.pipelines.preferences.rows import conversation
from revise_captions.pipelines.preferences.sampling import PROMPT
from revise_captions.pipelines.preferences.statistics import SideSums
from revise_captions.records import Record, Revision
from revise_captions.runs.inputs import open_input
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import OutputCounts, write_rows


def pairs_of_revisions(options: PreferenceOptions) -> OutputCounts | None:
    """Writes a pair for each caption with an accepted rewrite, and prints what they are.

    Returns:
        As `run.collect`.

    Raises:
        UserError: IN cannot be read, or OUT not be written.
    """
    sums, captions = SideSums(), 0
    with closing(open_input(options.inputs, options.out)) as source:
        if is_complete(source, options):
            return None
        check_output(source, options.out, force=options.force, reads=options.reads())

        def rows(row: Row, result: RowResult) -> Iterator[dict[str, Any]]:
            nonlocal captions
            image = look_up(row.data, source.fields.image or "")
            prompts = options.prompts or (PROMPT,)
            for found in result.revised["captions"]:
                captions += 1
                if found["accepted"]:
                    words = [len(found[side].split()) for side in ("revised", "original")]
                    sums.add(found["margin"], *words)
                    yield {
                        **conversation(
                            image,
                            prompts[(row.line - 1) % len(prompts)],
                            found["revised"],
                            found["original"],
                        ),
                        "by": "revision",
                        "margin": found["margin"],
                        "words": words,
                    }

        written = write_rows(source, map(_result, source), options.out, rows)
    echo(f"{captions:,} captions, {sums.pairs:,} pairs; {written.quarantined:,} rows quarantined")
    if sums.pairs:
        chosen, rejected = sums.chosen_words / sums.pairs, sums.rejected_words / sums.pairs
        echo(f"words: chosen {chosen:.2f}, rejected {rejected:.2f}")
    return written


def _result(row: Record | BadRow) -> RowResult | BadRow:
    """What `rows` needs of a row's revisions."""
    if isinstance(row, BadRow):
        return row
    try:
        with own_step(Reason.BAD_REVISION):
            stored = {key: row.fields.get(key) for key in ("revised_caption", "revision")}
            if not isinstance(stored["revision"], Mapping):
                raise BadRecord(Reason.BAD_REVISION, "no `revision`: run revise-captions first")
            found = []
            for name, revised, part in captions_of(stored):
                original = row.captions[name or next(iter(row.captions))]
                own = from_json(original, {"revised_caption": revised, "revision": part})
                found.append(_caption(own))
            return RowResult(row.line, {"captions": found})
    except BadRecord as error:
        return BadRow.of(row, row.source, error)


def _caption(revision: Revision) -> dict[str, Any]:
    """A caption before and after; `margin`: the mean rise of P(factual) of rewritten sentences."""
    accepted = [one for sentence in revision.sentences if (one := sentence.accepted) is not None]
    rises = [
        attempt.p_after - attempt.p_before
        for attempt in accepted
        if attempt.p_after is not None and attempt.p_before is not None
    ]
    same = revision.revised_caption.strip() in ("", revision.caption.strip())
    return {
        "original": revision.caption,
        "revised": revision.revised_caption,
        "accepted": bool(accepted) and not same,
        "margin": round(fmean(rises), 6) if rises else 0.0,
    }
