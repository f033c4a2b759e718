"""What training looks at: the right tokens, the right ids, the same prompts as inference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tinycritic import TEXTS, tiny

from revise_captions.critic import prompts
from revise_captions.critic.paligemma.model import (
    hidden_states,
    logits_at,
    tower_output,
)
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    collate,
    context_trunk,
    pack,
    question,
    unpack,
)
from revise_captions.critic.paligemma.tokenizer import DESCRIBE, PromptTokenizer, train_tokenizer
from revise_captions.finetune.data.order import batches
from revise_captions.finetune.data.records import (
    AuxiliaryExample,
    TrainingExample,
    TrainingSentence,
    parse,
)
from revise_captions.finetune.data.targets import Choice, TokenTask, choose, encode
from revise_captions.finetune.data.token_labels import (
    RIGHT,
    UNKNOWN,
    WRONG,
    first_difference,
    token_labels,
)
from revise_captions.records import Span

CAPTION = "There is a red circle. It is on the left. The scene feels calm."
EXAMPLE = TrainingExample(
    "1",
    "1.png",
    CAPTION,
    (
        TrainingSentence(Span(0, 22), True, True, ()),
        TrainingSentence(
            Span(23, 41), False, True, ("The circle is on the right.", "It is right.")
        ),
        TrainingSentence(Span(42, 63), True, False, ()),
    ),
    "A red circle.",
)


@pytest.fixture(scope="module")
def codec() -> PromptTokenizer:
    return PromptTokenizer(train_tokenizer(TEXTS, 512))


def encoded(codec, attention_mode, max_length=500):
    choice = Choice(((1, EXAMPLE.sentences[1].rationales[0]),), True)
    return encode(
        codec,
        [EXAMPLE],
        [choice],
        images=4,
        attention_mode=attention_mode,
        multiple=8,
        max_length=max_length,
    )


def expected(codec) -> list[tuple[list[int], list[int], TokenTask]]:
    """(prompt, answer, task) of everything that is asked, from the prompts module alone."""
    spans = EXAMPLE.spans
    start = [codec.image] * 4 + [codec.bos]
    ask = lambda i: start + codec.pieces(prompts.classification(CAPTION, spans, i))  # noqa: E731
    return [
        (ask(0), [codec.yes, codec.eos], TokenTask.CLASSIFY),
        (ask(1), [codec.no, codec.eos], TokenTask.CLASSIFY),
        (ask(2), [codec.yes, *codec.answer_nothing, codec.eos], TokenTask.CLASSIFY),
        (
            start + codec.pieces(prompts.rationale(CAPTION, spans, 1)),
            [*codec.text("The circle is on the right."), codec.eos],
            TokenTask.RATIONALE,
        ),
        (
            start + list(codec.special(DESCRIBE)),
            [*codec.text("A red circle."), codec.eos],
            TokenTask.DESCRIBE,
        ),
    ]


@pytest.mark.parametrize("attention_mode", list(AttentionMode))
def test_every_target_is_the_next_token_of_the_prompt_that_inference_sends(codec, attention_mode):
    """Walk back from each target through the tree: what the model has read there is the prompt."""
    made = encoded(codec, attention_mode)
    ids, segment, fork = made.batch.ids, made.batch.segment, made.batch.fork
    wanted = iter(expected(codec))
    prompt, answer, task = next(wanted)
    place = 0
    for at, target, kind in zip(made.targets.at, made.targets.ids, made.targets.tasks, strict=True):
        if kind == TokenTask.CAPTION:
            continue
        if place == len(answer):
            prompt, answer, task = next(wanted)
            place = 0
        row, column = divmod(int(at), ids.shape[1])
        own = [c for c in range(column + 1) if segment[row, c] == segment[row, column]]
        read = [*ids[row, : fork[row, column]], *ids[row, own]]
        assert read == prompt + answer[:place]
        assert target == answer[place]
        follow = task is TokenTask.CLASSIFY and place > 0
        assert kind == (TokenTask.FOLLOW if follow else task)
        place += 1
    assert place == len(answer)
    assert next(wanted, None) is None


def read_so_far(made, at: int) -> list[int]:
    """What the model has read at a flat index, that token included."""
    ids, segment, fork = made.batch.ids, made.batch.segment, made.batch.fork
    row, column = divmod(at, ids.shape[1])
    own = [c for c in range(column + 1) if segment[row, c] == segment[row, column]]
    return [*ids[row, : fork[row, column]], *ids[row, own]]


@pytest.mark.parametrize("attention_mode", [AttentionMode.IMAGE_PREFIX, AttentionMode.CAUSAL])
def test_words_are_taught_where_they_are_true_and_traced_where_they_are_known(
    codec, attention_mode
):
    wrong = TrainingSentence(Span(23, 41), False, True, (), "It is on the right.")
    example = TrainingExample("1", "1.png", CAPTION, (EXAMPLE.sentences[0], wrong), "")
    choice = Choice((), False)
    made = encode(
        codec,
        [example],
        [choice],
        images=4,
        attention_mode=attention_mode,
        multiple=8,
        max_length=500,
    )
    start = [codec.image] * 4 + [codec.bos]
    expected = []
    for index, true in ((0, CAPTION[:22]), (1, "It is on the")):
        before = start + codec.pieces(prompts.classification(CAPTION, example.spans, index)[:-2])
        words = list(codec.text(true))
        expected += [(before + words[:n], word) for n, word in enumerate(words)]
    captions = made.targets.tasks == TokenTask.CAPTION
    pairs = zip(made.targets.at[captions], made.targets.ids[captions], strict=True)
    assert [(read_so_far(made, int(at)), int(word)) for at, word in pairs] == expected
    onsets = [
        (codec.decode(read_so_far(made, int(at))[-1:]), int(state))
        for at, state in zip(made.targets.error_onset_at, made.targets.error_onset, strict=True)
    ]
    words = [codec.decode([i]) for i in codec.text(CAPTION[:22])]
    others = [codec.decode([i]) for i in codec.text("It is on the")]
    assert onsets == [(word, RIGHT) for word in (*words, *others)] + [(".", WRONG)]


def test_where_a_word_sees_the_words_behind_it_none_is_taught(codec):
    made = encoded(codec, AttentionMode.PREFIX)
    assert TokenTask.CAPTION not in made.targets.tasks
    assert len(made.targets.error_onset) == 0


@pytest.mark.parametrize(
    ("wrong", "right", "word"),
    [
        ("A red ball lies here.", "A blue ball lies here.", "red"),
        ("A dog and a cat sit.", "A dog sits.", "and"),
        ("It is on the left.", "It is on the right.", "left."),
        ("A dog", "A dog sits", ""),
        ("  Two  dogs", "Two cats", "dogs"),
    ],
)
def test_the_first_word_that_differs(wrong, right, word):
    start, end = first_difference(wrong, right)
    assert wrong[start:end] == word


def test_a_wrong_sentence_without_a_rewrite_is_known_at_its_end_only(codec):
    known = token_labels(codec, "It is red.", factual=False)
    assert known.error_onset == (*[UNKNOWN] * (len(known.error_onset) - 1), WRONG)
    assert not any(known.true)


def test_rows_that_are_too_long_lose_their_last_branches_and_say_so(codec):
    whole = encoded(codec, AttentionMode.IMAGE_PREFIX)
    length = int((whole.batch.segment[0] >= 0).sum())
    cut = encoded(codec, AttentionMode.IMAGE_PREFIX, max_length=length - 1)
    assert (whole.skipped, cut.skipped) == (0, 1)
    assert TokenTask.DESCRIBE not in cut.targets.tasks
    assert cut.targets.ids.tolist() == whole.targets.ids.tolist()[: len(cut.targets.ids)]


def test_packed_training_has_the_gradients_of_one_sequence_per_sentence():
    model, codec = tiny()
    trunk = context_trunk(codec, CAPTION, EXAMPLE.spans)
    branches = [
        question(codec, trunk, CAPTION, EXAMPLE.spans, i, answer=codec.answer_yes) for i in range(3)
    ]
    pixels = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))

    def gradients(rows, at):
        model.zero_grad()
        batch = collate(rows, codec)
        owner = torch.zeros(len(rows), dtype=torch.long)
        hidden = hidden_states(model, tower_output(model, pixels), owner, batch)
        logits = logits_at(model, hidden, torch.tensor(at(batch)))
        target = torch.tensor([codec.no, codec.yes, codec.no])
        torch.nn.functional.cross_entropy(logits, target).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    packed = gradients(
        [pack(16, trunk, branches, AttentionMode.IMAGE_PREFIX)],
        lambda batch: [batch.at(0, i, b.prompt - 1) for i, b in enumerate(branches)],
    )
    alone = gradients(
        unpack(16, trunk, branches, AttentionMode.IMAGE_PREFIX),
        lambda batch: [batch.at(i, 0, b.prompt - 1) for i, b in enumerate(branches)],
    )
    assert float((packed - alone).norm() / alone.norm()) < 1e-4


def test_choices_take_each_rationale_sometimes_and_at_most_so_many_sentences():
    sentences = tuple(
        TrainingSentence(Span(i, i + 1), False, True, (f"{i}a", f"{i}b")) for i in range(4)
    )
    example = TrainingExample("1", "1.png", "abcd", sentences, "d")
    rng = np.random.default_rng(0)
    drawn = [choose(example, rng, 2, 0.5) for _ in range(200)]
    assert {len(choice.rationales) for choice in drawn} == {2}
    assert {text for c in drawn for _, text in c.rationales} == {
        f"{i}{x}" for i in range(4) for x in "ab"
    }
    assert 60 < sum(choice.describe for choice in drawn) < 140


def test_an_epoch_shows_every_example_once_in_batches_of_like_length():
    lengths = np.random.default_rng(1).integers(10, 1000, 640).tolist()
    epoch = batches(lengths, 16, seed=3, epoch=0, window=10)
    assert sorted(i for batch in epoch for i in batch) == list(range(640))
    spread = np.mean([np.ptp([lengths[i] for i in batch]) for batch in epoch])
    assert spread < 0.25 * np.ptp(lengths)
    assert epoch == batches(lengths, 16, seed=3, epoch=0, window=10)
    assert epoch != batches(lengths, 16, seed=3, epoch=1, window=10)


def test_a_rewrite_is_asked_about_in_the_place_of_its_sentence(codec):
    wrong = TrainingSentence(Span(23, 41), False, True, (), "It is on the right.")
    example = TrainingExample("1", "1.png", CAPTION, (EXAMPLE.sentences[0], wrong), "")
    made = encode(
        codec,
        [example],
        [choose(example, np.random.default_rng(0), 2, 0.0, rewrites=1.0)],
        images=4,
        attention_mode=AttentionMode.IMAGE_PREFIX,
        multiple=1,
        max_length=500,
    )
    first = made.targets.tasks == TokenTask.CLASSIFY
    assert made.targets.ids[first].tolist() == [codec.yes, codec.no, codec.yes]
    ids, segment, fork = made.batch.ids[0], made.batch.segment[0], made.batch.fork[0]
    read = [*ids[: fork[segment == 3][0]], *ids[segment == 3]]
    told = CAPTION[:23] + wrong.rewrite
    spans = (Span(0, 22), Span(23, len(told)))
    prompt = [codec.image] * 4 + [codec.bos] + codec.pieces(prompts.classification(told, spans, 1))
    assert read == [*prompt, codec.yes]


def test_asides_are_asked_as_a_captions_first_sentence(codec):
    """With their true versions; a caption's own questions stay as they are."""
    square = AuxiliaryExample("A red square is on the left.", False, "A red circle is on the left.")
    beside = (square, AuxiliaryExample("It is a picture.", True))
    example = replace(EXAMPLE, auxiliary_sentences=beside)
    choice = choose(example, np.random.default_rng(0), 0, 0.0, rewrites=1.0, auxiliary_sentences=8)
    made = encode(
        codec,
        [example],
        [choice],
        images=4,
        attention_mode=AttentionMode.IMAGE_PREFIX,
        multiple=1,
        max_length=500,
    )
    first = made.targets.tasks == TokenTask.CLASSIFY
    yes, no = codec.yes, codec.no
    assert made.targets.ids[first].tolist() == [yes, no, yes, no, yes, yes]
    ids, segment, fork = made.batch.ids[0], made.batch.segment[0], made.batch.fork[0]
    told = [(beside[0].text, no), (beside[0].rewrite, yes), (beside[1].text, yes)]
    for number, (text, answer) in enumerate(told, start=4):
        read = [*ids[: fork[segment == number][0]], *ids[segment == number]]
        prompt = codec.pieces(prompts.classification(text, (Span(0, len(text)),), 0))
        assert read == [*[codec.image] * 4, codec.bos, *prompt, answer]


def test_an_aside_is_asked_after_the_sentences_that_it_follows(codec):
    aside = AuxiliaryExample("There is a red circle.", False, "A dog.", after=2)
    example = replace(EXAMPLE, auxiliary_sentences=(aside,))
    choice = choose(example, np.random.default_rng(0), 0, 0.0, rewrites=1.0, auxiliary_sentences=8)
    made = encode(codec, [example], [choice], images=4, multiple=1, max_length=500,
                  attention_mode=AttentionMode.IMAGE_PREFIX)  # fmt: skip
    ids, segment, fork = made.batch.ids[0], made.batch.segment[0], made.batch.fork[0]
    for number, (text, answer) in enumerate(((aside.text, codec.no), ("A dog.", codec.yes)), 4):
        read = [*ids[: fork[segment == number][0]], *ids[segment == number]]
        told = CAPTION[:42] + text
        spans = (*example.spans[:2], Span(42, len(told)))
        prompt = codec.pieces(prompts.classification(told, spans, 2))
        assert read == [*[codec.image] * 4, codec.bos, *prompt, answer]


def test_asides_are_drawn_at_most_so_many_and_all_in_time():
    beside = tuple(
        AuxiliaryExample(f"There is thing {i}.", False, f"There is {i}.") for i in range(5)
    )
    example, rng = replace(EXAMPLE, auxiliary_sentences=beside), np.random.default_rng(0)
    drawn = [
        choose(example, rng, 0, 0.0, rewrites=0.5, auxiliary_sentences=2).auxiliary_sentences
        for _ in range(200)
    ]
    assert {len(one) for one in drawn} == {2}
    seen = {pair for one in drawn for pair in one}
    assert seen == {(i, both) for i in range(5) for both in (False, True)}
    assert choose(example, rng, 0, 0.0).auxiliary_sentences == ()


def test_asides_of_a_row_are_read_and_bad_ones_refused():
    cat = {"text": " A cat. ", "label": "nonfactual", "rewrite": "A dog."}
    dog = {"text": "A dog.", "label": "factual", "rewrite": "x"}
    whole = {"start": 0, "end": 6, "label": "factual"}
    row = {"image": "1.png", "caption": "A dog.", "sentences": [whole], "asides": [cat, dog]}
    assert parse(row).auxiliary_sentences == (
        AuxiliaryExample("A cat.", False, "A dog."),
        AuxiliaryExample("A dog.", True),
    )
    assert parse({**row, "asides": [{**cat, "after": 1}]}).auxiliary_sentences[0].after == 1
    for bad in ({"text": "A cat."}, {"label": "factual"}, {"text": " ", "label": "factual"},
                {"text": "A cat.", "label": "true"}):  # fmt: skip
        with pytest.raises((KeyError, ValueError)):
            parse({**row, "asides": [bad]})


def test_aligned_image_tokens_are_the_words_of_their_labels(tmp_path):
    """A tower that shows the labels themselves: each patch's token is then nearest its own word."""
    from toyworld import COLOURS, KINDS, write

    from revise_captions.finetune.data.image_cache import pixel_cache
    from revise_captions.finetune.data.records import open_split
    from revise_captions.finetune.models.align import align_projector
    from revise_captions.finetune.models.dense_labels import Heads, dense_labels

    torch.manual_seed(0)
    write(tmp_path, {"train": 200}, grid=4)
    train = open_split(tmp_path, "train")
    model, codec = tiny(sure=False)
    pixels = pixel_cache(tmp_path, train.images, tmp_path / "c", size=64, variants=0)
    dense = dense_labels(tmp_path, "train", 200, 4)
    assert Heads(64, dense.sizes).sizes == (1 + len(KINDS), 1 + len(COLOURS))
    before = align_projector(model, codec, dense, pixels)
    assert 0.1 < before < 1
    from revise_captions.critic.paligemma.image_prefetch import pixel_values

    values = pixel_values(pixels.take(range(100), [0] * 100), torch.float32)
    with torch.no_grad():
        tokens = model.model.multi_modal_projector(tower_output(model, values))
        words = model.model.language_model.embed_tokens.weight
        table = torch.stack([words[list(codec.text(f" {name}"))].mean(0) for name in COLOURS])
        guess = (tokens @ torch.nn.functional.normalize(table, dim=1).T).argmax(-1)
    truth = torch.from_numpy(dense.labels[:100, ..., 1].astype(np.int64)).flatten(1) - 1
    there = truth >= 0
    assert (guess[there] == truth[there]).float().mean() > 0.6
