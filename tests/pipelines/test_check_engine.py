"""captions check-engine: two ways to compute one critic, compared before a long run."""

from __future__ import annotations

import json
import random

import pytest
import tinycritic
from chat_server import MODEL, Manners, serving
from commands import program, write_input

from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.errors import UserError
from revise_captions.pipelines.engine_check import cli
from revise_captions.pipelines.engine_check import compare as check_engine
from revise_captions.pipelines.engine_check.compare import (
    SampledSentence,
    Setup,
    compared,
    drawn,
    verdict,
)
from revise_captions.pipelines.options import ModelOptions
from revise_captions.records import ImageRef, Record, Unscored, Verdict

main = program(cli.check_engine)
#: What the attention mode is called, and was.
NAMES = ("attention-mode", "regime")


def run(capsys, *arguments: object):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return stopped.value.code, printed.out, printed.err


@pytest.fixture(scope="module")
def critic(tmp_path_factory):
    """Knows every language; its answers are all Yes or No."""
    folder = tinycritic.saved(tmp_path_factory.mktemp("critics") / "tiny")
    (folder / "words.txt").unlink()
    return folder


def test_layout_and_batch_do_not_matter_and_the_attention_mode_does(critic, tmp_path, capsys):
    write_input(tmp_path / "in.jsonl", 8)
    code, out, err = run(capsys, tmp_path / "in.jsonl", "--critic", critic, "--json")
    assert code == 0, err
    result = json.loads(out)
    assert result["verdict"] == "same"
    assert result["against"] == {"layout": "single", "batch-size": "1"}
    assert result["labels equal"] == result["sentences"] == result["judged by both"] > 20
    assert result["delta"]["max"] <= 1e-4
    code, out, _ = run(
        capsys, tmp_path / "in.jsonl", "--critic", critic, "--against", "attention-mode=prefix"
    )
    assert code == 1
    assert "verdict          differs" in out
    assert "against          attention-mode prefix" in out
    new, old = (Setup(ModelOptions()).changed(f"{name}=prefix") for name in NAMES)
    assert new == old != Setup(ModelOptions())


@pytest.mark.slow
def test_what_a_batch_does_to_low_precision_is_printed(critic, tmp_path, capsys):
    """The second computation is in float32, where batches do nothing: it is left out."""
    write_input(tmp_path / "in.jsonl", 8)
    command = [tmp_path / "in.jsonl", "--critic", critic, "--dtype", "bfloat16"]
    command += ["--against", "dtype=float32"]
    _, out, err = run(capsys, *command, "--json")
    result = json.loads(out)
    assert result["each caption alone"].keys() == {"first"}, err
    found = result["each caption alone"]["first"]
    assert found["arithmetic"] == "bfloat16"
    assert found["sentences"] == result["sentences"] > 10
    assert 0 <= found["delta"]["median"] <= found["delta"]["max"] < 0.2
    _, out, _ = run(capsys, *command)
    (line,) = [line for line in out.splitlines() if line.startswith("each caption alone")]
    assert line.startswith("each caption alone beside all together (bfloat16): labels equal ")
    assert f"max {found['delta']['max']:.6f}" in line


def test_another_engine_is_compared_sentence_by_sentence(tmp_path, capsys):
    write_input(tmp_path / "in.jsonl", 6)
    with serving(Manners("vllm")) as one, serving(Manners("openai")) as other:
        code, out, err = run(
            capsys, tmp_path / "in.jsonl", "--critic", f"{MODEL}@{one}",
            "--against", f"critic={MODEL}@{other}", "--json",
        )  # fmt: skip
    assert code == 0, err
    result = json.loads(out)
    assert result["verdict"] == "same"
    assert result["against"]["logprobs"] == "top 20"
    assert {side["delta"]["max"] for side in result["each caption alone"].values()} == {0.0}


def test_an_engine_that_cannot_keep_the_attention_mode_refuses(tmp_path, capsys):
    write_input(tmp_path / "in.jsonl", 2)
    critic = tinycritic.saved(tmp_path / "tiny", AttentionMode.PREFIX)
    code, out, err = run(
        capsys, tmp_path / "in.jsonl", "--critic", critic, "--against", "engine=vllm"
    )
    assert (code, out) == (2, "")
    assert "does not compute PaliGemma's attention" in err


@pytest.mark.parametrize(
    "text",
    [
        "dtyp=float32",
        "layout",
        "layout=tree",
        "attention-mode=none",
        "batch-size=0",
        "batch-size=x",
    ],
)
def test_settings_that_are_none_are_refused(text):
    with pytest.raises(UserError, match="--against"):
        Setup(ModelOptions()).changed(text)


def sentences(*ps: float | None) -> list[SampledSentence]:
    return [
        SampledSentence(k, f"{k}.", Verdict(p, None if p is not None else Unscored.NO_ANSWER))
        for k, p in enumerate(ps)
    ]


def test_what_is_counted():
    one = sentences(0.9, 0.4, None, None, 0.6)
    other = sentences(0.8, 0.6, None, 0.7, 0.6)
    result = compared(one, other, 0.5)
    assert result["labels equal"] == 3
    assert result["unscored"] == 1
    assert result["unscored in one only"] == 1
    assert result["judged by both"] == 3
    assert result["delta"] == {"mean": 0.1, "median": 0.1, "p90": 0.2, "p99": 0.2, "max": 0.2}
    assert [e["line"] for e in result["examples"]] == [1, 3]
    assert result["verdict"] == "differs"


@pytest.mark.parametrize(
    ("ps", "qs", "expected"),
    [
        ([0.9, 0.1], [0.9, 0.1], "same"),
        ([0.9, 0.1], [0.8999, 0.1001], "same"),
        ([0.9, 0.1], [0.89, 0.11], "close"),
        ([0.9, 0.1], [0.85, 0.1], "differs"),
        ([0.9, None], [0.9, 0.7], "differs"),
        ([0.501] * 300, [0.501] * 299 + [0.499], "close"),
        ([0.501] * 100, [0.501] * 99 + [0.499], "differs"),
        ([None, None], [None, None], "nothing to compare"),
        ([], [], "nothing to compare"),
    ],
)
def test_verdicts(ps, qs, expected):
    assert compared(sentences(*ps), sentences(*qs), 0.5)["verdict"] == expected


def test_quantiles_are_those_of_numpy():
    import numpy as np

    rng = random.Random(0)
    ps, qs = ([rng.random() for _ in range(997)] for _ in range(2))
    found = compared(sentences(*ps), sentences(*qs), 0.5)["delta"]
    deltas = np.abs(np.array(ps) - np.array(qs))
    for name, rank in (("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)):
        expected = float(np.quantile(deltas, rank, method="inverted_cdf"))
        assert abs(found[name] - expected) < 2 * float(np.diff(np.sort(deltas)).max())
    assert verdict({"delta": found, "sentences": 997, "labels equal": 500}) == "differs"


def test_the_sample_is_drawn_evenly_and_stays_in_order():
    rows = [Record("x", line, ImageRef(path="a"), {"caption": "A."}) for line in range(1000)]
    found = [record.line for record in drawn(rows, 100)]
    assert found == sorted(found)
    assert len(set(found)) == 100
    assert 400 < sum(found) / 100 < 600
    assert drawn(rows[:5], 100) == rows[:5]
    assert check_engine.DRAWN_FROM >= 1000
