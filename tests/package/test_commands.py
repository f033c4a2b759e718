"""How commands end: status and one line, whatever happened."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from revise_captions.command_line.command import command
from revise_captions.command_line.running import run_command
from revise_captions.errors import EngineDead, UserError


def ends(capsys, outcome, arguments=(), **more):
    @command(**more)
    @click.option("--number", type=int)
    def a_command(number):
        """Ends so."""
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    with pytest.raises(SystemExit) as found:
        run_command(a_command, "a-command", arguments)
    return found.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("outcome", "status", "line"),
    [
        (None, 0, ""),
        (7, 7, ""),
        (UserError("no such file", hint="name another"), 2, "a-command: no such file\n"),
        (EngineDead("gone"), 3, "a-command: gone\n  go on so\n"),
        (KeyboardInterrupt(), 130, "a-command: interrupted\n  go on so\n"),
    ],
)
def test_status_and_line(capsys, outcome, status, line):
    code, err = ends(capsys, outcome, go_on=lambda _: "go on so")
    assert code == status
    assert err.lstrip("\n").startswith(line)
    assert "Traceback" not in err


def test_a_wrong_option_is_said_by_click(capsys):
    code, err = ends(capsys, None, arguments=["--number", "x"])
    assert code == 2
    assert "'x' is not a valid integer" in err


def test_without_a_way_to_go_on_there_is_no_line_for_it(capsys):
    assert ends(capsys, EngineDead("gone")) == (3, "a-command: gone\n")


def test_a_bug_is_not_hidden():
    @click.command()
    def a_command():
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        run_command(a_command, "a-command", [])


ESC = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\r"


@pytest.mark.parametrize(
    "outcome",
    [
        UserError(f"no field {ESC}", hint=f"found {ESC}"),
        EngineDead(ESC),
        click.UsageError(ESC),
        click.FileError(ESC, ESC),
        click.BadParameter(ESC, param_hint=ESC),
        UserError("half a character: \ud83d"),
    ],
)
def test_control_characters_are_spelled_out(capsys, outcome):
    _, err = ends(capsys, outcome, go_on=lambda _: ESC)
    assert "U+" in err
    assert not set(ESC) & {c for c in err if not c.isprintable()}


def test_control_characters_in_the_command_line_are_spelled_out(capsys):
    for arguments in ([f"--{ESC}"], ["--number", ESC], [ESC]):
        _, err = ends(capsys, None, arguments=arguments)
        assert "\x1b" not in err


def test_secrets_in_errors_are_masked(capsys, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf-like-secret")
    _, err = ends(capsys, UserError("with hf-like-secret and Bearer abc123def456"))
    assert err == "a-command: with *** and Bearer ***\n"


#: Without it there is nothing to parse a module for.
PRINTS = re.compile(r"\b(?:print|s?echo)\b")


def test_the_commands_print_through_echo():
    """A metric's colored text is made of parts that are spelled out already; it has colors."""
    root = Path(__file__).parents[2]
    found = [
        f"{path.relative_to(root)}: {ast.unparse(node)[:40]}"
        for folder in ("src", "critic", "reviser", "pipelines", "finetune", "datasets")
        for path in (root / folder).rglob("*.py")
        if PRINTS.search(text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("click.echo", "click.secho", "print")
    ]
    assert sorted(found) == [
        "src/revise_captions/command_line/printing.py: click.echo(plain(text), err=err)",
        "src/revise_captions/runs/score_file.py: click.echo(text + '\\n')",
    ]
