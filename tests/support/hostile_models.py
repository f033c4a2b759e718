"""Models of real architectures whose folders hold code or pickles that leave a mark when run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tinylm
import tinyvlm

MODULE = "modeling_trap.py"
_CODE = """
from pathlib import Path
Path({mark!r}).write_text("the code ran")
from transformers import Idefics3Processor, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
class TrapConfig(Qwen3Config):
    model_type = "trap"
class TrapModel(Qwen3ForCausalLM):
    config_class = TrapConfig
class TrapTokenizer(PreTrainedTokenizerFast):
    pass
class TrapProcessor(Idefics3Processor):
    pass
"""


class Pickled:
    """Writes `mark` when unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.mark, "unpickled")


def text_model(folder: Path) -> Path:
    tokenizer = tinylm.tokenizer_of()
    tinylm.model_of("Qwen3", len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def trapped(folder: Path, mark: Path, kind: str) -> Path:
    """A folder whose `auto_map` names code that writes `mark`.

    `kind`: what the code is for. `config`: an architecture that only the folder knows; `native`:
    one that transformers implements, too; `tokenizer`; `processor`, of a vision–language model.
    """
    if kind == "processor":
        tinyvlm.saved(folder, "idefics3", sure=False)
        name = "processor_config.json"
        changed: dict[str, Any] = {"processor_class": "TrapProcessor"}
        changed["auto_map"] = {"AutoProcessor": "modeling_trap.TrapProcessor"}
        for file in ("preprocessor_config.json", "tokenizer_config.json"):
            if (folder / file).exists():
                _change(folder / file, {"processor_class": "TrapProcessor"})
    elif kind == "tokenizer":
        text_model(folder)
        name = "tokenizer_config.json"
        changed = {"tokenizer_class": "TrapTokenizer"}
        changed["auto_map"] = {"AutoTokenizer": [None, "modeling_trap.TrapTokenizer"]}
    else:
        text_model(folder)
        name = "config.json"
        listed = ("AutoModel", "AutoModelForCausalLM", "AutoModelForImageTextToText")
        changed = {} if kind == "native" else {"model_type": "trap", "architectures": ["TrapModel"]}
        changed["auto_map"] = dict.fromkeys(listed, "modeling_trap.TrapModel")
        changed["auto_map"]["AutoConfig"] = "modeling_trap.TrapConfig"
    _change(folder / name, changed)
    (folder / MODULE).write_text(_CODE.format(mark=str(mark)), encoding="utf-8")
    return folder


def pickled(folder: Path, mark: Path) -> Path:
    """A text model whose only weights are a `pytorch_model.bin` that writes `mark`."""
    import torch

    text_model(folder)
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Pickled(mark)}, folder / "pytorch_model.bin")
    return folder


def _change(path: Path, changed: dict[str, Any]) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**found, **changed}), encoding="utf-8")
