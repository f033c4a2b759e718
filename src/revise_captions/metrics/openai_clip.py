"""CLIP checkpoints with OpenAI's weight names, such as the Long-CLIP authors' (`longclip-L.pt`).

Of Long-CLIP's two tables of positions, the first is used up to `KEPT`, where it is CLIP's own, and
the second, `positional_embedding_res`, from there on (Zhang et al. 2024, and their released code).
The file holds no tokenizer: a CLIP's tokenizer and image processor must be beside it.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revise_captions.engines.model_files import digest
from revise_captions.errors import UserError
from revise_captions.pretrained import load_pretrained

SUFFIX = ".pt"
_BESIDE = "merges.txt vocab.json tokenizer.json tokenizer_config.json preprocessor_config.json"
KEPT = 20
_HEAD = 64  # width of an attention head in all of OpenAI's models
_SECOND = "positional_embedding_res"
#: Prefixes of their names, and the corresponding ones of transformers' `CLIPModel`.
_STARTS = {
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "visual.conv1": "vision_model.embeddings.patch_embedding",
    "visual.ln_pre": "vision_model.pre_layrnorm",
    "visual.ln_post": "vision_model.post_layernorm",
    "visual.proj": "visual_projection.weight",
    "visual.transformer.resblocks": "vision_model.encoder.layers",
    "transformer.resblocks": "text_model.encoder.layers",
    "token_embedding": "text_model.embeddings.token_embedding",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
    "ln_final": "text_model.final_layer_norm",
    "text_projection": "text_projection.weight",
    "logit_scale": "logit_scale",
}
_IN_LAYERS = {
    ".ln_1.": ".layer_norm1.",
    ".ln_2.": ".layer_norm2.",
    ".mlp.c_fc.": ".mlp.fc1.",
    ".mlp.c_proj.": ".mlp.fc2.",
    ".attn.": ".self_attn.",
}


def load_openai_clip(path: Path) -> tuple[Any, Any, str]:
    """The model as transformers' `CLIPModel`, its processor, and `name@digest` of both.

    Raises:
        UserError: The file is not such a checkpoint, or there is no processor beside it.
    """
    import transformers

    weights = _weights(path)
    try:
        processor = load_pretrained(transformers.CLIPProcessor, path.parent, name=str(path))
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
        raise UserError(
            f"there is no CLIP tokenizer and image processor beside {path}",
            hint=f"get them: hf download openai/clip-vit-large-patch14 {_BESIDE} "
            f"--local-dir {path.parent}",
        ) from error
    config = _config(weights, processor.tokenizer.eos_token_id)
    processor.tokenizer.model_max_length = config.text_config.max_position_embeddings
    model = transformers.CLIPModel(config)
    try:
        model.load_state_dict(_renamed(weights))
    except RuntimeError as error:
        raise _other(path, weights) from error
    with path.open("rb") as file:
        whole = hashlib.file_digest(file, "sha256").hexdigest() + digest(path.parent)
    return model, processor, f"{path.name}@{hashlib.sha256(whole.encode()).hexdigest()[:12]}"


def _weights(path: Path) -> dict[str, Any]:
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, pickle.UnpicklingError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UserError(
            f"{path} does not hold plain tensors: {reason}",
            hint="expected a dictionary of weights, as torch.save(model.state_dict(), FILE) writes "
            "it; save that where you trust the file",
        ) from error
    if not (isinstance(found, Mapping) and {"visual.conv1.weight", "visual.proj"} <= found.keys()):
        raise _other(path, found)
    return dict(found)


def _other(path: Path, found: object) -> UserError:
    names = ", ".join(map(str, list(found)[:3])) if isinstance(found, Mapping) else type(found)
    return UserError(
        f"{path} is not a CLIP model in OpenAI's format with an image transformer: it holds "
        f"{names}, …",
        hint="expected weights such as visual.conv1.weight, visual.proj, positional_embedding "
        "(longclip-B.pt, longclip-L.pt); a model in transformers' format is named by its folder",
    )


def _config(weights: Mapping[str, Any], end: int) -> Any:
    """The sizes, read from the weights; `end` is the tokenizer's last token."""
    import transformers

    patches = weights["visual.conv1.weight"]
    side = round((len(weights["visual.positional_embedding"]) - 1) ** 0.5)
    vocabulary, width = weights["token_embedding.weight"].shape
    vision = _sizes(weights, "visual.transformer.resblocks.", len(patches))
    vision |= {"patch_size": patches.shape[-1], "image_size": side * patches.shape[-1]}
    text = _sizes(weights, "transformer.resblocks.", width) | {
        "vocab_size": vocabulary,
        "max_position_embeddings": len(weights["positional_embedding"]),
        "eos_token_id": end,
    }
    shared = weights["text_projection"].shape[1]
    return transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=shared)


def _sizes(weights: Mapping[str, Any], layers: str, width: int) -> dict[str, int]:
    return {
        "hidden_size": width,
        "intermediate_size": 4 * width,
        "num_attention_heads": width // _HEAD,
        "num_hidden_layers": sum(
            name.startswith(layers) and name.endswith("ln_1.weight") for name in weights
        ),
    }


def _renamed(weights: Mapping[str, Any]) -> dict[str, Any]:
    """The same weights under transformers' names. Unknown names are kept."""
    import torch

    found: dict[str, Any] = {}
    for name, tensor in weights.items():
        start = next((start for start in _STARTS if name.startswith(start)), "")
        own = _STARTS.get(start, "") + name.removeprefix(start)
        for theirs, ours in _IN_LAYERS.items():
            own = own.replace(theirs, ours)
        if "in_proj_" in own:
            for part, third in zip("qkv", tensor.chunk(3), strict=True):
                found[own.replace("in_proj_", f"{part}_proj.")] = third
        elif name == "positional_embedding" and _SECOND in weights:
            found[own] = torch.cat([tensor[:KEPT], weights[_SECOND][KEPT:]])
        elif name != _SECOND:
            found[own] = tensor.T if name in ("visual.proj", "text_projection") else tensor
    return found
