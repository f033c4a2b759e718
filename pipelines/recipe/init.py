"""`captions init-recipe`: a recipe for an input, from what `captions doctor` would see of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import OUT_FILE, shared_option

if TYPE_CHECKING:
    from revise_captions.io.source import Source
    from revise_captions.pipelines.job.probe import Probe


#: Records of a pilot: enough to decide by, and of a small input a tenth, but not fewer than this.
_PILOT, _FEWEST = 500, 10


@dataclass(frozen=True, slots=True)
class InitRecipeOptions:
    """Of which input, and where to."""

    source: str = argument("IN")
    out: Path = argument("RECIPE", type=OUT_FILE)
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option("--caption-field")
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    critic: str = shared_option("--critic")
    reviser: str | None = shared_option("--reviser")
    force: bool = shared_option("--force", help="Overwrite RECIPE.")


@command(InitRecipeOptions, name="init-recipe", heading="Correct captions")
def init_recipe(options: InitRecipeOptions) -> None:
    """Write a recipe for an input.

    Looks at 32 records across IN, as `captions doctor` does, and writes RECIPE with the fields it
    found, a critic that can judge these images, and every step with its usual options. `captions
    run RECIPE` runs it.
    """
    from revise_captions.io.writing import check_writable, write_text
    from revise_captions.pipelines.doctor.cli import planned, probe_input
    from revise_captions.runs.inputs import open_input

    job = planned(asdict(options) | {"out": ""})
    with closing(open_input(job.inputs, str(options.out))) as source:
        check_writable(options.out, source.reads(), force=options.force)
        found = probe_input(source, job)
        text = "\n".join(lines(source, options, found))
    write_text(options.out, f"{text}\n")
    echo(
        f"{options.out}: check it, then run captions run {options.out} --pilot "
        f"{pilot_of(found.total)}"
    )


def pilot_of(total: int | None) -> int:
    """How many of an input's records a pilot takes; None: the input's size is not known."""
    return _PILOT if total is None else min(total, _PILOT, max(_FEWEST, total // 10))


def lines(source: Source, options: InitRecipeOptions, found: Probe) -> Iterator[str]:
    """The recipe."""
    from revise_captions.io.readers import suffix_of_copies

    out = f"{Path(source.path.name).name.partition('.')[0]}-clean{suffix_of_copies(source)}"
    if (given := Path(source.name)).exists():  # beside IN, so that paths of images hold
        out = str(given.with_name(out))
    pilot = f"captions run {options.out} --pilot {pilot_of(found.total)}"
    yield f"# {pilot}    # first on a sample, then without --pilot"
    yield f"# {source.name}: {source.layout.title}"
    for heading, line in found.lines():
        yield f"#   {f'{heading}: ' if heading else '  '}{' '.join(line.split())}"
    yield f"in = {_text(source.name)}"
    yield f"out = {_text(out)}"
    yield "\n[input]"
    yield f"image_field = {_text(source.fields.image or '')}" if source.fields.image else ""
    yield f"caption_field = {_text(','.join(source.fields.captions))}"
    if options.image_root is not None:
        yield f"image_root = {_text(str(options.image_root))}"
    if options.allow_urls or found.urls:
        yield "allow_urls = true"
    yield "\n# [filter]               # before judging (the first two need the extra `filters`)"
    yield "# drop_duplicates = 0.9  # captions that an earlier one says nearly, too; 1: exactly"
    yield '# language = "en"'
    yield "# min_side = 64          # pixels of the shorter side"
    yield "# max_ratio = 5          # longer side by shorter side"
    yield from _models(options, found)
    yield "\n[select]          # the columns: captions columns OUT (needs the extra `select`)"
    yield '# where = "factual_after >= 0.9 and unscored = 0 and not needs_review"'
    yield "\n[write]"
    yield 'write = "caption"        # into the caption\'s own place; both: beside it'
    yield 'evidence = "sidecar"     # what was found, into OUT.evidence.jsonl'
    yield "\n[report]"
    yield 'report = "report.html"'
    yield "\n[pilot]"
    yield "least_right = 0.8        # go on where at least this share of the rewrites is right"
    yield "# price_per_hour = 2.5"


def _models(options: InitRecipeOptions, found: Probe) -> Iterator[str]:
    from revise_captions.pipelines.doctor import advice, machine

    critic = options.critic
    yield "\n[judge]"
    if advice.needs_other_critic(found):
        best = advice.best_critic(machine.look())
        yield f"# the bundled critic cannot judge these captions: {found.main_reason}"
        yield f"critic = {_text(best.name)}    # or MODEL@http://host:8000/v1"
    else:
        yield f"critic = {_text(critic)}"
    yield '# stages = "in turn"     # critic and reviser one after the other on a GPU'
    yield "\n[revise]"
    if options.reviser is not None:
        yield f"reviser = {_text(options.reviser)}"
    else:
        yield '# reviser = "Qwen/Qwen3-14B"    # by default what goes with the critic'
    yield "rounds = 2"
    yield "\n# [verify]               # needs the extra `posh`"
    yield '# verify = "text"'


def _text(value: str) -> str:
    """A TOML string."""
    return json.dumps(value, ensure_ascii=False)
