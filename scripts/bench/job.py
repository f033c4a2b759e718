"""The whole job with the bundled models: how much of its time is not the models'?

    python -m scripts.bench.job [--captions 256] [--threads 2] [--clock wall]

Writes picture-book pictures (PNG, 384 pixels) and captions to a temporary folder and runs
`revise-captions` on them in this process: reading, decoding, resizing, splitting, the loop, the
journal, the output, the report. The networks' layers are timed by hooks, and the critic's domain
gate, a small network of its own, with them; everything else is outside. `seconds_images`, processor
time in which threads decode and resize images ahead of the model, is a part of that. The last line
is JSON. The figure is the wall's, so the machine must be idle; on a busy one `--threads 1
--clock cpu` counts the processor's time, in which waiting costs nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from revise_captions.critic.gates.image_domain import DomainGate
from revise_captions.critic.paligemma import image_prefetch
from revise_captions.pipelines.job import inputs, models, run
from revise_captions.pipelines.options import JobOptions
from scripts.bench.critic import hardware
from scripts.research.bundled_models.held_out import held_out

TARGET = 0.10
Clock = Callable[[], float]


class Stopwatch:
    """Seconds inside of modules, none of which calls another."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seconds: dict[str, float] = {}
        self._began = 0.0

    def watch(self, name: str, modules: Iterable[torch.nn.Module]) -> None:
        self.seconds[name] = 0.0

        def enter(*_: Any) -> None:
            self._began = self.clock()

        def leave(*_: Any) -> None:
            self.seconds[name] += self.clock() - self._began

        for module in modules:
            module.register_forward_pre_hook(enter)
            module.register_forward_hook(leave)

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """A function that counts as a module."""
        self.seconds[name] = 0.0

        def working(*arguments: Any, **named: Any) -> Any:
            began = self.clock()
            found = work(*arguments, **named)
            self.seconds[name] += self.clock() - began
            return found

        return working


class Threads:
    """Processor seconds that all threads together spend in some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    def timed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def working(*arguments: Any, **named: Any) -> Any:
            began = time.thread_time()
            try:
                return work(*arguments, **named)
            finally:
                with self._lock:
                    self.seconds += time.thread_time() - began

        return working


def write_input(folder: Path, count: int) -> None:
    with (folder / "in.jsonl").open("w", encoding="utf-8") as file:
        for number, item in enumerate(held_out("test", count)):
            item.image.save(folder / f"{number}.png")
            row = {"id": number, "image": f"{number}.png", "caption": item.text}
            file.write(json.dumps(row) + "\n")


def watched(load: Callable[..., Any], name: str, watch: Stopwatch) -> Any:
    """Loads as `load` does, and times the network's parts."""

    def loaded(*options: Any) -> Any:
        made = load(*options)
        network = getattr(made, "small", made).model  # of `bundled`, the picture book's
        inner = network.model
        parts = (
            [inner.vision_tower, inner.multi_modal_projector, inner.language_model]
            if hasattr(inner, "vision_tower")
            else [inner]
        )
        watch.watch(name, [*parts, network.lm_head])
        return made

    return loaded


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--captions", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", default="wall", choices=("wall", "cpu"))
    given = parser.parse_args()
    if given.clock == "cpu" and given.threads != 1:
        parser.error("--clock cpu needs --threads 1: two threads' time is not twice as long")
    torch.set_num_threads(given.threads)
    clock = time.process_time if given.clock == "cpu" else time.perf_counter
    watch, images = Stopwatch(clock), Threads()
    critic = watched(models.load_critic_of, "critic", watch)
    reviser = watched(models.load_reviser_of, "reviser", watch)
    began, loading = 0.0, 0.0
    load_models = run.load_models

    def timed_loading(*arguments: Any) -> Any:
        nonlocal loading
        start = clock()
        made = load_models(*arguments)
        loading = clock() - start
        return made

    for module, name, value in (
        (models, "load_critic_of", critic),
        (models, "load_reviser_of", reviser),
        (run, "load_models", timed_loading),
        (inputs, "load_image", images.timed(inputs.load_image)),
        (image_prefetch, "resized", images.timed(image_prefetch.resized)),
        (DomainGate, "score", watch.timed("gate", DomainGate.score)),
    ):
        setattr(module, name, value)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_input(folder, given.captions)
        names = {"source": str(folder / "in.jsonl"), "out": str(folder / "out.jsonl")}
        options = JobOptions.of({**names, "report": folder / "report.html"})
        began = clock()
        with contextlib.redirect_stdout(io.StringIO()):
            summary = run.run(options)
        took = clock() - began - loading
    result = {
        "captions": given.captions,
        "sentences": summary["sentences"]["total"],
        "seconds": round(took, 2),
        "seconds_loading": round(loading, 2),
        **{f"seconds_{name}": round(value, 2) for name, value in watch.seconds.items()},
        "seconds_images": round(images.seconds, 2),
        "share_of_time_outside_the_models": round(1 - sum(watch.seconds.values()) / took, 3),
        "target": TARGET,
        "clock": given.clock,
        "hardware": hardware(given.threads),
        "cores": os.cpu_count(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
