"""How commands end: status and one line, whatever happened."""

from __future__ import annotations

import click
import pytest

from revise_captions.commands import run_command
from revise_captions.errors import EngineDead, UserError


def ends(capsys, outcome, **options):
    @click.command()
    @click.option("--number", type=int)
    def command(number):
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    with pytest.raises(SystemExit) as found:
        run_command(command, "a-command", options.pop("arguments", []), **options)
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
    code, err = ends(capsys, outcome, go_on=lambda: "go on so")
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
    def command():
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        run_command(command, "a-command", [])
