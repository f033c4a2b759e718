"""Lets tests import the helper modules in `support`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))

#: Modules with fixtures: `command` is the whole command with scripted models; `data` and `vlm` are
#: for finetune-critic, `folder` for evaluate-metric, `page` and `hostile_page` are reports.
pytest_plugins = ["commands", "finetuning", "rated", "report_pages"]
