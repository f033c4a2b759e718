"""Fits how `critic/reading/slots.py` weighs the readings of a rationale.

    python -m scripts.research.edits.fit_slots DATA [--examples 1500] [--folds 3] [--write]

Edits of the developing half of `strangers`, in every wording of that half, those of the first set
and of `slots.toml`; rationales that name nothing beside them. A log-linear model over all readings
of a rationale, with a Gaussian prior. The table is of wordings that were left out: one fold of them
at a time, with the weights of the others.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from revise_captions.charts.claims.edits import with_fixes
from revise_captions.command_line.printing import echo
from revise_captions.critic.reading import slots
from revise_captions.critic.reading.places import fix_of
from revise_captions.critic.reading.wordings import NamedPair
from scripts.research.edits import strangers
from scripts.research.edits.sets import DATA, PersonEdit
from scripts.research.frame.data import beside
from scripts.research.frame.figures import rows_as_table, share_of_hits, spread

OUT = Path(slots.__file__).with_name("slots.json")
_SILENT = 0.28  # of rationales name nothing
_RARE, _PRIOR, _STEPS = 5, 0.3, 150


@dataclass(frozen=True, slots=True)
class NamedExample:
    """A rationale with its readings; `wording`: its number, -1 where it names nothing."""

    wording: int
    text: str
    edit: PersonEdit
    readings: tuple[slots.Reading, ...]
    right: frozenset[int]


def wordings() -> list[str]:
    return [
        *DATA["heard"],
        *strangers.DATA["named"]["heard"],
        *beside(__file__, "slots.toml")["named"],
    ]


def examples(edits: Sequence[PersonEdit], count: int) -> list[NamedExample]:
    """Random edits in random wordings, where one of the readings is right."""
    rng, pool, found = random.Random(0), wordings(), []
    denials = beside(__file__, "slots.toml")["none"]
    for _ in range(count):
        edit = rng.choice(edits)
        (wrong, right), *_ = edit.changes
        bare = re.sub(r"^(?:an?|the) ", "", wrong)
        number = -1 if rng.random() < _SILENT else rng.randrange(len(pool))
        if number >= 0 or rng.random() < 0.5:
            wording = pool[number] if number >= 0 else rng.choice(denials)
            text = wording.format(wrong=wrong, right=right, bare=bare)
            text = f"{text[:1].upper()}{text[1:]}"
        else:
            style = rng.choice(("truth", "elsewise"))
            text = strangers.rationale_of(edit, style, rng.randrange(40), False)
            if wrong.casefold() in text.casefold():
                continue
        read = tuple(slots.readings(text, edit.sentence))
        if len(read) > 1 and (good := _right(read, edit, number)):
            found.append(NamedExample(number, text, edit, read, good))
    return found


def _right(read: Sequence[slots.Reading], edit: PersonEdit, number: int) -> frozenset[int]:
    """The readings that are what was meant, or else that put the right sentence together."""
    if number < 0:
        return frozenset((0,))
    (wrong, right), *_ = edit.changes
    meant = {(wrong.casefold(), right.casefold())}
    said = [(one.wrong.casefold(), one.right.casefold()) for one in read]
    if found := frozenset(k for k, pair in enumerate(said) if pair in meant):
        return found
    near = (
        k
        for k, (w, r) in enumerate(said)
        if w and w in wrong.casefold() and abs(len(r) - len(right)) < 6
    )
    return frozenset(k for k in near if _same(rewritten(read[k], edit.sentence), edit.right))


def rewritten(reading: slots.Reading, sentence: str) -> str:
    fix = fix_of(NamedPair(reading.wrong, reading.right), sentence)
    return with_fixes(sentence, [fix]) if fix else sentence


def _same(one: str, other: str) -> bool:
    plain = [" ".join(text.casefold().split()).rstrip(".") for text in (one, other)]
    return plain[0] == plain[1]


def fitted(found: Sequence[NamedExample]) -> dict[str, float]:
    """Weights by feature; those that hardly count are left out."""
    import torch

    counts = Counter(
        name for one in found for name in {n for r in one.readings for n in r.features}
    )
    at = {name: k for k, name in enumerate(sorted(n for n, c in counts.items() if c >= _RARE))}
    rows: list[int] = []
    columns: list[int] = []
    owner: list[int] = []
    good: list[bool] = []
    for number, one in enumerate(found):
        for k, reading in enumerate(one.readings):
            known = [at[name] for name in reading.features if name in at]
            rows += [len(owner)] * len(known)
            columns += known
            owner.append(number)
            good.append(k in one.right)
    places = torch.tensor([rows, columns])
    table = torch.sparse_coo_tensor(places, torch.ones(len(rows)), (len(owner), len(at))).coalesce()
    owners, goods = torch.tensor(owner), torch.tensor(good)
    weights = torch.zeros(len(at), requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def total(scores: torch.Tensor) -> torch.Tensor:
        top = torch.full((len(found),), -1e9).scatter_reduce(0, owners, scores, "amax")
        sums = torch.zeros(len(found)).index_add(0, owners, torch.exp(scores - top[owners]))
        return top + torch.log(sums)

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        scores = torch.sparse.mm(table, weights[:, None])[:, 0]
        missed = total(scores) - total(torch.where(goods, scores, torch.full_like(scores, -1e4)))
        value: torch.Tensor = missed.sum() + _PRIOR * (weights**2).sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)
    return {name: round(float(weights[k]), 2) for name, k in at.items() if abs(weights[k]) >= 0.05}


def left_out(found: Sequence[NamedExample], folds: int) -> list[list[str]]:
    """What the readings alone put into sentences, in wordings that the weights have not seen."""
    hits: list[tuple[bool, bool, bool, str]] = []
    for fold in range(folds):
        weights = fitted([one for one in found if _fold(one, folds) != fold])
        for one in found:
            if _fold(one, folds) == fold:
                likely = slots.likely_fix(one.text, one.edit.sentence, weights)
                fix = likely.fix if likely else None
                after = with_fixes(one.edit.sentence, [fix]) if fix and fix.certain else None
                right = after is not None and _same(after, one.edit.right)
                wrong = after is not None and not right
                hits.append((one.wording >= 0, right, wrong, one.edit.source))
    rows = [["rationales", "n", "right", "wrong"]]
    for name, naming in (("that name words", True), ("that name none", False)):
        some = [hit for hit in hits if hit[0] == naming]
        sources = [hit[3] for hit in some]
        columns = ([hit[1] for hit in some], [hit[2] for hit in some])
        shares = [share_of_hits(column, sources) for column in columns]
        rows.append(
            [name, str(len(some)), *(f"{s.value:.3f}{spread(s.low, s.high)}" for s in shares)]
        )
    return rows


def _fold(example: NamedExample, folds: int) -> int:
    return (example.wording if example.wording >= 0 else len(example.text)) % folds


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--examples", "count", default=1500, show_default=True, help="Rationales.")
@click.option("--folds", default=0, show_default=True, help="Of wordings left out; 0: no table.")
@click.option("--write", is_flag=True, help="Write the weights.")
def main(data: Path, count: int, folds: int, write: bool) -> None:
    found = examples(strangers.read_strangers(data, reporting=False, each=60), count)
    if folds:
        echo(rows_as_table(left_out(found, folds)))
    if write:
        weights = dict(sorted(fitted(found).items()))
        OUT.write_text(json.dumps(weights, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
