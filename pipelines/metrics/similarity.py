"""CLIPScore, and the same with SigLIP: the cosine of image and text embeddings.

    floor:clip=openai/clip-vit-base-patch32     a Hugging Face id, or a folder

CLIPScore (Hessel et al. 2021) prefixes texts with “A photo depicts” and is 2.5 · max(cos, 0). Other
dual encoders of transformers (SigLIP, SigLIP 2) give the plain cosine of the unchanged text. Texts
beyond the model's length are truncated. Captions and labeled sentences are scored separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.types import Example
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.images import load_image
from revise_captions.pretrained import load_pretrained, load_weights

_HINT = "floor:clip= takes the folder or Hugging Face id of a CLIP or SigLIP checkpoint"
NO_IMAGE = "the image could not be read"


@dataclass(frozen=True, slots=True)
class Similar:
    """Scores by caption and sentence; None if the image could not be read."""

    captions: dict[str, float | None]
    sentences: dict[tuple[str, int], float | None]
    source: str


def similarities(name: str, examples: Sequence[Example], folder: Path) -> Similar:
    """Scores all captions and sentences; image paths start at `folder`."""
    import torch

    model, processor, source = _load(name)
    found = Similar({}, {}, source)
    by_image: dict[str, list[Example]] = {}
    for example in examples:
        by_image.setdefault(example.image, []).append(example)
    with torch.inference_mode():
        for own in by_image.values():
            texts = [text for example in own for text in _texts(example)]
            values = _scores(model, processor, own[0], texts, folder)
            for example in own:
                found.captions[example.id] = next(values)
                for k in range(len(example.sentences)):
                    found.sentences[example.id, k] = next(values)
    return found


def _texts(example: Example) -> list[str]:
    return [example.caption, *(s.span.of(example.caption) for s in example.sentences)]


def _scores(
    model: Any, processor: Any, example: Example, texts: Sequence[str], folder: Path
) -> Iterator[float | None]:
    try:
        image = load_image(example.record.image, folder=folder)
    except BadRecord:
        return iter([None] * len(texts))
    clip = model.config.model_type == "clip"
    inputs = processor(
        text=[f"A photo depicts {text}" for text in texts] if clip else list(texts),
        images=[image],
        return_tensors="pt",
        padding=True if clip else "max_length",
        truncation=True,
    )
    out = model(**inputs)
    one, other = (e / e.norm(dim=-1, keepdim=True) for e in (out.image_embeds, out.text_embeds))
    cosines = (other @ one[0]).tolist()
    return iter([2.5 * max(c, 0.0) if clip else c for c in cosines])


def _load(name: str) -> tuple[Any, Any, str]:
    from transformers import AutoModel, AutoProcessor, __version__

    if not Path(name).is_dir() and "/" not in name:
        raise UserError(f"no dual encoder {name!r}: there is no such folder", hint=_HINT)
    try:
        model = load_weights(AutoModel, name).eval()
        processor = load_pretrained(AutoProcessor, name)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"no dual encoder {name!r} could be loaded: {reason}",
            hint=_HINT,
        ) from None
    if not hasattr(model, "logit_scale"):
        raise UserError(f"{name} is a {model.config.model_type} model: no CLIP or SigLIP")
    revision = getattr(model.config, "_commit_hash", None) or ""
    label = Path(name).name if Path(name).is_dir() else f"{name}@{revision[:12]}"
    return model, processor, f"{label}, transformers {__version__}"
