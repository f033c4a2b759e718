"""A model's folder runs no code and is not unpickled, whoever loads it and wherever from."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hostile_models import pickled, text_model, trapped

from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.engines.load import load_engine
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.finetune.models.bases import load_base
from revise_captions.finetune.presets import PRESETS
from revise_captions.metrics.towers import load_towers
from revise_captions.pipelines.cli import main
from revise_captions.pretrained import with_adapter
from revise_captions.reviser.load import load_reviser
from revise_captions.text.sentence_encoder import load_encoder
from revise_captions.vela import card as vela_card
from revise_captions.vela.trained import adapted

ROOT = Path(__file__).parents[2]
CPU = Placement(device="cpu", dtype="float32")
TRUSTING = replace(CPU, trust_remote_code=True)


def as_base(folder: str) -> Any:
    from revise_captions.finetune.cli import DEFAULT

    return load_base(folder, [], DEFAULT.with_options(**PRESETS["lora"]))


LOADS: dict[str, Callable[[str], Any]] = {
    "engine": lambda folder: load_engine(folder, CPU),
    "critic": lambda folder: load_critic(folder, CriticOptions(CPU)),
    "reviser": lambda folder: load_reviser(folder, CPU),
    "encoder": load_encoder,
    "similarity": load_towers,
    "base": as_base,
}
TRAPS = ("config", "tokenizer", "processor")


@pytest.fixture(scope="module")
def mark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mark") / "mark"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, mark: Path) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("models")
    made = {kind: trapped(place / kind, mark, kind) for kind in (*TRAPS, "native")}
    return {**made, "pickled": pickled(place / "pickled", mark)}


@pytest.fixture(params=["pipe", "terminal"])
def says_yes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A standard input that answers "y" to every question."""
    reading, writing = os.pipe() if request.param == "pipe" else os.openpty()[::-1]
    os.write(writing, b"y\n" * 8)
    with os.fdopen(reading, "r") as stdin:
        assert stdin.isatty() is (request.param == "terminal")
        monkeypatch.setattr(sys, "stdin", stdin)
        yield
    os.close(writing)


@pytest.mark.usefixtures("says_yes")
@pytest.mark.parametrize("trap", TRAPS)
def test_no_code_of_a_model_runs_unasked(
    folders: dict[str, Path], mark: Path, trap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where transformers has a class of its own it takes that; else the message names the code."""
    for name, load in LOADS.items():
        refused: UserError | None = None
        try:
            load(str(folders[trap]))
        except UserError as error:
            refused = error
        assert not mark.exists(), name
        if trap == "config":
            assert refused is not None
            assert "--trust-remote-code" in refused.hint
            assert "modeling_trap.TrapConfig" in refused.message
        assert refused is None or "\n" not in refused.message
    assert "[y/N]" not in capsys.readouterr().out


def test_what_transformers_implements_itself_loads_without_the_code(
    folders: dict[str, Path], mark: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load_engine(str(folders["native"]), CPU)
    assert not mark.exists()
    (said,) = [
        r.message for r in caplog.records if r.levelname == "WARNING" and "code" in r.message
    ]
    assert "modeling_trap.TrapConfig" in said
    assert "is not run" in said


@pytest.mark.parametrize("trap", [*TRAPS, "native"])
def test_the_option_runs_it_and_the_signature_says_so(
    folders: dict[str, Path], mark: Path, trap: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import transformers.dynamic_module_utils as dynamic

    monkeypatch.setattr(dynamic, "HF_MODULES_CACHE", str(tmp_path / trap))
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = str(folders[trap])
    try:
        engine: Any = load_engine(folder, TRUSTING)
        assert mark.read_text() == "the code ran"
        assert engine.settings["trust-remote-code"] == "yes"
        if trap in ("config", "native"):
            assert type(engine.model).__name__ == "TrapModel"
        if trap != "processor":
            reviser = load_reviser(folder, TRUSTING)
            assert reviser.settings["reviser-trust-remote-code"] == "yes"
    finally:
        mark.unlink(missing_ok=True)


@pytest.mark.parametrize("name", LOADS)
def test_pickled_weights_are_one_line(folders: dict[str, Path], mark: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"pickled weights \(pytorch_model.bin\)") as refused:
        LOADS[name](str(folders["pickled"]))
    assert "\n" not in refused.value.message
    assert not mark.exists()


@pytest.mark.parametrize("owner", ["critic", "vela"])
def test_a_pickled_adapter_is_one_line(tmp_path: Path, mark: Path, owner: str) -> None:
    import torch
    from hostile_models import Pickled

    folder = tmp_path / vela_card.ADAPTER
    folder.mkdir()
    torch.save({"weight": Pickled(mark)}, folder / "adapter_model.bin")
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    model: Any = torch.nn.Linear(2, 2)
    loads = {
        "critic": lambda: with_adapter(model, folder),
        "vela": lambda: adapted(Mock(model=model), tmp_path),
    }
    with pytest.raises(UserError, match=r"adapter_model\.bin"):
        loads[owner]()
    assert not mark.exists()


def test_damaged_safetensors_are_one_line(tmp_path: Path) -> None:
    folder = text_model(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)
    for load in LOADS.values():
        with pytest.raises(UserError, match="not readable safetensors"):
            load(str(folder))


@pytest.mark.parametrize("option", ["--critic", "--reviser"])
def test_the_command_says_it_in_one_line(
    folders: dict[str, Path], mark: Path, tmp_path: Path, option: str, capfd: Any
) -> None:
    rows = tmp_path / "in.jsonl"
    rows.write_text('{"image": "a.png", "caption": "A cat."}\n')
    with pytest.raises(SystemExit) as ended:
        main([str(rows), str(tmp_path / "out.jsonl"), option, str(folders["config"])])
    assert ended.value.code == 2
    said = capfd.readouterr().err
    assert "--trust-remote-code" in said
    assert "Traceback" not in said
    assert not mark.exists()


#: A call that loads a model; what has none needs no parsing.
LOADING = re.compile(r"\.(?:from_pretrained|pipeline|from_config)\(")


def test_every_load_goes_through_pretrained() -> None:
    """PEFT's is told itself: its weights are added to a model, and it has no code to run."""
    found = [
        f"{path.relative_to(ROOT)}: {ast.unparse(node.func)}"
        for folder in ("src", "critic", "reviser", "pipelines", "finetune", "datasets")
        for path in (ROOT / folder).rglob("*.py")
        if LOADING.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and LOADING.fullmatch(f".{node.func.attr}(")
    ]
    assert sorted(found) == [
        "src/revise_captions/pretrained.py: PeftModel.from_pretrained",
        "src/revise_captions/pretrained.py: kind.from_pretrained",
    ]
