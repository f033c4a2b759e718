"""A run as tasks: what raters see, what they must not, and what is written."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import annotated
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.errors import UserError
from revise_captions.outside_text import csv_cell
from revise_captions.pipelines.annotate.cli import annotate
from revise_captions.pipelines.annotate.tasks import sampling
from revise_captions.pipelines.annotate.tasks.interfaces import (
    ASKING,
    INTERFACES,
    data_of,
    marked,
)
from revise_captions.pipelines.annotate.tasks.sheets import sheet, unguarded
from revise_captions.pipelines.annotate.tasks.units import (
    ItemTarget,
    SentenceInCaption,
    Unit,
    read_key,
)
from revise_captions.records import ImageRef, Span
from revise_captions.training_data.images import ImageFolder

# --- The interfaces -----------------------------------------------------------------------------

#: Tags and parameters of Label Studio's documentation (labelstud.io/tags) that the interfaces use.
DOCUMENTED = {
    "View": {"className", "visibleWhen", "whenTagName", "whenChoiceValue"},
    "Style": set(),
    "Header": {"value"},
    "Image": {"name", "value", "zoom"},
    "HyperText": {"name", "value", "valueType", "inline"},
    "Text": {"name", "value", "valueType"},
    "Choices": {"name", "toName", "choice", "required", "showInline"},
    "Choice": {"value"},
    "TextArea": {
        *("name", "toName", "rows", "maxSubmissions", "editable", "required", "requiredMessage"),
    },
}


def unit(caption="A cat. It sleeps.", rewrite: str | None = "It is awake.", **more) -> Unit:
    start = caption.index(" ") and len(caption.split(". ")[0]) + 2
    original = SentenceInCaption(caption, Span(start, len(caption)), 2, 2)
    revised = None
    if rewrite is not None:
        text = caption[:start] + rewrite
        revised = SentenceInCaption(text, Span(start, len(text)), 2, 2)
    given = {"rationale": "It is awake.", "accepted": True} | more
    return Unit(
        "u1",
        sampling.SentenceLocation(1, "", 1),
        "s",
        2.0,
        original,
        0.1,
        True,
        0.5,
        revised=revised,
        **given,
    )


@pytest.mark.parametrize("name", INTERFACES)
def test_configurations_are_as_documented(name):
    interface = INTERFACES[name]
    root = ElementTree.fromstring(interface.config)
    tags = list(root.iter())
    assert root.tag == "View"
    for tag in tags:
        assert set(tag.attrib) <= DOCUMENTED[tag.tag], tag.tag
    names = [tag.attrib["name"] for tag in tags if "name" in tag.attrib]
    assert len(names) == len(set(names))
    objects = {t.attrib["name"] for t in tags if t.tag in ("Image", "HyperText", "Text")}
    controls = {t.attrib["name"]: t for t in tags if t.tag in ("Choices", "TextArea")}
    assert set(controls) == set(interface.controls)
    assert {tag.attrib["toName"] for tag in controls.values()} <= objects
    for control, choices in interface.controls.items():
        shown = tuple(choice.attrib["value"] for choice in controls[control])
        assert shown == choices
    for tag in tags:
        if tag.attrib.get("whenTagName"):
            allowed = interface.controls[tag.attrib["whenTagName"]]
            assert set(tag.attrib["whenChoiceValue"].split(",")) <= set(allowed)


@pytest.mark.parametrize("asked", list(ItemTarget))
def test_tasks_hold_what_the_configuration_shows_and_no_controls_name(asked):
    interface = INTERFACES[ASKING[asked]]
    data = data_of(unit(), asked, "x.png")
    shown = {
        tag.attrib["value"][1:]
        for tag in ElementTree.fromstring(interface.config).iter()
        if tag.attrib.get("value", "").startswith("$")
    }
    assert shown <= set(data)
    assert not set(data) & {*interface.controls, "id", "annotator", "annotation_id", "lead_time"}
    assert set(interface.columns) <= set(data)


def test_the_papers_answers():
    """Section 3's four labels; figure 4's four answers, in its order."""
    labels = {"Entailment", "Neutral", "Contradiction", "Nothing to assess"}
    assert set(INTERFACES["factuality"].controls["label"]) == labels
    figure_4 = ("Nothing to assess", "Correct", "Neutral", "Incorrect")
    assert INTERFACES["critique"].controls["quality"] == figure_4


def test_captions_are_text_and_no_markup():
    evil = "A <script>alert(1)</script>. It & <img src=x onerror=y> \u202egnp."
    text = SentenceInCaption(evil, Span(29, len(evil)), 2, 2)
    html = marked(text)
    assert "<script" not in html
    assert "<img" not in html
    assert "\u202e" not in html
    assert html.count("<mark>") == 1
    before, inside = html.split("<mark>")
    assert "&lt;script&gt;" in before
    assert inside.startswith("It &amp; &lt;img")


def test_raters_do_not_learn_what_the_critic_thinks():
    for swapped in (True, False):
        one = unit(swapped=swapped)
        for asked in one.asked():
            told = json.dumps(data_of(one, asked, "x.png"))
            assert "0.1" not in told
            assert all(str(word) not in told for word in (*ItemTarget, "swapped", "accepted"))
    first = data_of(unit(swapped=True), ItemTarget.PREFERENCE, "x.png")
    assert (first["first_sentence"], first["second_sentence"]) == ("It is awake.", "It sleeps.")


# --- Sheets and images --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1", "|calc", "=cmd|'/c'!A0"]
)
def test_no_cell_is_a_formula(text):
    cell = csv_cell(text)
    assert cell == f"'{text}"
    assert unguarded(cell) == text


@given(st.text())
def test_guarding_is_undone(text):
    if not text.startswith("'"):
        assert unguarded(csv_cell(text)) == text


def test_ordinary_cells_stay_as_they_are():
    for text in ("", "A cat.", "It's 1+1", "'quoted'", "¿qué?"):
        assert csv_cell(text) == text
        assert unguarded(text) == text


def test_sheets_are_read_back_as_written():
    rows = [{"a": 'He said "no",\nand left.', "b": "=1", "other": 3}, {"a": "é\ud800", "b": ""}]
    lines = sheet(("a", "b"), rows).decode("utf-8-sig").splitlines(keepends=True)
    found = list(csv.DictReader(lines))
    assert found == [{"a": rows[0]["a"], "b": "'=1"}, {"a": "é\\ud800", "b": ""}]


def test_images_are_stored_once_and_as_the_critic_sees_them(tmp_path):
    store = ImageFolder(tmp_path / "out")
    picture = Image.new("RGB", (6, 4), "red")
    picture.save(tmp_path / "a.png")
    picture.save(tmp_path / "b.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    picture.save(tmp_path / "turned.jpg", exif=exif)
    Image.new("RGBA", (6, 4), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    names = {
        name: store.add(ImageRef(path=name), folder=tmp_path)
        for name in ("a.png", "b.png", "turned.jpg", "clear.png")
    }
    assert names["a.png"] == names["b.png"]
    assert (tmp_path / "out" / names["a.png"]).read_bytes() == (tmp_path / "a.png").read_bytes()
    with Image.open(tmp_path / "out" / names["turned.jpg"]) as turned:
        assert (turned.size, turned.format) == ((4, 6), "PNG")
    with Image.open(tmp_path / "out" / names["clear.png"]) as clear:
        assert clear.getpixel((0, 0)) == (255, 255, 255)
    assert len(list((tmp_path / "out/images").iterdir())) == 3


# --- The command --------------------------------------------------------------------------------


def export(*arguments: object):
    return CliRunner().invoke(annotate, ["export", *map(str, arguments)])


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> annotated.Run:
    return annotated.write_run(tmp_path_factory.mktemp("run") / "r", 12)


def test_export_of_a_run(run, tmp_path):
    out = tmp_path / "ask"
    result = export(run.path, out, "--size", 20, "--by", "p,rewrite")
    assert result.exit_code == 0, result.output
    units = read_key(out / "key.jsonl")
    assert len(units) == 20
    about = json.loads((out / "sample.json").read_text())
    assert sum(s["drawn"] for s in about["strata"]) == 20
    total = sum(len(row["revision"]["sentences"]) for row in run.rows)
    assert sum(unit.weight for unit in units) == pytest.approx(total)
    assert {unit_.threshold for unit_ in units} == {annotated.THRESHOLD}
    for unit_ in units:
        row = run.rows[unit_.place.line - 1]
        sentence = row["revision"]["sentences"][unit_.place.sentence]
        assert list(unit_.original.span) == sentence["span"]
        assert unit_.original.caption == row["caption"]
        assert (out / unit_.image).is_file()
        if unit_.revised is not None:
            assert unit_.revised.sentence == sentence["rewrite"]
            if sentence["accepted"]:
                assert unit_.revised.caption == row["revised_caption"]
    for name in INTERFACES:
        tasks = json.loads((out / name / "tasks.json").read_text())
        assert len(tasks) == about["items"][name]
        for task in tasks:
            assert task["data"]["image"].startswith("/data/local-files/?d=ask/images/")
        sheet_ = (out / name / "tasks.csv").read_text(encoding="utf-8-sig").splitlines()
        rows = list(csv.DictReader(sheet_))
        assert [row["item"] for row in rows] == [task["data"]["item"] for task in tasks]
        assert all((out / name / row["image"]).is_file() for row in rows)
    assert "Keep" in result.output


def test_two_captions_of_a_row_and_a_run_in_parquet(run, tmp_path):
    """A run over two caption fields nests its results by field; Parquet holds the same rows."""
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    folder = run.path.parent
    both = [
        {
            "image": row["image"],
            "long": row["caption"],
            "short": other["caption"],
            "revised_caption": {"long": row["revised_caption"], "short": other["revised_caption"]},
            "revision": {"long": row["revision"], "short": other["revision"]},
        }
        for row, other in itertools.pairwise(run.rows)
    ]
    (folder / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in both))
    pq.write_table(pa.Table.from_pylist(both), folder / "two.parquet")
    keys = []
    for name in ("two.jsonl", "two.parquet"):
        out = tmp_path / name
        result = export(folder / name, out, "--size", 30, "--caption-field", "long,short")
        assert result.exit_code == 0, result.output
        keys.append((out / "key.jsonl").read_text().replace(f"d={name}/", "d=two/"))
        for unit_ in read_key(out / "key.jsonl"):
            assert unit_.original.caption == both[unit_.place.line - 1][unit_.place.field]
        assert {unit_.place.field for unit_ in read_key(out / "key.jsonl")} == {"long", "short"}
    assert keys[0] == keys[1]


def test_an_error_type_of_the_input_is_a_stratum(run, tmp_path):
    assert export(run.path, tmp_path / "a", "--by", "error").exit_code == 0
    names = {s["name"] for s in json.loads((tmp_path / "a/sample.json").read_text())["strata"]}
    known = {s["error_type"] for row in run.rows for s in row["sentences"] if s["error_type"]}
    assert names == known | {"all"}


def test_nothing_of_the_input_steers_the_terminal(run, tmp_path):
    rows = [json.loads(json.dumps(row)) for row in run.rows]
    rows[0]["sentences"][0]["error_type"] = "\x1b]0;owned\x07"
    path = run.path.with_name("steering.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = export(path, tmp_path / "a b&c", "--by", "error", "--size", 3)
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    task = json.loads((tmp_path / "a b&c/factuality/tasks.json").read_text())[0]
    assert "?d=a%20b%26c/images/" in task["data"]["image"]


def test_images_embedded_or_left_where_they_are(run, tmp_path):
    export(run.path, tmp_path / "e", "--size", 3, "--images", "embed", "--interface", "factuality")
    task = json.loads((tmp_path / "e/factuality/tasks.json").read_text())[0]
    assert task["data"]["image"].startswith("data:image/png;base64,")
    assert not (tmp_path / "e/critique").exists()
    prefix = "https://example.org/"
    export(run.path, tmp_path / "p", "--size", 3, "--images", "path", "--image-prefix", prefix)
    task = json.loads((tmp_path / "p/factuality/tasks.json").read_text())[0]
    assert task["data"]["image"].startswith("https://example.org/pictures/")
    assert not (tmp_path / "p/images").exists()


def test_an_image_that_is_missing_is_named_and_weighed_out(run, tmp_path):
    folder = tmp_path / "r"
    moved = annotated.write_run(folder, 12)
    (folder / "pictures/3.png").unlink()
    out = tmp_path / "ask"
    result = export(moved.path, out, "--size", 1000)
    assert "left out, no image" in result.output
    about = json.loads((out / "sample.json").read_text())
    lost = len(moved.rows[3]["revision"]["sentences"])
    assert len(about["without_image"]) == lost
    units = read_key(out / "key.jsonl")
    total = sum(s["sentences"] for s in about["strata"] if s["with_image"])
    assert sum(unit_.weight for unit_ in units) == pytest.approx(total)


def test_what_an_export_writes_is_a_benchmark_once_it_is_answered(run, tmp_path):
    """`label-studio` reads the answered tasks as they are."""
    out = tmp_path / "ask"
    export(run.path, out, "--size", 8)
    answered = annotated.label_studio(run, out, "factuality")
    (tmp_path / "export").mkdir()
    (tmp_path / "export/a.json").write_text(json.dumps(answered))
    examples = list(benchmark("label-studio").read(tmp_path / "export"))
    assert sum(len(e.sentences) for e in examples) == len(answered)


def test_friendly_errors(run, tmp_path):
    def said(*arguments: object) -> str:
        result = export(*arguments)
        assert result.exit_code != 0
        return str(result.exception) if isinstance(result.exception, UserError) else result.output

    plain = tmp_path / "plain.jsonl"
    plain.write_text(json.dumps({"image": "a.png", "caption": "A cat."}) + "\n")
    assert "there is no `revision`" in said(plain, tmp_path / "x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a").touch()
    assert "is not empty" in said(run.path, tmp_path / "full")
    assert "expected comma-separated numbers" in said(run.path, tmp_path / "x", "--bins", "a,b")
    bare = tmp_path / "bare.jsonl"
    bare.write_bytes(run.path.read_bytes())
    assert "--image-root" in said(bare, tmp_path / "x")
    broken = dict(run.rows[0], revision={"sentences": [{"span": [0, 3]}]})
    (tmp_path / "b.jsonl").write_text(json.dumps(broken))
    assert "not a sentence that revise-captions wrote" in said(tmp_path / "b.jsonl", tmp_path / "x")
    assert not Path(tmp_path / "x").exists() or not any(Path(tmp_path / "x").rglob("*.json"))


def test_explanations_are_asked_about_beside_the_places_that_they_go_by(tmp_path):
    made = annotated.write_run(tmp_path / "r", 6)
    box = [2, 3, 9, 12]
    for row in made.rows:
        for sentence in row["revision"]["sentences"]:
            if sentence["rationale"]:
                sentence["fixes"] = [
                    {"span": [0, 1], "right": "a", "kind": "", "certain": True, "basis": "",
                     "evidence": [{"box": box, "label": "there"}]}
                ]  # fmt: skip
    made.path.write_text("".join(json.dumps(r) + "\n" for r in made.rows), encoding="utf-8")
    out = tmp_path / "ask"
    export(made.path, out, "--size", 1000, "--images", "copy")
    units = read_key(out / "key.jsonl")
    assert any(one.evidence for one in units)
    assert all(bool(one.evidence) is bool(one.rationale) for one in units)
    asked = {
        name: [
            task["data"]["image"] for task in json.loads((out / name / "tasks.json").read_text())
        ]
        for name in ("factuality", "critique")
    }
    plain = {one.shown for one in units}
    assert set(asked["factuality"]) <= plain
    assert set(asked["critique"]).isdisjoint(plain)
    name = asked["critique"][0].rpartition("/")[2]
    drawn = np.asarray(Image.open(out / "images" / name).convert("RGB"))
    (before,) = {u.image for u in units if u.evidence.endswith(name)}
    kept = np.asarray(Image.open(out / before).convert("RGB"))
    assert drawn.shape == kept.shape
    assert (drawn != kept).any()
