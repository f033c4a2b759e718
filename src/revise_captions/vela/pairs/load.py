"""VELA's I2C branch by name."""

from __future__ import annotations

from revise_captions.vela.branches import PairEncoder
from revise_captions.vela.pairs import text_pair
from revise_captions.vela.pairs.dual_encoder import load_dual_encoder


def needs_image(name: str) -> bool:
    """Whether the branch of this name looks at images, without loading it."""
    return name != text_pair.NAME


def load_pair(name: str, *, device: str = "auto") -> PairEncoder:
    """A CLIP-like pair of towers (a folder or hub id), or `minilm`, which compares with references.

    Raises:
        UserError: It cannot be loaded.
    """
    if name == text_pair.NAME:
        return text_pair.load_text_pair(device)
    return load_dual_encoder(name, device=device)
