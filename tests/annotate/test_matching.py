"""Captions that nobody judged as training data: whose sentence is it, and nothing is made up."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from finetuning import FINETUNE as finetune_critic
from PIL import Image
from tinycritic import saved

from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.check import check_data
from revise_captions.finetune.data.records import open_split
from revise_captions.pipelines.annotate.cli import annotate
from revise_captions.pipelines.annotate.data import matching
from revise_captions.pipelines.annotate.data.matching import (
    OwnSentences,
    SentencePool,
    match,
)
from revise_captions.pipelines.annotate.options import MatchOptions

NAMES = ("tent", "kite", "wagon", "robot", "flag", "drum", "boat", "lamp")


def write_captions(folder: Path, count: int = 40) -> Path:
    """Every image has three sentences with its own number in them, the third with a pronoun; image
    0 has two captions."""
    lines = []
    for k in range(count + 1):
        number = 0 if k == count else k
        path = folder / f"{number}.png"
        Image.effect_noise((32, 32), 20 + 5 * number).convert("RGB").save(path)
        name = NAMES[number % len(NAMES)]
        text = f"Ein „{name}“ № {number} 🎈 steht. Number {number} is a {name}{k}. It is {number}."
        lines.append(json.dumps({"image": path.name, "caption": text}))
    lines.insert(3, '{"image": "none.png", "caption": "Nothing."}')
    lines.insert(5, "{broken")
    lines.append(json.dumps({"image": "1.png", "caption": "She sleeps. They are hers."}))
    path = folder / "captions.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, matching.Matched]:
    folder = tmp_path_factory.mktemp("match")
    out = folder / "out"
    return out, match(MatchOptions(str(write_captions(folder)), out, others=4, validation=0.1))


def number_of(text: str) -> str:
    return text.split("№ ")[1].split()[0] if "№" in text else text.split()[1]


def test_what_is_the_images_own_is_factual_and_nothing_else_is(made):
    out, _ = made
    image_of: dict[str, set[str]] = {}
    for split in ("train", "validation"):
        for example in open_split(out, split):
            asked = [(s.span.of(example.caption), s.factual) for s in example.sentences]
            assert " ".join(text for text, _ in asked) == example.caption
            assert Counter(factual for _, factual in asked) == {True: 2, False: 2}
            beside = [(aside.text, aside.factual) for aside in example.auxiliary_sentences]
            assert Counter(factual for _, factual in beside) == {True: 2, False: 4}
            own = {number_of(text) for text, factual in asked + beside if factual}
            others = {number_of(text) for text, factual in asked + beside if not factual}
            assert len(own) == 1
            assert not own & others  # nor what its image's other caption says
            image_of.setdefault(example.image, set()).update(own)
            assert all(s.stands_alone and not s.rationales for s in example.sentences)
    assert len(image_of) == 40
    assert Counter(map(len, image_of.values())) == {1: 40}


def test_what_is_left_out_is_counted(made):
    out, found = made
    assert dict(found.left_out) == {
        matching.NO_RECORD: 1,
        matching.NO_IMAGE: 1,
        matching.REFERS: 43,  # one of each of 41 captions, and two of the last
        matching.NOTHING: 1,
    }
    counts = found.counts
    assert counts["train"].captions + counts["validation"].captions == 41
    about = json.loads((out / "data.json").read_text())
    assert about["left_out"] == dict(found.left_out)
    assert "no judgements" in about["note"]


@pytest.mark.parametrize(
    ("text", "refers"),
    [
        ("A man and his dog walk.", False),
        ("A rocket closes the row at its left end.", False),
        ("The barrel lies on its side.", False),
        ("Itself a fine thing, the hut is small.", False),
        ("Its roof is red.", True),
        ("In her hand is a cup.", True),
        ("„Their“ house is white.", True),
        ("The dog has a ball and she throws it.", True),
        ("Another dog sleeps.", True),
        ("There is a theirry.", False),
    ],
)
def test_what_speaks_of_something_said_before(text, refers):
    assert bool(matching._REFERS.search(text)) is refers


def test_order_and_company_do_not_tell(made):
    """The first of a caption's sentences is the image's own about as often as not."""
    out, _ = made
    first = [
        e.sentences[0].factual for split in ("train", "validation") for e in open_split(out, split)
    ]
    assert 0.25 < sum(first) / len(first) < 0.75


def test_a_seed_decides_everything(tmp_path):
    path = write_captions(tmp_path, 12)
    texts = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        match(MatchOptions(str(path), tmp_path / name, seed=seed, validation=0.1))
        texts.append((tmp_path / name / "train.jsonl").read_text(encoding="utf-8"))
    assert texts[0] == texts[1] != texts[2]


def test_the_pool_is_drawn_from_all_alike(monkeypatch):
    """Reservoir sampling: of 200 sentences, each is in a pool of 20 in a tenth of the draws."""
    monkeypatch.setattr(matching, "POOL", 20)
    captions = [OwnSentences(str(k), f"{k}.png", (f"{k}.",)) for k in range(200)]
    drawn = Counter(text for seed in range(400) for _, text in matching._drawn(captions, seed))
    assert sum(drawn.values()) == 400 * 20
    assert len(drawn) == 200
    assert 15 < min(drawn.values()) <= max(drawn.values()) < 70  # 40 ± 4 standard deviations


def test_rows_pass_the_check_of_finetune_critic(made):
    out, _ = made
    assert "train" in check_data(out, (), ("shared-images",), TrainingSettings())


def test_the_command_says_what_to_do_next(tmp_path):
    path = write_captions(tmp_path, 12)
    given = ["match", str(path), str(tmp_path / "out"), "--others", "2"]
    result = CliRunner().invoke(annotate, given)
    assert result.exit_code == 0, result.output
    assert f"captions finetune {tmp_path / 'out'} --base bundled" in result.output
    assert f"1 {matching.NO_IMAGE}" in result.output
    again = CliRunner().invoke(annotate, given)
    assert isinstance(again.exception, UserError)
    assert "not empty" in str(again.exception)


def test_one_image_is_not_enough(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"image": "a.png", "caption": "A tent."}) + "\n")
    with pytest.raises(UserError, match="fewer than two images"):
        match(MatchOptions(str(path), tmp_path / "out"))


def test_another_caption_of_the_image_is_its_own_too(tmp_path):
    """Not so where captions, not images, are told apart."""
    mine, also = OwnSentences("1", "a.png", ("A tent.",)), OwnSentences("2", "a.png", ("A kite.",))
    other = OwnSentences("3", "b.png", ("A wagon.", "a TENT."))
    pool = SentencePool.of([(own, text) for own in (mine, also, other) for text in own.sentences])
    job = MatchOptions("", tmp_path, others=5)
    row = matching.row_of(mine, pool, job)
    texts = [row["caption"][s["start"] : s["end"]] for s in row["sentences"]]
    asked = [*zip(texts, (s["label"] for s in row["sentences"]), strict=True)]
    asked += [(aside["text"], aside["label"]) for aside in row["asides"]]
    assert set(asked) == {("A tent.", "factual"), ("A wagon.", "nonfactual")}


def test_a_small_critic_learns_from_it(tmp_path):
    """The page's second command, at tiny size: rows are asked, words become tokens."""
    out, first = tmp_path / "matched", tmp_path / "first"
    match(MatchOptions(str(write_captions(tmp_path, 12)), out, validation=0.1))
    given = [
        out, "--base", saved(tmp_path / "base", sure=False), "--out", first, "--preset", "match",
        "--steps", 2, "--batch-size", 4, "--no-compile", "--dtype", "float32",
    ]  # fmt: skip
    result = CliRunner().invoke(finetune_critic, [str(a) for a in given], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    lines = [
        json.loads(line) for line in (first / "training" / "log.jsonl").read_text().splitlines()
    ]
    assert "Ġsteht" in lines[0]["new_words"]
    card = json.loads((first / "critic.json").read_text())
    assert "no judgements" in card["training"]["data"]["note"]
    assert (
        len(load_paligemma(first, CriticOptions(Placement(device="cpu"))).tokenizer.text(" steht"))
        == 1
    )
