"""Loading published models: no code of theirs runs unless the user says so, nothing is unpickled.

Unless told, transformers asks on a terminal whether to run the code that a model's `auto_map`
names, and falls back to pickled weights. So every load goes through here (a test holds that).
"""

from __future__ import annotations

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
        with _without_bars():
            return kind.from_pretrained(source, trust_remote_code=trusted, **options)
    except ValueError as error:
        if trusted or "trust_remote_code" not in str(error):
            raise
        raise code_refused(source, name) from None


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keeps transformers' loading bars, which say nothing, out of the user's terminal."""
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
        alone = "adapter_model.bin" in files and "adapter_model.safetensors" not in files
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
