"""The parts of the bill of materials, against what is installed here."""

from __future__ import annotations

from importlib.metadata import version

from scripts.bill_of_materials import DEFAULT, part, unknown

MIT = [{"license": {"id": "MIT"}}]


def listed(*names: str) -> dict[str, list[dict[str, object]]]:
    return {"components": [{"name": n, "version": version(n), "licenses": MIT} for n in names]}


def test_a_part_has_what_its_packages_need_and_nothing_of_another_extra():
    installed = listed("torch", "sympy", "mpmath", "Pillow", "httpx", "h11")
    default, server = (part(name, installed) for name in (DEFAULT, "server"))
    names = [[str(item["name"]) for item in each.components] for each in (default, server)]
    assert {"mpmath", "Pillow", "sympy", "torch"} <= set(names[0])  # mpmath by way of sympy
    assert set(names[1]) - set(names[0]) <= {"httpx", "h11"}
    assert "httpx" in names[1]
    assert "numpy" in default.absent  # asked for, and not among what was listed


def test_a_license_that_is_not_known_to_be_free_is_named():
    item = {"name": "torch", "version": "1", "licenses": [{"license": {"name": "Proprietary"}}]}
    assert unknown([item]) == ["torch 1: Proprietary"]
    for name in ("Limited use", "MIT AND Proprietary", "GPL-3.0-only"):
        one = {**item, "licenses": [{"expression": name}]}
        assert unknown([one]) == [f"torch 1: {name}"]
    assert unknown([{**item, "licenses": MIT}, {**item, "name": "pycocoevalcap"}]) == []
