"""What a model calls the argument for the keys and values that it has computed before."""

from __future__ import annotations

import inspect
from typing import Any


def with_cache(model: Any, cache: Any) -> dict[str, Any]:
    """The arguments that hand a cache to a model of transformers.

    Versions before 5.24 know `past_key_values` only; later ones call it `cache`, and warn of the
    old name at each call.

    Args:
        model: Its `forward` decides.
        cache: Of transformers; None: nothing is kept.
    """
    known = inspect.signature(model.forward).parameters
    name = "cache" if "cache" in known else "past_key_values"
    return {name: cache, "use_cache": cache is not None}
