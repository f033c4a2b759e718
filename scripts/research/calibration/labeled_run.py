"""A run of critic and reviser on picture-book captions, every sentence labeled by the oracle.

    python -m scripts.research.calibration.labeled_run runs/labeled --scenes 420

Writes what `captions calibrate` reads: `validation.jsonl` with the captions as they were written
and, apart, with the accepted rewrites in the captions that they made; `data.json` with the run's
signature; the pictures.

A rewrite that the oracle cannot read counts as wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from revise_captions.critic.load import load_critic
from revise_captions.errors import UserError
from revise_captions.io.writing import check_new_folder, write_json, write_json_lines
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.pipelines.draft import Draft
from revise_captions.pipelines.job.models import named_settings
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
from revise_captions.records import Span
from revise_captions.reviser.load import load_reviser
from revise_captions.signature import signature
from scripts.research.bundled_models.job_figures import drafts, truths_after
from scripts.research.frame.held_out import Item, held_out

#: Scenes of the split "test" that no other command draws.
FIRST = 700_000


def _row(image: str, caption: str, sentences: list[dict[str, Any]]) -> dict[str, Any]:
    return {"image": image, "caption": caption, "sentences": sentences}


def _label(span: Span, true: bool, **more: bool) -> dict[str, Any]:
    return {**span._asdict(), "label": "factual" if true else "nonfactual", **more}


def labeled(item: Item, image: str, draft: Draft) -> Iterator[dict[str, Any]]:
    """The caption as written, and the revised one with its accepted rewrites."""
    written = [_label(one.span, one.truth is not Truth.FALSE) for one in item.sentences]
    yield _row(image, item.text, written)
    present, after = truths_after(item, draft)
    rewrites = [
        _label(span, truth in (Truth.TRUE, Truth.NOTHING), rewritten=True)
        for sentence, (span, truth) in zip(draft.sentences, after, strict=True)
        if span is not None and sentence.accepted is not None
    ]
    if rewrites:
        yield _row(image, present, rewrites)


@click.command()
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("--critic", default="bundled", show_default=True)
@click.option("--scenes", type=click.IntRange(2), default=420, show_default=True)
@click.option("--first", type=int, default=FIRST, show_default=True, help="Number of the first.")
def main(out: Path, critic: str, scenes: int, first: int) -> None:
    """Run critic and reviser on fresh scenes, and write the result, labeled, to OUT."""
    try:
        check_new_folder(out)
    except UserError as error:
        raise click.ClickException(str(error)) from None
    loaded, reviser = load_critic(critic), load_reviser("bundled")
    settings = RevisionSettings("all", 2, "keep", "strict" if reviser.strict else "warn")
    named = named_settings(loaded, reviser, settings)
    models = LoadedModels(loaded, reviser, signature(named))
    (out / "images").mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    revised = drafts(held_out("test", scenes, first=first), models, settings)
    for number, (item, draft) in enumerate(revised):
        image = f"images/{number:06}.png"
        item.image.save(out / image)
        rows += labeled(item, image, draft)
    write_json_lines(out / "validation.jsonl", rows)
    about = {"name": f"picture book, {scenes} scenes from {first}", "signature": models.signature}
    write_json(out / "data.json", about)
    click.echo(f"{scenes} captions in {out}")


if __name__ == "__main__":
    main()
