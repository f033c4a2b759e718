"""The tables of metrics.md and stress.md in docs/measurements, from recorded runs.

    captions stress-metric … --json found.json
    python -m scripts.research.stress.table --record NAME found.json   # keeps the figures, no texts
    python -m scripts.research.stress.table --write                    # rewrites both pages

`runs/` holds the recorded runs; `RUNS` says what each was run on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from revise_captions.io.writing import write_json
from revise_captions.pipelines.stress.summary import outcome, rises_by, verdict
from revise_captions.registry import METRICS, names
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.report import ROOT, write_option

FOLDER = Path(__file__).parent / "runs"
#: Recorded runs, and what they were run on.
RUNS = {
    "contextual": "Wikipedia's images in context (`contextual-descriptions`), photographs",
    "contextual-language-model": "the same, evenly spread",
    "picture-book": "picture-book scenes with pages about them (`stress/picture_book.py`), ratings "
    "are exact",
}
#: The same on a fifth of the scenes, which `captions finetune-metric` did not see, before and after
#: it.
TUNED = "picture-book-tuned"
#: What the metrics that have no recorded run look at, and why they have none.
_NO_WEIGHTS = "its weights are not here"
UNMEASURED = {
    "asked": ("image, references, context", "any chat model", _NO_WEIGHTS),
    "blip2": ("image", "BLIP-2", _NO_WEIGHTS),
    "chair": ("COCO's objects", "none", "needs COCO's annotations"),
    "clipscore": ("image", "CLIP, SigLIP, …", _NO_WEIGHTS),
    "contextual-clipscore": ("image, context", "CLIP, SigLIP, BLIP-2", _NO_WEIGHTS),
    "dcscore": ("references", "parser, MiniLM", "no recorded run"),
    "random": ("nothing", "none", "a floor by chance"),
    "rating-likelihood": ("image, context", "any chat model", _NO_WEIGHTS),
    "sentence-mean": ("as its metric", "its metric's", "a mean of another metric"),
    "vela": ("image, references", "language model and towers", "measured in its own page"),
    "vqascore": ("image", "any chat model", _NO_WEIGHTS),
    "whole-likelihood": ("image, context", "any chat model", _NO_WEIGHTS),
}
_MODELS = {
    "length": "none",
    "cosine": "MiniLM",
    "context-cosine": "MiniLM",
    "posh": "parser, MiniLM",
    "dcscore": "parser, MiniLM",
    "critic=picturebook": "bundled critic",
    "contextual-critic=picturebook": "bundled critic",
    "likelihood=smollm2": "SmolLM2, blind to the image",
}
_AXES = (
    ("sighted: overall, preimg", "sighted, before"),
    ("sighted: overall, postimg", "sighted, after"),
    ("BLV: overall", "blind or low vision"),
    ("overall", "exact rating"),
)


def recorded(name: str) -> dict[str, Any] | None:
    """A recorded run; None if there is none."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def without_texts(found: Mapping[str, Any]) -> dict[str, Any]:
    """A run's figures, judged by the present rules; descriptions and contexts are not ours."""
    left = ("among", "examples", "published")
    kept = {key: value for key, value in found.items() if key not in left}
    metrics = []
    for metric in found["metrics"]:
        checks = [
            {**own, "outcome": outcome(own["shares"], own["compared"])} for own in metric["checks"]
        ]
        said = {"verdict": verdict(metric["name"], checks), "rises_by": rises_by(checks)}
        metrics.append({**metric, "checks": checks, **said})
    return {**kept, "metrics": metrics}


def stress_table(runs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Share lower by metric and check, a table for each run."""
    for name, found in runs.items():
        metrics = found["metrics"]
        said = f"{found['descriptions']} descriptions of {found['images']} images"
        yield f"On {RUNS.get(name, 'scenes that were not trained on')}: {said}."
        yield ""
        yield "| score fell | " + " | ".join(f"`{m['name']}`" for m in metrics) + " |"
        yield "| --- |" + " --- |" * len(metrics)
        for row in zip(*(metric["checks"] for metric in metrics), strict=True):
            cells = " | ".join(_cell(own) for own in row)
            yield f"| {row[0]['check']} | {cells} |"
        yield ""
        yield from (f"- {verdict(metric['name'], metric['checks'])}" for metric in metrics)
        yield ""


def _cell(own: Mapping[str, Any]) -> str:
    """The share that fell; bold where the check is not passed."""
    text = _share(own["shares"]["lower"])
    return text if own["outcome"] in ("passes", "not tested") else f"**{text}**"


def _share(found: Mapping[str, Any] | None) -> str:
    """A share with its interval."""
    if found is None or found["value"] is None:
        return "–"
    text = f"{100 * found['value']:.0f} %"
    if found["low"] is not None:
        text += f" ({100 * found['low']:.0f} to {100 * found['high']:.0f})"
    return text


def agreement_table(found: Mapping[str, Any]) -> Iterator[str]:
    """Pearson's r of one run, the overall questions only."""
    names = [metric["name"] for metric in found["metrics"]]
    by = {(own["axis"], own["metric"]): own for own in found["agreement"]}
    axes = [(axis, said) for axis, said in _AXES if any((axis, n) in by for n in names)]
    yield "| Pearson's r | " + " | ".join(said for _, said in axes) + " |"
    yield "| --- |" + " --- |" * len(axes)
    for name in names:
        cells = " | ".join(_r(by.get((axis, name))) for axis, _ in axes)
        yield f"| `{name}` | {cells} |"


def _r(own: Mapping[str, Any] | None) -> str:
    if own is None or own["value"] is None:
        return "none"
    bounds = "" if own["low"] is None else f" ({own['low']:.2f} to {own['high']:.2f})"
    return f"{own['value']:.2f}{bounds}"


def metric_table(runs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Every metric of the registry, with what its recorded run shows."""
    head = ("metric", "looks at, beside the text", "models", "ms a text", "r with people",
            "checks passed", "score rises by")  # fmt: skip
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    seen: set[str] = set()
    for found in runs.values():
        by = {(own["axis"], own["metric"]): own for own in found["agreement"]}
        for metric in found["metrics"]:
            name = metric["name"]
            if name in seen or (metric["needs"] is None and not name.startswith("floor:")):
                continue
            if name.endswith("=tuned-a"):  # its own table shows it
                continue
            seen.add(name)
            yield _row(metric, [by[axis, name] for axis, _ in _AXES if (axis, name) in by])
    for name in names(METRICS):
        if not any(own.partition("=")[0] == name for own in seen):
            looks, models, why = UNMEASURED.get(name, ("", "", "not run yet"))
            yield f"| `{name}` | {looks} | {models} | | {why} | | |"


def _row(metric: Mapping[str, Any], agreement: Sequence[Mapping[str, Any]]) -> str:
    looks = "references" if metric["needs"] is None else ", ".join(metric["needs"]) or "nothing"
    tested = [own for own in metric["checks"] if own["outcome"] != "not tested"]
    passed = sum(own["outcome"] == "passes" for own in tested)
    said = dict(_AXES)
    shown = "; ".join(f"{said[own['axis']]} {_short(own)}" for own in agreement)
    seconds = metric["seconds_per_text"]
    cost = "" if seconds is None else f"{1000 * seconds:.1f}"
    rises = ", ".join(metric["rises_by"]) or "neither"
    models = _MODELS.get(metric["name"], "")
    return (
        f"| `{metric['name']}` | {looks} | {models} | {cost} | {shown} "
        f"| {passed} of {len(tested)} | {rises} |"
    )


def _short(own: Mapping[str, Any]) -> str:
    return "none" if own["value"] is None else f"{own['value']:.2f} (n = {own['rows']})"


def blocks() -> dict[str, str]:
    """What goes between the marks of both pages."""
    runs = {name: found for name in RUNS if (found := recorded(name)) is not None}
    tuned = recorded(TUNED)
    tables: dict[str, Iterable[str]] = {
        "metric-table": metric_table(runs | ({TUNED: tuned} if tuned is not None else {})),
        "stress-results": stress_table(runs),
        "stress-agreement": agreement_table(runs["contextual"]),
    }
    if tuned is not None:
        tables["stress-tuning"] = chain(stress_table({TUNED: tuned}), [""], agreement_table(tuned))
    return {name: "\n".join(lines).rstrip() for name, lines in tables.items()}


@click.command()
@click.option("--record", type=(str, click.Path(path_type=Path)), help="NAME and a JSON file.")
@write_option
def main(record: tuple[str, Path] | None, write: bool) -> None:
    """Keeps a run's figures, or prints or writes the tables."""
    if record is not None:
        found = json.loads(record[1].read_text(encoding="utf-8"))
        write_json(FOLDER / f"{record[0]}.json", without_texts(found))
        return
    if write:
        write_to_pages(ROOT, blocks())
        return
    for name, block in blocks().items():
        click.echo(f"<!-- {name} -->\n{block}\n")


if __name__ == "__main__":
    main()
