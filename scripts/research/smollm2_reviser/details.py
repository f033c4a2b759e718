"""What a rewrite loses that nobody called wrong, by the oracle, and what the guard saves.

    python -m scripts.research.smollm2_reviser.details bundled smollm2 --scenes 200 [--data DATA]

Wrong sentences of held-out captions are rewritten by their rationales. A rewrite that passes the
guards and is true is accepted. Details are the facts of the scene that the right sentence tells in
its place (`oracle.coverage.told`). `before` is without the guard against losses, `after` with it.
With DATA, also: right rewrites of real sentences (`edits`, held out) that the guard refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import click

from revise_captions.commands import echo
from revise_captions.picturebook.oracle.coverage import told
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.records import Why
from revise_captions.reviser import guards
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.stats.bootstrap import ratio_interval
from scripts.research import markdown
from scripts.research.bundled_models.held_out import Item, held_out
from scripts.research.smollm2_reviser.evaluate import (
    PAGE,
    held_out_examples,
    kind_of,
    reviser_of,
    shown,
)

HEAD = (
    "| reviser | guard | accepted | details lost per accepted rewrite | true, refused for a loss |"
)


@dataclass(frozen=True, slots=True)
class MendableSentence:
    """A wrong sentence of a held-out caption, with what is to be asked, and the right one."""

    item: Item
    before: str
    request: RewriteRequest
    right: str


@dataclass(frozen=True, slots=True)
class Loss:
    """What became of one rewrite: details lost (None: not accepted), and whether the guard against
    losses refused one that is true and loses nothing."""

    image: int
    lost: int | None
    falsely_refused: bool
    right: bool


def wrong_sentences(scenes: int) -> Iterator[MendableSentence]:
    """Wrong sentences of the test split that a rewrite can mend, one of a caption."""
    for item in held_out("test", scenes, balanced=True):
        for sentence in item.sentences:
            if sentence.truth is Truth.FALSE and sentence.rationales and sentence.rewrite:
                before = item.text[: sentence.span.start]
                request = RewriteRequest(
                    before, sentence.span.of(item.text), max(sentence.rationales, key=len)
                )
                yield MendableSentence(item, before, request, sentence.rewrite)
                break


def losses(
    cases: Sequence[MendableSentence], texts: Sequence[str | None], mode: str, guarded: bool
) -> list[Loss]:
    """The losses of the rewrites, by a mode of the guards, with the one against them or without."""
    found = []
    for number, (case, text) in enumerate(zip(cases, texts, strict=True)):
        request, scene = case.request, case.item.scene
        if not text:
            found.append(Loss(number, None, False, False))
            continue
        gone = told(scene, case.before + case.right) - told(scene, case.before + text)
        true = oracle(scene, case.before, text) is Truth.TRUE
        why = guards.check(request.sentence, request.rationale, text, mode=mode).why
        if not guarded and why is Why.LOST_CONTENT:
            with mock.patch.object(guards, "lost_content", return_value=[]):
                why = guards.check(request.sentence, request.rationale, text, mode=mode).why
        right = true and not gone
        accepted = true and why is None
        found.append(
            Loss(number, len(gone) if accepted else None, right and why is Why.LOST_CONTENT, right)
        )
    return found


def rows(
    name: str, cases: Sequence[MendableSentence], texts: Sequence[str | None], mode: str
) -> Iterator[str]:
    """A line of the table without the guard and one with it."""
    for guarded in (False, True):
        found = losses(cases, texts, mode, guarded)
        lost = [loss.lost for loss in found if loss.lost is not None]
        mean = ratio_interval(lost, [1] * len(lost)) if lost else None
        right = sum(loss.right for loss in found)
        yield (
            f"| {name} | {'after' if guarded else 'before'} | {len(lost)} of {len(found)} | "
            f"{shown(mean) if mean else '–'} | {sum(x.falsely_refused for x in found)} of {right} |"
        )


def refused(data: Path, each: int) -> Iterator[str]:
    """Of right rewrites of real sentences, how many the guard against losses refuses, by kind."""
    kinds: dict[str, list[bool]] = {}
    for example in held_out_examples(data, each, "guard"):
        asked = example.request
        if example.rewrite in ("", asked.sentence):
            continue
        why = guards.check(asked.sentence, asked.rationale, example.rewrite, mode="strict").why
        kinds.setdefault(kind_of(example), []).append(why is Why.LOST_CONTENT)
    for kind, found in kinds.items():
        share = ratio_interval([int(value) for value in found], [1] * len(found))
        yield f"| {kind} | {shown(share)} of {len(found)} |"


@click.command(help=__doc__)
@click.argument("revisers", nargs=-1)
@click.option("--scenes", default=200, show_default=True, help="Scenes of the test split.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Real captions, too.")
@click.option("--each", default=100, show_default=True, help="Real sentences of each kind.")
@click.option("--dtype", default="auto", show_default=True, help="What models compute in.")
@click.option("--write", is_flag=True, help="Also into the model card.")
def main(
    revisers: tuple[str, ...], scenes: int, data: Path | None, each: int, dtype: str, write: bool
) -> None:
    cases = list(wrong_sentences(scenes)) if revisers else []
    lines = [HEAD, "| --- | --- | --- | --- | --- |"] if cases else []
    for name in revisers:
        reviser = reviser_of(name, dtype)
        texts = reviser.rewrite([case.request for case in cases])
        lines += rows(name, cases, texts, "strict" if reviser.strict else "warn")
    if data is not None:
        lines += ["", "| right rewrites of real sentences | refused for a loss |", "| --- | --- |"]
        lines += refused(data, each)
    echo("\n".join(lines))
    if write:
        markdown.write_blocks(PAGE, {"details": "\n".join(lines)})


if __name__ == "__main__":
    main()
