"""revise-captions: judge every sentence of a caption against its image, rewrite what is wrong.

import revise_captions

for result in revise_captions.revise([{"image": "cat.jpg", "caption": "A dog sleeps."}]):
    print(result.revisions["caption"].revised_caption)
"""

from __future__ import annotations

import logging
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from revise_captions.critic.load import load_critic
    from revise_captions.io.rows import BadRow
    from revise_captions.pipelines.api import judge, revise
    from revise_captions.pipelines.job.window import Result
    from revise_captions.records import Record, Revision, Span
    from revise_captions.reviser.load import load_reviser
    from revise_captions.text.sentences import split

__all__ = [
    "BadRow",
    "Record",
    "Result",
    "Revision",
    "Span",
    "judge",
    "load_critic",
    "load_reviser",
    "revise",
    "split",
]

__version__: str

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent until somebody listens
# What tqdm says in notebooks without ipywidgets, as soon as transformers is imported.
warnings.filterwarnings("ignore", "IProgress not found")

#: Where each name lives; imported when first asked for: `import revise_captions` is instant.
_HOMES = {
    "BadRow": "revise_captions.io.rows",
    "Record": "revise_captions.records",
    "Result": "revise_captions.pipelines.job.window",
    "Revision": "revise_captions.records",
    "Span": "revise_captions.records",
    "judge": "revise_captions.pipelines.api",
    "load_critic": "revise_captions.critic.load",
    "load_reviser": "revise_captions.reviser.load",
    "revise": "revise_captions.pipelines.api",
    "split": "revise_captions.text.sentences",
}


def __getattr__(name: str) -> Any:
    if name == "posh":  # `revise_captions.posh`, without an import of its own
        return import_module("revise_captions.posh")
    if name == "__version__":
        from importlib.metadata import version

        return version("revise-captions")
    if name not in _HOMES:
        raise AttributeError(f"module 'revise_captions' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
