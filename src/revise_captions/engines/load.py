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
        option: The option that the user gave the model's name to, for messages.
        samples: Where a server gives no log-probabilities, this many sampled answers instead.
        scores: Whether it will be asked for log-probabilities.
        images: Whether it will be shown images.
        plain: Whether a language model without a chat format will do, which continues the prompt.
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
        model: A name, or what `resolve_model` made of one: then the placement is its own.
        placement: What computes it.
        option: See `EngineUse`; likewise those that follow.

    Raises:
        UserError: It cannot be had.
    """
    spec = model if isinstance(model, ModelSpec) else resolve_model(model, placement, option=option)
    load = registry.load(registry.ENGINES, spec.placement.engine)
    engine: Engine = load(spec, EngineUse(option, samples, scores, images, plain))
    return engine
