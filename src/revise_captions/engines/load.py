"""The engine of an instruct model.

    [project.entry-points."revise_captions.engines"]
    mine = "my_package.engine:load"

`load(spec, use)` returns an `Engine` (`engines.protocol`).
"""

from __future__ import annotations

from dataclasses import dataclass

from revise_captions import registry
from revise_captions.engines.model_spec import HERE, ModelSpec, Placement, resolve_model
from revise_captions.engines.protocol import Engine


@dataclass(frozen=True, slots=True)
class EngineUse:
    """What an engine is loaded for.

    Attributes:
        option: The option that named the model, for messages.
        samples: How many answers to sample if a server gives no log-probabilities.
        scores: Whether it will be asked for log-probabilities.
        images: Whether it will be shown images.
        plain: Whether a language model without a chat format, which continues the prompt, will do.
    """

    option: str = "--model"
    samples: int = 0
    scores: bool = False
    images: bool = False
    plain: bool = False


def load_engine(
    model: str | ModelSpec,
    placement: Placement = HERE,
    *,
    option: str = "--model",
    samples: int = 0,
    scores: bool = False,
    images: bool = False,
    plain: bool = False,
) -> Engine:
    """Loads an instruct model, or connects to its server.

    Args:
        model: A name, or the result of `resolve_model`, which has its own placement.
        placement: Where and how it runs.
        option: See `EngineUse`; likewise the remaining arguments.

    Raises:
        UserError: It is not available.
    """
    spec = model if isinstance(model, ModelSpec) else resolve_model(model, placement, option=option)
    load = registry.load(registry.ENGINES, spec.placement.engine)
    engine: Engine = load(spec, EngineUse(option, samples, scores, images, plain))
    return engine
