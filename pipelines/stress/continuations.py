"""What a language model writes after a description, for two of the checks.

Greedy, as plain text without a chat format, and without the image: likely text that is grounded in
nothing. Kept in a file, so that every metric meets the same texts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from revise_captions.engines.model_files import explained, find_model, named
from revise_captions.engines.placement import device_and_dtype
from revise_captions.errors import UserError
from revise_captions.io.checked_json import read_checked
from revise_captions.io.writing import write_json
from revise_captions.outside_text import encodable
from revise_captions.pipelines.stress.checks import Continuations, first_half
from revise_captions.pretrained import load_pretrained, load_weights
from revise_captions.text.sentences import split

logger = logging.getLogger(__name__)
_NEW_TOKENS = 40
_BATCH = 16
FORMAT = "revise-captions continuations"


def continuations(
    texts: Sequence[str], model: str, path: Path | None = None, device: str = "auto"
) -> Continuations:
    """Continues descriptions, or takes the continuations from a file.

    Args:
        texts: Descriptions.
        model: A language model's folder, hub id, or `smollm2`.
        path: Where they are kept; what the file lacks is written and added.
        device: Where the model computes.

    Raises:
        UserError: The model cannot be loaded, or the file holds something else.
    """
    known = read(path) if path is not None and path.exists() else Continuations({}, {}, model)
    wanted = dict.fromkeys(texts)
    new = [text for text in wanted if text not in known.long or text not in known.short]
    if not new:
        return known
    if known.model.partition("@")[0] != model and known.long:
        raise UserError(
            f"{path} holds continuations by {known.model}, not by {model}",
            hint="name another file with --continuations, or that model with --writer",
        )
    logger.info("continuing %d descriptions with %s", len(new), model)
    name, long, short = _written(new, model, device)
    found = Continuations({**known.long, **long}, {**known.short, **short}, name)
    if path is not None:
        write_json(path, {"format": FORMAT, **asdict(found)})
    return found


def is_continuations(head: bytes) -> bool:
    """Whether a file begins as one of continuations."""
    return FORMAT.encode() in head[:200]


def read(path: Path) -> Continuations:
    """Raises UserError if it is no file of continuations."""
    return read_checked(Continuations, path, what="a file of continuations", more=True)


def _written(
    texts: Sequence[str], model: str, device: str
) -> tuple[str, dict[str, str], dict[str, str]]:
    """The model's name with its digest; a further sentence, and a second half, for each text."""
    import transformers

    folder = find_model(model, "--writer")
    place, number = device_and_dtype(device, "auto")
    try:
        tokenizer = load_pretrained(transformers.AutoTokenizer, folder, name=model)
        kind: Any = transformers.AutoModelForCausalLM
        loaded = load_weights(kind, folder, name=model, dtype=number).to(place).eval()
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(model, error) from error
    halves = [first_half(text) for text in texts]
    raw = _generated(loaded, tokenizer, [*texts, *halves])
    long = {text: _first_sentence(more) for text, more in zip(texts, raw, strict=False)}
    short = {
        text: " ".join(more.split()[: max(1, len(text.split()) - len(half.split()))])
        for text, half, more in zip(texts, halves, raw[len(texts) :], strict=True)
    }
    return named(model, folder), long, short


def _generated(model: Any, tokenizer: Any, texts: Sequence[str]) -> list[str]:
    """Greedy continuations of at most `_NEW_TOKENS` tokens; batches of like length."""
    import torch

    settings: Any = {"add_special_tokens": True, "split_special_tokens": True}
    ids = [tokenizer(encodable(text), **settings)["input_ids"] for text in texts]
    order = sorted(range(len(ids)), key=lambda k: len(ids[k]))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    found = [""] * len(texts)
    for start in range(0, len(order), _BATCH):
        part = order[start : start + _BATCH]
        width = max(len(ids[k]) for k in part)
        inputs = torch.tensor([[pad] * (width - len(ids[k])) + ids[k] for k in part])
        mask = torch.tensor([[0] * (width - len(ids[k])) + [1] * len(ids[k]) for k in part])
        with torch.inference_mode():
            made = model.generate(
                input_ids=inputs.to(model.device),
                attention_mask=mask.to(model.device),
                max_new_tokens=_NEW_TOKENS,
                do_sample=False,
                pad_token_id=pad,
            )
        for k, row in zip(part, made[:, width:].tolist(), strict=True):
            found[k] = tokenizer.decode(row, skip_special_tokens=True)
    return found


def _first_sentence(text: str) -> str:
    """The first sentence with a word in it, on one line."""
    for span in split(text):
        sentence = " ".join(span.of(text).split())
        if any(character.isalpha() for character in sentence):
            return sentence
    return ""
