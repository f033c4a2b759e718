"""The whole loop on held-out picture-book captions, with SmolLM2 in the bundled reviser's place.

    python -m scripts.research.smollm2_reviser.loop [--scenes 60] [--write]

An oracle decides what is true, as in the bundled models' card (`bundled_models.job_figures`).
"""

from __future__ import annotations

import click

from revise_captions.commands import echo
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.pipelines.job.rounds import RevisionSettings
from revise_captions.reviser.load import BUNDLED
from scripts.research import markdown
from scripts.research.bundled_models.held_out import held_out
from scripts.research.bundled_models.job_figures import OracleCritic, loop_figures, run_loop
from scripts.research.smollm2_reviser.evaluate import PAGE, reviser_of

FIGURES = {
    "wrong_that_end_true": "wrong sentences that end true",
    "of_these_deleted": "… of these by deletion",
    "true_made_false": "true sentences made false",
    "true_kept": "true sentences kept",
    "factuality_after": "caption factuality after",
}


@click.command(help=__doc__)
@click.option("--scenes", default=60, show_default=True, help="Captions of each split.")
@click.option("--dtype", default="auto", show_default=True, help="What SmolLM2 computes in.")
@click.option("--write", is_flag=True, help="Also into the model card.")
def main(scenes: int, dtype: str, write: bool) -> None:
    judge = load_paligemma("bundled")
    large = reviser_of("smollm2", dtype)
    revisers = {"bundled reviser": reviser_of(str(BUNDLED)), "smollm2": large}
    lines = [f"| split | critic | reviser | sentences | {' | '.join(FIGURES.values())} |"]
    lines.append("| --- " * (4 + len(FIGURES)) + "|")
    for split in ("test", "compositional"):
        items = held_out(split, scenes, first=70_000)
        for critic, who in ((judge, "bundled"), (OracleCritic.of(items), "perfect")):
            for name, reviser in revisers.items():
                found = loop_figures(run_loop(items, critic, reviser, RevisionSettings()))
                cells = (f"{found[key]:.3f}" for key in FIGURES)
                count = f"{found['sentences']}, {found['wrong']} wrong"
                lines.append(f"| {split} | {who} | {name} | {count} | {' | '.join(cells)} |")
                echo(lines[-1])
    if write:
        markdown.write_blocks(PAGE, {"loop": "\n".join(lines)})


if __name__ == "__main__":
    main()
