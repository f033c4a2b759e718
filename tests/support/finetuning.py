"""`captions finetune` in this process, and data and an instruct model for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import program
from PIL import Image
from toyworld import write

from revise_captions.critic.protocol import JudgeRequest
from revise_captions.finetune import cli
from revise_captions.finetune.data.records import open_split

main = program(cli.finetune_critic)

SMALL = (
    "--no-compile", "--dtype", "float32", "--batch-size", "4", "--warmup", "1",
    "--validate-time", "0", "--save-minutes", "1000", "--samples", "1",
)  # fmt: skip


class EntryPoint:
    """`captions finetune` as users run it, errors as exit statuses, for `CliRunner.invoke`."""

    name = "captions finetune"

    def main(self, args: Sequence[str], prog_name: str, **_: object) -> None:
        main(list(args))


FINETUNE = EntryPoint()


def command(*arguments: object):
    return CliRunner().invoke(FINETUNE, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("data"), {"train": 8, "validation": 8}, grid=4)


@pytest.fixture(scope="module")
def vlm(tmp_path_factory) -> Path:
    import tinyvlm

    return tinyvlm.saved(tmp_path_factory.mktemp("bases") / "vlm", "idefics3")


def paragraphs(data: Path, count: int = 4) -> list[JudgeRequest]:
    examples = open_split(data, "validation")
    return [
        JudgeRequest(Image.open(data / e.image).convert("RGB"), e.caption, e.spans)
        for e in (examples[i] for i in range(count))
    ]
