"""The command `train-preferences`: reward models, DPO and GRPO."""

from __future__ import annotations

import click

from revise_captions.cli_options import SETTINGS, version_option
from revise_captions.commands import run_command
from revise_captions.finetune.preferences import commands

EPILOG = """
\b
Examples:
  train-preferences dpo pairs.jsonl --policy Qwen/Qwen2.5-VL-7B-Instruct --out dpo --method lora
  train-preferences reward pairs.jsonl --by c_p --policy Qwen/Qwen2.5-VL-7B-Instruct --out rm-p
  train-preferences grpo images.jsonl --policy ./dpo --out grpo --reward ./rm-p --reward ./rm-r=0.5
"""


@click.group(epilog=EPILOG, context_settings=SETTINGS)
@version_option
def train_preferences() -> None:
    """Train a captioner on preferences, through TRL (extra `rl`).

    On several GPUs: accelerate launch -m revise_captions.finetune.preferences.cli dpo PAIRS …
    """


train_preferences.add_command(commands.reward)
train_preferences.add_command(commands.dpo)
train_preferences.add_command(commands.grpo)


def main(arguments: list[str] | None = None) -> None:
    """Entry point."""
    run_command(
        train_preferences,
        "train-preferences",
        arguments,
        go_on=lambda: "repeat the command with --resume to continue from the last checkpoint",
    )


if __name__ == "__main__":
    main()
