"""A run of critic and reviser on picture-book captions, every sentence labeled by the oracle.

    python -m scripts.research.calibration.labeled_run runs/labeled --scenes 420

Writes what `captions calibrate` reads: `validation.jsonl` with the captions as they were written
and, apart, with the accepted rewrites in the captions that they made; `data.json` with the run's
signature; the pictures. `fates.jsonl` has for each caption its captioner, and for each sentence
what the critic and the oracle said before and after, for `scripts.research.calibration.coverage`.

A rewrite that the oracle cannot read counts as wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from revise_captions.critic.load import load_critic
from revise_captions.errors import UserError
from revise_captions.io.writing import check_new_folder, write_json, write_json_lines
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.pipelines.draft import Draft, compose, new_draft
from revise_captions.pipelines.job.models import named_settings
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.records import Span
from revise_captions.reviser.load import load_reviser
from revise_captions.signature import signature
from scripts.research.frame.held_out import Item, held_out

WINDOW = 64
#: Scenes of the split "test" that no other command draws.
FIRST = 700_000


def drafts(
    items: Sequence[Item], models: LoadedModels, settings: RevisionSettings
) -> Iterator[tuple[Item, Draft]]:
    """Every caption with what became of it."""
    for start in range(0, len(items), WINDOW):
        window = items[start : start + WINDOW]
        opened = [new_draft(item.image, item.text, item.spans) for item in window]
        yield from zip(window, run_stages(opened, models, settings), strict=True)


def fate_of(item: Item, draft: Draft) -> tuple[list[dict[str, Any]], str, Sequence[Span | None]]:
    """Each sentence's fate, and the revised caption with its spans.

    `p` and `true` of the sentence as written; `accepted`: whether a rewrite stands; `p_after` and
    `true_after` of what stands in its place, None where nothing does.
    """
    present, spans = compose(draft.caption, draft.sentences)
    rows: list[dict[str, Any]] = []
    for labeled, sentence, span in zip(item.sentences, draft.sentences, spans, strict=True):
        after = None
        if span is not None:
            after = oracle(item.scene, present[: span.start], span.of(present))
        rows.append(
            {
                "p": sentence.verdict.p_factual,
                "true": labeled.truth is not Truth.FALSE,
                "accepted": sentence.accepted is not None and span is not None,
                "p_after": None if span is None else sentence.now.p_factual,
                "true_after": None if after is None else after in (Truth.TRUE, Truth.NOTHING),
            }
        )
    return rows, present, spans


def _row(image: str, caption: str, sentences: list[dict[str, Any]]) -> dict[str, Any]:
    return {"image": image, "caption": caption, "sentences": sentences}


def _label(span: Span, true: bool, **more: bool) -> dict[str, Any]:
    return {**span._asdict(), "label": "factual" if true else "nonfactual", **more}


def labeled(
    item: Item, image: str, fates: Sequence[Mapping[str, Any]], caption: str,
    spans: Sequence[Span | None],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """The caption as written, and the revised one with its accepted rewrites."""
    yield _row(
        image,
        item.text,
        [_label(s, f["true"]) for s, f in zip(item.spans, fates, strict=True)],
    )
    rewrites = [
        _label(span, fate["true_after"], rewritten=True)
        for span, fate in zip(spans, fates, strict=True)
        if span is not None and fate["accepted"]
    ]
    if rewrites:
        yield _row(image, caption, rewrites)


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
    fates: list[dict[str, Any]] = []
    for number, (item, draft) in enumerate(drafts(held_out("test", scenes, first=first), models,
                                                  settings)):  # fmt: skip
        image = f"images/{number:06}.png"
        item.image.save(out / image)
        found, caption, spans = fate_of(item, draft)
        rows += labeled(item, image, found, caption, spans)
        fates.append({"captioner": item.captioner, "sentences": found})
    write_json_lines(out / "validation.jsonl", rows)
    write_json_lines(out / "fates.jsonl", fates)
    about = {"name": f"picture book, {scenes} scenes from {first}", "signature": models.signature}
    write_json(out / "data.json", about)
    click.echo(f"{scenes} captions in {out}")


if __name__ == "__main__":
    main()
