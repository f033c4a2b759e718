"""The notebook runs from its first cell to its last, and ends with a leaderboard."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs/notebooks/leaderboard.ipynb"


def printed(notebook: nbformat.NotebookNode) -> str:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    data = [output.get("data", {}).get("text/plain", "") for output in outputs]
    return "\n".join([*(output.get("text", "") for output in outputs), *data])


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    return folder, notebook


@pytest.mark.slow
def test_it_ends_with_a_leaderboard(ran):
    folder, notebook = ran
    assert (folder / "board" / "leaderboard.html").is_file()
    assert (folder / "report.html").is_file()
    assert len(list((folder / "revised").glob("*.revised.txt"))) == 6
    text = printed(notebook)
    assert "Judged factual" in text
    assert re.search(r"(?m)^rank|^\| rank|captioner", text)


@pytest.mark.slow
def test_nothing_leaks_from_libraries(ran):
    _, notebook = ran
    text = printed(notebook)
    for noise in ("it/s", "Loading weights", "huggingface", "Warning", "Traceback"):
        assert noise not in text, text


def test_it_is_stored_without_outputs():
    """They would be of somebody's machine; whoever opens it runs it."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]
    assert not [cell for cell in notebook.cells if cell.get("execution_count")]
