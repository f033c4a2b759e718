"""Cards and decisions that others wrote: one line with file and key, whatever is in them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from explored import serving, write_run
from safetensors.numpy import save_file

from revise_captions.critic.adapters import base_of
from revise_captions.critic.checkpoints import CriticCard, read_card
from revise_captions.critic.gates.image_domain import GATE_FILE, read_gate
from revise_captions.critic.gates.language import WORDS_FILE, read_vocabulary
from revise_captions.critic.gates.taught_words import TAUGHT_FILE
from revise_captions.critic.locate import BUNDLED
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.profile import FORMAT, read_profile
from revise_captions.engines.model_files import model_type
from revise_captions.errors import UserError
from revise_captions.finetune.data.records import provenance
from revise_captions.finetune.models.dense_labels import dense_labels
from revise_captions.io.signature_file import read_signatures
from revise_captions.pipelines.annotate.answers import import_answers
from revise_captions.pipelines.explore.decisions import Decisions
from revise_captions.pipelines.rating.autorater import read_ratings
from revise_captions.pipelines.stress import continuations
from revise_captions.reviser.bundled_model.reviser import read_card as read_reviser
from revise_captions.vela import card as vela

GOOD = {"attention_mode": "prefix"}
WRONG = [
    (b"", "invalid JSON: EOF"),
    (b"\xff\xfe{", "invalid JSON"),
    (b"[" * 100_000, "invalid JSON: recursion limit"),
    (b'{"a":' * 9_000, "invalid JSON: recursion limit"),
    (b"[1]", "input should be an object"),
    (b"null", "input should be an object"),
]


def of(**changes: object) -> bytes:
    return json.dumps(GOOD | changes).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *WRONG,
        (b"{}", "`attention_mode`: field required"),
        (of(attention_mode="sideways"), "`attention_mode`: input should be 'prefix'"),
        (of(max_length="1024"), "`max_length`: input should be a valid integer, not '1024'"),
        (of(max_length=True), "`max_length`: input should be a valid integer, not True"),
        (of(max_length=0), "`max_length`: 0"),
        (of(threshold="0.5"), "`threshold`: input should be a valid number"),
        (of(threshold=7), "`threshold`: 7"),
        (of(threshold=float("nan")), "`threshold`: nan"),
        (of(calibration=[1]), "`calibration`: input should be an object, not [1]"),
        (of(probability_map={"kind": 7}), "`probability_map`: "),
        (of(treshold=0.5), "`treshold`: unexpected keyword argument"),
        (of(training={"a": 1}, speed=3), "`speed`: input should be"),
    ],
)
def test_a_critics_card_is_checked_key_by_key(tmp_path, content, said):
    (tmp_path / "critic.json").write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_card(tmp_path)
    message = caught.value.message
    assert message.startswith(f"{tmp_path / 'critic.json'} is not a critic's card: ")
    assert said in message
    assert "\n" not in message
    assert len(message) < 400 + len(str(tmp_path))


def test_a_card_that_was_written_is_read(tmp_path):
    card = CriticCard(AttentionMode.CAUSAL, 1.0001, max_length=7, training={"a": [1, None, {}]})
    card.write(tmp_path)
    assert read_card(tmp_path) == card
    assert read_card(BUNDLED).max_length > 0


@pytest.mark.parametrize(
    ("content", "said"),
    [*WRONG, (b'{"prompt": 3}', "`prompt`: input should be a valid string, not 3")],
)
def test_a_revisers_card_is_checked_key_by_key(tmp_path, content, said):
    (tmp_path / "reviser.json").write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_reviser(tmp_path)
    assert "reviser.json is not a reviser's card: " in caught.value.message
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *WRONG,
        (b'{"perspectives": ["a"], "scales": [["1", 5]]}', "`scales.0.0`: input should be a valid"),
        (
            b'{"perspectives": [], "scales": [], "language": {"name": 1}, "pair": null}',
            "`language.name`: input should be a valid string, not 1 (and 1 more)",
        ),
        (
            b'{"perspectives": [], "scales": [], "language": null, "pair": null, "format": 9}',
            "`format`: 9, this version reads 1",
        ),
    ],
)
def test_a_vela_metrics_card_is_checked_key_by_key(tmp_path, content, said):
    (tmp_path / vela.CARD).write_bytes(content)
    (tmp_path / vela.WEIGHTS).write_bytes(b"x")
    with pytest.raises(UserError) as caught:
        vela.load(tmp_path)
    assert said in caught.value.message


@pytest.mark.parametrize("name", [WORDS_FILE, TAUGHT_FILE])
def test_words_in_another_encoding_are_one_line(tmp_path, name):
    (tmp_path / name).write_bytes("caf\u00e9\nna\u00efve\n".encode("latin-1"))
    with pytest.raises(UserError, match=f"{name} is no list of words in UTF-8: byte 3"):
        read_vocabulary(tmp_path)


def test_a_broken_domain_gate_is_one_line(tmp_path):
    path = tmp_path / GATE_FILE
    for content in (b"", b"x" * 100, b"\xff" * 8 + b"{}"):
        path.write_bytes(content)
        with pytest.raises(UserError, match="is not a critic's gate: SafetensorError"):
            read_gate(tmp_path)
    save_file({"embed": np.zeros((2, 2), dtype=np.float32)}, path)
    with pytest.raises(UserError, match="`place` is missing"):
        read_gate(tmp_path)
    save_file({"embed": np.zeros(2, dtype=np.int64)}, path)
    with pytest.raises(UserError, match=r"`embed` is int64 of shape \(2,\)"):
        read_gate(tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"decision": "accept"}', "`sentence_id`: field required"),
        (
            '{"decision": "accept", "sentence_id": 7}',
            "`sentence_id`: input should be a valid string",
        ),
        ('{"decision": ["accept"], "sentence_id": "a"}', "`decision`: input should be 'accept'"),
        ('{"decision": "edit", "sentence_id": "a", "rewrite": {}}', "`rewrite`: input should be"),
        ('{"decision": "accept"', "line 1: not a decision"),
    ],
)
def test_a_malformed_decision_is_one_line(tmp_path, monkeypatch, line, said):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "made.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(UserError) as caught:
        Decisions.open(path, "me", [])
    assert f"{path}, line 1: not a decision of explore" in caught.value.message
    assert said in caught.value.message
    run = write_run(tmp_path, 1)
    with pytest.raises(UserError), serving(run, decisions=path):
        pass
    assert path.read_text() == line + "\n"


#: What reads each file of a folder.
READERS = {
    "adapter_config.json": base_of,
    "config.json": model_type,
    "profile.json": lambda folder: read_profile(folder / "profile.json"),
    "ratings.json": lambda folder: read_ratings(folder / "ratings.json"),
    "continuations.json": lambda folder: continuations.read(folder / "continuations.json"),
    "out.jsonl.signatures.json": lambda folder: read_signatures(folder / "out.jsonl"),
    "sample.json": import_answers._about,
    "data.json": provenance,
    "labels/channels.json": lambda folder: dense_labels(folder, "train", 1, 2),
}
#: A value of another type, or a key that is missing, in each.
WRONG_VALUES = [
    ("adapter_config.json", {"base_model_name_or_path": ["a"]}, "`base_model_name_or_path`: "),
    ("config.json", {"model_type": 7}, "`model_type`: input should be a valid string, not 7"),
    ("profile.json", {"format": FORMAT, "version": 1}, "`critic`: field required"),
    ("ratings.json", {"columns": 7}, "`rater`: field required"),
    ("continuations.json", {"long": {"a": 1}}, "`long.a`: input should be a valid string"),
    ("out.jsonl.signatures.json", {"5f1d0c2a9b3e4d67": 7}, "`5f1d0c2a9b3e4d67`: input should"),
    ("sample.json", {"raters": "3", "items": {}}, "`raters`: input should be a valid integer"),
    ("data.json", ["a"], "input should be an object"),
    ("labels/channels.json", [{"name": "kind", "classes": 3}], "`0.classes`: input should be"),
]


@pytest.mark.parametrize("name", READERS)
def test_every_file_that_others_write_is_checked(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    np.save(path.parent / "train.npy", np.zeros((1, 2, 2, 0), dtype=np.uint8))
    given = [json.dumps(value).encode() for key, value, _ in WRONG_VALUES if key == name]
    said = [said for key, _, said in WRONG_VALUES if key == name]
    broken = ("invalid JSON", b""), ("invalid JSON", b"\xff\xfe{"), ("recursion", b"[" * 99_999)
    for expected, content in (*broken, *zip(said, given, strict=True)):
        path.write_bytes(content)
        with pytest.raises(UserError) as caught:
            READERS[name](tmp_path)
        assert caught.value.message.startswith(f"{path} is not ")
        assert expected in caught.value.message
        assert "\n" not in caught.value.message


def test_a_damaged_array_of_labels_is_one_line(tmp_path):
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels/channels.json").write_text("[]")
    (tmp_path / "labels/train.npy").write_bytes(b"no array")
    with pytest.raises(UserError, match=r"train.npy is not an array of labels: "):
        dense_labels(tmp_path, "train", 1, 2)
