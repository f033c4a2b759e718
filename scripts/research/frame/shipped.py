"""What generated blocks were measured with: a digest of each part that ships and decides figures.

A block ends in a line that no page shows, `<!-- measured with critic@0123456789ab, … -->`. A test
compares it with what ships now, so that a figure of an earlier model cannot stay unnoticed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_STAMP = re.compile(r"\n?<!-- measured with (?P<parts>.+?) -->")
#: What decides the verdicts of `bundled`.
_JUDGE = ("critic", "clauses")
#: The parts that decide a block, by its page and name; those without a part, with the reason.
BLOCKS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("docs/demo.md", "demo"): (*_JUDGE, "reviser", "examples"),
    ("docs/demo.md", "example"): (*_JUDGE, "reviser", "examples"),
    ("docs/measurements/bundled.md", "figures"): (*_JUDGE, "reviser"),
    ("docs/measurements/recipes.md", "layouts"): (*_JUDGE, "reviser"),
    ("docs/measurements/verifying.md", "verify"): (*_JUDGE, "reviser", "examples", "parser"),
    ("docs/measurements/training.md", "learning-curve"): ("critic",),
    ("docs/measurements/leaderboards.md", "rate"): _JUDGE,
    ("docs/measurements/metrics.md", "metric"): _JUDGE,
    ("docs/measurements/stress.md", "stress-agreement"): ("parser", "graphs", "judge"),
    ("docs/measurements/stress.md", "stress-results"): ("critic", "parser", "graphs", "judge"),
    ("docs/measurements/stress.md", "stress-tuning"): ("critic",),
    ("docs/measurements/metrics.md", "metric-table"): ("critic", "parser", "graphs", "judge"),
    ("docs/measurements/charts.md", "gate"): ("critic",),
    ("docs/measurements/charts.md", "chart-reader"): ("chart reader",),
    ("docs/measurements/charts.md", "damaged"): ("chart reader",),
    ("docs/measurements/charts.md", "published-charts"): ("chart reader",),
    ("docs/measurements/charts.md", "fixes"): ("chart critic",),
    ("docs/measurements/charts.md", "fixes-smollm2"): ("chart critic",),
    ("docs/measurements/charts.md", "modern"): ("chart critic",),
    ("docs/measurements/charts.md", "modern-smollm2"): ("chart critic",),
    ("docs/measurements/charts.md", "rewrites"): ("chart critic", "chart reader"),
    ("docs/measurements/text.md", "quoted-text"): ("text critic",),
    ("docs/measurements/dcscore.md", "dcscore"): ("parser", "graphs", "judge"),
    ("docs/measurements/posh.md", "posh"): ("parser", "graphs", "judge"),
    ("critic/bundled/README.md", "figures"): (*_JUDGE, "reviser"),
    ("reviser/bundled/README.md", "figures"): (*_JUDGE, "reviser"),
    ("reviser/smollm2/README.md", "edits"): ("smollm2",),
}
_PRINTED_OFTEN = "chart critic charts-11 (14f0b19a9c7a); CHOCOLATE's reporting half is left alone"
#: Blocks of models that no longer ship, and which; their pages say so in words.
EARLIER: Mapping[tuple[str, str], str] = {
    ("docs/measurements/charts.md", "chocolate"): _PRINTED_OFTEN,
}
#: Blocks that no model of ours decides, and why.
WITHOUT = {
    "families": "tiny random models",
    "trunk": "tiny random models",
    "job-bundled-main": "times",
    "job-sleeping-main": "times",
    "job-sleeping-wall": "times",
    "explore": "times",
    "servers": "times",
    "shapes": "random weights",
    "mutation": "the tests' own",
    "main path": "compared in full by a test",
    "plan": "compared in full by a test",
}


def _files(*patterns: str) -> str:
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())
    digest = hashlib.sha256()
    for path in found:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _version(module: str) -> str:
    """The `VERSION` that a module says its answers have, without importing what it imports."""
    text = (ROOT / module).read_text(encoding="utf-8")
    found = re.search(r'^VERSION = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{module} has no VERSION")
    return found[1]


def _reviser_versions() -> str:
    modules = ("bundled_model/tokenizer", "guards")
    read = [f"reviser/{name}.py" for name in modules] + ["critic/reading/rationale.py"]
    return " ".join(map(_version, read))


PARTS: Mapping[str, Callable[[], str]] = {
    "critic": lambda: _files("critic/bundled/*.safetensors", "critic/bundled/tokenizer.json"),
    "clauses": lambda: _version("src/revise_captions/text/clauses.py"),
    "reviser": lambda: _files("reviser/bundled/model.safetensors") + _reviser_versions(),
    "smollm2": lambda: (
        _files("reviser/smollm2/adapter_model.safetensors")
        + _version("reviser/guards.py")
        + _version("critic/reading/rationale.py")
    ),
    "chart critic": lambda: (
        _files("critic/charts/bundled/*.json", "critic/charts/smollm2/*.safetensors")
        + _version("critic/charts/critic.py")
    ),
    "chart reader": lambda: _version("src/revise_captions/charts/read.py"),
    "text critic": lambda: _version("critic/text/critic.py"),
    "examples": lambda: _files("datasets/picturebook/examples/captions.jsonl"),
    "parser": lambda: _files("src/revise_captions/graphs/bundled/**/*"),
    "graphs": lambda: _version("src/revise_captions/graphs/extract.py"),
    "judge": lambda: _version("src/revise_captions/graphs/grading/offline_judge.py"),
}


@cache
def digest_of(part: str) -> str:
    """Twelve hexadecimal digits of what a part is now."""
    return hashlib.sha256(PARTS[part]().encode()).hexdigest()[:12]


def stamp_of(page: Path, name: str) -> str:
    """The line that says what a block is measured with now; "" for one that nothing decides."""
    place = page.relative_to(ROOT).as_posix(), name
    told = ", ".join(f"{part}@{digest_of(part)}" for part in BLOCKS.get(place, ()))
    told = told or EARLIER.get(place, "")
    return f"<!-- measured with {told} -->" if told else ""


def without_stamp(block: str) -> str:
    """A block as pages show it."""
    return _STAMP.sub("", block)
