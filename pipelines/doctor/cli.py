"""The command `captions doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.command_line.command import SECTIONS, command
from revise_captions.command_line.options import argument, group
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import shared_option
from revise_captions.engines.server_options import ServerOptions

if TYPE_CHECKING:
    from revise_captions.critic.protocol import Critic
    from revise_captions.io.source import Source
    from revise_captions.pipelines.doctor.machine import Machine
    from revise_captions.pipelines.job.probe import Probe
    from revise_captions.pipelines.options import JobOptions

EPILOG = """
\b
Examples:
  captions doctor captions.jsonl
  captions doctor captions.jsonl --critic Qwen/Qwen3-VL-8B-Instruct@http://localhost:8000/v1
  captions doctor                                      # only the machine
"""


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """The options of the run that is planned."""

    source: str = argument("[IN]", default="")
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option("--caption-field")
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    critic: str = shared_option("--critic")
    expert: tuple[str, ...] = shared_option("--expert")
    critic_profile: Path | None = shared_option("--critic-profile")
    reviser: str | None = shared_option("--reviser")
    engine: str = shared_option("--engine")
    server: ServerOptions = group(ServerOptions)


@command(DoctorOptions, name="doctor", heading="Correct captions", epilog=EPILOG, sections=SECTIONS)
def doctor(options: DoctorOptions) -> int:
    """Check an input and this machine; suggest a command.

    Looks at 32 records across IN and reports how IN is read, how many images open, whether the
    bundled critic can judge them, the memory and extras of this machine, and whether the named
    models and servers can be reached. Writes nothing. The exit status is the one to expect of the
    run: 2 for an unavailable model, 4 if nothing could be judged, 5 if no record could be
    processed.
    """
    from revise_captions.io.readers import suffix_of_copies
    from revise_captions.pipelines.doctor import advice, machine
    from revise_captions.pipelines.job.missing_images import missing_images
    from revise_captions.runs.inputs import open_input

    job, source = planned(asdict(options)), options.source
    found, out = None, "revised.jsonl"
    if source:
        with closing(open_input(job.inputs, "captions-doctor", need_image=True)) as opened:
            fields = f"image in {opened.fields.image}, captions in "
            _print([("input", f"{source} ({opened.layout.title})")])
            _print([("fields", fields + ", ".join(opened.fields.captions))])
            found = probe_input(opened, job)
            out = out if source == "-" else f"revised{suffix_of_copies(opened)}"
            _print(found.lines())
            if (problem := missing_images(opened, job.inputs.image_root)) is not None:
                _print([("", problem[1])])
    has = machine.look()
    _print(advice.machine(has))
    missing = _models(job)
    echo("")
    return _conclude(job, out, found, has, missing)


def _print(lines: Iterable[tuple[str, str]]) -> None:
    for name, text in lines:
        echo(f"{name:16}{text}")


def planned(options: Mapping[str, Any]) -> JobOptions:
    """The run that is planned, of its options by name."""
    from revise_captions.pipelines.options import JobOptions

    return JobOptions.of(options)


def probe_input(source: Source, job: JobOptions) -> Probe:
    """Looks at records across an input, with the critic where it is a bundled one."""
    from revise_captions.pipelines.job.probe import probe
    from revise_captions.runs.inputs import image_loader

    load = image_loader(source, job.inputs)
    return probe(source, load, _critic_of(job), urls=job.inputs.allow_urls)


def _critic_of(job: JobOptions) -> Critic | None:
    from revise_captions.critic.locate import SHIPPED
    from revise_captions.pipelines.job.models import load_critic_of

    return load_critic_of(job.models) if job.models.critic in SHIPPED else None


def _models(job: JobOptions) -> list[str]:
    """Prints what the named models lead to; the errors of those that cannot be had."""
    from revise_captions.critic.load import resolve_critic
    from revise_captions.critic.locate import SHIPPED
    from revise_captions.errors import UserError
    from revise_captions.pipelines.doctor.reach import reachable
    from revise_captions.pipelines.job.models import check_reviser
    from revise_captions.registry import CRITICS, REVISERS
    from revise_captions.reviser.load import resolve_reviser

    critic, reviser, server = job.models.critic, job.models.reviser, job.models.server
    wrong: list[str] = []

    def say(role: str, name: str, find: Callable[[], str]) -> None:
        try:
            _print([(role, f"{name}: {find()}")])
        except UserError as error:
            wrong.append(str(error))
            _print([(role, f"{name}: cannot be had")])

    def itself() -> str:
        check_reviser(job.models)
        return "the critic rewrites"

    say(
        "critic", critic, lambda: reachable(critic, CRITICS, lambda: resolve_critic(critic), server)
    )
    if reviser is not None:
        say(
            "reviser",
            reviser,
            lambda: reachable(reviser, REVISERS, lambda: resolve_reviser(reviser), server),
        )
    elif not wrong and job.models.critic not in SHIPPED:
        say("reviser", "none named", itself)
    return wrong


def _conclude(
    job: JobOptions, out: str, found: Probe | None, has: Machine, missing: list[str]
) -> int:
    """Prints what to do next. Returns the status of the run to expect."""
    from revise_captions.pipelines.doctor import advice
    from revise_captions.pipelines.job.verdict import DONE, NOTHING_JUDGED
    from revise_captions.pipelines.report.headline import remedy
    from revise_captions.runs.outputs import QUARANTINED

    for error in missing:
        echo(error)
    more = [word for name, value in _given(job) for word in (name, value)]
    if job.inputs.allow_urls or (found is not None and found.urls):
        more.append("--allow-urls")
    source = job.inputs.source
    if found is not None and not found.sampled:
        echo(f"There are no records in {source}. Is it the right file?")
        return 2
    if found is not None and not found.opened + found.urls:
        echo("No sampled record can be processed: fix the problems above, then run this again.")
        return QUARANTINED
    if found is not None and not missing and advice.needs_reading(found):
        echo(f"The bundled critic cannot judge these captions: {found.main_reason}.")
        echo(remedy(found.main_reason))
        return NOTHING_JUDGED
    if found is None or missing or not advice.needs_other_critic(found):
        if missing or found is None:
            echo("\n".join(advice.models_for(has)))
        if found is not None and not missing:
            echo("Run:\n  " + advice.command(source, out, critic=job.models.critic, more=more))
        return 2 if missing else DONE
    echo(f"The bundled critic cannot judge these captions: {found.main_reason}.")
    echo("\n".join(advice.models_for(has)))
    best = advice.best_critic(has)
    echo("\nRun (this downloads the model first):")
    from revise_captions.command_line.extras import is_installed

    if absent := [package for package in best.needs if not is_installed(package)]:
        echo(f"  pip install {' '.join(absent)}")
    echo("  " + advice.command(source, out, critic=best.name, more=more))
    return NOTHING_JUDGED


def _given(job: JobOptions) -> list[tuple[str, str]]:
    """The input options to repeat in the command."""
    inputs = job.inputs
    named = {
        "--image-field": inputs.image_field,
        "--caption-field": inputs.caption_field,
        "--image-root": inputs.image_root,
        "--reviser": job.models.reviser,
    }
    return [(name, str(value)) for name, value in named.items() if value is not None]
