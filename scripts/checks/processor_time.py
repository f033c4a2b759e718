"""A plugin of pytest: processor seconds by room, file and test, with the processes they start.

python -m pytest -p scripts.checks.processor_time -m "not slow" -n 2 --dist loadfile tests/critic

Seconds on the wall say how busy a machine is. Whoever is the first to need a library pays for its
import, and what a module's fixtures start counts when it ends.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Generator

import pytest

#: How many files and tests are printed.
MOST = 25


def spent() -> float:
    """Processor seconds of this process, and of those that it started and that have ended."""
    own, children = (
        resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


class ProcessorTime:
    """Measures where tests run, adds up where results come together."""

    def __init__(self) -> None:
        self.mark = 0.0
        self.collected: float | None = None
        self.tests: Counter[str] = Counter()
        self.collections: list[float] = []

    def pytest_collection_finish(self) -> None:
        self.mark = self.collected = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """What setup, call or teardown took; attributes of a report travel between processes."""
        report = yield
        now = spent()
        vars(report).update(processor=now - self.mark, collected=self.collected)
        self.mark, self.collected = now, None
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid] += report.processor
        if report.collected is not None:
            self.collections.append(report.collected)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files: Counter[str] = Counter()
        for test, seconds in self.tests.items():
            files[test.partition("::")[0]] += seconds
        rooms: Counter[str] = Counter()
        for file, seconds in files.items():
            rooms[file.rpartition("/")[0]] += seconds
        starts = ", ".join(f"{seconds:.1f}" for seconds in self.collections)
        terminalreporter.section("processor seconds")
        terminalreporter.write_line(
            f"{self.tests.total() + sum(self.collections):.1f} in all; collection {starts}"
        )
        for counts, most in ((rooms, None), (files, MOST), (self.tests, MOST)):
            terminalreporter.write_line("")
            for name, seconds in counts.most_common(most):
                terminalreporter.write_line(f"{seconds:7.2f}  {name}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTime(), "processor-time")
