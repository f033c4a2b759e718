"""The mutation tester's own rules; what it runs takes minutes."""

from __future__ import annotations

import tomllib

from scripts.checks import mutation
from scripts.checks.mutation import Mutant, MutationRoom, MutationSample

CONFIG = tomllib.loads(mutation.CONFIG.read_text(encoding="utf-8"))
PATTERNS = [entry["pattern"] for entry in CONFIG["equivalent"]]


def test_every_module_and_test_of_every_room_exists():
    folders = mutation.folders()
    for room in CONFIG["rooms"].values():
        for module in room["modules"]:
            package, _, name = module.rpartition(".")
            assert (mutation.ROOT / folders[package] / f"{name}.py").is_file(), module
        assert all((mutation.ROOT / test).is_file() for test in room["tests"])
    assert all(entry["reason"] for entry in CONFIG["equivalent"])


def test_only_changes_to_what_a_pattern_finds_are_left_out():
    def left_out(before: str, after: str) -> bool:
        return mutation.is_equivalent(f"- {before}\n+ {after}", PATTERNS)

    assert left_out("zip(a, b, strict=True)", "zip(a, b, strict=False)")
    assert left_out("zip(a, b, strict=True)", "zip(a, b, )")
    assert not left_out("zip(a, b, strict=True)", "zip(a, strict=True)")
    assert left_out('open(p, encoding="utf-8")', 'open(p, encoding="UTF-8")')
    assert not left_out('open(p, encoding="utf-8")', 'open(p, encoding="XXutf-8XX")')
    assert not left_out("a < b", "a <= b")


def test_the_table_counts_rooms_and_their_sum():
    room = MutationRoom("bytes", ("m",), ("t",))
    sample = tuple(Mutant(str(k), "", k == 0) for k in range(20))
    table = mutation.as_table(
        [MutationSample(room, 400, sample, 3), MutationSample(room, 0, (), 0)]
    )
    first, empty, whole = table.splitlines()[2:]
    assert first == "| bytes | 1 | 400 | 20 | 19 | 0.950 (0.751–0.999) |"
    assert empty == "| bytes | 1 | 0 | 0 | 0 |  |"
    assert whole == "| **all** | 2 | 400 | 20 | 19 | 0.950 (0.751–0.999) |"


def test_a_room_is_planted_as_packages_are_imported(tmp_path):
    room = MutationRoom("r", ("revise_captions.pipelines.draft",), ("tests/stats/test_edges.py",))
    mutation.plant(room, tmp_path)
    inside = tmp_path / "mutants/src/revise_captions"
    assert (tmp_path / "src/revise_captions/pipelines/draft.py").is_file()
    assert not (inside / "pipelines/draft.py").exists()
    assert (inside / "pipelines/job/rounds.py").is_symlink()
    assert (inside / "critic/gates/language.py").resolve().is_relative_to(mutation.ROOT / "critic")
    assert (tmp_path / "mutants/tests/stats/test_edges.py").is_file()
