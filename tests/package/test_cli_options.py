"""The options that commands share: declared once, adjusted where a command differs."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner
from pages import ROOT

from revise_captions.command_line.captions import load_command
from revise_captions.command_line.command import command
from revise_captions.command_line.options import group, option
from revise_captions.command_line.shared import listed_option, shared_option
from revise_captions.engines.model_spec import Placement
from revise_captions.registry import COMMANDS, names


def leaves(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for sub, found in command.commands.items():
            yield from leaves(found, f"{name} {sub}")
    else:
        yield name, command


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in names(COMMANDS):
        yield from leaves(load_command(name), name)


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_option_and_command_says_what_it_does(name, command):
    assert command.help
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert [option.opts for option in options if not option.help] == []


@dataclass(frozen=True)
class Sharing:
    """Options that other commands have, too, one of them changed."""

    batch_size: int = shared_option("--batch-size")
    device: str = shared_option("--device")
    limit: int | None = shared_option("--limit", help="Only so many.")
    words: tuple[str, ...] = listed_option(("a",), "Words.")


def test_a_command_takes_options_in_order_and_changes_them():
    found = []
    taking = command(Sharing, name="taking")(lambda options: found.append(options))
    assert [p.name for p in taking.params][:4] == ["batch_size", "device", "limit", "words"]
    shown = CliRunner().invoke(taking, ["-h"]).output
    assert "[default: 16; x>=1]" in shown
    assert "Only so many." in shown
    CliRunner().invoke(taking, ["--limit", "3", "--words", "b, c"])
    assert found == [Sharing(16, "auto", 3, ("b", "c"))]


#: The one module outside tests' and scripts' that may know click's own decorators.
DECORATORS = ROOT / "src/revise_captions/command_line/command.py"


def test_every_option_is_a_field():
    rooms = ("src", "pipelines", "finetune", "critic", "reviser", "datasets")
    spelled = re.compile(r"^ *(@|return )click\.(option|argument)\(", re.MULTILINE)
    found = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    assert [path for path in found if spelled.search(path.read_text("utf-8"))] == [DECORATORS]


@dataclass(frozen=True)
class Prompted:
    """A command's options, with a group that it has a default of its own for."""

    text: str = option("no", "What is asked.")
    placement: Placement = group(Placement, batch_size=7)


def test_a_group_has_the_defaults_that_its_command_gives_it():
    found = []
    asked = command(Prompted, name="asked")(lambda options: found.append(options))
    CliRunner().invoke(asked, [])
    CliRunner().invoke(asked, ["--batch-size", "3", "--device", "cpu", "--trust-remote-code"])
    assert found == [
        Prompted("no", Placement(batch_size=7)),
        Prompted("no", Placement("transformers", "cpu", "auto", 3, True)),
    ]
    assert Prompted() == found[0]
    assert Placement().batch_size is None


def test_the_options_of_a_job_are_taken_apart_where_it_starts():
    job = re.compile(r"(?<!onnxruntime\.)\b(Job|Model|Run|Verify|Input)Options\b")
    rooms = ("src", "pipelines", "finetune", "critic", "reviser")
    modules = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    assert len(modules) > 300
    assert sum(1 for path in modules if job.search(path.read_text("utf-8"))) <= 25


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    """The library's log, left as it was."""
    logger = logging.getLogger("revise_captions")
    level, handlers = logger.level, list(logger.handlers)
    yield logger
    logger.setLevel(level)
    logger.handlers[:] = handlers


@pytest.mark.parametrize(
    ("given", "level"), [([], logging.WARNING), (["-v"], logging.INFO), (["-vv"], logging.DEBUG)]
)
def test_verbose_sets_the_level_of_the_log(log, given, level):
    @command()
    def a_command():
        """Says something."""
        logging.getLogger("revise_captions.any").log(level, "said")

    ran = CliRunner().invoke(a_command, given)
    assert log.level == level
    assert "said" in ran.output
