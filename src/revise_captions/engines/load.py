"""The engine of an instruct model."""

from __future__ import annotations

from revise_captions.engines.model_spec import ModelSpec, resolve_model, served
from revise_captions.engines.protocol import Engine


def load_engine(
    model: str | ModelSpec,
    *,
    option: str = "--model",
    engine: str = "transformers",
    device: str = "auto",
    dtype: str = "auto",
    batch_size: int = 16,
    samples: int = 0,
    scores: bool = False,
    trust_remote_code: bool = False,
) -> Engine:
    """Loads an instruct model, or connects to its server.

    Args:
        model: A name, or what `resolve_model` made of one: then its engine, device, dtype and
            trust are its own.
        option: The option that the user gave the name to, for messages.
        engine: See `ModelSpec`.
        device: See `ModelSpec`.
        dtype: See `ModelSpec`.
        batch_size: Prompts at a time; of a server, those in flight.
        samples: Where a server gives no log-probabilities, this many sampled answers instead.
        scores: Whether it will be asked for log-probabilities.
        trust_remote_code: See `ModelSpec`.

    Raises:
        UserError: It cannot be had.
    """
    spec = model
    if isinstance(spec, str):
        spec = resolve_model(
            spec,
            engine=engine,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            option=option,
        )
    if (found := served(spec.name)) is not None:
        from revise_captions.engines.openai.probe import connect

        return connect(*found, in_flight=batch_size, samples=samples, scores=scores)
    if spec.engine == "vllm":
        from revise_captions.engines.vllm.engine import load_engine as load_vllm

        return load_vllm(
            spec.name,
            option=option,
            dtype=spec.dtype,
            scores=scores,
            trusted=spec.trust_remote_code,
        )
    from revise_captions.engines.transformers.load import load_engine as load_transformers

    return load_transformers(
        spec.name,
        option=option,
        dtype=spec.dtype,
        device=spec.device,
        batch_size=batch_size,
        scores=scores,
        trusted=spec.trust_remote_code,
    )
