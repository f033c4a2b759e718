"""An engine by name: `MODEL@http://…` is a server's, else the model is loaded here."""

from __future__ import annotations

from revise_captions.engines.names import served
from revise_captions.engines.protocol import Engine


def load_engine(
    name: str,
    *,
    engine: str = "transformers",
    option: str = "--model",
    dtype: str = "auto",
    device: str = "auto",
    batch_size: int = 16,
    samples: int = 0,
    scores: bool = False,
) -> Engine:
    """The model `name`, ready to answer. Raises UserError where it cannot be had.

    `option`: what the user gave the name to, for messages. `scores`: it will be asked for
    log-probabilities. `samples`: where a server gives none, that many sampled answers instead
    (0: no). `batch_size` counts prompts, of a server those in flight.
    """
    if (found := served(name)) is not None:
        from revise_captions.engines.openai.probe import connect

        return connect(*found, in_flight=batch_size, samples=samples, scores=scores)
    if engine == "vllm":
        from revise_captions.engines.vllm.engine import load_engine as load_vllm

        return load_vllm(name, option=option, dtype=dtype, scores=scores)
    from revise_captions.engines.transformers.engine import (
        load_engine as load_transformers,
    )

    return load_transformers(
        name, option=option, dtype=dtype, device=device, batch_size=batch_size, scores=scores
    )
