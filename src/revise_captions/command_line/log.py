"""What the commands write to standard error of the library's log.

Every module logs to `logging.getLogger(__name__)`, below `revise_captions`. A program that embeds
the library hears it through its own handlers; the commands attach one with `configure`.
"""

from __future__ import annotations

import logging

from revise_captions.command_line.printing import echo
from revise_captions.outside_text import masked

LOGGER = logging.getLogger("revise_captions")
_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class StderrHandler(logging.Handler):
    """Writes to whatever `sys.stderr` is at that moment: a progress bar may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            echo(masked(self.format(record)), err=True)
        except Exception:
            self.handleError(record)


def configure(verbosity: int = 0) -> None:
    """Sends the library's log to standard error.

    A second call replaces the first one's handler. Handlers that others attached stay.

    Args:
        verbosity: 0 (or less) for warnings, 1 for what happens, 2 (or more) for details.
    """
    for handler in [h for h in LOGGER.handlers if isinstance(h, StderrHandler)]:
        LOGGER.removeHandler(handler)
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(_LEVELS[min(max(verbosity, 0), 2)])
