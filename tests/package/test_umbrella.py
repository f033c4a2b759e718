"""`captions`: every command is in it, loaded only when named, and completes in a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from commands import outcome

from revise_captions.umbrella import COMMANDS, find, main

SCRIPTS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
    "scripts"
]


def test_every_command_is_a_sub_command_under_both_names():
    targets = {command.script: command.target for command in COMMANDS if command.script}
    assert targets == {name: target for name, target in SCRIPTS.items() if name != "captions"}
    names = [command.name for command in COMMANDS]
    assert len(set(names)) == len(names)
    assert find("rate") is find("rate-captions")
    assert find("") is None


def test_the_help_lists_all_and_loads_none():
    code = (
        "import sys\nfrom revise_captions import umbrella\n"
        "try:\n    umbrella.main([])\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "loaded = {'revise_captions.pipelines', 'revise_captions.finetune', 'torch'}\n"
        "assert not loaded & set(sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    for command in COMMANDS:
        assert re.search(rf"(?m)^  {command.name} +{re.escape(command.line)}$", ran.stdout)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_sub_command_shows_its_help_under_this_name(command, capsys):
    code, out, _ = outcome(main, capsys, command.name, "-h")
    assert code == 0
    assert out.startswith(f"Usage: captions {command.name} ")
    if command.script:
        code, out, _ = outcome(main, capsys, command.script, "-V")
        assert (code, out) == (0, f"captions {command.name}, version 0.1.0\n")


def test_python_m(capsys):
    command = [sys.executable, "-m", "revise_captions", "--version"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ran.stdout == "captions, version 0.1.0\n"


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["rat"], "Did you mean rate?"),
        (["finetune-critics"], "Did you mean finetune-critic?"),
        (["xyz"], "See captions --help."),
        (["rate", "--adaptr", "x"], "Did you mean '--adapter'?"),
        (["init-config", "--for", "rvise"], "Did you mean revise?"),
        (["annotate", "exprot"], "Did you mean 'export'?"),
        (["benchmarks", "show", "choclate"], "did you mean chocolate?"),
        (["evaluate-metric", "Flickr8k", "."], "did you mean flickr8k-"),
    ],
)
def test_a_misspelled_name_is_answered_with_the_nearest(words, near, capsys):
    code, _, err = outcome(main, capsys, *words)
    assert code == 2
    assert near in err


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("captions ra", "ra", "rate"),
        ("captions rate --crit", "--crit", "--critic"),
        ("revise-captions --targ", "--targ", "--target-precision"),
    ],
)
def test_a_shell_completes(line, word, expected):
    """As bash asks; what it evaluates names the same variable."""
    name = line.split()[0]
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    entry = SCRIPTS[name].partition(":")[0]
    env = {**os.environ, variable: "bash_complete", "COMP_WORDS": line}
    env["COMP_CWORD"] = str(len(line.split()) - 1)
    code = f"from {entry} import main; main([])"
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert expected in [found.partition(",")[2] for found in ran.stdout.split()]
    script = subprocess.run(
        [sys.executable, "-m", "revise_captions", "completion", "bash"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert f"{variable}=bash_complete" in script
