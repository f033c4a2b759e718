"""What trainers have lying around, from the file to training examples."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from deciding import decide, in_turn
from explored import rows_of, write_run
from PIL import Image

from revise_captions.errors import UserError
from revise_captions.finetune.data.labeled_rows import RowOptions
from revise_captions.finetune.data.records import TrainingExample, open_split, provenance
from revise_captions.finetune.data.split import ready, split_file

OPTIONS = RowOptions(validation_share=0.25)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), 12)


def split(data: Path, out: Path, options: RowOptions = OPTIONS) -> list[TrainingExample]:
    """All examples, once their split has been looked at."""
    split_file(data, out, options)
    train, validation = open_split(out, "train"), open_split(out, "validation")
    assert not set(train.images) & set(validation.images)
    assert validation.images
    return [*train, *validation]


def pictures(folder: Path, count: int) -> list[str]:
    names = [f"{number}.png" for number in range(count)]
    for number, name in enumerate(names):
        noise = np.random.default_rng(number).integers(0, 256, (9, 9, 3), dtype=np.uint8)
        Image.fromarray(noise).resize((64, 64), 0).save(folder / name)
    return names


def labels(examples: list[TrainingExample]) -> set[tuple[str, bool]]:
    return {(s.span.of(e.caption), s.factual) for e in examples for s in e.sentences}


def test_a_run_gives_its_verdicts(run, tmp_path):
    examples = split(run, tmp_path)
    verdicts = {
        (row["caption"][slice(*item["span"])], item["label"] == "factual")
        for row in rows_of(run)
        for item in row["revision"]["sentences"]
        if item["label"] != "unscored"
    }
    assert labels(examples) == verdicts
    assert {factual for _, factual in verdicts} == {True, False}
    assert any(s.rationales for e in examples for s in e.sentences)
    assert provenance(tmp_path)["judged"] is False


def test_decisions_of_several_people_become_one_row_a_caption(run, tmp_path):
    decide(run, "anna.jsonl", in_turn(("accept", ""), ("reject", "")))
    decide(run, "ben.jsonl", in_turn(("accept", ""), ("reject", ""), ("edit", "It is so.")), "ben")
    both = run.with_name("both.jsonl")
    both.write_text("".join(run.with_name(f"{n}.jsonl").read_text() for n in ("anna", "ben")))
    examples = split(both, tmp_path)
    captions = [(example.image, example.caption) for example in examples]
    assert len(set(captions)) == len(captions)
    assert {factual for _, factual in labels(examples)} == {True, False}
    assert provenance(tmp_path)["left_out"]["sentences that are labeled right and wrong"] > 0
    assert provenance(tmp_path)["judged"] is True


def test_of_a_rejected_caption_only_what_the_chosen_one_lacks_is_wrong(tmp_path):
    turns = {"chosen": "A dog sits. It is black.", "rejected": "A dog sits. It is brown."}
    rows = [
        {
            "images": [name],
            "prompt": [{"role": "user", "content": "Describe this."}],
            **{k: [{"role": "assistant", "content": text}] for k, text in turns.items()},
        }
        for name in pictures(tmp_path, 4)
    ]
    rows.append(rows[0] | {"by": "c_r"})
    data = tmp_path / "pairs.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    examples = split(data, tmp_path / "out")
    assert len(examples) == 8
    expected = {("A dog sits.", True), ("It is black.", True), ("It is brown.", False)}
    assert {(text.strip(), factual) for text, factual in labels(examples)} == expected
    (why,) = provenance(tmp_path / "out")["left_out"]
    assert "how much is said" in why


def table(folder: Path, rows: list[dict[str, str]]) -> Path:
    path = folder / "labels.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def sentence_rows(folder: Path, **said: tuple[str, str]) -> list[dict[str, str]]:
    """Two sentences for each of four images; `said` has a column's values for them."""
    text = "A dog sits. It is brown."
    return [
        {"img_path": name, "caption": text, "sentence": sentence}
        | {column: values[number] for column, values in said.items()}
        for name in pictures(folder, 4)
        for number, sentence in enumerate(("A dog sits.", "It is brown."))
    ]


def test_what_is_wrong_may_stand_in_a_column_why(tmp_path):
    rows = sentence_rows(tmp_path, verdict=("correct", "wrong"), Why=("", "It is black."))
    examples = split(table(tmp_path, rows), tmp_path / "out", RowOptions(validation_share=0.25))
    assert {s.rationales for e in examples for s in e.sentences} == {(), ("It is black.",)}


@pytest.mark.parametrize(
    ("column", "values", "options"),
    [
        ("label", ("correct", "incorrect"), {}),
        ("Is_Factual", ("True", "False"), {}),
        ("hallucinated", ("0", "1"), {}),
        ("label", ("A", "B"), {"factual_value": "a"}),
        ("mark", ("yes", "no"), {"label_field": "mark"}),
    ],
)
def test_a_table_of_labels(tmp_path, column, values, options):
    rows = sentence_rows(tmp_path, **{column: values}, explanation=("", "It is black."))
    given = RowOptions(validation_share=0.25, **options)
    examples = split(table(tmp_path, rows), tmp_path / "out", given)
    assert len(examples) == 4
    assert labels(examples) == {("A dog sits.", True), ("It is brown.", False)}
    assert {s.rationales for e in examples for s in e.sentences} == {(), ("It is black.",)}


def test_what_is_not_found_is_asked_for_with_what_there_is(tmp_path):
    rows = sentence_rows(tmp_path, mark=("yes", "no"))
    with pytest.raises(UserError, match="label") as unnamed:
        split(table(tmp_path, rows), tmp_path / "out")
    assert "img_path, caption, sentence, mark; pass --label-field NAME" in unnamed.value.hint
    rows = sentence_rows(tmp_path, label=("A", "B"))
    with pytest.raises(UserError, match="“a”: does that mean right or wrong") as unexplained:
        split(table(tmp_path, rows), tmp_path / "out")
    assert "--factual-value" in unexplained.value.hint


def test_a_ready_split_is_taken_as_it_is_and_training_rows_alone_are_split(tmp_path, run):
    split_file(run, tmp_path, OPTIONS)
    with ready(tmp_path, OPTIONS) as (folder, said):
        assert (folder, said) == (tmp_path, "")
    for name in ("validation.jsonl", "data.json"):
        (tmp_path / name).unlink()
    with ready(tmp_path, replace(OPTIONS, image_root=run.parent)) as (folder, said):
        assert said.startswith("train.jsonl: training rows")
        assert open_split(folder, "validation").images
    assert not folder.exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rationale": 7.5}, "TypeError: rationales [7.5], expected texts"),
        ({"rationales": [["It stands."]]}, "TypeError: rationales [['It stands.']], expected"),
        ({"rationales": "It stands."}, "TypeError: rationales 'It stands.', expected texts"),
        ({"label": {"a": None}}, "label {'a': None}, expected 'factual' or 'nonfactual'"),
        ({"start": 1e400}, "OverflowError"),
        ({"end": "x"}, "invalid literal for int()"),
        ({"weight": 0}, "weight 0.0, expected a positive number"),
    ],
)
def test_a_row_that_training_could_not_read_is_left_out(tmp_path, change, why):
    item = {"start": 7, "end": 16, "label": "nonfactual", "assessable": True}
    rows = [
        {"id": name, "image": name, "caption": "A cat. It sits.", "sentences": [item | {"end": 15}]}
        for name in pictures(tmp_path, 8)
    ]
    rows[3]["sentences"] = [rows[3]["sentences"][0] | change]
    rows[4] |= {"asides": [{"text": "A dog.", "label": "factual", "after": 1e400}]}
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = split_file(tmp_path / "in.jsonl", tmp_path / "out", OPTIONS)
    assert why in said
    assert "OverflowError" in said
    examples = [*open_split(tmp_path / "out", "train"), *open_split(tmp_path / "out", "validation")]
    assert len(examples) == 6


def test_what_only_all_labels_of_a_caption_show_is_left_out(tmp_path):
    """An aside behind a sentence that people disagree about, and offsets given as text."""
    rows = [
        {
            "image": name,
            "caption": "A cat. It sits.",
            "sentences": [
                {"start": "0", "end": "6", "label": "factual"},
                {"start": 7, "end": 15, "label": "nonfactual"},
            ],
            "asides": [{"text": "It rains.", "label": "factual", "after": 1}],
        }
        for name in pictures(tmp_path, 8)
    ]
    other = {"start": 7, "end": 15, "label": "factual"}
    rows.append({"image": "3.png", "caption": "A cat. It sits.", "sentences": [other]})
    rows[5]["asides"][0]["after"] = -1
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    examples = split(tmp_path / "in.jsonl", tmp_path / "out")
    said = provenance(tmp_path / "out")["left_out"]
    assert said == {
        "auxiliary sentences (asides) `after` more than there are": 2,
        "sentences that are labeled right and wrong": 2,
    }
    assert sorted(len(one.auxiliary_sentences) for one in examples) == [0, 0] + [1] * 6


def test_a_verdict_of_no_known_kind_leaves_its_row_out(run, tmp_path):
    rows = rows_of(run)
    rows[0]["revision"]["sentences"][0]["label"] = {"a": None}
    damaged = run.with_name("damaged.jsonl")
    damaged.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "label {'a': None}, expected" in split_file(damaged, tmp_path / "out", OPTIONS)
