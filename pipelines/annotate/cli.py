"""The command `captions annotate`."""

from __future__ import annotations

from revise_captions.command_line.command import group
from revise_captions.pipelines.annotate import commands

EPILOG = """
\b
Examples:
  captions annotate export revised.jsonl tasks --size 300  # tasks for five raters each
  captions annotate import tasks answers-*.json --out data  # figures, and data for finetune
  captions annotate convert chocolate DIR data      # a public dataset as training data
  captions annotate match captions.jsonl matched    # unlabeled captions, to adapt a small critic
"""


@group(
    name="annotate",
    heading="Label and train",
    epilog=EPILOG,
    commands=(commands.export, commands.import_, commands.convert, commands.match),
)
def annotate() -> None:
    """Have people label a sample; import their answers.

    Have people annotate a run; turn annotations into figures and training data.

    The protocol is that of VNLI-Critique (sections 3 and 4.3, appendix C): five raters per item,
    majority vote, and the longest rationale.
    """
