"""Lets tests import the helper modules that lie beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

#: `command`: the whole command with scripted models.
pytest_plugins = ["commands"]
