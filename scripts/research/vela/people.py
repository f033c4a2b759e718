"""VELA with small models against people, split by image, beside plain metrics; writes docs/vela.md.

    python -m scripts.research.vela.people SHARED_DATA OUT --cache features.sqlite [--write]

SHARED_DATA has flickr8k_expert, tifa_correlation and contextual_descriptions. SmolLM2-135M is the
language model, frozen, in bfloat16; MiniLM over the references stands in for a CLIP. Half of the
images are for training and stopping, half for this table. Nothing trained here may be shipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import Example
from revise_captions.io.writing import write_json_lines
from revise_captions.metrics.registry import load_metric, scored
from revise_captions.pipelines.metrics.scores import metric_input
from revise_captions.stats.correlations import correlation
from revise_captions.stats.paired_tests import measured
from revise_captions.vela.training.data import RatingFields
from revise_captions.vela.training.run import VelaJob, run
from revise_captions.vela.training.settings import VelaSettings
from scripts.research.frame.blocks import write_to_pages

ROOT = Path(__file__).resolve().parents[3]
#: What papers report on the whole benchmark, τ-c: a handful for scale.
FLICKR_PUBLISHED = {
    "CLIPScore": "0.512",
    "RefCLIPScore": "0.530",
    "Polos": "0.564",
    "VELA, zero-shot (Table 8)": "0.562",
}


@dataclass(frozen=True, slots=True)
class Study:
    """One data set.

    Attributes:
        name: The benchmark.
        title: What the table calls it.
        axis: The ratings.
        scale: Their lowest and highest.
        variants: Options of `VelaJob` by the row's name.
        plain: Metrics of the registry.
        note: What readers must know.
    """

    name: str
    title: str
    folder: str
    axis: str
    scale: tuple[float, float]
    variants: Mapping[str, Mapping[str, Any]]
    plain: tuple[str, ...]
    note: str


_BOTH = {"language": "smollm2", "pair": "minilm"}
_ALONE = {"language": "smollm2", "pair": "none"}
STUDIES = (
    Study(
        "flickr8k-expert",
        "Flickr8k-Expert",
        "flickr8k_expert",
        "rating (1–4)",
        (1, 4),
        {
            "VELA (SmolLM2 and MiniLM)": _BOTH,
            "… R2C alone": _ALONE,
            "… R2C alone, reference-free": {**_ALONE, "references": False},
            "… I2C's stand-in alone (MiniLM)": {"language": "none", "pair": "minilm"},
            "VELA, weight decay 1": {**_BOTH, "settings": VelaSettings(weight_decay=1.0)},
        },
        ("cosine", "posh", "length"),
        "The weight decay was chosen by τ-c on the validation images.",
    ),
    Study(
        "contextual-descriptions",
        "Contextual descriptions",
        "contextual_descriptions",
        "sighted: overall, postimg",
        (1, 5),
        {
            "VELA (SmolLM2), article as reference": _ALONE,
            "VELA (SmolLM2), reference-free": {**_ALONE, "references": False},
        },
        ("context-cosine", "length"),
        "There are no references; the article's text takes their place in the prompt.",
    ),
    Study(
        "tifa",
        "TIFA",
        "tifa_correlation",
        "faithfulness",
        (1, 5),
        {"VELA (SmolLM2), reference-free": {**_ALONE, "references": False}},
        ("length",),
        "The images are not in the data, so whatever correlates here is a prior of the prompts.",
    ),
)


def rows_file(study: Study, shared: Path, out: Path) -> tuple[Path, dict[str, Example]]:
    """The benchmark as rows of `train-vela`, and its captions by id."""
    examples = {
        e.id: e
        for e in benchmark(study.name).read(shared / study.folder)
        if isinstance(e, Example) and any(s.axis == study.axis for s in e.scores)
    }

    def rows() -> Iterator[dict[str, Any]]:
        for e in examples.values():
            ratings = [s.value for s in e.scores if s.axis == study.axis]
            references = list(e.references) or ([e.context] if e.context else [])
            yield {
                "id": e.id,
                "image": e.image,
                "caption": e.caption,
                "references": references,
                "scores": {"overall": ratings},
            }

    path = out / f"{study.name}.jsonl"
    write_json_lines(path, rows())
    return path, examples


def test_scores(folder: Path) -> dict[str, float]:
    """What training wrote of its test split, by id."""
    lines = (folder / "training" / "test-overall.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["score"] for row in map(json.loads, lines)}


def table(study: Study, shared: Path, out: Path, cache: Path) -> list[str]:
    """Lines of one study's table."""
    path, examples = rows_file(study, shared, out)
    job = VelaJob(
        path,
        out,
        fields=RatingFields({"overall": "overall"}, *study.scale),
        test_share=0.5,
        validation_share=0.1,
        cache=cache,
        device="cpu",
        dtype="bfloat16",
        replicates=100,
        force=True,
    )
    columns: dict[str, dict[str, float]] = {}
    for number, (name, options) in enumerate(study.variants.items()):
        folder = out / f"{study.name}-{number}"
        run(replace(job, out=folder, **options), lambda line: click.echo(line, err=True))
        columns[name] = test_scores(folder)
    held_out = [examples[name] for name in next(iter(columns.values()))]
    inputs = [metric_input(e, shared / study.folder) for e in held_out]
    for name in study.plain:
        found = scored(load_metric(name), inputs)
        values = {e.id: s.value for e, s in zip(held_out, found, strict=True)}
        columns[name] = {key: value for key, value in values.items() if value is not None}
    images = len({e.image for e in held_out})
    title = f"{study.title}: {len(held_out):,} captions, {images:,} images"
    lines = [f"| {title} | τ-c | τ-b |", "| --- | --- | --- |"]
    lines += [_line(name, own, held_out, study.axis) for name, own in columns.items()]
    if study.name == "flickr8k-expert":
        published = FLICKR_PUBLISHED.items()
        lines += [f"| *{name}, published, all images* | {tau} | |" for name, tau in published]
    return [*lines, "", study.note]


def _line(name: str, scores: Mapping[str, float], examples: Sequence[Example], axis: str) -> str:
    known = [e for e in examples if e.id in scores]
    human = [np.mean([s.value for s in e.scores if s.axis == axis]) for e in known]
    cells = []
    for kind in ("kendall-c", "kendall-b"):
        found = measured(
            partial(correlation, kind),  # type: ignore[arg-type]
            np.array([scores[e.id] for e in known]),
            np.array(human),
            [e.image for e in known],
            500,
        )
        spread = "" if found.low is None else f" ({found.low:.3f}–{found.high:.3f})"
        cells.append("–" if found.value is None else f"{found.value:.3f}{spread}")
    left_out = len(examples) - len(known)
    label = f"{name} ({left_out} unscored)" if left_out else name
    return f"| {label} | {cells[0]} | {cells[1]} |"


@click.command(help=__doc__.splitlines()[0])
@click.argument("shared", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("--cache", required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--write", is_flag=True, help="Put the tables into docs/vela.md.")
def main(shared: Path, out: Path, cache: Path, write: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    blocks = ["\n".join(table(study, shared, out, cache)) for study in STUDIES]
    text = "\n\n".join(blocks)
    click.echo(text)
    if write:
        write_to_pages(ROOT, {"vela people": text})


if __name__ == "__main__":
    main()
