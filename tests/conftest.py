"""Makes the helper modules in `support` importable, and settles what parallel runs need."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if "PYTEST_XDIST_WORKER" in os.environ:
    # Before torch is imported, and for the processes that tests start: the workers are the threads.
    os.environ["OMP_NUM_THREADS"] = "1"

sys.path.insert(0, str(Path(__file__).parent / "support"))

#: How long an example takes tells how busy the machine is, and nothing of the code.
settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")

#: Modules with fixtures: `command` is the whole command with scripted models; `install` adds a
#: package with entry points; `data` and `vlm` are for captions finetune, `folder` for
#: captions evaluate-metric, `page` and `hostile_page` are reports.
pytest_plugins = ["commands", "finetuning", "plugins", "rated", "report_pages"]

#: The files that take longest. They start first, so that no worker is left alone with one.
LONGEST = (
    *("test_kill", "test_packaging", "test_in_place", "test_methods", "test_apply", "test_site"),
    *("test_fuzz", "test_memory", "test_invariance", "test_select", "test_killed", "test_recipe"),
    *("test_vela_commands", "test_hostile", "test_text_critic", "test_base_install"),
    *("test_closed_streams", "test_targets", "test_apply_in_place", "test_finetune_critic"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_collection_finish(session: pytest.Session) -> None:
    """All modules of tests, and what they import, stay: the collector need not look at them."""
    gc.collect()
    gc.freeze()
