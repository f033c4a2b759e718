"""New words of a small critic: what they change, and that they change nothing else."""

from __future__ import annotations

import json

import pytest
import torch
from click.testing import CliRunner
from finetuning import FINETUNE as main
from tinycritic import saved, tiny
from torch.nn.functional import cosine_similarity
from toyworld import write
from transformers import AutoTokenizer, PaliGemmaForConditionalGeneration

from revise_captions.critic import prompts
from revise_captions.critic.locate import BUNDLED
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.paligemma.model import (
    hidden_states,
    image_tokens,
    logits_at,
    tower_output,
    use_tree_attention,
)
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    collate,
    context_trunk,
    pack,
    question,
)
from revise_captions.critic.paligemma.tokenizer import TEMPLATES, PromptTokenizer
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.new_words import OFTEN, add_words, new_words
from revise_captions.records import Span

SAID = ["Somebody painted the rocket. A robot salutes; the rocket and robots are red.\n"] * OFTEN
NEW = ["Ġrocket", "Ġpainted", "Ġrobot", "Ġrobots", "Ġsalutes", "Somebody"]
OLD = (
    "A dog and two cats sit by a house.\n\n- “Naïve” rocketry, 1,024 robot's\ttoys: OPEN </TARGET>"
)


def bundled() -> tuple[PaliGemmaForConditionalGeneration, PromptTokenizer]:
    model = PaliGemmaForConditionalGeneration.from_pretrained(BUNDLED, dtype=torch.float32)
    use_tree_attention(model)
    return model.eval(), PromptTokenizer(AutoTokenizer.from_pretrained(BUNDLED))


@pytest.fixture(scope="module")
def grown():
    """The bundled critic's model and codec, before and after it gained words."""
    model, codec = bundled()
    before = model.get_input_embeddings().weight.detach().clone()
    larger = add_words(model, codec, new_words(codec, SAID, 100), TrainingSettings())
    return model, codec, before, larger


def test_words_are_those_that_are_taken_to_pieces_often_enough(grown):
    _, codec, _, larger = grown
    assert sorted(new_words(codec, SAID, 100)) == sorted(NEW)
    assert new_words(codec, SAID, 1) == ["Ġrocket"]
    assert new_words(codec, SAID[1:], 100) == ["Ġrocket"]  # twice in each of four
    assert new_words(larger, SAID, 100) == []
    assert all(len(codec.text(f" {word[1:]}")) > 1 for word in NEW if word[0] == "Ġ")
    ids = larger.text(" painted the rocket")
    assert larger.pretrained.convert_ids_to_tokens(ids) == ["Ġpainted", "Ġthe", "Ġrocket"]
    assert larger.decode(ids) == " painted the rocket"


def test_what_was_spelled_before_is_spelled_as_before(grown):
    """Not so where words are added behind the vocabulary: the newline's id would move."""
    _, codec, _, larger = grown
    for text in ("\n", OLD, OLD.upper(), "rocket", " Rocket", prompts.YES, prompts.NOTHING):
        untouched = text.replace(" robot's", "")
        assert larger.text(untouched) == codec.text(untouched)
    assert all(larger.special(text) == codec.special(text) for text in TEMPLATES)
    assert len(larger.pretrained) == len(codec.pretrained) + len(NEW)
    assert larger.decode(larger.text(OLD)) == OLD


def test_answers_about_old_words_stay(grown):
    """The logits of all tokens that there were, about a caption of old words."""
    model, codec, before, larger = grown
    first, _ = bundled()
    pixels = torch.rand(1, 3, 128, 128, generator=torch.Generator().manual_seed(0)) * 2 - 1

    def logits(one: PaliGemmaForConditionalGeneration, by: PromptTokenizer) -> torch.Tensor:
        text = "A dog sits by a house.\nIt is brown."
        spans = (Span(0, 22), Span(23, 35))
        trunk = context_trunk(by, text, spans)
        asked = [question(by, trunk, text, spans, k) for k in range(2)]
        batch = collate([pack(image_tokens(one), trunk, asked, AttentionMode.IMAGE_PREFIX)], by)
        tower = tower_output(one, pixels)
        hidden = hidden_states(one, tower, torch.zeros(1, dtype=torch.long), batch)
        ends = [batch.at(0, k, branch.prompt - 1) for k, branch in enumerate(asked)]
        return logits_at(one, hidden, torch.tensor(ends))[:, : len(codec.pretrained)]

    with torch.inference_mode():
        assert torch.equal(logits(model, larger), logits(first, codec))
    table = model.get_input_embeddings().weight
    assert torch.equal(table[: len(codec.pretrained)], before[: len(codec.pretrained)])
    assert model.config.vocab_size == model.config.text_config.vocab_size == len(table)
    assert model.lm_head.weight is table


def test_words_that_are_spelled_alike_are_not_alike(grown):
    """With the mean of their pieces they would be, and unlike any word that the critic knows."""
    model, codec, before, larger = grown
    table = model.get_input_embeddings().weight.detach()
    rocket, robot = (larger.text(f" {word}")[0] for word in ("rocket", "robot"))
    drawn = cosine_similarity(table[rocket], table[robot], dim=0)
    pieces = [before[list(codec.text(f" {word}"))].mean(0) for word in ("rocket", "robot")]
    known = [before[codec.text(f" {w}")[0]] for w in ("dog", "house", "kite", "red", "stands")]
    likeness = torch.stack(
        [cosine_similarity(a, b, dim=0) for a in known for b in known if a is not b]
    )
    assert cosine_similarity(*pieces, dim=0) > 0.5 > likeness.max()
    assert drawn < likeness.max() + 0.15
    assert 0.7 < table[rocket].norm() / torch.stack(known).norm(dim=1).mean() < 1.4


def test_the_same_seed_draws_the_same_words():
    tables = []
    for seed in (1, 1, 2):
        model, codec = tiny()
        larger = add_words(
            model, codec, ["Ġrocket", "Ġrobot"], TrainingSettings().with_options(seed=seed)
        )
        tables.append(model.get_input_embeddings().weight[list(larger.text(" rocket robot"))])
    assert torch.equal(tables[0], tables[1])
    assert not torch.equal(tables[0], tables[2])


@pytest.mark.parametrize(
    "settings",
    [
        TrainingSettings().with_options(method="lora"),
        TrainingSettings().with_options(targets="tower"),
    ],
)
def test_embeddings_that_do_not_learn_are_refused(settings):
    model, codec = tiny()
    with pytest.raises(UserError, match="trainable embeddings"):
        add_words(model, codec, ["Ġrocket"], settings)


def test_through_the_command_and_back(tmp_path):
    """Words are the data's, a resumed run has the same, and the critic that is written loads."""
    data = write(tmp_path / "data", {"train": 8, "validation": 8}, grid=4)
    lines = [json.loads(line) for line in (data / "train.jsonl").read_text().splitlines()]
    for line in lines:
        line["description"] = "rocket rocket and a rocket"
    (data / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    base, out = saved(tmp_path / "base", sure=False), tmp_path / "out"
    given = [
        data, "--base", base, "--out", out, "--new-words", 50, "--no-compile", "--dtype", "float32",
        "--batch-size", 4, "--save-steps", 1, "--allow", "duplicates",
    ]  # fmt: skip

    def run(*more: object) -> list[dict]:
        result = CliRunner().invoke(main, [str(a) for a in (*given, *more)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        events = (out / "training" / "log.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, events) if event["event"] == "start"]

    began, resumed = (run("--steps", 1), run("--steps", 2, "--resume"))
    assert "Ġrocket" in began[0]["new_words"]
    assert resumed[1]["new_words"] == began[0]["new_words"]
    codec = load_paligemma(out, CriticOptions(Placement(device="cpu"))).tokenizer
    assert len(codec.text(" rocket")) == 1
    assert codec.text("\n") == PromptTokenizer(AutoTokenizer.from_pretrained(base)).text("\n")
