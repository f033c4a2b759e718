"""`captions`: finds its commands among entry points, loads one when named, completes in a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from commands import outcome

from revise_captions.command_line import captions
from revise_captions.command_line.captions import load_command, main, said_of
from revise_captions.command_line.command import HEADINGS, OTHERS
from revise_captions.command_line.completion import PROGRAMS
from revise_captions.registry import COMMANDS, entries

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
OURS = PROJECT["entry-points"]["revise_captions.commands"]


def test_two_programs_are_installed_and_every_command_is_declared():
    assert tuple(sorted(PROJECT["scripts"])) == PROGRAMS
    declared = {name: entry.value for name, entry in entries(COMMANDS).items()}
    assert declared == OURS


@pytest.mark.parametrize("name", OURS)
def test_the_source_says_of_a_command_what_the_command_does(name):
    """Read without an import; the name and the docstring's first line are the command's own."""
    command, said = load_command(name), said_of(entries(COMMANDS)[name])
    assert command.name == name
    assert said.line == (command.help or "").partition("\n")[0]
    assert said.line.endswith(".")
    assert said.heading in HEADINGS


def test_the_help_lists_all_and_loads_none():
    code = (
        "import sys\nfrom revise_captions.command_line import captions\n"
        "try:\n    captions.main([])\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "loaded = {'revise_captions.pipelines', 'revise_captions.finetune', 'torch'}\n"
        "assert not loaded & set(sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    for name, entry in entries(COMMANDS).items():
        line = said_of(entry).line
        assert re.search(rf"(?m)^  {name} +{re.escape(line)}$", ran.stdout)


@pytest.mark.parametrize("name", OURS)
def test_a_sub_command_shows_its_help_under_this_name(name, capsys):
    code, out, _ = outcome(main, capsys, name, "-h")
    assert code == 0
    assert out.startswith(f"Usage: captions {name} ")
    code, out, _ = outcome(main, capsys, name, "-V")
    assert (code, out.partition("\n")[0]) == (0, "captions, version 0.1.0")


PLAIN = '''
import click

raise_if_imported = 1 / 0

@click.command()
def shout():
    """Say it louder."""
'''


def test_a_command_of_another_package_stands_under_a_heading_of_its_own(install, capsys):
    """Even one that cannot be imported is in the help, and the others go on working."""
    install("loud", COMMANDS.group, {"shout": "loud_shout:shout"}, {"loud_shout": PLAIN})
    code, out, _ = outcome(main, capsys, "--help")
    assert code == 0
    assert re.search(rf"{OTHERS}:\n  shout +Say it louder\.\n", out)
    assert "loud_shout" not in sys.modules
    with pytest.raises(ZeroDivisionError):
        main(["shout"])
    assert outcome(main, capsys, "rate", "-h")[0] == 0


def test_what_is_no_command_is_named(install, capsys):
    declared = {"seven": "loud_seven:it", "gone": "loud_gone:it"}
    install("loud", COMMANDS.group, declared, {"loud_seven": "it = 7"})
    code, _, err = outcome(main, capsys, "seven")
    assert (code, "'seven' is a int; expected a click command" in err) == (2, True)
    code, _, err = outcome(main, capsys, "gone")
    assert (code, "'gone' of the package loud cannot be imported" in err) == (2, True)
    code, out, _ = outcome(main, capsys, "--help")
    assert code == 0
    assert re.search(r"\n  gone +of the package loud\n", out)


def test_python_m(capsys):
    command = [sys.executable, "-m", "revise_captions", "--version"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    first, python, critics, _, extras = ran.stdout.splitlines()
    assert first == "captions, version 0.1.0"
    assert python.startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}.")
    assert {"bundled", "charts"} <= set(critics.removeprefix("critics: ").split(", "))
    assert "server" in extras


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["rat"], "did you mean rate?"),
        (["finetun"], "did you mean finetune?"),
        (["xyz"], "see captions --help"),
        (["rate", "--adaptr", "x"], "Did you mean one of: '--adapter', "),
        (["init-config", "--for", "rvise"], "did you mean revise?"),
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
    entry = PROJECT["scripts"][name].partition(":")[0]
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


def test_ctrl_c_before_the_command_is_one_line(monkeypatch, capsys):
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(captions, "load_command", interrupted)
    code, out, err = outcome(main, capsys, "select")
    assert (code, out, err) == (130, "", "captions: interrupted\n")
