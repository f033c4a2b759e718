"""The library is silent by itself; the commands send its log to standard error."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from revise_captions.command_line.log import LOGGER, StderrHandler, configure


@pytest.fixture
def restored() -> Iterator[None]:
    level, handlers = LOGGER.level, list(LOGGER.handlers)
    yield
    LOGGER.setLevel(level)
    LOGGER.handlers[:] = handlers


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(
    ("verbosity", "heard"),
    [(-1, {"warning"}), (0, {"warning"}), (1, {"warning", "info"})]
    + [(n, {"warning", "info", "debug"}) for n in (2, 7)],
)
def test_verbosity_chooses_what_is_written(verbosity, heard, capsys):
    configure(0)
    configure(verbosity)
    logger = logging.getLogger("revise_captions.some.module")
    for level in ("debug", "info", "warning"):
        getattr(logger, level)("%s of %d", level, 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(" ", 2)[1:] for line in err.splitlines()] == [
        [level.upper(), f"{level} of 3"] for level in ("debug", "info", "warning") if level in heard
    ]


@pytest.mark.usefixtures("restored")
def test_configure_leaves_handlers_of_others():
    other = logging.NullHandler()
    LOGGER.addHandler(other)
    configure(1)
    configure(2)
    assert other in LOGGER.handlers
    assert sum(isinstance(h, StderrHandler) for h in LOGGER.handlers) == 1


def test_the_library_writes_nothing_by_itself():
    code = "import logging, revise_captions as r; logging.getLogger(r.__name__).error('heard')"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
