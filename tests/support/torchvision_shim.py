"""Makes a torchvision importable that was built for another torch: for tests only.

Processors of several families import torchvision for its image transforms, which are Python over
torch. Its compiled operators (boxes, regions) are not used by them, but their absence stops the
import; here they are declared, without an implementation.
"""

from __future__ import annotations

import os
import sys
from typing import Any

VARIABLE = "REVISE_CAPTIONS_TORCHVISION"
OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    *(
        f"{name}(Tensor a, Tensor b) -> Tensor"
        for kind in (
            "roi_align",
            "qroi_align",
            "roi_pool",
            "ps_roi_align",
            "ps_roi_pool",
            "deform_conv2d",
        )
        for name in (kind, f"_{kind}_backward")
    ),
)
_kept: list[Any] = []


def install() -> bool:
    """Puts the folder that the variable names on the path; False where it names none."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return False
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for operator in OPERATORS:
        library.define(operator)
    _kept.append(library)  # its definitions live as long as it does
    sys.path.append(folder)
    return True
