"""Every option that names a file or folder to write, tried with what must not be lost.

Options are found by their type (`OutputPath`), so a new one is tried without being named here. What
a command needs besides is filled in by the types of its other parameters, or from `NEEDED`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import torch
from commands import outcome, write_input

from revise_captions.command_line.captions import load_command, main
from revise_captions.command_line.shared import OutputPath
from revise_captions.registry import COMMANDS, names
from revise_captions.vela.card import VelaCard, save

PRECIOUS = "name,score\nprecious,1\n"
#: What a command needs where types do not say it. There are `in.jsonl`, `recipe.toml` of it,
#: and the folder `data`.
NEEDED: Mapping[str, Mapping[str, str]] = {
    "annotate convert": {"name": "chocolate"},
    "apply": {"paths": "in.jsonl in.jsonl new"},
    "benchmarks export": {"name": "chocolate"},
    "calibrate": {"critic": "bundled"},
    "evaluate-metric": {"benchmark": "chocolate", "scores": "in.jsonl"},
    "finetune": {"base": "bundled", "minutes": "1"},
    "finetune-metric": {"metric": "clipscore"},
    "rate": {"inputs": "in.jsonl"},
    "run": {"recipe": "recipe.toml"},
    "select": {"where": "true"},
    "stress-metric": {"metrics": "mine=in.jsonl"},
    "merge": {"shards": "in.jsonl"},
    "posh": {"caption_field": "caption"},
    "preferences": {"policy": "smollm2"},
    "reproduce": {"table": "posh:table2", "data": "data"},
    "train-preferences dpo": {"policy": "smollm2", "data": "in.jsonl"},
    "train-preferences grpo": {"policy": "smollm2", "data": "in.jsonl"},
    "train-preferences reward": {"policy": "smollm2", "data": "in.jsonl"},
    "train-vela": {"perspective": "mean"},
}
#: A trained metric that needs no other model: `data` is one, too.
VELA_CARD = VelaCard(("mean",), ((0.0, 1.0),), language=None, pair=None)
VELA_TENSORS = ("weight", "bias", "shift", "scale")


class Target(NamedTuple):
    """A parameter of a command that names what it writes."""

    name: str
    command: click.Command
    parameter: click.Parameter


def _leaves(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    for part, inner in command.commands.items():
        yield from _leaves(f"{name} {part}", inner)


LEAVES = [leaf for name in names(COMMANDS) for leaf in _leaves(name, load_command(name))]
TARGETS = [
    Target(name, command, parameter)
    for name, command in LEAVES
    for parameter in command.params
    if isinstance(parameter.type, OutputPath)
]
EACH = pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.name}:{t.parameter.name}")


def _needed(name: str, parameter: click.Parameter) -> str | None:
    """What to give for a parameter that is no output; None for nothing."""
    if parameter.name in NEEDED.get(name, {}):
        return NEEDED[name][str(parameter.name)]
    if not parameter.required:
        return None
    of_folder = isinstance(parameter.type, click.Path) and not parameter.type.file_okay
    return "data" if of_folder else "in.jsonl"


def _line(target: Target, given: Mapping[str, str], *more: str) -> list[str]:
    """The command line with these outputs, new ones for others that are required, and flags."""
    options: list[str] = []
    arguments: list[str] = []
    for parameter in target.command.params:
        if isinstance(parameter.type, OutputPath):
            value = given.get(str(parameter.name))
            value = f"new.{parameter.name}" if value is None and parameter.required else value
        else:
            value = _needed(target.name, parameter)
        if value is not None and isinstance(parameter, click.Argument):
            arguments += value.split()
        elif value is not None:
            options += [parameter.opts[-1], value]
    flags = [flag for flag in more if any(flag in p.opts for p in target.command.params)]
    return [*target.name.split(), *arguments, *options, *flags]


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A folder with inputs and with what is somebody's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for folder in (tmp_path, tmp_path / "data"):
        write_input(folder / "in.jsonl", 3)
    (tmp_path / "data/train.jsonl").write_text(json.dumps({"id": "1"}) + "\n")
    (tmp_path / "data/split.csv").write_text(PRECIOUS)
    save(tmp_path / "data", VELA_CARD, {name: torch.zeros(1) for name in VELA_TENSORS})
    (tmp_path / "precious").write_text(PRECIOUS)
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "recipe.toml").write_text('in = "in.jsonl"\nout = "recipe-out.jsonl"\n')
    (tmp_path / "somebodys/training").mkdir(parents=True)
    (tmp_path / "somebodys/training/part-00000.snappy.parquet").write_text(PRECIOUS)
    (tmp_path / "somebodys/state.json").write_text(PRECIOUS)
    return tmp_path


def _refused(home: Path, capsys, line: Sequence[str]) -> str:
    """What the command says when it refuses; nothing may have changed or appeared."""
    before = _files(home)
    code, _, said = outcome(main, capsys, *line)
    assert code == 2, (line, said)
    assert "Traceback" not in said
    assert _files(home) == before, line
    return said


@EACH
def test_a_file_of_somebodys_stays(target, home, capsys):
    for flags in ([], ["--resume"]):
        said = _refused(home, capsys, _line(target, {target.parameter.name: "precious"}, *flags))
        assert "precious" in said
    _refused(home, capsys, _line(target, {target.parameter.name: "circle"}))  # a link to itself


@EACH
def test_the_input_and_links_to_it_stay(target, home, capsys):
    inputs = {path for path in _line(target, {}) if Path(path).exists()}
    assert inputs or target.name == "init-config", "nothing is known to be read: see `NEEDED`"
    for number, given in enumerate(sorted(inputs)):
        read = home / given
        (home / f"soft{number}").symlink_to(read)
        if read.is_dir():
            other = f"{given}/in.jsonl"
        else:
            other = f"hard{number}"
            os.link(read, home / other)
        for name in (str(read), given, f"soft{number}", other):
            for flags in ([], ["--force"], ["--resume"], ["--resume", "--force"]):
                line = _line(target, {target.parameter.name: name}, *flags)
                assert Path(name).name in _refused(home, capsys, line)


@EACH
def test_a_folder_with_somebodys_files_stays(target, home, capsys):
    for flags in ([], ["--force"], ["--resume"], ["--resume", "--force"]):
        line = _line(target, {target.parameter.name: "somebodys"}, *flags)
        assert "somebodys" in _refused(home, capsys, line)


@EACH
def test_no_two_outputs_share_a_file(target, home, capsys):
    others = [
        other.name
        for other in target.command.params
        if isinstance(other.type, OutputPath) and other is not target.parameter
    ]
    for other in others:
        given = {target.parameter.name: "same", other: "./same"}
        assert "same" in _refused(home, capsys, _line(target, given, "--force"))


def test_every_path_is_read_or_written():
    """What a command reads exists, so an option without `exists` is one to write."""
    assert TARGETS
    unclear = [
        (name, parameter.name)
        for name, command in LEAVES
        for parameter in command.params
        if isinstance(parameter.type, click.Path)
        and not (parameter.type.exists or isinstance(parameter.type, OutputPath))
    ]
    assert not unclear, "give them EXISTING_FILE, EXISTING_FOLDER, OUT_FILE, OUT_FOLDER or OUT"
