"""revise-captions: judge every sentence of a caption against its image, rewrite what is wrong.

import revise_captions

for result in revise_captions.revise([{"image": "cat.jpg", "caption": "A dog sleeps."}]):
    print(result.revisions["caption"].revised_caption)
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from revise_captions.critic.load import load_critic
    from revise_captions.pipelines.api import revise
    from revise_captions.records import Record, Revision, Span
    from revise_captions.reviser.load import load_reviser
    from revise_captions.text.sentences import split

__all__ = ["Record", "Revision", "Span", "load_critic", "load_reviser", "revise", "split"]

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent until somebody listens

#: Where each name lives; imported when first asked for: `import revise_captions` is instant.
_HOMES = {
    "Record": "revise_captions.records",
    "Revision": "revise_captions.records",
    "Span": "revise_captions.records",
    "load_critic": "revise_captions.critic.load",
    "load_reviser": "revise_captions.reviser.load",
    "revise": "revise_captions.pipelines.api",
    "split": "revise_captions.text.sentences",
}


def __getattr__(name: str) -> Any:
    if name == "posh":  # `revise_captions.posh`, without an import of its own
        return import_module("revise_captions.posh")
    if name not in _HOMES:
        raise AttributeError(f"module 'revise_captions' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
