"""The name of a model's argument for previously computed keys and values."""

from __future__ import annotations

import inspect
from typing import Any


def with_cache(model: Any, cache: Any) -> dict[str, Any]:
    """The arguments that pass a cache to a transformers model.

    Versions before 5.24 only know `past_key_values`; later ones call it `cache`, and warn about
    the old name at each call.

    Args:
        model: The name is taken from its `forward`.
        cache: A transformers cache; None: nothing is kept.
    """
    known = inspect.signature(model.forward).parameters
    name = "cache" if "cache" in known else "past_key_values"
    return {name: cache, "use_cache": cache is not None}
