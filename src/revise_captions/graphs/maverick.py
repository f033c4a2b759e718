"""Maverick (Martinelli et al. 2024) as the coreference resolver, as in POSH: an option, no default.

Its weights are CC BY-NC-SA 4.0, **not for commercial use**, and they are a pickled checkpoint, so
that loading them runs what is in them: load only what you trust. The package `maverick-coref` is
not among this one's dependencies or extras: install it yourself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from revise_captions.errors import UserError
from revise_captions.records import Span

HUB_ID = "sapienzanlp/maverick-mes-ontonotes"


class Maverick:
    """Clusters of mentions by a Maverick model, by hub id or the path of its weights.

    Raises UserError where the package is missing.
    """

    def __init__(self, name: str = HUB_ID, device: str = "cpu") -> None:
        try:
            from maverick import Maverick as Model
        except ImportError:
            raise UserError(
                "coreference by Maverick needs the package maverick-coref, which is not installed",
                hint="pip install maverick-coref (not for commercial use), or use the rules",
            ) from None
        self.name = name
        self.model: Any = Model(hf_name_or_path=name, device=device)

    @property
    def settings(self) -> Mapping[str, str]:
        return {"coreference": self.name}

    def clusters(self, text: str) -> list[list[Span]]:
        """Its character offsets include the last one; ours do not."""
        if not text.strip():
            return []
        found = self.model.predict(text)["clusters_char_offsets"] or []
        return [[Span(start, last + 1) for start, last in cluster] for cluster in found]
