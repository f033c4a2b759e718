"""The command `captions train-preferences`: reward models, DPO and GRPO."""

from __future__ import annotations

from revise_captions.command_line.command import group
from revise_captions.finetune.preferences import commands

EPILOG = """
\b
Examples:
  captions train-preferences dpo pairs.jsonl --policy MODEL --out dpo --method lora
  captions train-preferences reward pairs.jsonl --by c_p --policy MODEL --out rm-p
  captions train-preferences grpo images.jsonl --policy ./dpo --out grpo --reward ./rm-p
"""


@group(
    name="train-preferences",
    heading="Label and train",
    epilog=EPILOG,
    go_on=lambda _: "repeat the command with --resume to continue from the last checkpoint",
    commands=(commands.reward, commands.dpo, commands.grpo),
)
def train_preferences() -> None:
    """Train a captioner on preferences.

    Uses TRL (extra `rl`). On several GPUs: accelerate launch -m revise_captions train-preferences
    dpo PAIRS …
    """
