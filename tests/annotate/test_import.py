"""Answers back: all formats say the same, the oracle's labels return, nothing goes in silence."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import annotated
import pytest
from click.testing import CliRunner

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.checks import check
from revise_captions.errors import UserError
from revise_captions.finetune.data.records import open_split
from revise_captions.outside_text import csv_cell
from revise_captions.pipelines.annotate.answers import consensus
from revise_captions.pipelines.annotate.answers.readers import (
    RaterAnswer,
    files_of,
    read_answers,
)
from revise_captions.pipelines.annotate.cli import annotate
from revise_captions.pipelines.annotate.tasks.interfaces import INTERFACES
from revise_captions.pipelines.annotate.tasks.units import read_key

NAMES = tuple(INTERFACES)


def call(*arguments: object):
    return CliRunner().invoke(annotate, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> tuple[annotated.Run, Path]:
    """A run, and the whole of it as tasks: every weight is 1."""
    folder = tmp_path_factory.mktemp("world")
    run = annotated.write_run(folder / "r", 25)
    assert call("export", run.path, folder / "ask", "--size", 10_000).exit_code == 0
    return run, folder / "ask"


def answered(world, folder: Path, **how) -> list[Path]:
    """A file of Label Studio's JSON for each interface."""
    paths = []
    for name in NAMES:
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(json.dumps(annotated.label_studio(*world, name, **how)))
    return paths


@pytest.fixture(scope="module")
def imported(world, tmp_path_factory) -> tuple[Path, str]:
    """Raters who never err."""
    folder = tmp_path_factory.mktemp("imported")
    result = call("import", world[1], *answered(world, folder), "--out", folder / "data")
    assert result.exit_code == 0, result.output
    return folder / "data", result.output


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def figures(folder: Path) -> dict[tuple[str, str], float | None]:
    found = json.loads((folder / "figures.json").read_text())["figures"]
    return {(f["row"], f["column"]): f["value"] for f in found}


# --- The oracle's labels come back --------------------------------------------------------------


def test_majorities_are_the_oracles(world, imported):
    known = annotated.truths(*world)
    records = rows(imported[0] / "records.jsonl")
    assert len(records) == len(known)
    for record in records:
        truth, people = known[record["id"]], record["people"]
        assert people["original"]["label"] == ("factual" if truth.original else "nonfactual")
        assert people["original"]["assessable"] is truth.assessable
        if truth.revised is not None:
            assert people["revised"]["label"] == ("factual" if truth.revised else "nonfactual")
            better = truth.revised and not truth.original
            worse = truth.original and not truth.revised
            said = people["preference"]["majority"]
            assert said == ("revised" if better else "original" if worse else "Equal")
        if record["rationale"]:
            said = people["critique"]["majority"]
            assert said == ("Correct" if truth.rationale else "Incorrect")


def test_figures_are_those_of_the_run(world, imported):
    """All sentences were judged, so the figures can be counted from the run and the oracle."""
    run, asked = world
    known = annotated.truths(run, asked)
    flagged = [t for t in known.values() if t.unit.flagged]
    wrong = [t for t in known.values() if not t.original]
    rewritten = [t for t in flagged if t.revised is not None]
    found = figures(imported[0])

    def of(values) -> float:
        return sum(values) / len(values)

    assert found["precision", "flagged sentences that are wrong"] == pytest.approx(
        of([not t.original for t in flagged])
    )
    assert found["recall", "wrong sentences that are flagged"] == pytest.approx(
        of([t.unit.flagged for t in wrong])
    )
    before, after = of([t.original for t in rewritten]), of([t.revised for t in rewritten])
    assert found["all rewrites, people", "original"] == pytest.approx(before)
    assert found["all rewrites, people", "fixed"] == pytest.approx(after)
    assert found["all rewrites, people", "change"] == pytest.approx(after - before)
    accepted = [t for t in rewritten if t.unit.accepted]
    assert found["accepted rewrites, critic", "fixed"] == 1.0
    assert found["accepted rewrites, people", "fixed"] == pytest.approx(
        of([t.revised for t in accepted])
    )
    explained = [t for t in known.values() if t.unit.rationale]
    assert found["all explained sentences", "correct"] == pytest.approx(
        of([t.rationale for t in explained])
    )
    assert found["sentences that people call wrong", "correct"] == pytest.approx(
        of([t.rationale for t in explained if not t.original])
    )
    stands = [t for t in known.values() if not t.unit.gone]
    end = [t.revised if t.unit.accepted and t.revised is not None else t.original for t in stands]
    assert found["factual sentences", "before"] == pytest.approx(
        of([t.original for t in known.values()])
    )
    assert found["factual sentences", "after"] == pytest.approx(of(end))


def test_raters_who_err_a_little_are_outvoted(world, tmp_path):
    """Each errs one time in twenty: three of five hardly ever err together."""
    call("import", world[1], *answered(world, tmp_path, slip=0.05), "--out", tmp_path / "data")
    known = annotated.truths(*world)
    wrong = 0
    for record in rows(tmp_path / "data/records.jsonl"):
        said = record["people"]["original"]["label"]
        wrong += said != ("factual" if known[record["id"]].original else "nonfactual")
    assert wrong <= len(known) * 0.02
    found = json.loads((tmp_path / "data/figures.json").read_text())
    alpha = [f for f in found["agreement"] if f["axis"] == "factuality, wrong or not"]
    assert {f["name"] for f in alpha} == {"Krippendorff's α (nominal)", "Fleiss' κ"}
    assert all(0.6 < f["low"] < f["value"] < f["high"] < 1 for f in alpha)
    assert all(0.75 < rater["with_the_others"] <= 1 for rater in found["annotators"])


# --- Formats ------------------------------------------------------------------------------------


def as_sheets(tasks: list[dict], folder: Path) -> list[Path]:
    """The same answers as five people's copies of a sheet, without their names in it."""
    by_rater: dict[int, list[dict]] = {}
    for row in annotated.json_min(tasks):
        by_rater.setdefault(row["annotator"], []).append(row)
    paths = []
    for rater, own in by_rater.items():
        paths.append(folder / f"{rater}.csv")
        columns = ["item", *(c for found in INTERFACES.values() for c in found.controls)]
        with paths[-1].open("w", newline="", encoding="utf-8-sig") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore", delimiter=";")
            writer.writeheader()
            writer.writerows({k: csv_cell(str(v)) for k, v in row.items()} for row in own)
    return paths


def label_studio_csv(tasks: list[dict], path: Path) -> Path:
    flat = annotated.json_min(tasks)
    columns = sorted({name for row in flat for name in row})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, quoting=csv.QUOTE_NONNUMERIC)
        writer.writeheader()
        writer.writerows(
            {k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()} for row in flat
        )
    return path


def test_every_format_says_the_same(world, tmp_path):
    tasks = annotated.label_studio(*world, "factuality", slip=0.2)
    result = tasks[0]["annotations"][0]["result"]
    result[:] = [r for r in result if r["from_name"] != "rationale"]
    two = {"text": ["One thing.", "=another"]}
    result.append(
        {"type": "textarea", "from_name": "rationale", "to_name": "caption", "value": two}
    )
    (tmp_path / "whole.json").write_text(json.dumps(tasks))
    (tmp_path / "min.json").write_text(json.dumps(annotated.json_min(tasks)))
    (tmp_path / "sheets").mkdir()
    forms = {
        "JSON": [tmp_path / "whole.json"],
        "JSON-MIN": [tmp_path / "min.json"],
        "CSV": [label_studio_csv(tasks, tmp_path / "export.csv")],
    }
    sheets = as_sheets(tasks, tmp_path / "sheets")
    forms["sheets"] = sheets
    found = {
        name: {
            (a.item, a.rater, *sorted(a.said.items()))
            for path in files_of(paths)
            for a in read_answers(path)
            if isinstance(a, RaterAnswer)
        }
        for name, paths in forms.items()
    }
    assert len(found["JSON"]) == 5 * len(tasks)
    assert found["JSON"] == found["JSON-MIN"] == found["CSV"]
    odd = {a for a in found["JSON"] if "=another" in str(a)}
    assert found["JSON"] - odd == {a for a in found["sheets"] if "=another" not in str(a)}
    assert files_of([tmp_path / "sheets"]) == sorted(sheets)


def test_as_label_studios_own_converter_writes(world, tmp_path):
    """JSON-MIN and CSV made by Label Studio's SDK from the JSON, where it is installed."""
    reason = "label-studio-sdk is not installed"
    converter = pytest.importorskip("label_studio_sdk.converter", reason=reason)
    interface = pytest.importorskip("label_studio_sdk.label_interface", reason=reason)
    for name in NAMES:
        config = INTERFACES[name].config
        interface.LabelInterface(config).validate()
        tasks = annotated.label_studio(*world, name, slip=0.2)
        tasks[0]["annotations"][1]["was_cancelled"] = True
        source = tmp_path / f"{name}.json"
        source.write_text(json.dumps(tasks))
        made = converter.Converter(config, str(tmp_path), download_resources=False)
        made.convert(str(source), str(tmp_path / f"{name}-min"), "JSON_MIN", is_dir=False)
        made.convert(str(source), str(tmp_path / f"{name}-csv"), "CSV", is_dir=False)
        own = json.loads((tmp_path / f"{name}-min/result.json").read_text())
        assert own == annotated.json_min(tasks)
        forms = [source, tmp_path / f"{name}-min/result.json", tmp_path / f"{name}-csv/result.csv"]
        whole, small, sheet = (
            {(a.item, a.rater, *sorted(a.said.items())) for a in read_answers(path)
             if isinstance(a, RaterAnswer)}
            for path in forms
        )  # fmt: skip
        assert len(whole) == 5 * len(tasks) - 1
        assert whole == small == sheet


def test_raters_by_number_address_or_place(tmp_path):
    result = [
        {"from_name": "label", "to_name": "caption", "type": "choices",
         "value": {"choices": ["Neutral"]}}
    ]  # fmt: skip
    by = [7, {"id": 8, "email": "a@b.c"}, {"id": 9}, None]
    annotations = [{"completed_by": who, "result": result} for who in by]
    (tmp_path / "a.json").write_text(
        json.dumps([{"data": {"item": "x"}, "annotations": annotations}])
    )
    raters = [a.rater for a in read_answers(tmp_path / "a.json") if isinstance(a, RaterAnswer)]
    assert raters == ["7", "a@b.c", "9", "annotation 4"]


def test_files_that_are_no_answers(tmp_path):
    (tmp_path / "a.csv").write_text("name,label\nx,Neutral\n")
    with pytest.raises(UserError, match="has no column `item`; it has name, label"):
        list(read_answers(tmp_path / "a.csv"))
    (tmp_path / "b.csv").write_bytes("item,label\nx,\xe9\n".encode("latin-1"))
    with pytest.raises(UserError, match="cannot read"):
        list(read_answers(tmp_path / "b.csv"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no answers"):
        files_of([tmp_path / "empty"])


# --- What cannot be used ------------------------------------------------------------------------


def test_problems_are_written_and_printed(world, tmp_path):
    tasks = annotated.label_studio(*world, "factuality")
    tasks[0]["annotations"] = []
    tasks[1]["annotations"][0]["was_cancelled"] = True
    tasks[2]["data"]["item"] = "gone"
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    result = call("import", world[1], tmp_path / "a.json", "--out", tmp_path / "data")
    problems = rows(tmp_path / "data/problems.jsonl")
    kinds = Counter(problem["kind"] for problem in problems)
    other = sum(len(u.asked()) for u in read_key(world[1] / "key.jsonl")) - len(tasks)
    assert kinds == {
        consensus.NO_ANSWERS: 2 + other,
        "skipped by the rater": 1,
        consensus.FEWER: 1,
        consensus.UNKNOWN: 5,
    }
    assert "an item that is not in the key" in result.output
    assert "skipped by the rater" in result.output


def test_answers_to_something_else(world, tmp_path):
    (tmp_path / "a.csv").write_text("item,label,annotator\nx,Neutral,me\n")
    result = call("import", world[1], tmp_path / "a.csv", "--out", tmp_path / "data")
    assert "none of the 1 answers belongs to an item" in str(result.exception)
    assert not (tmp_path / "data").exists()
    result = call("import", tmp_path, tmp_path / "a.csv", "--out", tmp_path / "data")
    assert "sample.json" in str(result.exception)


# --- What is made of them -----------------------------------------------------------------------


def test_training_data_is_what_finetune_reads(world, imported):
    known = annotated.truths(*world)
    train, validation = open_split(imported[0], "train"), open_split(imported[0], "validation")
    assert set(train.images).isdisjoint(validation.images)
    assert all((imported[0] / image).is_file() for image in (*train.images, *validation.images))
    examples = [*train, *validation]
    judged = sum(len(example.sentences) for example in examples)
    asked = len(known) + sum(t.revised is not None for t in known.values())
    again = Counter(p["kind"] for p in rows(imported[0] / "problems.jsonl"))
    assert judged == asked - sum(n for kind, n in again.items() if "again" in kind)
    wrong = [s for example in examples for s in example.sentences if not s.factual]
    assert wrong
    assert all(s.rationales and len(s.rationales[0]) == max(map(len, s.rationales)) for s in wrong)
    assert len({(e.image, e.caption) for e in examples}) == len(examples)
    about = json.loads((imported[0] / "data.json").read_text())
    assert about["benchmark"] is False
    assert sum(c["sentences"] for c in about["counts"].values()) == judged


def test_a_rewrite_that_people_call_true_is_a_training_rewrite(world, imported):
    known = annotated.truths(*world)
    good = {t.unit.revised.sentence for t in known.values() if t.revised and not t.original}
    found = [
        sentence
        for name in ("train", "validation")
        for row in rows(imported[0] / f"{name}.jsonl")
        for sentence in row["sentences"]
        if "rewrite" in sentence
    ]
    assert {sentence["rewrite"] for sentence in found} == good
    assert all(sentence["label"] == "nonfactual" for sentence in found)


def test_annotations_are_a_benchmark(world, imported):
    found = check(benchmark("annotations"), imported[0])
    tasks = json.loads((world[1] / "factuality/tasks.json").read_text())
    assert found.counts["votes"] == 5 * len(tasks)


def test_what_is_printed(imported):
    text = imported[1]
    for part in ("Table 5", "Table 6", "Krippendorff", "Fleiss", "captions finetune", "train"):
        assert part in text
    assert max(map(len, text.splitlines())) < 160


def test_one_image_cannot_be_split(tmp_path):
    run = annotated.write_run(tmp_path / "r", 1)
    call("export", run.path, tmp_path / "ask")
    tasks = annotated.label_studio(run, tmp_path / "ask", "factuality")
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    result = call("import", tmp_path / "ask", tmp_path / "a.json", "--out", tmp_path / "data")
    assert result.exit_code == 0
    assert "no training data" in result.output
    problems = rows(tmp_path / "data/problems.jsonl")
    assert any("1 different images cannot be split" in p.get("detail", "") for p in problems)
