"""The stable part of the package, as docs/stability.md promises it: `tests/package/stable.json`.

python -m scripts.stable           # what differs from the file; status 1 where something does
python -m scripts.stable --write   # keep the present state: names may come, none may go unannounced
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import click

KEPT = Path(__file__).parents[1] / "tests/package/stable.json"
DOCS = Path(__file__).parents[1] / "docs"
#: The pages that show a package of somebody else's.
EXTENDING = (DOCS / "extending.md", DOCS / "extending-data.md")
_IMPORT = re.compile(r"^from (revise_captions\.[\w.]+) import (.+)$", re.MULTILINE)
#: What plug-ins are given and give back, beside what those pages import.
FOR_PLUGINS = {
    "revise_captions.records": (
        "Attempt", "Complaint", "Evidence", "Fix", "ImageRef", "Label", "Rationale", "Record",
        "Revision", "Sentence", "Span", "Unscored", "Verdict", "Why",
    ),
    "revise_captions.errors": ("BadRecord", "EngineDead", "NothingJudged", "Reason", "UserError"),
    "revise_captions.critic.protocol": ("Critic", "ExplainRequest", "JudgeRequest"),
    "revise_captions.reviser.protocol": ("Reviser", "RewriteRequest"),
    "revise_captions.engines.protocol": ("Engine", "Failed", "Prompt", "Sampling"),
    "revise_captions.metrics.protocol": ("Metric",),
}  # fmt: skip


def described(thing: Any) -> Any:
    """A function's signature; the values of an enumeration; a class's fields and methods."""
    if not inspect.isclass(thing):
        return _signature(thing)
    if issubclass(thing, Enum):
        return {member.name: member.value for member in thing}
    own = {name: value for name, value in vars(thing).items() if not name.startswith("_")}
    methods = {k: _signature(v) for k, v in own.items() if inspect.isfunction(v)}
    computed = {
        name: str(inspect.signature(value.fget).return_annotation)
        for name, value in own.items()
        if isinstance(value, property) and value.fget
    }
    return {**_attributes(thing), **computed, **methods}


def _signature(function: Callable[..., Any]) -> str:
    """As written, without the addresses that defaults have in this process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(function)))


def _attributes(thing: type) -> dict[str, str]:
    if is_dataclass(thing):
        return {field.name: str(field.type) for field in fields(thing)}
    return {
        name: str(kind)
        for name, kind in vars(thing).get("__annotations__", {}).items()
        if not name.startswith("_")
    }


def python() -> dict[str, Any]:
    """Every public name of the package and of what plug-ins import, by its full name."""
    import revise_captions

    homes = [("revise_captions", tuple(revise_captions.__all__)), *FOR_PLUGINS.items()]
    page = "\n".join(path.read_text(encoding="utf-8") for path in EXTENDING)
    homes += [(home, tuple(names.split(", "))) for home, names in _IMPORT.findall(page)]
    named = sorted({(home, name) for home, names in homes for name in names})
    return {f"{home}.{name}": described(getattr(import_module(home), name)) for home, name in named}


def entry_points() -> dict[str, list[str]]:
    from revise_captions import registry

    return {
        kind.group: sorted(
            name
            for name, entry in registry.entries(kind).items()
            if registry.package(entry) == registry.OURS
        )
        for kind in registry.KINDS
    }


def options() -> dict[str, list[str]]:
    """The long names of each command's options."""
    from revise_captions.command_line.captions import load_command

    names = [*entry_points()["revise_captions.commands"]]
    return {name: _long_names(load_command(name)) for name in names}


def _long_names(command: click.Command) -> list[str]:
    if isinstance(command, click.Group):
        return sorted(command.commands)
    given = (option for parameter in command.params for option in parameter.opts)
    return sorted({name for name in given if name.startswith("--")})


def row_keys() -> dict[str, list[str]]:
    """The keys that a row gains, by the object that they stand in."""
    from revise_captions.pipelines.output.schema import to_json
    from revise_captions.records import (
        Attempt,
        Evidence,
        Fix,
        Rationale,
        Revision,
        Sentence,
        Span,
        Verdict,
        Why,
    )

    span = Span(0, 2)
    fix = Fix(span, "", evidence=(Evidence((0, 0, 1, 1), "a"),))
    attempt = Attempt("B.", accepted=False, why=Why.NO_BETTER, round=1, p_before=0.1)
    judged = Verdict(0.1, assessable=True)
    sentence = Sentence(
        span, judged, judged, rationale=Rationale("No.", (fix,)), attempts=(attempt,)
    )
    made = to_json(Revision("A.", "A.", (sentence,), expert="a", error="b"), review=True)
    found: dict[str, list[str]] = {}

    def walk(place: str, value: Any) -> None:
        if isinstance(value, Mapping):
            found[place] = sorted(value)
            for key, inner in value.items():
                walk(f"{place}.{key}".lstrip("."), inner)
        elif isinstance(value, list | tuple) and value:
            walk(place, value[0])

    walk("", made)
    return found


def exit_statuses() -> dict[str, int]:
    """Those that classes and constants name; `command_line.running` has the others."""
    from revise_captions.errors import NothingJudged, UserError
    from revise_captions.pipelines.job import verdict

    return {
        "done": verdict.DONE,
        "mistake": UserError.status,
        "nothing judged": NothingJudged.status,
        "quarantined": verdict.QUARANTINED,
    }


PARTS: Mapping[str, Callable[[], Any]] = {
    "entry points": entry_points,
    "options": options,
    "row keys": row_keys,
    "exit statuses": exit_statuses,
    "python": python,
}


def stable_part() -> str:
    """The whole of it as JSON text."""
    made = {name: part() for name, part in PARTS.items()}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def differences() -> list[str]:
    """Lines of a diff between the file and the present state; none where they agree."""
    kept = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    return list(difflib.unified_diff(kept, stable_part().splitlines(), "kept", "now", "", "", 2))


@click.command(help=__doc__.partition("\n")[0] if __doc__ else None)
@click.option("--write", is_flag=True, help="Keep the present state.")
def main(write: bool) -> None:
    if write:
        KEPT.write_text(stable_part(), encoding="utf-8")
        return
    found = differences()
    click.echo("\n".join(found) or "nothing stable changed")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
