"""What `captions finetune` finds out before it reads data: extras, what a processor is fast at."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from finetuning import command

from revise_captions.command_line import extras
from revise_captions.engines import placement
from revise_captions.engines.placement import training_dtype


@pytest.mark.parametrize(
    ("options", "library", "extra"),
    [
        (("--method", "lora"), "peft", "train"),
        (("--method", "qlora"), "bitsandbytes", "qlora"),
        (("--log-with", "wandb"), "wandb", "train,wandb"),
    ],
)
def test_a_missing_extra_is_named_before_the_data_is_read(
    monkeypatch, tmp_path, options, library, extra
):
    found = {"peft": True, "bitsandbytes": True, "wandb": True, library: False}
    monkeypatch.setattr(extras, "find_spec", lambda name: found.get(name, find_spec(name)) or None)
    data = tmp_path / "data.jsonl"
    data.write_text("this would be refused, had it been read\n", encoding="utf-8")
    result = command(data, "--base", "bundled", "--out", tmp_path / "out", "--steps", 1, *options)
    assert result.exit_code == 2
    message = f"{' '.join(options)} needs the library {library}, which is not installed"
    assert message in result.output
    assert f"pip install 'revise-captions[{extra}]'" in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("flags", "dtype"), [("fma avx2", "float32"), ("avx2 avx512_bf16", "bfloat16")]
)
def test_a_processor_trains_in_what_it_is_fast_at(monkeypatch, flags, dtype):
    monkeypatch.setattr(placement.Path, "read_text", lambda self, encoding: f"flags : {flags}\n")
    assert training_dtype("auto", "cpu") == dtype
    assert training_dtype("auto", "cuda:1") == "bfloat16"
    assert training_dtype("bfloat16", "cpu") == "bfloat16"
