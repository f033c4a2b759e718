"""`bundled` if SmolLM2 is installed: the small model for what it knows, SmolLM2 for the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from revise_captions.reviser.bundled_model.reviser import BundledReviser
from revise_captions.reviser.protocol import RewriteRequest

#: The share of a sentence's and its rationale's words that the small model must know if there is
#: another model: all of the picture book's pass, and one in seventy from real captions.
KNOWN = 0.9


@dataclass(slots=True)
class RoutedReviser:
    """Rewrites with the small model where it knows the words, and with the large one elsewhere.

    Attributes:
        small: The picture book's.
        load: Loads the other, which takes seconds, so only when the first sentence needs it.
        settings: Of both.
        strict: See `Reviser`.
    """

    small: BundledReviser
    load: Callable[[], BundledReviser]
    settings: Mapping[str, str]
    strict: bool = True
    _large: BundledReviser | None = None
    _loading: threading.Lock = field(default_factory=threading.Lock)

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        foreign = self.small.foreign(requests, KNOWN)
        near = [r for r, far in zip(requests, foreign, strict=True) if not far]
        away = [r for r, far in zip(requests, foreign, strict=True) if far]
        one = iter(self.small.rewrite(near) if near else [])
        other = iter(self._other().rewrite(away) if away else [])
        return [next(other if far else one) for far in foreign]

    def _other(self) -> BundledReviser:
        with self._loading:
            if self._large is None:
                self._large = self.load()
            return self._large
