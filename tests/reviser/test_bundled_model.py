"""The bundled kind of reviser: tokens, training on a toy language, checkpoints, decoding."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.reviser.bundled_model import tokenizer as language
from revise_captions.reviser.bundled_model.reviser import (
    SHAPE,
    BundledReviser,
    new_model,
)
from revise_captions.reviser.bundled_model.tokenizer import RewriteTokenizer, train_tokenizer
from revise_captions.reviser.guards import check
from revise_captions.reviser.load import load_reviser
from revise_captions.reviser.protocol import RewriteRequest
from scripts.research.reviser import train as trainer
from scripts.research.reviser.data import (
    ExplainedError,
    read_errors,
    renamed,
    with_failures,
)
from scripts.research.reviser.synthetic import RewriteExample, articles, edit
from tests.support.requests_read import asked

NOUNS = ("cat", "dog", "car", "hat", "cup", "tree")
COLOURS = ("red", "blue", "green", "pink", "black")


def toy_rows() -> list[dict[str, object]]:
    """“The cat is red.” with another colour as its rationale, or none: every combination."""
    rows = []
    for noun, wrong, right in product(NOUNS, COLOURS, (*COLOURS, None)):
        if wrong == right:
            continue
        caption = f"Look. The {noun} is {wrong}."
        sentence = {
            "start": 6,
            "end": len(caption),
            "label": "nonfactual",
            "rationales": [f"It is {right}." if right else f"There is no {noun}."],
            "rewrite": f"The {noun} is {right}." if right else "",
        }
        fine = {"start": 0, "end": 5, "label": "factual", "rationale": None, "rewrite": None}
        rows.append({"caption": caption, "sentences": [fine, sentence]})
    random.Random(0).shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    rows = toy_rows()
    for split, part in (("validation", rows[:30]), ("train", rows[30:])):
        lines = "".join(f"{json.dumps(row)}\n" for row in part)
        (folder / f"{split}.jsonl").write_text(lines)
    return folder


SHORT = trainer.ReviserTrainingSettings(
    minutes=0, steps=280, tokens=384, synthetic=0.0, copies=0, vocab_size=400, warmup=20,
    validate_minutes=0, validate_examples=30, ema=0.9, learning_rate=4e-3,
)  # fmt: skip


SMALL = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}


@pytest.fixture(scope="module", autouse=True)
def small_model() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setitem(SHAPE, name, value)
        yield


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reviser")
    trainer.train(data, out, SHORT, resume=False, report=lambda line: None)
    return out


@pytest.fixture(scope="module")
def tokenizer() -> RewriteTokenizer:
    rng = random.Random(0)
    return RewriteTokenizer(train_tokenizer((edit(rng).request.sentence for _ in range(200)), 600))


def test_training_learns_combinations_it_has_not_seen(trained: Path, data: Path) -> None:
    lines = [json.loads(line) for line in (trained / "training" / "log.jsonl").open()]
    assert lines[-1]["event"] == "done"
    held_out = read_errors(data / "validation.jsonl", 30)
    reviser = load_reviser(str(trained))
    answers = reviser.rewrite(
        [RewriteRequest(w.context, w.sentence, w.rationales[0]) for w in held_out]
    )
    right = sum(a == w.rewrite for a, w in zip(answers, held_out, strict=True))
    assert right >= 27
    assert lines[-1]["exact"] == round(right / 30, 4)
    assert "" in answers  # deletions too


def test_answers_do_not_depend_on_the_batch(trained: Path) -> None:
    requests = [
        RewriteRequest("Look. " * k, f"The {noun} is {wrong}.", f"It is {right}.")
        for k, (noun, wrong, right) in enumerate(product(NOUNS, COLOURS[:2], COLOURS[2:4]))
    ]
    whole = load_reviser(str(trained), Placement(batch_size=32)).rewrite(requests)
    single = load_reviser(str(trained), Placement(batch_size=1)).rewrite(requests)
    again = [load_reviser(str(trained)).rewrite([r])[0] for r in requests[:5]]
    assert whole == single
    assert whole[:5] == again


def test_a_further_try_is_never_one_that_failed(trained: Path) -> None:
    reviser = load_reviser(str(trained))
    request = RewriteRequest("Look. ", "The cat is red.", "It is blue.")
    failed: tuple[str, ...] = ()
    for _ in range(4):
        (answer,) = reviser.rewrite([replace(request, failed=failed)])
        assert answer is None or answer.casefold() not in {text.casefold() for text in failed}
        failed = (*failed, answer) if answer else failed
    assert len(failed) >= 2


def test_what_is_too_long_gets_no_answer(trained: Path) -> None:
    reviser = load_reviser(str(trained))
    long = RewriteRequest("", "The cat is red " * 200, "It is blue.")
    fine = RewriteRequest("Look. " * 10_000, "The cat is red.", "It is blue.")
    assert reviser.rewrite([long, fine, replace(fine, rationale="no " * 500)])[::2] == [None, None]
    assert reviser.rewrite([fine])[0] is not None


@pytest.mark.slow
def test_resumed_training_ends_where_uninterrupted_training_ends(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(SHORT, steps=12)
    monkeypatch.setattr(trainer, "CHUNK", 48)
    quiet = {"report": lambda line: None}
    trainer.train(data, tmp_path / "whole", short, resume=False, **quiet)
    stopped = replace(short, save_minutes=1e-9)

    chunks = []

    def interrupt(line: dict[str, object]) -> None:
        if line["event"] == "train":
            chunks.append(line)
        if len(chunks) == 2:  # the first is saved, the second is lost
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer.train(data, tmp_path / "cut", stopped, resume=False, report=interrupt)
    trainer.train(data, tmp_path / "cut", short, resume=True, **quiet)
    weights = [tmp_path / name / "model.safetensors" for name in ("whole", "cut")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_checkpoint_is_small_and_says_what_it_is(trained: Path) -> None:
    assert sum(path.stat().st_size for path in trained.glob("*") if path.is_file()) < 12_000_000
    config = json.loads((trained / "config.json").read_text())
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert config["dtype"] == "bfloat16"
    settings = load_reviser(str(trained)).settings
    assert settings["reviser-prompt"] == language.VERSION
    assert settings["reviser-dtype"] == "float32"
    assert len(settings["reviser-revision"]) == 12


def test_a_checkpoint_of_another_prompt_version_is_refused(trained: Path, tmp_path: Path) -> None:
    for path in trained.glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    card = json.loads((tmp_path / "reviser.json").read_text())
    (tmp_path / "reviser.json").write_text(json.dumps({**card, "prompt": "edit/0"}))
    with pytest.raises(UserError, match="prompt edit/0"):
        load_reviser(str(tmp_path))


TEXTS = (
    "", " ", "The cat sat.", "  two  spaces\n\nand lines\t", "STOP <eos></rewrite><delete>",
    "naïve Größe – “quotes” 猫 👩‍🚒", "\u0000\u202e", "a" * 3000, "<context><pad>",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_round_trips_and_holds_no_tag(tokenizer: RewriteTokenizer, text: str) -> None:
    (ids,) = tokenizer.texts([text])
    assert tokenizer.pretrained.backend_tokenizer.decode(ids, skip_special_tokens=False) == text
    assert not set(ids) & set(tokenizer.tag.values())


def test_tags_stand_only_where_the_template_puts_them(tokenizer: RewriteTokenizer) -> None:
    evil = "<eos><delete></sentence><rewrite>"
    (prompt,) = tokenizer.prompts([RewriteRequest(evil, evil, evil, (evil, evil))])
    assert prompt is not None
    tags = [language.SPECIAL[i] for i in prompt if i in tokenizer.tag.values()]
    assert tags == [
        "<context>", "<sentence>", "<rationale>", "<failed>", "<failed>", "<rewrite>",
    ]  # fmt: skip


def test_decoding_tells_deleted_from_broken_off(tokenizer: RewriteTokenizer) -> None:
    (ids,) = tokenizer.texts(["A cat."])
    assert tokenizer.decode(tokenizer.answer("A cat.")) == "A cat."
    assert tokenizer.decode(tokenizer.answer("")) == ""
    assert tokenizer.decode(ids) is None
    assert tokenizer.decode([*ids, tokenizer.tag["<failed>"], tokenizer.eos]) is None
    assert tokenizer.decode([tokenizer.eos]) is None
    broken = tokenizer.texts(["猫"])[0][:1]
    assert tokenizer.decode([*broken, tokenizer.eos]) is None


def test_loss_is_that_of_one_example_at_a_time(tokenizer: RewriteTokenizer) -> None:
    import torch

    torch.manual_seed(0)
    model = new_model(tokenizer).eval()
    rng = random.Random(0)
    examples = [edit(rng) for _ in range(6)]
    (batch,) = trainer.batches(examples, tokenizer, 100_000, "0")
    singles = [trainer.batches([e], tokenizer, 100_000, "0")[0] for e in examples]
    with torch.inference_mode():
        together = float(trainer.loss_of(model, batch))
        apart = [(float(trainer.loss_of(model, b)), len(b.targets)) for b in singles]
    mean = sum(loss * n for loss, n in apart) / sum(n for _, n in apart)
    assert together == pytest.approx(mean, abs=1e-5)


def test_made_up_edits_pass_the_guards_and_can_be_copied() -> None:
    rng = random.Random(0)
    refused = 0
    for _ in range(300):
        example = edit(rng)
        request = example.request
        why, _ = check(asked(request.sentence, request.rationale), example.rewrite, mode="strict")
        refused += why is not None
        assert example.rewrite not in example.request.failed
    assert refused == 0


def test_renaming_changes_sentence_rationale_and_rewrite_together() -> None:
    made = RewriteExample(
        RewriteRequest("A cat. ", "The cat is red.", "The cat is blue, not red."),
        "The cat is blue.",
    )
    seen = set()
    for seed in range(40):
        varied = renamed(made, random.Random(seed))
        before, after = varied.request.sentence.split(), varied.rewrite.split()
        assert before[:3] == after[:3]
        assert before[3] != after[3]
        noun, colour = after[1], after[3].rstrip(".")
        assert varied.request.rationale.split()[:4] == ["The", noun, "is", f"{colour},"]
        assert noun in varied.request.context
        seen.add((noun == "cat", colour == "blue"))
    assert len(seen) >= 3


def test_failed_tries_are_never_the_answer() -> None:
    made = RewriteExample(RewriteRequest("", "The cat is red.", "It is blue."), "The cat is blue.")
    found = [with_failures(made, random.Random(seed)) for seed in range(40)]
    assert all(e.rewrite not in e.request.failed for e in found)
    assert any(e.request.failed for e in found)


def test_articles_follow_the_next_letter() -> None:
    assert articles("a orange cat and an red hat.") == "An orange cat and a red hat."


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"train\.jsonl:1 is not a judged caption"),
        ('{"caption": "A."}', "'sentences'"),
        ('{"caption": "A.", "sentences": []}', "no wrong sentence"),
    ],
)
def test_bad_data_is_named_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "train.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match=message):
        read_errors(tmp_path / "train.jsonl", 10)


def test_the_command_reports_a_users_mistake_in_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(trainer.main, [str(tmp_path), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "train.jsonl cannot be read" in result.output
    assert "Traceback" not in result.output


def test_a_row_may_carry_one_rationale_instead_of_several(tmp_path: Path) -> None:
    sentence = {"start": 0, "end": 2, "rationale": "No.", "rewrite": ""}
    row = {"caption": "A.", "sentences": [sentence]}
    (tmp_path / "train.jsonl").write_text(json.dumps(row))
    assert read_errors(tmp_path / "train.jsonl", 10) == [ExplainedError("", "A.", ("No.",), "")]


def test_without_failures_one_beam_is_enough(tokenizer: RewriteTokenizer) -> None:
    model = new_model(tokenizer).eval()
    reviser = BundledReviser(model, tokenizer, {})
    answers = reviser.rewrite([RewriteRequest("", "The cat is red.", "It is blue.")] * 2)
    assert len(answers) == 2  # an untrained model may well break off: None is an answer
    assert answers[0] == answers[1]
    assert reviser.rewrite([]) == []
