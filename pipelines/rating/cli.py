"""The command `captions rate`."""

from __future__ import annotations

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.printing import echo
from revise_captions.pipelines.rating.options import RatingOptions

EPILOG = """
\b
Examples:
  captions rate captions.jsonl --out board             # with a field that names the captioner
  captions rate LLaVA=llava.jsonl Molmo=molmo.jsonl --out board
  captions rate GPT=gpt.jsonl --out board              # adds one; keeps the others' scores
  captions rate revised.jsonl --out board              # output of revise-captions: before and after
"""


@command(
    RatingOptions,
    name="rate",
    heading="Measure captions and metrics",
    epilog=EPILOG,
    sections=SECTIONS,
    go_on=lambda _: "run it again: finished windows are kept",
)
def rate_captions(options: RatingOptions) -> None:
    """Rank captioners by their share of true sentences.

    Judge every sentence of the captions in IN and rank their captioners.

    OUT gets leaderboard.json, .md, .tex and .html, a .csv per criterion and one of errors,
    ratings.json (counts per captioner and image), and the judged captions. If OUT already holds a
    leaderboard, the captioners of IN are added to it; without IN, its tables are rebuilt. Ranks are
    ranges: one captioner ranks above another only if a paired permutation test says so. Error types
    come from the input (`error_type` of its labeled sentences) or from the critic's rationales.
    """
    from revise_captions.pipelines.rating.leaderboard import as_text
    from revise_captions.pipelines.rating.leaderboard import rate_captions as rate

    echo(as_text(rate(options)))
