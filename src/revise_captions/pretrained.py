"""Loading published models: no code of theirs runs unless the user says so, nothing is unpickled.

Unless told, transformers asks on a terminal whether to run the code that a model's `auto_map`
names, and falls back to pickled weights. So every load goes through here (a test holds that).
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError

logger = logging.getLogger(__name__)

_CONFIGS = (
    *("config.json", "tokenizer_config.json", "processor_config.json"),
    *("preprocessor_config.json", "video_preprocessor_config.json"),
)
ADAPTER_WEIGHTS = "adapter_model.safetensors"
_PICKLED = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"})


def load_pretrained(
    kind: Any, source: str | Path, *, name: str = "", trusted: bool = False, **options: Any
) -> Any:
    """`kind.from_pretrained(source)` for a configuration, tokenizer or processor.

    Args:
        kind: A class of transformers.
        source: A folder or hub id.
        name: What the user called it, for messages.
        trusted: Whether code that comes with it may run (`--trust-remote-code`).
        options: Passed on.

    Raises:
        UserError: It cannot be loaded without code of its own.
        OSError, ValueError, KeyError, ImportError, RuntimeError: transformers cannot load it.
    """
    try:
        with without_bars():
            return kind.from_pretrained(source, trust_remote_code=trusted, **options)
    except ValueError as error:
        if trusted or "trust_remote_code" not in str(error):
            raise
        raise code_refused(source, name) from None


@contextmanager
def without_bars() -> Iterator[None]:
    """Keeps transformers' bars, which say nothing, out of the user's terminal and log files."""
    from transformers.utils import logging as shown

    were_on = shown.is_progress_bar_enabled()  # type: ignore[no-untyped-call]
    shown.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if were_on:
            shown.enable_progress_bar()  # type: ignore[no-untyped-call]


def load_weights(
    kind: Any, source: str | Path, *, name: str = "", trusted: bool = False, **options: Any
) -> Any:
    """`load_pretrained` for a model: its weights are read from safetensors only.

    Raises:
        UserError: Also where the weights are pickled, or no readable safetensors.
    """
    from safetensors import SafetensorError

    check_files(Path(source), name, trusted=trusted)
    options |= {"name": name, "trusted": trusted, "use_safetensors": True}
    try:
        return load_pretrained(kind, source, **options)
    except SafetensorError as error:
        raise UserError(
            f"{name or source}: its weights are not readable safetensors: {error}",
            hint="its files may be incomplete: download it again",
        ) from error


def check_files(folder: Path, name: str = "", *, trusted: bool = False) -> None:
    """Refuses pickled weights and logs code of the model's own. A hub id is no folder: no check.

    Raises:
        UserError: The folder, or the adapter in it, has pickled weights but no safetensors.
    """
    if not folder.is_dir():
        return
    files = {path.name for path in folder.iterdir()}
    pickled = sorted(file for file in files if Path(file).suffix in _PICKLED)
    if any(Path(file).suffix == ".safetensors" for file in files):
        alone = "adapter_model.bin" in files and ADAPTER_WEIGHTS not in files
        pickled = ["adapter_model.bin"] if alone else []
    if pickled:
        raise UserError(
            f"{name or folder} holds pickled weights ({pickled[0]}), which can run code when read",
            hint="only safetensors are read: convert it where you trust it "
            "(save_pretrained of transformers or peft), and name the result",
        )
    if code := own_code(folder):
        what = "runs" if trusted else "is not run: transformers' own implementation is used"
        logger.warning("%s comes with code (%s), which %s", name or folder, code, what)


def with_adapter(model: Any, adapter: Path) -> Any:
    """The model with a LoRA adapter's folder (PEFT) merged into its weights.

    Raises:
        UserError: The adapter does not fit, wholly or in part (PEFT itself drops weights that
            have no place without a word).
    """
    try:
        from peft import PeftModel
    except ImportError:
        raise UserError(
            f"the LoRA adapter in {adapter} needs the package peft",
            hint="pip install 'revise-captions[peft]'",
        ) from None
    check_files(adapter)
    try:
        loaded = PeftModel.from_pretrained(model, str(adapter), use_safetensors=True)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"the adapter in {adapter} cannot be loaded: {str(error).strip().splitlines()[0]}",
            hint="it has to be a PEFT adapter, in safetensors, for this model",
        ) from None
    _check_whole(loaded, adapter)
    return loaded.merge_and_unload()


def _check_whole(loaded: Any, adapter: Path) -> None:
    """Raises UserError where a weight of the adapter's file did not reach the model.

    Weights are recognized by their values: PEFT renames them along with versions of transformers.
    """
    from peft import get_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = adapter / ADAPTER_WEIGHTS
    try:
        wanted = load_file(path)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{path} cannot be read: {error}", hint="adapters are read from safetensors only"
        ) from None
    there = {_digest(tensor) for tensor in get_peft_model_state_dict(loaded).values()}
    lost = [name for name, tensor in wanted.items() if _digest(tensor) not in there]
    if lost:
        raise UserError(
            f"{len(lost)} of {len(wanted)} weights of the adapter in {adapter} have no place in "
            f"this model ({lost[0]}, …) and would be left out",
            hint="merge it where it was trained (peft: merge_and_unload), and name the result",
        )


def _digest(tensor: Any) -> bytes:
    """A hash of the values, independent of their dtype: PEFT loads adapters in float32."""
    values = tensor.detach().float().cpu().contiguous().numpy()
    return hashlib.sha256(str(values.shape).encode() + values.tobytes()).digest()


def own_code(folder: Path) -> str:
    """What a folder's `auto_map` entries name, as `modeling_x.Model in config.json`; "" if none."""
    found: list[str] = []
    for file in _CONFIGS:
        try:
            config = json.loads((folder / file).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # not there, or transformers will say what is wrong with it
        if isinstance(config, dict) and (listed := config.get("auto_map")):
            classes = listed.values() if isinstance(listed, dict) else [listed]
            names = (k for c in classes for k in (c if isinstance(c, list | tuple) else [c]) if k)
            found.append(f"{', '.join(dict.fromkeys(map(str, names)))} in {file}")
    return "; ".join(found)


def code_refused(source: str | Path, name: str = "") -> UserError:
    """What to say of a model that transformers cannot load without its code."""
    code = own_code(Path(source))
    return UserError(
        f"{name or source} needs code of its own{f' ({code})' if code else ''}, which is not run",
        hint="name a model that transformers itself implements, or read the code and add "
        "--trust-remote-code where the command has it",
    )
