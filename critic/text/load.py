"""Loads the critic of text in images."""

from __future__ import annotations

from revise_captions.command_line.extras import missing_libraries
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import Critic
from revise_captions.errors import UserError

LIBRARIES = ("cv2", "onnxruntime", "rapidfuzz", "rapidocr")


def load(argument: str, options: CriticOptions) -> Critic:
    """Compares what a sentence quotes with what an OCR reads; needs the extra `text`."""
    from revise_captions.critic.text.critic import TextCritic

    if argument:
        raise UserError(f"the critic text takes no argument, but was given {argument!r}")
    if absent := missing_libraries(*LIBRARIES):
        raise UserError(
            f"the critic text needs the library {absent[0]}, which is not installed",
            hint="pip install 'revise-captions[text]'",
        )
    if options.target_precision is not None:
        raise UserError(
            "the critic text stores no precision–recall curve",
            hint="leave --target-precision out: its error rates are in docs/measurements/text.md",
        )
    return TextCritic(options.threshold)
