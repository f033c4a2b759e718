"""How well revisers mend what people changed, by how the rationale speaks.

    python -m scripts.research.edits.evaluate DATA smollm2 [--reporting] [--strangers] [--json FILE]

*right*: the right sentence, but for case and a full stop; *remainder*: what stands before and after
the change is the sentence's, byte for byte; *passes, not right*: the guards let it through, and it
is not the right sentence. Styles of rationales: `not` (“It is X, not Y.”), `wordings` (a dozen
others; those of the reporting half were not read while the rules were made), and `statement`, the
right sentence, which names nothing; with `--strangers`, `not` and those of `strangers`. 95 %
intervals over images and documents. DATA can be a file that `--draw FILE` has written of the
collections, for a machine that has none of them.

Nothing is chosen on the reporting half.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import jsonlines

from revise_captions.command_line.printing import echo
from revise_captions.engines.model_spec import Placement
from revise_captions.reviser.guards import check
from revise_captions.reviser.load import load_reviser
from revise_captions.reviser.protocol import RewriteRequest
from scripts.research.edits import strangers
from scripts.research.edits.sets import DATA as WORDINGS
from scripts.research.edits.sets import PersonEdit, read_edits
from scripts.research.frame.figures import rows_as_table, share_of_hits, spread
from scripts.research.smollm2_reviser.evaluate import as_a_job_asks, kept_remainder

STYLES = ("not", "wordings", "statement")


@dataclass(frozen=True, slots=True)
class MendedEdit:
    """One rewrite of one edit."""

    edit: PersonEdit
    style: str
    rationale: str
    rewrite: str | None
    right: bool
    kept: bool
    passes_wrong: bool


def rationale_of(edit: PersonEdit, style: str, number: int, reporting: bool) -> str:
    """What a critic would say of an edit."""
    if style in strangers.STYLES:
        return strangers.rationale_of(edit, style, number, reporting)
    if style == "statement":
        return edit.right
    pool = WORDINGS["unheard" if reporting else "heard"] if style == "wordings" else []
    said = []
    for wrong, right in edit.changes:
        wording = pool[number % len(pool)] if pool else WORDINGS["heard"][0]
        text = wording.format(wrong=wrong, right=right)
        said.append(f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}")
    return " ".join(said)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def judged(edit: PersonEdit, request: RewriteRequest, style: str, text: str | None) -> MendedEdit:
    """A rewrite against the right sentence, and the guards' word on it."""
    found = edit.sentence if text is None else text
    right = _plain(found) == _plain(edit.right)
    why = None if text is None else check(request, text, mode="strict").why
    passes = text is not None and why is None
    kept = kept_remainder(edit.sentence, edit.right, found)
    return MendedEdit(edit, style, request.rationale, text, right, kept, passes and not right)


def asked(edit: PersonEdit, rationale: str) -> RewriteRequest:
    """The request as the job makes it: the fixes that the rationale names go along."""
    return as_a_job_asks(RewriteRequest("", edit.sentence, rationale))


@dataclass(frozen=True, slots=True)
class SpokenEdit:
    """An edit with what a critic says of it, in one style."""

    edit: PersonEdit
    style: str
    rationale: str


def spoken(
    edits: Sequence[PersonEdit], reporting: bool, styles: Sequence[str] = STYLES
) -> list[SpokenEdit]:
    return [
        SpokenEdit(edit, style, rationale_of(edit, style, number, reporting))
        for style in styles
        for number, edit in enumerate(edits)
    ]


def measure(
    rewrite: Callable[[Sequence[RewriteRequest]], list[str | None]], told: Sequence[SpokenEdit]
) -> list[MendedEdit]:
    requests = [asked(one.edit, one.rationale) for one in told]
    rows = zip(told, requests, rewrite(requests), strict=True)
    return [judged(one.edit, request, one.style, text) for one, request, text in rows]


def read_spoken(file: Path) -> list[SpokenEdit]:
    """What `--draw` has written."""
    with jsonlines.open(file) as rows:
        return [
            SpokenEdit(
                PersonEdit(**{**row["edit"], "changes": tuple(map(tuple, row["edit"]["changes"]))}),
                row["style"], row["rationale"],
            )
            for row in rows
        ]  # fmt: skip


def table(name: str, results: Sequence[MendedEdit]) -> Iterator[list[str]]:
    """Rows of Markdown: each style over all, then each kind."""
    for style in dict.fromkeys(one.style for one in results):
        of_style = [one for one in results if one.style == style]
        for kind in ("all", *dict.fromkeys(one.edit.kind for one in of_style)):
            some = [one for one in of_style if kind in ("all", one.edit.kind)]
            sources = [one.edit.source for one in some]
            shares = []
            for hits in ([o.right for o in some], [o.kept for o in some],
                         [o.passes_wrong for o in some]):  # fmt: skip
                share = share_of_hits(hits, sources)
                shares.append(f"{share.value:.3f}{spread(share.low, share.high)}")
            yield [name, style, kind, str(len(some)), *shares]


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.argument("revisers", nargs=-1)
@click.option("--reporting", is_flag=True, help="The half that nothing is chosen on.")
@click.option("--each", default=30, show_default=True, help="Edits of each kind, at most.")
@click.option("--strangers", "others", is_flag=True, help="Other edits, in strangers' wordings.")
@click.option("--style", "styles", multiple=True, help="Of rationales, all by default; repeatable.")
@click.option("--dtype", default="auto", show_default=True, help="What models compute in.")
@click.option("--device", default="auto", show_default=True, help="Where models compute.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write every rewrite here.")
@click.option("--draw", type=click.Path(path_type=Path), help="Write the edits here, and end.")
def main(
    data: Path, revisers: tuple[str, ...], reporting: bool, each: int, others: bool,
    styles: tuple[str, ...], dtype: str, device: str, out: Path | None, draw: Path | None,
) -> None:  # fmt: skip
    if data.is_file():
        told = read_spoken(data)
    else:
        reader = strangers.read_strangers if others else read_edits
        edits = reader(data, reporting=reporting, each=each)
        told = spoken(
            edits, reporting, styles or (("not", *strangers.STYLES) if others else STYLES)
        )
    if draw:
        with jsonlines.open(draw, "w") as rows_of:
            rows_of.write_all(map(asdict, told))
        return
    head = ["reviser", "rationale", "edits", "n", "right", "remainder", "passes, not right"]
    rows, written = [head], []
    for name in revisers:
        placed = Placement(device=device, dtype=dtype)
        results = measure(load_reviser(name, placed).rewrite, told)
        rows += table(name, results)
        written += [
            {"reviser": name, "style": one.style, "kind": one.edit.kind, "right": one.right,
             "kept": one.kept, "passes_wrong": one.passes_wrong, "sentence": one.edit.sentence,
             "rationale": one.rationale, "rewrite": one.rewrite, "expected": one.edit.right}
            for one in results
        ]  # fmt: skip
    echo(rows_as_table(rows))
    if out:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written)
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
