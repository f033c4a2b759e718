"""The commands `captions run` and `captions init-recipe`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import COUNT, EXISTING_FILE, OUT, shared_option

EPILOG = """
\b
Examples:
  captions init-recipe captions.jsonl recipe.toml
  captions run recipe.toml --pilot 500     # on a sample: what it would cost, how often it is right
  captions run recipe.toml                 # resumes where it stopped
  captions run recipe.toml --in 00001.tar --out clean-00001.tar
"""


@dataclass(frozen=True, slots=True)
class RunRecipeOptions:
    """Which recipe, and on how much."""

    recipe: Path = argument("RECIPE", type=EXISTING_FILE)
    source: str | None = option(None, "Input, instead of the recipe's.", name="in", metavar="IN")
    out: str | None = option(None, "Output, instead of the recipe's.", type=OUT)
    pilot: int | None = option(
        None,
        "Run on a random sample of this many records, drawn from each captioner in proportion, "
        "and estimate the figures for all.",
        type=COUNT,
    )
    seed: int = option(0, "Seed of the pilot's sample.")
    force: bool = shared_option("--force", help="Replace OUT even if the recipe did not write it.")


def _again(_: Sequence[str]) -> str:
    return "the same command resumes where it stopped"


@command(RunRecipeOptions, name="run", heading="Correct captions", epilog=EPILOG, go_on=_again)
def run_recipe_file(options: RunRecipeOptions) -> int:
    """Run a recipe: from captions to a training dataset.

    RECIPE is a TOML file that names IN, OUT and the options of each step: filter, judge, revise,
    verify, select, write, report. A finished step is reused until something that affects its result
    changes; the steps' outputs are kept in OUT.steps.
    """
    from revise_captions.pipelines.recipe.pilot import run_pilot
    from revise_captions.pipelines.recipe.recipe import read_recipe
    from revise_captions.pipelines.recipe.run import run_recipe

    recipe = read_recipe(options.recipe, options.source, options.out)
    if options.pilot is not None:
        return run_pilot(recipe, options.pilot, options.seed)
    made = run_recipe(recipe, force=options.force)
    if made.why:
        echo(f"captions run: {made.why}", err=True)
    return made.status
