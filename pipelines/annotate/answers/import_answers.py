"""`captions annotate import`: raters' answers to labels, figures and training data.

OUT/records.jsonl       each sampled sentence with the run's and the raters' labels and its weight
OUT/annotations.jsonl   each rater's answer about a sentence, for `evaluate-metric annotations OUT`
OUT/figures.json        tables, agreement, raters
OUT/problems.jsonl      answers and items that were not used, or used with a reservation
OUT/train.jsonl, validation.jsonl, images/, data.json   for captions finetune
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.checked_json import read_checked
from revise_captions.io.images import parse_image
from revise_captions.io.perceptual_hash import groups
from revise_captions.io.writing import check_new_folder, write_json, write_json_lines
from revise_captions.pipelines.annotate.answers import estimates
from revise_captions.pipelines.annotate.answers.consensus import (
    NO_ANSWERS,
    CollectedAnswers,
    ItemResult,
    collect,
)
from revise_captions.pipelines.annotate.answers.from_run import DecidedRun, decided_in
from revise_captions.pipelines.annotate.answers.readers import (
    Problem,
    RaterAnswer,
    files_of,
    read_answers,
)
from revise_captions.pipelines.annotate.options import ImportOptions
from revise_captions.pipelines.annotate.tasks.export import KEY, SAMPLE
from revise_captions.pipelines.annotate.tasks.units import (
    ItemTarget,
    SentenceInCaption,
    Unit,
    read_key,
)
from revise_captions.records import Span
from revise_captions.training_data.folder import (
    Provenance,
    SplitCounts,
    open_training_folder,
    splits,
    write_about,
)
from revise_captions.training_data.images import ImageFolder

NO_IMAGE = "an image that cannot be read: no training row"
NO_SPLIT = "no training data"
SAME = "the same sentence of the same caption again: one training row"


@dataclass(frozen=True, slots=True)
class Imported:
    """`figures` is the content of figures.json; `training` has the counts of each split."""

    answers: int
    items: int
    asked: int
    problems: Mapping[str, int]
    figures: Mapping[str, Any]
    training: Mapping[str, SplitCounts]


def import_answers(options: ImportOptions) -> Imported:
    """Reads answers and writes everything to `options.out`.

    Raises:
        UserError: The export or the answers cannot be read, or no answer belongs to the export.
    """
    check_new_folder(options.out)
    given = [answer for path in files_of(options.answers) for answer in read_answers(path)]
    if options.export.is_file():
        asked_for = {answer.item for answer in given if isinstance(answer, RaterAnswer)}
        run = decided_in(options.export, asked_for)
    else:
        run = DecidedRun(_about(options.export), read_key(options.export / KEY), {}, options.export)
    about, units = run.about, run.units
    planned = int(about["raters"])
    least = planned // 2 + 1 if options.min_raters is None else options.min_raters
    asked = [name for name, number in about["items"].items() if number]
    found = collect(units, given, planned, least, asked)
    if options.export.is_file():  # nobody was to answer the rest
        answered = [problem for problem in found.problems if problem.kind != NO_ANSWERS]
        found = replace(found, problems=tuple(answered))
    if not found.results:
        raise UserError(
            f"none of the {len(given):,} answers belongs to an item of {options.export}",
            hint="check that the answers belong to this export; each answer names its `item`",
        )
    options.out.mkdir(parents=True, exist_ok=True)
    measured = _figures(options, about, found)
    write_json_lines(options.out / "records.jsonl", _records(units, found))
    write_json_lines(options.out / "annotations.jsonl", _annotations(found))
    training, more = _training(options, run, found)
    problems = [*found.problems, *more]
    write_json_lines(options.out / "problems.jsonl", (problem.as_json() for problem in problems))
    measured["problems"] = dict(Counter(problem.kind for problem in problems).most_common())
    write_json(options.out / "figures.json", measured)
    return Imported(
        sum(len(result.labels) for result in found.results),
        len(found.results),
        sum(about["items"].values()),
        measured["problems"],
        measured,
        training,
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is needed of the file that describes an export."""

    raters: int
    items: dict[str, int]


def _about(folder: Path) -> dict[str, Any]:
    path = folder / SAMPLE
    hint = "give the folder that `captions annotate export` wrote"
    if not path.exists():
        raise UserError(f"{path} does not exist", hint=hint)
    read_checked(_Sample, path, what="of `captions annotate export`", hint=hint, more=True)
    about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return about


def _figures(
    options: ImportOptions, about: Mapping[str, Any], found: CollectedAnswers
) -> dict[str, Any]:
    shares = estimates.tables(found, options.replicates)
    return {
        "run": about.get("run"),
        "signature": about.get("signature"),
        "raters": about["raters"],
        **({"sample": about["sample"]} if "sample" in about else {}),
        "intervals": f"95% Poisson bootstrap over images, {options.replicates}",
        "figures": [share.as_json() for share in shares],
        "agreement": estimates.agreement(found, options.replicates),
        "annotators": estimates.raters(found.results),
    }


def _records(units: Sequence[Unit], found: CollectedAnswers) -> Iterator[dict[str, Any]]:
    """One row per sampled sentence, answered or not."""
    said: dict[str, dict[str, Any]] = {unit.id: {} for unit in units}
    for result in found.results:
        said[result.unit.id][str(result.asked)] = _said(result)
    for unit in units:
        yield unit.as_json() | {"people": said[unit.id]}


def _said(result: ItemResult) -> dict[str, Any]:
    row: dict[str, Any] = {
        "decided": result.good is not None,
        "majority": result.majority,
        "answers": dict(result.labels),
    }
    verdict = result.verdict
    if verdict is not None:
        row |= {
            "label": _label(result.good),
            "assessable": verdict.assessable,
            "needs_image": verdict.needs_image,
            "rationale": verdict.rationale,
            "rationales": _rationales(result),
        }
    return row


def _label(factual: bool | None) -> str | None:
    return None if factual is None else "factual" if factual else "nonfactual"


def _rationales(result: ItemResult) -> list[str]:
    """Distinct rationales, the longest first."""
    texts = dict.fromkeys(rating.rationale for rating in result.ratings if rating.rationale)
    return sorted(texts, key=len, reverse=True)


def text_of(result: ItemResult) -> SentenceInCaption:
    """The caption and sentence that raters were shown."""
    unit = result.unit
    text = unit.revised if result.asked is ItemTarget.REVISED else unit.original
    if text is None:
        raise ValueError(f"unit {unit.id} has no rewrite")
    return text


def _annotations(found: CollectedAnswers) -> Iterator[dict[str, Any]]:
    """Rows for `benchmarks.annotation_protocol.rows_of_votes`; “model” is the version."""
    for result in found.results:
        text = text_of(result)
        for rating in result.ratings:
            yield {
                "image": result.unit.image,
                "model": str(result.asked),
                "caption": text.caption,
                "start": text.span.start,
                "end": text.span.end,
                "rater": rating.rater,
                "label": str(rating.vote),
                "rationale": rating.rationale,
                "needs_image": rating.needs_image,
            }


# --- Training data ------------------------------------------------------------------------------


def _training(
    options: ImportOptions, run: DecidedRun, found: CollectedAnswers
) -> tuple[dict[str, SplitCounts], list[Problem]]:
    """Writes training data from the decided sentences; returns counts and problems."""
    sentences = [o for o in found.results if o.verdict is not None and o.good is not None]
    if not sentences:
        return {}, [Problem(NO_SPLIT, detail="no sentence has a label")]
    about, store = run.about, ImageFolder(options.out)
    stored, problems = _stored(options, run, store, sentences)
    usable, again = _distinct(
        replace(o, unit=replace(o.unit, image=stored[o.unit.image]))
        for o in sentences
        if o.unit.image in stored
    )
    problems += again
    try:
        sides = splits(groups(store.prints), options.validation)
    except UserError as error:
        return {}, [*problems, Problem(NO_SPLIT, detail=error.message)]
    rewrites = {name: o for name, o in found.of(ItemTarget.REVISED).items() if o.good}
    with open_training_folder(options.out, sides) as folder:
        for row in training_rows(usable, rewrites):
            folder.add(row)
    name = f"annotations of {about.get('run')}"
    origin = Provenance(
        name,
        f"Sentences of {about.get('run')}, judged by {about['raters']} raters each",
        "protocol: Gordon et al. 2025, arXiv:2506.07631, sections 3 and 4.1",
        "yours: that of your images, captions and raters",
        "captions annotate import",
        note=f"drawn from: {about.get('signature')}",
        signature=str(about.get("signature") or ""),
        sample=str(about.get("sample") or ""),
    )
    left_out = Counter(problem.kind for problem in (*found.problems, *problems))
    write_about(options.out, origin, folder, "captions annotate import", left_out)
    return folder.counts, problems


def _stored(
    options: ImportOptions, run: DecidedRun, store: ImageFolder, results: Sequence[ItemResult]
) -> tuple[dict[str, str], list[Problem]]:
    """Stores the images of key or run; returns their paths below `out`, and problems."""
    stored: dict[str, str] = {}
    problems = []
    for image in sorted({result.unit.image for result in results}):
        try:
            ref = run.images.get(image) or parse_image(image)
            stored[image] = store.add(ref, image_root=options.image_root, folder=run.folder)
        except BadRecord as error:
            problems.append(Problem(NO_IMAGE, place=image, detail=error.detail))
    return stored, problems


def _distinct(results: Iterable[ItemResult]) -> tuple[list[ItemResult], list[Problem]]:
    """The first result about each sentence of each caption, as a run may hold a record twice."""
    first: dict[tuple[str, str, Span], ItemResult] = {}
    problems = []
    for result in results:
        text = text_of(result)
        if first.setdefault((result.unit.image, text.caption, text.span), result) is not result:
            problems.append(Problem(SAME, result.unit.item(result.asked)))
    return list(first.values()), problems


def training_rows(
    results: Sequence[ItemResult], rewrites: Mapping[str, ItemResult]
) -> Iterator[dict[str, Any]]:
    """Training rows, one per caption, in the format of `finetune.data`.

    Args:
        results: Decided results about sentences.
        rewrites: Results about rewrites that people call factual, by unit.
    """
    captions: dict[tuple[str, str], dict[Span, ItemResult]] = {}
    for result in results:
        text = text_of(result)
        captions.setdefault((result.unit.image, text.caption), {})[text.span] = result
    for number, ((image, caption), spans) in enumerate(sorted(captions.items())):
        yield {
            "id": str(number),
            "image": image,
            "caption": caption,
            "sentences": [
                _sentence(span, result, rewrites) for span, result in sorted(spans.items())
            ],
        }


def _sentence(span: Span, result: ItemResult, rewrites: Mapping[str, ItemResult]) -> dict[str, Any]:
    verdict = result.verdict
    if verdict is None:
        raise ValueError(f"unit {result.unit.id} has no verdict")
    row: dict[str, Any] = {
        "start": span.start,
        "end": span.end,
        "label": _label(result.good),
        "assessable": verdict.assessable,
        "weight": result.unit.weight,
        **({"rewritten": True} if result.asked is ItemTarget.REVISED else {}),
    }
    if result.good:
        return row
    row |= {"rationale": verdict.rationale, "rationales": _rationales(result)}
    unit = result.unit
    if result.rewrites:
        row |= {"rewrite": result.rewrites[0], "needs_context": not unit.same_context}
    elif result.asked is ItemTarget.ORIGINAL and unit.id in rewrites and unit.revised is not None:
        row |= {"rewrite": unit.revised.sentence, "needs_context": not unit.same_context}
    return row
