"""What `captions doctor` prints: findings, then the command to run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from revise_captions.critic.locate import SHIPPED
from revise_captions.pipelines.doctor.machine import Machine
from revise_captions.pipelines.doctor.open_models import CRITICS, REVISERS, OpenModel, choices
from revise_captions.pipelines.job.probe import Probe
from revise_captions.records import UnknownWord, Unscored
from revise_captions.text.formatting import plural

Line = tuple[str, str]


def machine(has: Machine) -> Iterator[Line]:
    """What the machine can do."""
    gpus = ", ".join(f"{gpu.name} ({gpu.free:.1f} GiB free)" for gpu in has.gpus) or "no GPU"
    yield "machine", f"{plural(has.cores, 'core')}, {has.memory:.1f} GiB of memory free, {gpus}"
    here = [name for name, there in has.extras.items() if there]
    missing = [name for name, there in has.extras.items() if not there]
    yield "extras", ", ".join(here) or "none"
    if missing:
        yield "", f"not installed: {', '.join(missing)}"


def needs_other_critic(found: Probe) -> bool:
    """Whether the bundled critic cannot judge most of these captions."""
    return found.main_reason in (
        Unscored.OUTSIDE_DOMAIN,
        Unscored.LANGUAGE,
        UnknownWord.KIND,
    )


def needs_reading(found: Probe) -> bool:
    """Whether most captions are of charts that cannot be read, or not yet."""
    return found.main_reason in (Unscored.NEEDS_CHARTS, Unscored.UNREADABLE_CHART)


def models_for(has: Machine) -> Iterator[str]:
    """Critics and revisers that fit into the machine's memory, as a table."""
    gpu = bool(has.gpus)
    where = "the GPU" if gpu else "the CPU"
    yield f"Open models for this machine ({has.room:.1f} GiB free on {where}):"
    yield ""
    yield f"  {'critic':34}{'parameters':>11}{'memory':>10}  license"
    for model in choices(CRITICS, has.room, gpu=gpu):
        yield _row(model, has.room, gpu)
    yield f"  {'reviser (or the critic itself)':34}"
    for model in choices(REVISERS, has.room, gpu=gpu):
        yield _row(model, has.room, gpu)
    if not gpu:
        yield ""
        yield "  Without a GPU each sentence takes seconds to minutes: try --limit 10 first, or"
        yield "  name a model on a server: --critic MODEL@http://host:8000/v1 (extra `server`)."


def _row(model: OpenModel, room: float, gpu: bool) -> str:
    memory = model.memory(gpu=gpu)
    short = "" if memory <= room else "  more than is free"
    size, take = f"{model.billions:.1f} B", f"{memory:.0f} GiB"
    return f"  {model.name:34}{size:>11}{take:>10}  {model.license}{short}"


def command(source: str, out: str, *, critic: str, more: list[str]) -> str:
    """The command that corrects `source`; a critic that is not bundled rewrites, too."""
    words = ["captions", "revise", source, out, "--report", "report.html", *more]
    if critic not in SHIPPED:
        words += ["--critic", critic]
    return shlex.join(words)


def best_critic(has: Machine) -> OpenModel:
    """The one to name in the command."""
    return choices(CRITICS, has.room, gpu=bool(has.gpus))[0]
