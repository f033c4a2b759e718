"""Loads a transformers model as an engine, and asks it one question."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revise_captions.engines.load import EngineUse
from revise_captions.engines.model_files import explained, find_model, named
from revise_captions.engines.model_spec import ModelSpec
from revise_captions.engines.placement import device_and_dtype
from revise_captions.engines.transformers import paligemma_chat
from revise_captions.engines.transformers.engine import TransformersEngine
from revise_captions.engines.transformers.inputs import (
    PromptEncoder,
    load_prompt_encoder,
    try_out,
)
from revise_captions.pretrained import load_weights

logger = logging.getLogger(__name__)

#: Default batch size, in prompts.
PROMPTS = 16


def load_engine(spec: ModelSpec, use: EngineUse, *, quantization: Any = None) -> TransformersEngine:
    """A model in this process, run by transformers and tried with one question.

    Args:
        spec: A folder or a hub id; `auto` as dtype is float32 on a CPU, else bfloat16.
        use: What it is loaded for.
        quantization: transformers' settings for quantized weights.

    Raises:
        UserError: The model cannot be loaded, or does not answer.
    """
    import transformers

    began = time.monotonic()
    name, placement, scores = spec.name, spec.placement, use.scores
    trusted = placement.trust_remote_code
    folder = find_model(name, use.option)
    place, number = device_and_dtype(placement.device, placement.dtype)
    bits = {"quantization_config": quantization, "device_map": {"": place}} if quantization else {}
    options = {"dtype": number, **bits}
    encoder, model = _loaded(folder, name, trusted, options, plain=use.plain)
    settings = {
        "engine": "transformers",
        "model": named(name, folder),
        "dtype": str(number).removeprefix("torch."),
        "device": place.split(":")[0],
        "attention": str(getattr(model.config, "_attn_implementation", "")),
        "transformers": transformers.__version__,
        **({"trust-remote-code": "yes"} if trusted else {}),
        **({} if encoder.chats else {"chat format": "none"}),
    }
    placed = model if bits else model.to(place)
    rows = placement.batch_size or PROMPTS
    engine = TransformersEngine(placed, encoder, settings, batch_size=rows)
    encoder.check()
    try_out(engine, encoder, scores=scores)
    if scores and encoder.processor is not None:
        shared = engine.share_trunks(encoder.trials(), ("Yes", "No"))
        logger.info("the sentences of a caption are computed %s", "together" if shared else "alone")
    seconds = time.monotonic() - began
    logger.info("loaded %s from %s in %.1f s: %s", name, folder, seconds, settings)
    return engine


def _loaded(
    folder: Path, name: str, trusted: bool, options: Mapping[str, Any], *, plain: bool
) -> tuple[PromptEncoder, Any]:
    """Encoder and model, the latter loaded with `options`."""
    import transformers

    try:
        encoder = load_prompt_encoder(folder, name, trusted=trusted, plain=plain)
        kind: Any = (
            transformers.AutoModelForCausalLM
            if encoder.processor is None
            else transformers.AutoModelForImageTextToText
        )
        model = load_weights(kind, folder, name=name, trusted=trusted, **options)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(name, error, "AutoModelForImageTextToText") from error
    if model.config.model_type == paligemma_chat.MODEL_TYPE:
        paligemma_chat.find_prefix(model, encoder.tokenizer)
    return encoder, model
