"""The mutation tester's own rules; what it runs takes minutes."""

from __future__ import annotations

import tomllib

from scripts.checks import mutation
from scripts.checks.mutation import Mutant, MutationRoom, MutationRow, MutationSample

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


def sampled(name: str, lived: int) -> MutationRow:
    sample = tuple(Mutant(str(k), "", k < lived) for k in range(20))
    found = MutationSample(MutationRoom(name, ("m",), ("t",)), 4000, sample, 3)
    return MutationRow.of(found, 0.005, 7)


def test_the_table_counts_rooms_and_their_sum_and_can_be_read_again():
    rows = [sampled("bytes", 1), sampled("verdicts", 0)]
    table = mutation.as_table(rows)
    first, _, whole = table.splitlines()[2:]
    assert first == (
        "| bytes | 1 | 4,000 | 20 | 19 | 0.950 (0.751–0.999) | 3 | `bytes --share 0.005 --seed 7` |"
    )
    assert whole == "| **all** | 2 | 8,000 | 40 | 39 | 0.975 (0.868–0.999) | 6 |  |"
    assert mutation.rows_of(table) == rows


def test_a_room_that_is_measured_again_replaces_its_row_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    page = tmp_path / "docs/page.md"
    page.parent.mkdir()
    before = mutation.as_table([sampled("verdicts", 2), sampled("bytes", 9)])
    page.write_text(f"a\n<!-- mutation -->\n{before}\n<!-- /mutation -->\nb\n", encoding="utf-8")
    mutation.written([sampled("bytes", 1)])
    after = mutation.as_table([sampled("verdicts", 2), sampled("bytes", 1)])
    assert page.read_text(encoding="utf-8") == (
        f"a\n<!-- mutation -->\n{after}\n<!-- /mutation -->\nb\n"
    )


def test_a_room_is_planted_as_packages_are_imported(tmp_path):
    room = MutationRoom("r", ("revise_captions.pipelines.draft",), ("tests/stats/test_edges.py",))
    mutation.plant(room, tmp_path)
    inside = tmp_path / "mutants/src/revise_captions"
    assert (tmp_path / "src/revise_captions/pipelines/draft.py").is_file()
    assert not (inside / "pipelines/draft.py").exists()
    assert (inside / "pipelines/job/rounds.py").is_symlink()
    assert (inside / "critic/gates/language.py").resolve().is_relative_to(mutation.ROOT / "critic")
    assert (tmp_path / "mutants/tests/stats/test_edges.py").is_file()
