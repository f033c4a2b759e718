"""Floors of evaluate-metric: numbers, OCR, caption metrics. Each against a truth of its own:
counted by hand, the library called plainly, published figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tinytowers
from commands import program
from PIL import Image, ImageDraw, ImageFont

from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.errors import UserError
from revise_captions.graphs import parse
from revise_captions.metrics import load_metric, scored
from revise_captions.pipelines.metrics import cli, number_floors
from revise_captions.pipelines.metrics.baselines import BASELINES, baseline
from revise_captions.pipelines.metrics.evaluate import as_text, evaluate
from revise_captions.pipelines.metrics.floors import all_floors
from revise_captions.pipelines.metrics.options import EvaluationOptions
from revise_captions.pipelines.metrics.scores import metric_input, read_scores
from revise_captions.stats.correlations import correlation

main = program(cli.evaluate_metric)

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of public data is not here")
PARSER = (Path(parse.__file__).parent / "bundled").is_dir()
WITH_REFERENCES = [name for name in BASELINES if PARSER or name != "floor:graph-f1"]
#: (sentences, labels, references) of a caption.
ROWS = (
    (("Sales were 1,200.50 in 2019.", "They fell."), "fn", ["Sales were 1,200.50 in 2019."]),
    (("It is 35% and 40%.", "It was 7."), "nf", ["A chart.", "It is 35 percent and 41."]),
    (("A black dog runs on grass.",), "f", ["A dog runs on the grass.", "Two men sit."]),
    (("A man.", "Nobody says more."), "fn", []),
)


@pytest.fixture
def folder(tmp_path):
    rows = []
    for k, (sentences, labels, references) in enumerate(ROWS):
        caption, at = " ".join(sentences), 0
        spans = []
        for text, label in zip(sentences, labels, strict=True):
            name = "factual" if label == "f" else "nonfactual"
            spans.append({"start": at, "end": at + len(text), "label": name})
            at += len(text) + 1
        rows.append(
            {"id": str(k), "image": f"{k}.png", "model": "ab"[k % 2], "caption": caption,
             "sentences": spans, "references": references,
             "scores": [{"axis": "quality", "value": k}]}
        )  # fmt: skip
        draw(tmp_path / f"{k}.png", "Year 2019 35 7" if k < 2 else "")
    (tmp_path / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def draw(path: Path, text: str) -> None:
    image = Image.new("RGB", (320, 120), "white")
    ImageDraw.Draw(image).text((20, 40), text, "black", font=ImageFont.load_default(32))
    image.save(path)


@pytest.fixture
def examples(folder):
    return list(benchmark("plain").read(folder))


# --- numbers ------------------------------------------------------------------------------------


def test_numbers_as_they_are_written():
    text = "From 1,200.50 to 20,000,000 (35%), -4 and .5; in 2019, 2,5 and v1.2.3"
    assert number_floors.numbers_in(text) == [
        1200.5, 20_000_000, 35, 4, 0.5, 2019, 2, 5, 1.2, 0.3,
    ]  # fmt: skip


def test_numbers_that_the_image_lacks_are_counted(examples):
    assert list(number_floors.digits(examples).values()) == [-2, 0, -2, -1, 0, 0, 0]
    texts = {"0.png": "2019\n1200.5", "1.png": "35.0 %", "3.png": ""}
    found = number_floors.not_found(examples, texts)
    assert list(found.values()) == [0, 0, -1, -1, None, 0, 0]


class Engine:
    """Reads the same from every image, and breaks off when it is told to."""

    def __init__(self, breaks_at: int = 99) -> None:
        self.read, self.breaks_at = 0, breaks_at

    def __call__(self, image: Image.Image, use_cls: bool) -> Engine:
        self.read += 1
        if self.read >= self.breaks_at:
            raise KeyboardInterrupt
        return self

    txts = ("7", "in 2019")


def test_what_was_read_is_never_read_again(examples, folder, monkeypatch):
    file = folder / "read.jsonl"
    (folder / "2.png").write_bytes(b"no image")
    first, second = Engine(breaks_at=3), Engine()
    monkeypatch.setattr(number_floors, "_engine", lambda: first)
    with pytest.raises(KeyboardInterrupt):
        number_floors.texts_of(examples, file, folder)
    file.write_text(file.read_text() + '{"image": "cut')
    monkeypatch.setattr(number_floors, "_engine", lambda: second)
    texts = number_floors.texts_of(examples, file, folder)
    assert texts == dict.fromkeys(("0.png", "1.png", "3.png"), "7\nin 2019")
    assert (first.read, second.read) == (3, 1)
    header, *rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert header == number_floors.HEADER
    assert sorted(row["image"] for row in rows) == ["0.png", "1.png", "2.png", "3.png"]
    monkeypatch.setattr(number_floors, "_engine", pytest.fail)
    assert number_floors.texts_of(examples, file, folder) == texts
    file.write_text("[1]\n")
    with pytest.raises(UserError, match="does not hold OCR texts of images"):
        number_floors.texts_of(examples, file, folder)


def test_ocr_reads_a_drawn_number(examples, folder):
    pytest.importorskip("rapidocr")
    scores = read_scores(f"floor:numbers={folder / 'r.jsonl'}", examples[:1], folder=folder)
    # 2019 is in the image, 1,200.50 is not
    assert scores.sentences == {("0", 0): -1, ("0", 1): 0}
    assert not scores.probabilities


# --- metrics with references ----------------------------------------------------------------------


def test_every_baseline_scores_what_has_references(examples):
    for name in WITH_REFERENCES:
        scores, made = baseline(name, examples)
        assert list(scores) == ["0", "1", "2", "3"]
        assert scores["3"] is None
        assert all(value is not None and value >= 0 for value in list(scores.values())[:3])
        assert made.split()[1][0].isdigit()


def test_values_by_hand(examples):
    dog = examples[2]  # A black dog runs on grass. / A dog runs on the grass.
    assert baseline("floor:bleu", [dog.__class__(**fields(dog, references=(dog.caption,)))])[0][
        "2"
    ] == pytest.approx(1)
    # longest common subsequence: a dog runs on grass, 5 of 6 and of 6 words
    assert baseline("floor:rouge-l", [dog])[0]["2"] == pytest.approx(5 / 6)
    # 5 matches in 3 chunks: F with α = 0.9 is 5/6, penalty 0.5 · (3/5)³
    wanted = 5 / 6 * (1 - 0.5 * (3 / 5) ** 3)
    assert baseline("floor:meteor", [dog])[0]["2"] == pytest.approx(wanted, abs=0.01)


@pytest.mark.skipif(not PARSER, reason="no parser is bundled")
def test_graphs_are_compared_as_sets_of_tuples(examples):
    dog = examples[2]
    # dog, grass, black dog, dog runs on grass; dog, grass, dog runs on grass, men, two men
    (score,) = baseline("floor:graph-f1", [dog])[0].values()
    assert score == pytest.approx(2 * 3 / (4 + 5), abs=0.2)


def fields(example, **changed):
    return {name: getattr(example, name) for name in example.__slots__} | changed


def test_cider_is_its_librarys_with_document_frequencies_of_all(examples):
    cider = pytest.importorskip("pycocoevalcap.cider.cider")
    scores, _ = baseline("floor:cider", examples)
    references = {
        0: ["sales were 1,200.50 in 2019"],
        1: ["a chart", "it is 35 percent and 41"],
        2: ["a dog runs on the grass", "two men sit"],
    }
    captions = {
        0: ["sales were 1,200.50 in 2019. they fell"],
        1: ["it is 35 and 40 %. it was 7"],
        2: ["a black dog runs on grass"],
    }
    wanted = cider.Cider().compute_score(references, captions)[1]
    # Treebank tokens keep a full stop inside a text: a caption of one sentence is exactly this
    assert scores["2"] == pytest.approx(wanted[2], abs=1e-9)


@needs_data
@pytest.mark.slow
def test_cider_on_flickr8k_expert_is_what_others_report():
    """τ-c that PAC-S's code prints on all 1,000 images: .439. Here on 518, with NLTK's tokens."""
    rated = list(benchmark("flickr8k-expert").read(DATA / "flickr8k_expert"))
    scores, _ = baseline("floor:cider", rated)
    pairs = [(scores[e.id], score.value) for e in rated for score in e.scores]
    tau = correlation("kendall-c", *zip(*pairs, strict=True))
    assert tau == pytest.approx(0.439, abs=0.02)


def test_what_is_missing_is_named(examples, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(UserError, match="floor:bleu needs sacrebleu"):
        read_scores("floor:bleu", examples)
    found, left_out = all_floors(examples)
    assert "needs sacrebleu" in left_out["floor:bleu"]
    assert [scores.name for scores in found] == [
        "floor:length", "floor:position", "floor:digits",
        *(name for name in WITH_REFERENCES if name != "floor:bleu"),
    ]  # fmt: skip
    left_out = all_floors(examples[3:])[1]
    assert left_out["floor:cider"] == "no references"
    assert left_out["floor:digits"] == "it gives everything the same score"
    with pytest.raises(UserError, match="there is no floor:luck"):
        read_scores("floor:luck", examples)
    with pytest.raises(UserError, match=r"the floors are: .*floor:numbers=FILE"):
        read_scores("floor:numbers", examples)


def test_the_option_adds_all_floors_to_every_table(folder, capsys):
    call = ["plain", str(folder), "floor:length", "--floors", "--replicates", "100"]
    with pytest.raises(SystemExit) as stopped:
        main(call)
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert text.count("kendall-b  ") == 2 + len(
        WITH_REFERENCES
    )  # position says nothing of whole captions
    assert "first − this" in text
    assert "macro-F1 at 0.5" not in text  # none of them is a probability
    assert "floor:cider could not judge: 1 no references" in text


def test_left_out_floors_are_said(folder, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rouge_score", None)
    found = evaluate(
        EvaluationOptions("plain", folder, (), ("sentence",), replicates=100, floors=True)
    )
    assert "left out: floor:rouge-l (floor:rouge-l needs rouge_score" in as_text(found)


# --- images and texts -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    return {
        name: tinytowers.save(name, tmp_path_factory.mktemp(name)) for name in ("clip", "siglip")
    }


@pytest.mark.parametrize("name", ["clip", "siglip"])
def test_similarities_are_of_captions_and_of_labeled_sentences(encoders, examples, folder, name):
    (folder / "3.png").write_bytes(b"broken")
    given = f"clipscore={encoders[name]}"
    scores = read_scores(f"metric:{given}", examples, folder=folder)
    assert (scores.captions["3"], scores.sentences["3", 0]) == (None, None)
    assert sum(scores.reasons.values()) == 3  # the caption, and its two sentences
    metric = load_metric(given)
    for example in examples[:3]:
        texts = [example.caption, *(s.span.of(example.caption) for s in example.sentences)]
        whole = metric_input(example, folder)
        wanted = [s.value for s in scored(metric, [replace(whole, text=t) for t in texts])]
        found = [scores.sentences[example.id, k] for k in range(len(example.sentences))]
        assert [scores.captions[example.id], *found] == pytest.approx(wanted, abs=1e-6)
    assert len(scores.sentences) == 7
