"""Lets tests import the helper modules in `support`; in parallel runs, one thread a worker."""

import os
import sys
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # Before torch is imported, and for the processes that tests start: the workers are the threads.
    os.environ["OMP_NUM_THREADS"] = "1"

sys.path.insert(0, str(Path(__file__).parent / "support"))

#: Modules with fixtures: `command` is the whole command with scripted models; `data` and `vlm` are
#: for finetune-critic, `folder` for evaluate-metric, `page` and `hostile_page` are reports.
pytest_plugins = ["commands", "finetuning", "rated", "report_pages"]
