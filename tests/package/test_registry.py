"""Names of every kind: found in installed packages, loaded when asked for, explained when not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from revise_captions.errors import UserError
from revise_captions.registry import (
    COMMANDS,
    KINDS,
    METRICS,
    entries,
    is_folder,
    load,
    names,
    unknown,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
def test_a_name_of_another_package_is_found_and_loaded_when_asked_for(kind, install):
    declared = {"zz-mine": "zz_mine:it", "zz-broken": "zz_broken:it"}
    install("mine", kind.group, declared, {"zz_mine": "it = 7"})
    assert set(declared) <= set(names(kind))
    assert "zz_mine" not in sys.modules
    assert load(kind, "zz-mine") == 7
    with pytest.raises(UserError, match=rf"{kind.noun} 'zz-broken' of the package mine cannot"):
        load(kind, "zz-broken")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
def test_an_unknown_name_is_answered_with_the_nearest_and_all(kind, install):
    install("mine", kind.group, {"zz-mine": "zz_mine:it"}, {})
    with pytest.raises(UserError) as raised:
        load(kind, "zz-mind")
    assert raised.value.message == f"there is no {kind.noun} 'zz-mind': did you mean zz-mine?"
    assert raised.value.hint == f"installed are: {', '.join(names(kind))}"


def test_what_is_no_entry_is_offered_too():
    error = unknown(METRICS, "annotation", also=["annotations"], hint="or name a file")
    assert error.message.endswith("did you mean annotations?")
    assert error.hint.startswith("installed are: annotations, ")
    assert error.hint.endswith("; or name a file")


def test_two_packages_with_one_name_are_refused(install):
    install("mine", METRICS.group, {"zz-mine": "zz_mine:it"}, {})
    install("other", METRICS.group, {"zz-mine": "zz_other:it"}, {})
    with pytest.raises(UserError, match="have a metric 'zz-mine': mine and other\n  uninstall"):
        names(METRICS)
    assert entries(COMMANDS) is not None  # other kinds are not touched


def test_what_a_build_left_is_not_installed(tmp_path, monkeypatch):
    left = tmp_path / "mine.egg-info"
    left.mkdir()
    (left / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (left / "entry_points.txt").write_text(f"[{METRICS.group}]\nzz-mine = zz_mine:it")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "zz-mine" not in names(METRICS)


def test_a_missing_extra_is_named(install):
    source = "import vllm_is_here_never"
    install("mine", METRICS.group, {"zz-a": "zz_a:it", "zz-b": "zz_b:it"}, {
        "zz_a": "raise ModuleNotFoundError('no', name='spacy.lang')", "zz_b": source,
    })  # fmt: skip
    with pytest.raises(UserError, match=r"spacy.*\n  pip install 'revise-captions\[posh\]'"):
        load(METRICS, "zz-a")
    with pytest.raises(UserError, match=r"of the package mine .*'vllm_is_here_never'\n  reinst"):
        load(METRICS, "zz-b")


def test_a_name_is_a_folder_only_where_nothing_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("posh", "owner"):
        (tmp_path / name).mkdir()
    (tmp_path / "owner/name").mkdir()
    assert not is_folder(METRICS, "posh")
    assert is_folder(METRICS, "./posh")
    assert is_folder(METRICS, "owner/name")
    assert is_folder(METRICS, "../nowhere")
    assert is_folder(METRICS, "~/nowhere")
    assert not is_folder(METRICS, "owner/other")


def test_the_registry_imports_nothing_of_what_it_lists():
    code = (
        "import sys; from revise_captions.registry import KINDS, names\n"
        "[names(kind) for kind in KINDS]\n"
        "ours = {n for n in sys.modules if n.startswith('revise_captions.')}\n"
        "assert ours <= {'revise_captions.' + n for n in"
        " ('command_line', 'command_line.extras', 'errors', 'outside_text', 'registry')}, ours"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
