"""Where RapidOCR's detector sees text in an image, and how it looks upright."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.chart import Box
from revise_captions.charts.ocr_engine import Pixels
from revise_captions.process_memory import SharedRoom, give_back_freed_memory

Corners = NDArray[np.float32]

#: The detector's bounds for a box: its default of 0.5 misses single digits; and for whatever looks
#: like text at all.
_BOX, FAINT = 0.3, 0.1
#: Pixels of all images that are in detectors at once, in all threads: 150 to 200 bytes each.
_ROOM = SharedRoom(1_600_000)
#: RapidOCR reduces longer sides to the one, then enlarges shorter ones to the other.
_LONGEST, SHORTEST = 2000, 736
#: Images that are longer than so many times their width are seen with a margin.
_NARROW = 3


def detected(engine: Any, pixels: Pixels, least: float = _BOX) -> Corners:
    """Quadrilaterals of text, (lines, 4, 2), clockwise from the top left corner; `least` is the
    detector's bound for a box."""
    pixels = _widened(pixels)
    with _ROOM.taking(_detector_pixels(*pixels.shape[:2])):
        found = engine(pixels, use_det=True, use_cls=False, use_rec=False, box_thresh=least)
        give_back_freed_memory()  # hundreds of megabytes, which other threads and models can use
    boxes = getattr(found, "boxes", None)
    if boxes is None:
        return np.zeros((0, 4, 2), dtype=np.float32)
    return np.asarray(boxes, dtype=np.float32)


def _widened(pixels: Pixels) -> Pixels:
    """An image with a margin on the right or below if it is narrow, which the detector would
    enlarge to dozens of megapixels."""
    height, width = pixels.shape[:2]
    rows, columns = (max(0, math.ceil(max(height, width) / _NARROW) - n) for n in (height, width))
    if not rows and not columns:
        return pixels
    fill = np.median(pixels[0], axis=0).astype(np.uint8)
    wide = np.empty((height + rows, width + columns, 3), dtype=np.uint8)
    wide[:], wide[:height, :width] = fill, pixels
    return wide


def _detector_pixels(height: int, width: int) -> int:
    """The size of what the detector sees of an image."""
    scale = min(1.0, _LONGEST / max(height, width))
    scale *= max(1.0, SHORTEST / (scale * min(height, width)))
    return round(scale**2 * height * width)


def crop_of(image: Pixels, corners: Corners) -> Pixels:
    """The upright content of a quadrilateral, given clockwise from its top left corner."""
    import cv2

    top, right, bottom, left = (
        float(np.linalg.norm(corners[a] - corners[b])) for a, b in ((0, 1), (1, 2), (2, 3), (3, 0))
    )
    width, height = max(1, int(max(top, bottom))), max(1, int(max(right, left)))
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    warp = cv2.getPerspectiveTransform(corners, target)
    cropped = cv2.warpPerspective(
        image, warp, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(cropped, dtype=np.uint8)


def bounds(corners: NDArray[Any]) -> Box:
    low, high = np.floor(corners.min(axis=0)), np.ceil(corners.max(axis=0))
    return int(low[0]), int(low[1]), int(high[0]), int(high[1])
