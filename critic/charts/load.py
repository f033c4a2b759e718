"""Loads the critic of charts."""

from __future__ import annotations

from revise_captions.command_line.extras import missing_libraries
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import Critic
from revise_captions.errors import UserError

LIBRARIES = ("cv2", "rapidocr", "onnxruntime")


def load(argument: str, options: CriticOptions) -> Critic:
    """Reads a chart and checks what is claimed of it; needs the extra `charts`."""
    from revise_captions.critic.charts.critic import ChartCritic
    from revise_captions.critic.charts.language import chart_language

    if argument:
        raise UserError(f"the critic charts takes no argument, but was given {argument!r}")
    if absent := missing_libraries(*LIBRARIES):
        raise UserError(
            f"the critic charts needs the library {absent[0]}, which is not installed",
            hint="pip install 'revise-captions[charts]'",
        )
    if options.target_precision is not None:
        raise UserError(
            "the critic charts stores no precision–recall curve",
            hint="use --threshold instead of --target-precision",
        )
    return ChartCritic(threshold=options.threshold, language=chart_language())


def load_or_missing(options: CriticOptions) -> Critic:
    """The same, or, without the extra, what says of a chart that it is missing."""
    from revise_captions.critic.charts.missing import MissingChartCritic

    return MissingChartCritic() if missing_libraries(*LIBRARIES) else load("", options)
