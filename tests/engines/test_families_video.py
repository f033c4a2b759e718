"""Families whose processors import torchvision; `scripts/checks/families` runs them.

They run where torchvision works, or where `REVISE_CAPTIONS_TORCHVISION` names a folder with one
that was built for another torch (`torchvision_shim`). Not in the same process as other tests: with
torchvision, transformers prepares all images in another way.
"""

from __future__ import annotations

import pytest
import torchvision_shim

if not torchvision_shim.install():
    pytest.skip("run with scripts/checks/families", allow_module_level=True)

import every_family
import tinyvlm


@pytest.mark.parametrize("family", tinyvlm.VIDEO)
def test_answers_are_those_of_transformers(family, tmp_path):
    every_family.check(family, tmp_path / family)
