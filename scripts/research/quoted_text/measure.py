"""How often the critic `text` is right about quotes of what is written in photographs.

`python -m scripts.research.quoted_text.measure ../shared/data/scene_text` measures on the images
that nothing was tuned on; `--tuning` on the others, which decided the rules and bounds, as did
those of `../shared/data/contextual_descriptions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from revise_captions.critic.text.alignment import align, fold
from revise_captions.critic.text.checks import QuoteOutcome
from revise_captions.critic.text.critic import TextCritic, fix_of
from revise_captions.io.decoding import ImageLimits, decode, reduced
from revise_captions.reviser.fixes import FixReviser
from revise_captions.reviser.protocol import RewriteRequest
from scripts.research.frame.blocks import page_with, write_blocks
from scripts.research.frame.figures import counted_share
from scripts.research.frame.report import ROOT, write_option
from scripts.research.quoted_text.captions import (
    RIGHT,
    QuotingCaption,
    captions_of,
    read_images,
)

#: A line counts as read at this similarity of letters.
READ = 0.8
MARK = "quoted-text"


@dataclass(frozen=True, slots=True)
class JudgedQuote:
    """What became of a quote.

    Attributes:
        caption: The caption, and how it was made.
        outcome: What the critic made of it.
        read: Similarity of what stands in the image to what was read, 0 … 1.
        found: Whether every letter of the quote was read, in any order of lines.
        written: The sentence with the fixes that are certain; None where there are none.
    """

    caption: QuotingCaption
    outcome: QuoteOutcome
    read: float
    found: bool
    written: str | None

    @property
    def is_right(self) -> bool:
        return self.caption.kind == RIGHT

    @property
    def mended(self) -> bool:
        """Whether the fixes give the right text, in any case of letters."""
        made = self.caption.text.replace(self.caption.said, self.caption.right)
        return self.written is not None and self.written.casefold() == made.casefold()


def judged(folder: Path, held_out: bool) -> Iterator[JudgedQuote]:
    """Every caption of one half of the images, judged."""
    critic, reviser = TextCritic(), FixReviser()
    for one in read_images(folder):
        if one.held_out is not held_out:
            continue
        click.echo(one.name, err=True)
        image = reduced(decode(one.path.read_bytes(), ImageLimits()))
        lines = [line.text for line in critic.read(image)[0]]
        for caption in captions_of(one):
            found = {
                quote.text: (quote, check) for quote, check in critic.checked(image, caption.text)
            }
            quote, check = found[caption.said.strip(" .,;:")]
            fixes = tuple(fix_of(quote, difference) for difference in check.differences)
            (written,) = reviser.rewrite([RewriteRequest("", caption.text, "", fixes=fixes)])
            missed = align(caption.right, lines).cost / len(fold(caption.right).letters)
            exact = not align(caption.said, lines).cost
            yield JudgedQuote(caption, check.outcome, 1 - missed, exact, written)


def table(every: Sequence[JudgedQuote]) -> str:
    """Markdown, with exact 95 % intervals."""
    refuted = [one for one in every if one.outcome is QuoteOutcome.REFUTED]
    right = [one for one in every if one.is_right]
    read = [one for one in every if not one.is_right and one.read >= READ]
    written = [one for one in refuted if one.written is not None]
    floor = [one for one in every if not one.found]
    rows = [
        ("refuted quotes that are wrong", "≥ 0.97", _share(refuted, lambda q: not q.is_right)),
        ("right quotes that are refuted", "≤ 0.01", _share(right, _refuted)),
        ("right quotes that are borne out", "", _share(right, _borne_out)),
        ("wrong quotes that are found, of lines that the OCR reads", "≥ 0.80",
         _share(read, _refuted)),
        *((f"… {kind}", "", _share([q for q in read if q.caption.kind == kind], _refuted))
          for kind in dict.fromkeys(q.caption.kind for q in read)),
        ("wrong quotes that are found, of all",
         "", _share([q for q in every if not q.is_right], _refuted)),
        ("wrong quotes that are borne out", "",
         _share([q for q in every if not q.is_right], _borne_out)),
        ("fixes written that are right", "≥ 0.95", _share(written, lambda q: q.mended)),
        ("wrong quotes mended, of lines that the OCR reads", "", _share(read, lambda q: q.mended)),
        ("floor: quotes that are wrong, of those not read to the letter", "",
         _share(floor, lambda q: not q.is_right)),
        ("floor: right quotes that are not read to the letter", "",
         _share(right, lambda q: not q.found)),
    ]  # fmt: skip
    images = len({one.caption.image for one in every})
    head = f"| {images} photographs | aim | share (95 % interval) |"
    return "\n".join([head, "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)])


def _refuted(one: JudgedQuote) -> bool:
    return one.outcome is QuoteOutcome.REFUTED


def _borne_out(one: JudgedQuote) -> bool:
    return one.outcome is QuoteOutcome.BORNE_OUT


def _share(part: Sequence[JudgedQuote], is_so: object) -> str:
    assert callable(is_so)
    return counted_share(sum(bool(is_so(one)) for one in part), len(part))


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--tuning", is_flag=True, help="The images that decided the rules instead.")
@click.option("--show", is_flag=True, help="List what went wrong.")
@write_option
def main(folder: Path, tuning: bool, show: bool, write: bool) -> None:
    every = list(judged(folder, not tuning))
    for one in every if show else ():
        wrong = _refuted(one) if one.is_right else one.read >= READ and not _refuted(one)
        if wrong or (one.written is not None and not one.mended):
            caption = one.caption
            click.echo(f"{caption.image} | {caption.kind} | {caption.said} | {caption.right} | "
                       f"{one.outcome} | {one.written or ''}")  # fmt: skip
    click.echo(table(every))
    if write and not tuning:
        write_blocks(page_with(ROOT, MARK), {MARK: table(every)})


if __name__ == "__main__":
    main()
