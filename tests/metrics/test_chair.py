"""CHAIR on a few rows in COCO's format, against counts by hand."""

from __future__ import annotations

import json

import pytest
from commands import outcome, program

from revise_captions.errors import UserError
from revise_captions.metrics import MetricInput, StoredImage, load_metric, scored
from revise_captions.metrics.chair import object_words
from revise_captions.pipelines.metrics import cli
from revise_captions.records import ImageRef

CATEGORIES = {
    "dog": "animal", "person": "person", "couch": "furniture", "hot dog": "food",
    "tie": "accessory", "skis": "sports", "toilet": "furniture", "chair": "furniture",
}  # fmt: skip
SYNONYMS = ["dog, puppy", "person, man, child, passenger", "couch, sofa", "chair, seat"]
#: Of image 1 there are a dog and, by its reference, a couch; of image 2 a person.
CAPTIONS = {
    1: "Two puppies and a man on a sofa.",  # dog, person, couch: one of three is wrong
    2: "A child eats hot dogs, a dog looks on, the dog's owner sleeps.",  # three of four
    3: "A blue sky.",  # no object, in an image that has none
}


@pytest.fixture
def coco(tmp_path):
    ids = {name: 10 + k for k, name in enumerate(CATEGORIES)}
    images = [{"id": k, "file_name": f"COCO_val2014_{k:012}.jpg"} for k in CAPTIONS]
    instances = {
        "images": images,
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": ids["dog"], "segmentation": [[1.5, 2]]},
            {"id": 2, "image_id": 2, "category_id": ids["person"]},
        ],
        "categories": [
            {"id": ids[name], "name": name, "supercategory": under}
            for name, under in CATEGORIES.items()
        ],
    }
    said = [{"id": 7, "image_id": 1, "caption": "It lies on a Couch."}]
    captions = {"images": images, "annotations": said}
    for name, data in (("instances", instances), ("captions", captions)):
        (tmp_path / f"{name}_val2014.json").write_text(json.dumps(data))
    (tmp_path / "synonyms.txt").write_text("\n".join(SYNONYMS))
    return tmp_path


def inputs():
    refs = [ImageRef(path=f"images/COCO_val2014_{k:012}.jpg") for k in (*CAPTIONS, 4)]
    texts = [*CAPTIONS.values(), "A dog."]
    return [MetricInput(text, StoredImage(ref)) for text, ref in zip(texts, refs, strict=True)]


def test_captions_counted_by_hand(coco):
    chair = load_metric(f"chair={coco}")
    one, two, three, strange = scored(chair, inputs())
    assert [s.value for s in (one, two, three)] == pytest.approx([2 / 3, 1 / 4, 1])
    assert [s.counts["CHAIR_i"] for s in (one, two, three)] == [(1, 3), (3, 4), (0, 0)]
    assert [s.counts["CHAIR_s"] for s in (one, two, three)] == [(1, 1), (1, 1), (0, 1)]
    assert (strange.value, strange.reason) == (None, "the image is not in COCO's files")
    assert chair.settings["words"] == "synonyms.txt"
    (coco / "synonyms.txt").unlink()
    names_alone = load_metric(f"chair={coco}")
    # the puppies, the man, the sofa, the child are no category's name
    counts = [s.counts["CHAIR_i"] for s in scored(names_alone, inputs()[:2])]
    assert counts == [(0, 0), (3, 3)]
    assert "alone" in names_alone.settings["words"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A baby puppy and an adult dog.", ["dog", "dog"]),
        ("A man in a bow tie.", ["person", "tie"]),
        ("A toilet seat, and the seat of a toilet.", ["toilet", "toilet"]),
        ("Seats under open skies; new skis.", ["chair", "skis"]),
        ("Home plate, hotdogs, hot dogs.", ["hot dog"]),
        ("", []),
    ],
)
def test_words_that_stand_for_an_object(text, found):
    assert object_words(SYNONYMS, CATEGORIES).mentioned(text) == found


def test_the_command_prints_both_figures_of_each_captioner(coco, tmp_path_factory, capsys):
    folder = tmp_path_factory.mktemp("plain")
    rows = [
        {"id": k, "image": f"COCO_val2014_{k:012}.jpg", "caption": text, "model": "ab"[k > 1]}
        for k, text in CAPTIONS.items()
    ]
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main = program(cli.evaluate_metric)
    code, said, err = outcome(main, capsys, "plain", folder, f"metric:chair={coco}")
    assert code == 0, err
    cells = [line.split() for line in said.splitlines()]
    whole = {row[0]: (row[2], row[-1]) for row in cells if row and row[0].startswith("CHAIR_")}
    assert whole == {"CHAIR_i": ("0.571", "3"), "CHAIR_s": ("0.667", "3")}  # 4 of 7, 2 of 3
    assert ["a", "0.333", "1.000"] in cells
    assert ["b", "0.750", "0.500"] in cells


def test_a_folder_without_cocos_files(tmp_path, coco):
    with pytest.raises(UserError, match="needs COCO's annotations"):
        load_metric("chair")
    with pytest.raises(UserError, match=r"lacks COCO's instances_\*\.json"):
        load_metric(f"chair={tmp_path / 'nowhere'}")
    (coco / "captions_val2014.json").write_text('{"images": [], "annotations": [{"image_id": 1}]}')
    with pytest.raises(UserError, match=r"captions_val2014\.json: an annotation is not COCO's"):
        load_metric(f"chair={coco}")
