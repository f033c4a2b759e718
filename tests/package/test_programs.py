"""The Python on the pages runs, a page from first block to last, and prints what they show."""

from __future__ import annotations

import contextlib
import io
import re

import pytest
from pages import PAGES, ROOT, code

#: A program, and the block that shows what it prints, if one follows.
PROGRAM = re.compile(r"(?ms)^```python\n(.*?)^```\n(?:\n```(?:text)?\n(.*?)^```)?")


#: Tutorials run as a whole: test_tutorials.py.
RUN = [page for page in PAGES if code(PAGES[page], "python") and "/tutorials/" not in page]


@pytest.mark.parametrize("page", RUN)
def test_programs_run_and_print_what_the_page_shows(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {"__name__": "__main__"}
    for program, shown in PROGRAM.findall(PAGES[page]):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, page, "exec"), names)
        if shown:
            assert printed.getvalue().split() == shown.split(), program


def test_every_program_is_found():
    for page, text in PAGES.items():
        assert len(PROGRAM.findall(text)) == text.count("```python"), page
