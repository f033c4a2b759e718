"""A run of critic and reviser on picture-book captions, every sentence labeled by the oracle.

    python -m scripts.research.calibration.labeled_run runs/labeled --scenes 420

Writes what `captions calibrate` reads: `validation.jsonl` with the captions as they were written
and, apart, with the accepted rewrites in the captions that they made; `data.json` with the run's
signature; the pictures.

    python -m scripts.research.calibration.labeled_run --split compositional --scenes 300 \
        --elsewhere critic/bundled

puts what was measured on scenes of another kind onto the critic's card instead: corrected shares
widen their intervals by it (`stats.error_correction`).

A rewrite that the oracle cannot read counts as wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from revise_captions.critic.checkpoints import read_card
from revise_captions.critic.load import load_critic
from revise_captions.critic.profile import MeasuredSentences
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


def measured(revised: Iterable[tuple[Item, Draft]]) -> MeasuredSentences:
    """Every sentence as written, and every accepted rewrite, with its P(factual) and its truth;
    those that the critic left unscored are left out."""
    rows: list[tuple[int, float | None, bool, bool]] = []
    for number, (item, draft) in enumerate(revised):
        _, after = truths_after(item, draft)
        for sentence, true, (_, truth) in zip(draft.sentences, item.factual, after, strict=True):
            rows.append((number, sentence.verdict.p_factual, true, False))
            if truth is not None and sentence.accepted is not None:
                mended = truth in (Truth.TRUE, Truth.NOTHING)
                rows.append((number, sentence.now.p_factual, mended, True))
    image, p, factual, rewritten = zip(*(row for row in rows if row[1] is not None), strict=True)
    return MeasuredSentences(
        np.array(image), np.array(p), np.array(factual), np.array(rewritten), np.ones(len(p))
    )


def _onto_card(folder: Path, found: MeasuredSentences, origin: str) -> None:
    card = read_card(folder)
    other = {"origin": origin, "sentences": found.as_json()}
    replace(card, calibration={**card.calibration, "elsewhere": other}).write(folder)


@click.command()
@click.argument("out", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option("--critic", default="bundled", show_default=True)
@click.option("--split", default="test", show_default=True)
@click.option("--scenes", type=click.IntRange(2), default=420, show_default=True)
@click.option("--first", type=int, default=FIRST, show_default=True, help="Number of the first.")
@click.option(
    "--elsewhere",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of the critic, whose card is written instead of OUT.",
)
def main(
    out: Path | None, critic: str, split: str, scenes: int, first: int, elsewhere: Path | None
) -> None:
    """Run critic and reviser on fresh scenes, and write the result, labeled, to OUT."""
    if (out is None) is (elsewhere is None):
        raise click.UsageError("give OUT, or --elsewhere FOLDER")
    loaded, reviser = load_critic(critic), load_reviser("bundled")
    settings = RevisionSettings("all", 2, "keep", "strict" if reviser.strict else "warn")
    models = LoadedModels(loaded, reviser, signature(named_settings(loaded, reviser, settings)))
    revised = drafts(held_out(split, scenes, first=first), models, settings)
    if elsewhere is not None:
        origin = f"{split} scenes of its world"
        _onto_card(elsewhere, measured(revised), origin)
        click.echo(f"{scenes} captions on the card in {elsewhere}")
        return
    assert out is not None
    _write(out, revised, models, f"picture book, {scenes} scenes from {first}")


def _write(
    out: Path, revised: Iterable[tuple[Item, Draft]], models: LoadedModels, name: str
) -> None:
    """The labeled captions, their pictures, and what they are."""
    try:
        check_new_folder(out)
    except UserError as error:
        raise click.ClickException(str(error)) from None
    (out / "images").mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    for number, (item, draft) in enumerate(revised):
        image = f"images/{number:06}.png"
        item.image.save(out / image)
        rows += labeled(item, image, draft)
    write_json_lines(out / "validation.jsonl", rows)
    write_json(out / "data.json", {"name": name, "signature": models.signature})
    click.echo(f"{len(list((out / 'images').iterdir()))} captions in {out}")


if __name__ == "__main__":
    main()
