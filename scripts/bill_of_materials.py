"""A bill of materials (CycloneDX) of the default installation and each extra; licenses checked.

python -m scripts.bill_of_materials OUT          # reads this environment (extra `release`)

cyclonedx-bom lists the environment; the parts are cut out of it along the dependencies. An extra of
which a package is not installed here is named and left out, and a license that is in neither list
ends in status 1, as does one that a package does not declare.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import metadata, requires
from pathlib import Path
from typing import Any

import click
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
OURS = "revise-captions"
DEFAULT = "default"
#: What the parts of a declared license may be; MPL and LGPL ask nothing of those who only import.
FREE = re.compile(
    r"\b(?:apache|bsd|freebsd|0bsd|mit|isc|psf|python|cnri|zlib|cc0|unlicense|bsl-1\.0|mpl|mozilla|lgpl|hpnd"
    r"|public domain|dfsg approved)\b",
    re.IGNORECASE,
)
#: Packages that declare no license, and what is known of it.
NOTED: Mapping[str, str] = {
    "pycocoevalcap": "declares none; only its CIDEr is imported; the wheel also holds "
    "Java archives, Stanford CoreNLP (GPL) among them, which nothing of ours starts",
}


@dataclass(frozen=True, slots=True)
class Bill:
    """The default installation or an extra: its components, and what of it is not installed."""

    name: str
    components: tuple[Mapping[str, Any], ...]
    absent: tuple[str, ...]


def environment() -> dict[str, Any]:
    """What is installed, by cyclonedx-bom: components, their licenses, who needs whom."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "bom.json"
        command = [sys.executable, "-m", "cyclonedx_py", "environment", "--of", "JSON"]
        command += ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible"]
        subprocess.run([*command, "-o", str(made), sys.executable], check=True)
        found: dict[str, Any] = json.loads(made.read_text(encoding="utf-8"))
        return found


def needs(package: str, extras: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """What a package asks for with some of its extras, and with which extras of that."""
    for line in requires(package) or ():
        need = Requirement(line)
        given = [{"extra": extra} for extra in ("", *extras)]
        if not need.marker or any(need.marker.evaluate(each) for each in given):
            yield canonicalize_name(need.name), frozenset(need.extras)


def part(name: str, listed: Mapping[str, Any]) -> Bill:
    """The components that `name` brings, directly or by what it needs."""
    components: dict[str, Mapping[str, Any]] = {
        canonicalize_name(item["name"]): item for item in listed["components"]
    }
    seen: set[tuple[str, frozenset[str]]] = set()
    left = [(OURS, frozenset(() if name == DEFAULT else (name,)))]
    while left:
        each = left.pop()
        if each not in seen:
            seen.add(each)
            package, extras = each
            if package in (*components, OURS):
                left += needs(package, extras)
    names = sorted({package for package, _ in seen} - {OURS})
    return Bill(
        name,
        tuple(components[package] for package in names if package in components),
        tuple(package for package in names if package not in components),
    )


def licenses(component: Mapping[str, Any]) -> list[str]:
    """What a component declares, as SPDX expressions, ids or trove classifiers."""
    given = [
        item.get("expression") or item["license"].get("id") or item["license"]["name"]
        for item in component.get("licenses", ())
    ]
    # Free text, of which the tool makes nothing: "Apache 2.0 License".
    return given or [text for text in metadata(component["name"]).get_all("License") or () if text]


def unknown(components: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each component with no declared license, or none that is known to be free."""
    bad = []
    for item in components:
        declared = licenses(item)
        if canonicalize_name(item["name"]) in NOTED:
            continue
        if not any(all(map(FREE.search, re.split(r"\bAND\b", text))) for text in declared):
            bad.append(
                f"{item['name']} {item['version']}: {', '.join(declared) or 'none declared'}"
            )
    return bad


def document(each: Bill, listed: Mapping[str, Any]) -> dict[str, Any]:
    """The CycloneDX document of a part."""
    refs = {item["bom-ref"] for item in each.components}
    needs = [item for item in listed["dependencies"] if item["ref"] in refs]
    return {**listed, "components": list(each.components), "dependencies": needs}


@click.command(help=__doc__.partition("\n")[0] if __doc__ else None)
@click.argument("folder", metavar="OUT", type=click.Path(path_type=Path, file_okay=False))
def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    listed = environment()
    extras = sorted(metadata(OURS).get_all("Provides-Extra") or ())
    bad: list[str] = []
    for name in (DEFAULT, *extras):
        each = part(name, listed)
        if each.absent:
            click.echo(f"{name}: not installed here: {', '.join(each.absent)}")
            continue
        text = json.dumps(document(each, listed), indent=1, ensure_ascii=False)
        (folder / f"{name}.cdx.json").write_text(text + "\n", encoding="utf-8")
        found = unknown(each.components)
        bad += found
        click.echo(f"{name}: {len(each.components)} packages, {len(found)} licenses to look at")
    for line in (*sorted(set(bad)), *(f"{name}: {why}" for name, why in NOTED.items())):
        click.echo(line)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
