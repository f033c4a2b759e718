"""Many machines through Ray: the same windows, the same journal, the same bytes as on one.

    one reader, streaming ─ windows of rows ─ replicas, each with its own models ─ this process's
    journal ─ the output, assembled as on one machine

Ray Data moves the windows, holds the reader back while the replicas are busy, and recomputes what a
lost worker or node was working on. A window may be computed twice; the journal stores it once, by
its number, so the journal, not Ray, guarantees order and completeness. Only the journal is written,
and only in this process. Reader and replicas open the input themselves, so every node must see it
under the same name.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from revise_captions.errors import EngineDead, UserError
from revise_captions.io.images import mark_of
from revise_captions.io.source import WINDOW, Source
from revise_captions.pipelines.job.models import load_models, run_settings
from revise_captions.pipelines.job.rounds import LoadedModels
from revise_captions.pipelines.job.verdict import Check
from revise_captions.pipelines.job.window import (
    journaled,
    outcomes_of,
    revise_window,
    sentences_of,
)
from revise_captions.pipelines.options import JobOptions
from revise_captions.runs.digests import window_digest
from revise_captions.runs.inputs import image_loader, open_input
from revise_captions.runs.journal import Journal
from revise_captions.runs.progress import Progress
from revise_captions.runs.window_images import windows_of, with_images

if TYPE_CHECKING:
    from ray.data import Dataset

#: Added to the runtime environment of Ray's workers (tests put scripted models there).
RUNTIME_ENV: dict[str, Any] = {}
#: Windows queued at a replica while it works on one.
AHEAD = 2
#: The run ends if a window costs more than this many workers or nodes.
RETRIES = 4
_DEAD, _MISTAKE = "dead", "mistake"


@contextmanager
def cluster(job: JobOptions) -> Iterator[None]:
    """A connection to `--ray-address`, or to a cluster of this machine alone."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reports usage to its developers
    try:
        import ray
    except ImportError:
        raise UserError(
            "--runner ray needs the package ray", hint="pip install 'revise-captions[ray]'"
        ) from None
    if job.inputs.source == "-":
        raise UserError(
            "--runner ray cannot read standard input", hint="name a file that every node can read"
        )
    _answers(job.run.ray_address)
    try:
        ray.init(
            address=job.run.ray_address,
            runtime_env=RUNTIME_ENV or None,
            log_to_driver=False,
            logging_level=logging.ERROR,
            include_dashboard=False if job.run.ray_address is None else None,
        )
    except ConnectionError as error:
        raise _no_cluster(job.run.ray_address, error) from None
    ray.data.DataContext.get_current().enable_progress_bars = False  # their imports log messages
    # what Ray would log as an error ends the run with one line of our own
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    # One reader feeds many replicas, hence the warning. `max_task_retries` has no other place yet.
    warnings.filterwarnings("ignore", "The minimum number of concurrent actors")
    warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
    try:
        yield
    except ray.exceptions.RayError as error:
        raise EngineDead(f"Ray gave up: {_first_line(error)}") from error
    finally:
        ray.shutdown()


def _answers(address: str | None) -> None:
    """Raises `UserError` where nothing listens at host:port: Ray itself would wait for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as error:
            raise _no_cluster(address, error) from None


def _no_cluster(address: str | None, error: OSError) -> UserError:
    return UserError(
        f"no Ray cluster at {address}: {str(error).splitlines()[0]}",
        hint="start one with `ray start --head`, or leave --ray-address out",
    )


def describe(job: JobOptions) -> tuple[LoadedModels, dict[str, Any]]:
    """What the driver must know about models that it never loads: signature and settings.

    A worker loads them once to find out.
    """
    import ray

    share = _share(job)
    task = ray.remote(num_cpus=share.cpus, num_gpus=share.gpus)(_described)
    kind, found = ray.get(task.remote(job, os.getcwd()))
    if kind is not None:
        raise _error(kind, found)
    described: tuple[LoadedModels, dict[str, Any]] = pickle.loads(found)
    return described


def _described(job: JobOptions, folder: str) -> tuple[str | None, Any]:
    try:
        _go_to(folder)
        with closing(_open(job)) as source:
            models, settings = load_models(job, source)
            decisive = run_settings(models, settings, job)
        bare = replace(models, critic=None, reviser=None, verifier=None)
        return None, pickle.dumps((bare, decisive))
    except UserError as error:
        return _MISTAKE, (error.message, error.hint)


def _open(job: JobOptions) -> Source:
    return open_input(job.inputs, job.run.out, need_image=job.run.stage != "revise")


def process(
    job: JobOptions,
    journal: Journal,
    progress: Progress,
    check: Check,
) -> None:
    """Journals every unfinished window, wherever it is computed.

    Raises `EngineDead` and `UserError` as the local runner does. `check` may end the run at the
    first window that comes back.
    """
    finished = journal.finished()
    progress.skip(WINDOW * len(finished))
    for row in _windows(job, finished).iter_rows():
        if row["error"]:
            raise _error(row["error"], pickle.loads(row["results"]))
        if not journal.done(row["window"], row["digest"]):
            results = pickle.loads(row["results"])
            if not len(journal):
                check(results)
            journal.append(row["window"], row["digest"], results)
            counts = outcomes_of(results)
            progress.advance(len(results), sentences_of(results), counts)


def _windows(job: JobOptions, finished: Mapping[int, str]) -> Dataset:
    import ray

    share = _share(job)
    source = _reader()(job, finished)
    # The reader reserves no CPU: if the replicas held them all, reader and replicas would wait for
    # each other.
    rows = ray.data.read_datasource(source, override_num_blocks=1, num_cpus=0)
    return rows.map_batches(
        Replica,
        fn_constructor_args=(job, os.getcwd()),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(
            size=share.replicas, max_tasks_in_flight_per_actor=AHEAD
        ),
        num_cpus=share.cpus,
        num_gpus=share.gpus,
        max_task_retries=RETRIES,
    )


@dataclass(frozen=True, slots=True)
class ReplicaResources:
    """The cluster resources of one replica, and the number of replicas."""

    cpus: int
    gpus: int
    replicas: int


def _share(job: JobOptions) -> ReplicaResources:
    """One GPU per replica if the cluster has any, else one logical CPU."""
    import ray

    return share_of(ray.cluster_resources(), job)


def share_of(total: Mapping[str, float], job: JobOptions) -> ReplicaResources:
    """`total`: the cluster's `CPU` and `GPU`. Without `--replicas`, all GPUs, or all CPUs but one.

    Raises `UserError` for more replicas than could ever start.
    """
    cpus, gpus = int(total.get("CPU", 0)), int(total.get("GPU", 0))
    on_gpus = bool(gpus) and job.models.device.partition(":")[0] in ("auto", "cuda")
    room = min(cpus, gpus) if on_gpus else cpus
    replicas = job.run.replicas or max(1, gpus if on_gpus else cpus - 1)
    if replicas > room:
        has = f"{cpus} CPU{'s' * (cpus != 1)} and {gpus} GPU{'s' * (gpus != 1)}"
        raise UserError(
            f"the cluster has room for {room} replicas, not {replicas}: it has {has}",
            hint="give fewer --replicas, or add nodes first",
        )
    return ReplicaResources(1, int(on_gpus), replicas)


def _reader() -> type:
    """The input as a Ray data source: one task that streams window after window."""
    import pyarrow as pa
    from ray.data import Datasource
    from ray.data.block import BlockMetadata
    from ray.data.datasource import ReadTask

    class Windows(Datasource):
        def __init__(self, job: JobOptions, finished: Mapping[int, str]) -> None:
            super().__init__()
            self.job, self.finished = job, finished

        def estimate_inmemory_data_size(self) -> None:
            return None

        def get_read_tasks(self, parallelism: int, *_: object, **__: object) -> list[ReadTask]:
            job, finished, folder = self.job, self.finished, os.getcwd()

            def read() -> Iterator[pa.Table]:
                rows = read_windows(job, finished, folder)
                return (pa.Table.from_pylist([row]) for row in rows)

            return [ReadTask(read, BlockMetadata(None, None, None, None))]

    return Windows


def read_windows(
    job: JobOptions, finished: Mapping[int, str], folder: str
) -> Iterator[dict[str, Any]]:
    """Each unfinished window: number, digest, pickled rows. An error comes as the last one."""
    try:
        _go_to(folder)
        with closing(_open(job)) as source:
            mark = partial(mark_of, root=job.inputs.image_root, folder=source.folder)
            for number, window in enumerate(windows_of(source)):
                digest = window_digest(window, mark)
                if finished.get(number) != digest:
                    yield _row(number, digest, window)
    except UserError as error:
        yield _row(-1, "", (error.message, error.hint), _MISTAKE)


def _row(number: int, digest: str, content: object, error: str = "") -> dict[str, Any]:
    return {"window": number, "digest": digest, "rows": pickle.dumps(content), "error": error}


class Replica:
    """One copy of the models. Ray creates it, feeds it windows, and recreates it if it is lost.

    If the models cannot be loaded (a node without the folder or the models), every window returns
    that error.
    """

    def __init__(self, job: JobOptions, folder: str) -> None:
        self.mistake: UserError | None = None
        try:
            _go_to(folder)
            with closing(_open(job)) as source:
                self.models, self.settings = load_models(job, source)
                looks = job.run.stage != "revise"
                self.load = image_loader(source, job.inputs) if looks else None
        except UserError as error:
            self.mistake = error

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        number, digest = int(batch["window"][0]), str(batch["digest"][0])
        content, error = bytes(batch["rows"][0]), str(batch["error"][0])
        if not error:
            content, error = self._window(content)
        return {"window": [number], "digest": [digest], "results": [content], "error": [error]}

    def _window(self, content: bytes) -> tuple[bytes, str]:
        """The pickled results and "", or a pickled error and its kind."""
        if self.mistake is not None:
            return pickle.dumps((self.mistake.message, self.mistake.hint)), _MISTAKE
        try:
            window = pickle.loads(content)
            loaded = next(with_images([window], self.load, self.models.critic))
            done = revise_window(loaded, self.models, self.settings)
            return pickle.dumps(journaled(done, self.settings)), ""
        except EngineDead as dead:
            return pickle.dumps((str(dead), "")), _DEAD
        except UserError as error:
            return pickle.dumps((error.message, error.hint)), _MISTAKE


def _go_to(folder: str) -> None:
    """Makes relative names mean on this node what they mean to the user."""
    try:
        os.chdir(folder)
    except OSError:
        raise UserError(
            f"the node {os.uname().nodename} has no folder {folder}",
            hint="run the command in a folder that all nodes share",
        ) from None


def _error(kind: str, content: Any) -> UserError | EngineDead:
    message, hint = content
    return EngineDead(message) if kind == _DEAD else UserError(message, hint=hint)


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
