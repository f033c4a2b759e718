"""The Ray runner on two nodes, on one machine: the local runner's bytes, whatever dies."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import write_input

from revise_captions.errors import UserError
from revise_captions.pipelines.options import JobOptions

ray = pytest.importorskip("ray")
ray_runner = pytest.importorskip("revise_captions.pipelines.job.ray_runner")

SCRIPT = Path(__file__).parents[1] / "support/scripted_run.py"
WINDOW, WINDOWS = 64, 15
ROWS = WINDOW * (WINDOWS - 1) + 20
OUTPUTS = ("jsonl", "quarantine.jsonl")
#: Seconds that a run may take; on a free core it takes 20.
LONGEST = 560

pytestmark = pytest.mark.timeout(4 * LONGEST)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An input with broken rows, and what the local runner makes of it."""
    folder = tmp_path_factory.mktemp("ray")
    write_input(folder / "in.jsonl", ROWS)
    lines = (folder / "in.jsonl").read_text().splitlines()
    lines[70], lines[800] = "{oops", lines[800].replace("a.png", "gone.png")
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    local = start(folder, "local.jsonl", SCRIPTED_CALLS=str(folder / "local.calls"))
    assert finish(local) == 0, printed(folder)
    return folder


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # 15, else, which is next to nothing beside other tests
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    head = {"num_cpus": 2, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.lost = cluster.add_node(num_cpus=2)
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
    """The exit status. A run that hangs is ended, so that it does not outlive its test."""
    try:
        return process.wait(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def on(nodes: Any, replicas: int = 2) -> tuple[str, ...]:
    return ("--runner", "ray", "--ray-address", nodes.address, "--replicas", str(replicas))


def printed(folder: Path) -> str:
    return (folder / "printed").read_text()


def calls(folder: Path, name: str) -> int:
    """How many captions were judged, again ones included."""
    return len((folder / f"{name}.calls").read_text(errors="replace").splitlines())


def assert_same(folder: Path, name: str) -> None:
    for kind in OUTPUTS:
        local, ours = (folder / f"{which}.{kind}" for which in ("local", name))
        assert ours.read_bytes() == local.read_bytes()
    assert not (folder / f"{name}.jsonl.journal").exists()


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_its_work_only(folder, nodes):
    """One of two workers dies in the middle of its first window."""
    mark, judged = folder / "killed", folder / "worker.calls"
    process = start(
        folder, "worker.jsonl", *on(nodes), SCRIPTED_KILLS=str(mark), SCRIPTED_CALLS=str(judged)
    )
    assert finish(process) == 0, printed(folder)
    assert mark.exists()
    assert_same(folder, "worker")
    assert "Traceback" not in printed(folder)
    in_hand = (1 + ray_runner.AHEAD) / WINDOWS
    assert calls(folder, "worker") <= calls(folder, "local") * (1 + 2 * in_hand)


@pytest.mark.slow
def test_the_local_runners_bytes(folder, nodes):
    """As many replicas as the cluster has CPUs: the reader must not wait for one."""
    assert finish(start(folder, "plain.jsonl", *on(nodes, 4))) == 0, printed(folder)
    assert_same(folder, "plain")


@pytest.mark.slow
def test_dead_models_stop_the_run_and_it_resumes(folder, nodes):
    process = start(folder, "dead.jsonl", *on(nodes), SCRIPTED_DIES="12")
    assert finish(process) == 3, printed(folder)
    assert "resume with: " in printed(folder)
    assert not (folder / "dead.jsonl").exists()
    assert finish(start(folder, "dead.jsonl", "--resume")) == 0, printed(folder)
    assert_same(folder, "dead")


@pytest.mark.slow
def test_a_window_that_kills_every_worker_ends_the_run(folder, nodes):
    process = start(folder, "poison.jsonl", *on(nodes), SCRIPTED_POISON="3")
    assert finish(process) == 3, printed(folder)
    assert "Ray gave up" in printed(folder)
    assert "resume with: " in printed(folder)


@pytest.mark.slow
def test_a_node_that_is_lost_costs_its_work_only(folder, nodes):
    """The last test: the cluster has one node behind it, which half of the replicas were on."""
    judged = folder / "node.calls"
    process = start(
        folder, "node.jsonl", *on(nodes, 4), SCRIPTED_SLOW="0.4", SCRIPTED_CALLS=str(judged)
    )
    journal = folder / "node.jsonl.journal"
    ends = time.monotonic() + LONGEST
    while not (journal.exists() and journal.stat().st_size > 4000):
        assert process.poll() is None, printed(folder)
        assert time.monotonic() < ends
        time.sleep(0.05)
    nodes.remove_node(nodes.lost, allow_graceful=False)
    assert not (folder / "node.jsonl").exists()
    assert finish(process) == 0, printed(folder)
    assert_same(folder, "node")


def test_mistakes_are_one_line(folder):
    """No cluster there."""
    address = ("--runner", "ray", "--ray-address", "127.0.0.1:9")
    assert finish(start(folder, "x.jsonl", *address)) == 2
    assert printed(folder).startswith("revise-captions: no Ray cluster at 127.0.0.1:9")


@pytest.mark.parametrize(
    ("total", "options", "expected"),
    [
        ({"CPU": 4.0}, JobOptions(), (1, 0, 3)),
        ({"CPU": 1.0}, JobOptions(), (1, 0, 1)),
        ({"CPU": 4.0}, JobOptions.of({"replicas": 4}), (1, 0, 4)),
        ({"CPU": 64.0, "GPU": 8.0}, JobOptions(), (1, 1, 8)),
        ({"CPU": 64.0, "GPU": 8.0}, JobOptions.of({"device": "cuda", "replicas": 3}), (1, 1, 3)),
        ({"CPU": 64.0, "GPU": 8.0}, JobOptions.of({"device": "cpu"}), (1, 0, 63)),
    ],
)
def test_what_a_replica_takes(total, options, expected):
    assert ray_runner.share_of(total, options) == ray_runner.ReplicaResources(*expected)


@pytest.mark.parametrize(
    ("total", "options", "room"),
    [
        ({"CPU": 4.0}, JobOptions.of({"replicas": 5}), 4),
        ({"GPU": 1.0}, JobOptions.of({"device": "cpu"}), 0),
        ({"CPU": 8.0, "GPU": 2.0}, JobOptions.of({"replicas": 3}), 2),
        ({"CPU": 2.0, "GPU": 8.0}, JobOptions(), 2),
    ],
)
def test_replicas_that_could_never_start_are_refused(total, options, room):
    with pytest.raises(UserError, match=f"room for {room} replicas"):
        ray_runner.share_of(total, options)


def test_a_node_without_the_folder_says_so(folder, monkeypatch):
    """As a replica there does, of every window, until the process that reads it stops the run."""
    monkeypatch.chdir(folder)
    options = JobOptions.of({"source": "in.jsonl", "out": "out.jsonl"})
    window = next(ray_runner.read_windows(options, {}, str(folder)))
    batch = {name: [value] for name, value in window.items()}
    found = ray_runner.Replica(options, "/no/such/folder")(batch)
    assert found["error"] == ["mistake"]
    message, hint = pickle.loads(found["results"][0])
    assert "has no folder /no/such/folder" in message
    assert "all nodes share" in hint
