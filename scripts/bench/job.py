"""The whole job: how much of its time is not the models', with and without overlap of windows?

    python -m scripts.bench.job [--captions 256] [--threads 2] [--clock wall] [--write]
    python -m scripts.bench.job --sleeping 4 [--captions 256] [--write]
    python -m scripts.bench.job --shape 3b --device cuda [--captions 256]

Writes picture-book pictures (PNG, 384 pixels) and captions to a temporary folder and runs
`revise-captions` on them in this process twice, first with one step after the other, then with
windows overlapping: reading, decoding, resizing, splitting, the loop, the journal, the output, the
report. Both runs must write the same bytes.

The bundled networks' layers are timed by hooks, and the critic's domain gate, a small network of
its own, with them; everything else is outside. With `--sleeping MS`, models that sleep so many
milliseconds a sentence stand in for ones on a GPU: the processor is left to everything else.
With `--shape`, a critic of that shape and of random weights (`scripts.bench.shapes`) judges and
explains in bfloat16 on the device, and what it says is replaced by the sleeping one's answers; its
calls count as the model's, and a rule stands in for the reviser.
`seconds_images`, processor time of decoding and resizing, is a part of what is outside.

Clocks: `wall`, for an idle machine; `main`, processor time of the thread that runs the models,
which is what the wall shows where other threads have cores of their own and never keep it waiting;
`cpu`, processor time of all threads, in which nothing can be hidden. The last two hold on a busy
machine and need `--threads 1`. `--write` puts the figures into docs/measurements/engines.md.
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from transformers import AutoTokenizer

from revise_captions.critic.checkpoints import GOES_WITH
from revise_captions.critic.gates.image_domain import DomainGate
from revise_captions.critic.locate import find_checkpoint
from revise_captions.critic.paligemma import image_prefetch
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.panel import first_of
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest, unwrapped
from revise_captions.pipelines.job import models, run
from revise_captions.pipelines.options import JobOptions
from revise_captions.records import Rationale, Verdict
from revise_captions.reviser.panel import PanelReviser
from revise_captions.reviser.scripted import ScriptedReviser
from revise_captions.runs import inputs, overlap
from scripts.bench.critic import hardware
from scripts.research.frame import blocks as markdown
from scripts.research.frame.held_out import held_out

ROOT = Path(__file__).resolve().parents[2]
TARGET = 0.10
Clock = Callable[[], float]


class Asleep:
    """How long models have slept, as they were told to: no processor time, but theirs."""

    seconds = 0.0

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
        self.seconds += seconds


ASLEEP = Asleep()
CLOCKS: dict[str, Clock] = {
    "wall": time.perf_counter,
    "main": lambda: time.thread_time() + ASLEEP.seconds,
    "cpu": time.process_time,
}
#: Side in pixels to which images are resized for a critic that sleeps.
SIDE = 448


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
        network: Any = unwrapped(first_of(made))
        if isinstance(network, PanelReviser):
            network = next(iter(network.revisers.values()))
        for of_picture_book in ("own", "other", "small"):  # `bundled` routes by image and words
            network = getattr(network, of_picture_book, network)
        network = network.model
        inner = network.model
        parts = (
            [inner.vision_tower, inner.multi_modal_projector, inner.language_model]
            if hasattr(inner, "vision_tower")
            else [inner]
        )
        watch.watch(name, [*parts, network.lm_head])
        return made

    return loaded


class SleepingCritic:
    """Sleeps for each sentence; takes images as a real critic does; flags a sentence in seven."""

    threshold = 0.5
    settings: Mapping[str, str] = {"critic": "sleeping", GOES_WITH: "a rule"}

    def __init__(self, sleep: Callable[[float], None], seconds: float) -> None:
        self.sleep, self.seconds = sleep, seconds
        self.prefetcher = image_prefetch.ImagePrefetcher(SIDE)
        self.prepare = self.prefetcher.prepare

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        for image in {id(request.image): request.image for request in requests}.values():
            self.prefetcher.take(image)
        self.sleep(self.seconds * sum(len(request.asked) for request in requests))
        return [[_verdict(said) for _, said in request.asked] for request in requests]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        self.sleep(self.seconds * len(requests))
        return [Rationale("It is blue.") for _ in requests]


class RandomCritic(SleepingCritic):
    """Computes what a critic of random weights does, and answers as one that sleeps.

    Args:
        inner: The critic of random weights.
        watch: Its calls are timed there.
    """

    settings: Mapping[str, str] = {"critic": "random", GOES_WITH: "a rule"}

    def __init__(self, inner: PaliGemmaCritic, watch: Stopwatch) -> None:
        super().__init__(lambda _: None, 0.0)
        self.prepare = inner.prepare
        self._judge = watch.timed("judging", inner.judge)
        self._explain = watch.timed("explaining", inner.explain)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        self._judge(requests)
        return [[_verdict(said) for _, said in request.asked] for request in requests]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        self._explain(requests)
        return [Rationale("It is blue.") for _ in requests]


def random_critic(shape: str, device: str) -> PaliGemmaCritic:
    """Made once: both runs take the same weights."""
    from scripts.bench import shapes

    folder = find_checkpoint("bundled")
    tokenizer = PromptTokenizer(AutoTokenizer.from_pretrained(folder))
    dtype = "float32" if device == "cpu" else "bfloat16"
    return shapes.random_critic(shape, device, dtype, tokenizer)


def _verdict(sentence: str) -> Verdict:
    return Verdict(0.9 if crc32(sentence.encode()) % 7 else 0.1, assessable=True)


def put_models(clock: Clock, sleeping: float | None, drawn: PaliGemmaCritic | None) -> Stopwatch:
    """Has the job load watched models: the bundled ones, or such that sleep, or a random one."""
    watch = Stopwatch(clock)
    reviser: Any = lambda *_: ScriptedReviser(lambda r: r.sentence.replace("red", "blue"))  # noqa: E731
    critic: Any
    if drawn is not None:
        drawn.forget()
        critic = lambda *_: RandomCritic(drawn, watch)  # noqa: E731
    elif sleeping is None:
        critic = watched(load_critic_of, "critic", watch)
        reviser = watched(load_reviser_of, "reviser", watch)
        gate = watch.timed("gate", gate_score)
        setattr(DomainGate, "score", gate)  # noqa: B010
    else:
        slept = watch.timed("asleep", ASLEEP.sleep)
        critic = lambda *_: SleepingCritic(slept, sleeping)  # noqa: E731
    setattr(models, "load_critic_of", critic)  # noqa: B010
    setattr(models, "load_reviser_of", reviser)  # noqa: B010
    return watch


load_critic_of, load_reviser_of = models.load_critic_of, models.load_reviser_of
load_image, resized, gate_score = inputs.load_image, image_prefetch.resized, DomainGate.score
load_models = run.load_models


def measured(
    folder: Path,
    clock: Clock,
    sleeping: float | None,
    enabled: bool,
    drawn: PaliGemmaCritic | None = None,
) -> dict[str, Any]:
    """One job; seconds by the clock, without those of loading models."""
    watch, images = put_models(clock, sleeping, drawn), Threads()
    loading = 0.0

    def timed_loading(*arguments: Any) -> Any:
        nonlocal loading
        start = clock()
        made = load_models(*arguments)
        loading = clock() - start
        return made

    for module, name, value in (
        (run, "load_models", timed_loading),
        (inputs, "load_image", images.timed(load_image)),
        (image_prefetch, "resized", images.timed(resized)),
        (overlap, "ENABLED", enabled),
    ):
        setattr(module, name, value)
    out = folder / f"out-{enabled}.jsonl"
    names = {"source": str(folder / "in.jsonl"), "out": str(out)}
    options = JobOptions.of({**names, "report": out.with_suffix(".html")})
    began = clock()
    with contextlib.redirect_stdout(io.StringIO()):
        summary = run.run(options)
    took = clock() - began - loading
    return {
        "sentences": summary["sentences"]["total"],
        "seconds": round(took, 2),
        "seconds_loading": round(loading, 2),
        **{f"seconds_{name}": round(value, 2) for name, value in watch.seconds.items()},
        "seconds_images": round(images.seconds, 2),
        "share_of_time_outside_the_models": round(1 - sum(watch.seconds.values()) / took, 3),
    }


def table(found: Mapping[str, Any]) -> str:
    """Markdown rows of both runs."""
    rows = ["| windows | seconds | in the models | outside |", "| --- | --- | --- | --- |"]
    for key, name in (("off", "one step after the other"), ("on", "overlapping")):
        one = found[key]
        share = one["share_of_time_outside_the_models"]
        inside = one["seconds"] * (1 - share)
        rows.append(f"| {name} | {one['seconds']:.1f} | {inside:.1f} | {100 * share:.1f} % |")
    what = (
        f"{found['captions']:,} captions, {found['hardware']}, {found['cores']} cores with a load"
    )
    return "\n".join([*rows, "", f"{what} of {found['load']:.1f}, clock: {found['clock']}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--captions", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", default="wall", choices=CLOCKS)
    parser.add_argument("--sleeping", type=float, metavar="MS")
    parser.add_argument("--shape", help="of a critic of random weights: 3b, 10b or bundled")
    parser.add_argument("--device", default="cuda", help="of that critic")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the figures to it")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.clock != "wall" and given.threads != 1:
        parser.error("clocks of processor time need --threads 1")
    if given.shape is not None and (given.write or given.sleeping is not None):
        parser.error("--shape goes with neither --write nor --sleeping")
    torch.set_num_threads(given.threads)
    sleeping = None if given.sleeping is None else given.sleeping / 1000
    drawn = random_critic(given.shape, given.device) if given.shape else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_input(folder, given.captions)
        found = {
            key: measured(folder, CLOCKS[given.clock], sleeping, key == "on", drawn)
            for key in ("off", "on")
        }
        one, other = ((folder / f"out-{on}.jsonl").read_bytes() for on in (True, False))
        if one != other:
            raise SystemExit("overlap changed the output")
    for figures in found.values():
        figures["records_per_second"] = round(given.captions / figures["seconds"], 2)
    result = {
        "captions": given.captions,
        **found,
        "target": TARGET,
        "clock": given.clock,
        "hardware": hardware(given.threads),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    if given.shape:
        gpu = torch.cuda.get_device_name() if given.device.startswith("cuda") else "no GPU"
        result |= {"shape": given.shape, "gpu": gpu, "torch": torch.__version__}
    print(json.dumps(result))
    if given.json is not None:
        with given.json.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    if given.write:
        block = f"job-{'bundled' if sleeping is None else 'sleeping'}-{given.clock}"
        markdown.write_to_pages(ROOT, {block: table(result)})


if __name__ == "__main__":
    main()
