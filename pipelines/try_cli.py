"""The command `captions try`: one caption, judged and revised in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.options import argument, option
from revise_captions.pipelines.options import ModelOptions

if TYPE_CHECKING:
    from revise_captions.records import Revision, Sentence

EPILOG = """
\b
Examples:
  captions try photo.jpg "A dog sleeps on a red sofa. It rains."
  captions try photo.jpg - --critic Qwen/Qwen3-VL-8B-Instruct@http://localhost:8000/v1 < caption.txt
"""
#: A line of the result, and its rich style.
Styled = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TryOptions(ModelOptions):
    """Which caption is judged, and by which models."""

    image: str = argument("IMAGE", type=click.Path(exists=True))
    caption: str = argument("CAPTION")
    rounds: int = option(2, "Rewrites tried per flagged sentence.", type=click.IntRange(0, 20))


@command(
    TryOptions,
    name="try",
    heading="Correct captions",
    epilog=EPILOG,
    sections=SECTIONS,
)
def try_caption(options: TryOptions) -> int:
    """Judge and revise one caption in the terminal.

    Judge and revise one CAPTION (`-`: standard input) of the file IMAGE, and show every step.

    The exit status is 4 if no sentence could be judged.
    """
    from rich.console import Console

    from revise_captions.errors import UserError
    from revise_captions.io.rows import BadRow
    from revise_captions.outside_text import plain
    from revise_captions.pipelines.api import revise
    from revise_captions.pipelines.job.verdict import DONE, NOTHING_JUDGED
    from revise_captions.runs.progress import announced

    models = asdict(options)
    models |= models.pop("server")
    image, caption = models.pop("image"), models.pop("caption")
    text = sys.stdin.read() if caption == "-" else caption
    with announced(f"loading the critic {options.critic} …"):
        results = revise([{"image": image, "caption": text.strip()}], **models)
    (result,) = results
    if isinstance(result, BadRow):
        raise UserError(f"{str(result.reason).replace('_', ' ')}: {result.detail}")
    (revision,) = result.revisions.values()
    console = Console()
    for line, style in shown(revision):
        console.print(plain(line), style=style or None, markup=False, highlight=False)
    judged = any(sentence.verdict.unscored is None for sentence in revision.sentences)
    return DONE if judged else NOTHING_JUDGED


def shown(revision: Revision) -> Iterator[Styled]:
    """The sentences with their verdicts and rewrites, then the current caption."""
    reasons = set()
    for sentence in revision.sentences:
        yield from _sentence(sentence, revision.caption, revision.threshold)
        if sentence.verdict.unscored is not None:
            reasons.add(sentence.verdict.unscored)
    yield "", ""
    yield (
        f"threshold {revision.threshold:.4f}: a sentence with a lower P(factual) is flagged",
        "dim",
    )
    if revision.revised_caption != revision.caption:
        yield "", ""
        yield revision.revised_caption, "bold"
    elif any(sentence.attempts for sentence in revision.sentences):
        yield "nothing was changed", "bold"
    from revise_captions.pipelines.report.headline import remedy

    for reason in sorted(reasons):
        yield "", ""
        yield remedy(reason), "yellow"


def _sentence(sentence: Sentence, caption: str, threshold: float) -> Iterator[Styled]:
    text = " ".join(sentence.span.of(caption).split())
    p = sentence.verdict.p_factual
    if p is None:
        yield f"?  unscored  {text}", "yellow"
        yield f"             {sentence.verdict.unscored}", "yellow"
        return
    good = p >= threshold
    mark, style = ("✓", "green") if good else ("✗", "red")
    yield f"{mark}  {p:8.4f}  {text}", style
    if sentence.rationale is not None and sentence.rationale.text:
        yield f"             why: {sentence.rationale.text}", ""
    for attempt in sentence.attempts:
        after = "" if attempt.p_after is None else f"{attempt.p_after:.4f}  "
        if attempt.accepted:
            yield f"   →  {after}{attempt.text or '(deleted)'}", "green"
        else:
            yield f"   ·  {after}{attempt.text or '(no rewrite)'}: {attempt.why}", "dim"
    if sentence.dropped and not sentence.attempts:
        yield "   →  (deleted)", "green"
