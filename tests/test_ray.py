"""The Ray runner on two nodes, on one machine: the local runner's bytes, whatever dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import write_input

ray = pytest.importorskip("ray")

SCRIPT = Path(__file__).with_name("scripted_run.py")
ROWS = 64 * 14 + 20
OUTPUTS = ("jsonl", "quarantine.jsonl")

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An input with broken rows, and what the local runner makes of it."""
    folder = tmp_path_factory.mktemp("ray")
    write_input(folder / "in.jsonl", ROWS)
    lines = (folder / "in.jsonl").read_text().splitlines()
    lines[70], lines[800] = "{oops", lines[800].replace("a.png", "gone.png")
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    assert finish(start(folder, "local.jsonl")) == 0
    return folder


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    cluster.add_node(num_cpus=2)
    yield cluster
    cluster.shutdown()


def start(folder: Path, out: str, *more: str, **environment: str) -> subprocess.Popen[bytes]:
    with (folder / "printed").open("wb") as printed:
        return subprocess.Popen(
            [sys.executable, str(SCRIPT), "in.jsonl", out, *more],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=printed,
            stderr=printed,
        )


def finish(process: subprocess.Popen[bytes]) -> int:
    return process.wait(timeout=300)


def on(nodes: Any, *more: str) -> tuple[str, ...]:
    return ("--runner", "ray", "--ray-address", nodes.address, "--replicas", "2", *more)


def assert_same(folder: Path, name: str) -> None:
    for kind in OUTPUTS:
        local, ours = (folder / f"{which}.{kind}" for which in ("local", name))
        assert ours.read_bytes() == local.read_bytes()
    assert not (folder / f"{name}.jsonl.journal").exists()


def test_the_local_runners_bytes(folder, nodes):
    assert finish(start(folder, "plain.jsonl", *on(nodes))) == 0, printed(folder)
    assert_same(folder, "plain")


def printed(folder: Path) -> str:
    return (folder / "printed").read_text()


def test_a_worker_that_is_killed_costs_its_work_only(folder, nodes):
    mark = folder / "killed"
    process = start(folder, "worker.jsonl", *on(nodes), SCRIPTED_KILLS=str(mark))
    assert finish(process) == 0, printed(folder)
    assert mark.exists()
    assert_same(folder, "worker")


def test_dead_models_stop_the_run_and_it_resumes(folder, nodes):
    process = start(folder, "dead.jsonl", *on(nodes), SCRIPTED_DIES="5")
    assert finish(process) == 3, printed(folder)
    assert "resume with: " in printed(folder)
    assert not (folder / "dead.jsonl").exists()
    assert finish(start(folder, "dead.jsonl", "--resume")) == 0, printed(folder)
    assert_same(folder, "dead")


def test_a_node_that_is_lost_costs_its_work_only(folder, nodes):
    """The last test: the cluster has one node less behind it."""
    extra = nodes.add_node(num_cpus=2)
    more = on(nodes)
    process = start(folder, "node.jsonl", *more[:-1], "4", SCRIPTED_SLOW="0.4")
    journal = folder / "node.jsonl.journal"
    ends = time.monotonic() + 120
    while not (journal.exists() and journal.stat().st_size > 4000):
        assert process.poll() is None, printed(folder)
        assert time.monotonic() < ends
        time.sleep(0.05)
    nodes.remove_node(extra, allow_graceful=False)
    assert not (folder / "node.jsonl").exists()
    assert finish(process) == 0, printed(folder)
    assert_same(folder, "node")


def test_mistakes_are_one_line(folder):
    """No cluster there, and an input that no other node could read."""
    address = ("--runner", "ray", "--ray-address", "127.0.0.1:9")
    assert finish(start(folder, "x.jsonl", *address)) == 2
    assert printed(folder).startswith("revise-captions: no Ray cluster at 127.0.0.1:9")
