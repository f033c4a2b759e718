"""Dense labels of a picture: what each patch shows, for supervising a vision tower.

Computed from the boxes: each thing's silhouette (a few ovals and boxes) is painted in depth order
on a coarse mask, whose cells are then counted per patch. Class 0 is always "none": nothing there,
or the thing has no such slot. A slot whose value is itself "none" (no hat, no collar, nothing held)
has the class "absent".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from revise_captions.picturebook.world.layout import part
from revise_captions.picturebook.world.scene import (
    COLORS,
    KINDS,
    NONE,
    SETTINGS,
    TIMES,
    WALLS,
    WEATHERS,
    WORDS,
    Box,
    Scene,
    Thing,
    center,
    size_word,
)

Labels = npt.NDArray[np.uint8]

_COLOR = (NONE, *COLORS)
_KIND = (NONE, *KINDS)
_HELD = (NONE, "absent", "balloon", "flag", "umbrella", "flower")
_POSE = (NONE, "standing", "sitting", "jumping", "waving", "sleeping", "flying")

#: Channels and their classes, in the order of the last axis of `patch_labels`.
PATCH_CHANNELS: list[tuple[str, tuple[str, ...]]] = [
    ("kind", _KIND),
    ("main", _COLOR),
    ("second", (NONE, "absent", *COLORS)),  # roof, hat, collar, sail
    ("third", (NONE, "absent", *COLORS)),  # door, color of what is held
    ("windows", (NONE, "1", "2", "3")),
    ("pose", _POSE),
    ("holding", _HELD),
    ("word", (NONE, *WORDS)),
    ("light", (NONE, "on", "off")),
    ("pattern", (NONE, "plain", "striped")),
    ("size", (NONE, "small", "usual", "large")),
    ("support", _KIND),  # the kind of thing that it stands on
    ("count", (NONE, "1", "2", "3", "4")),  # things of its kind in the scene
    ("kind2", _KIND),
    ("main2", _COLOR),
    ("centre", _KIND),  # of the thing whose center lies in the patch
    ("centre_main", _COLOR),
    ("setting", (NONE, *SETTINGS)),
    ("time", (NONE, *TIMES)),
    ("weather", (NONE, *WEATHERS)),
    ("wall", (NONE, *WALLS)),
]
_INDEX = {name: {c: i for i, c in enumerate(classes)} for name, classes in PATCH_CHANNELS}
_PLACE = {name: i for i, (name, _) in enumerate(PATCH_CHANNELS)}
#: The channel of each slot that is not its kind's main one.
_CHANNEL_OF = {
    "roof": "second", "hat": "second", "collar": "second", "sail": "second",
    "door": "third", "held": "third", "windows": "windows", "pose": "pose",
    "holding": "holding", "word": "word", "light": "light", "pattern": "pattern",
}  # fmt: skip

#: Mask cells per patch and axis, and the share of a patch that a thing must cover to be named.
CELLS = 8
LEAST = 0.15

_OVAL = ((True, (0.0, 0.0, 1.0, 1.0)),)
_BOX = ((False, (0.0, 0.0, 1.0, 1.0)),)
#: Silhouettes: (oval or box, fractions of the thing's box).
SILHOUETTES: dict[str, tuple[tuple[bool, Box], ...]] = {
    "house": ((False, (0.06, 0.3, 0.94, 1.0)), (False, (0.08, 0.05, 0.92, 0.4))),
    "tree": ((True, (0.0, 0.0, 1.0, 0.64)), (False, (0.38, 0.6, 0.62, 1.0))),
    "flower": ((True, (0.05, 0.0, 0.95, 0.56)), (False, (0.3, 0.5, 0.7, 1.0))),
    "dog": (_OVAL[0], (False, (0.15, 0.4, 0.85, 1.0))),
    "cat": (_OVAL[0], (False, (0.15, 0.4, 0.85, 1.0))),
    "bird": _OVAL,
    "car": ((False, (0.0, 0.4, 1.0, 1.0)), (False, (0.2, 0.0, 0.75, 0.5))),
    "boat": ((False, (0.05, 0.68, 0.95, 1.0)), (False, (0.25, 0.1, 0.75, 0.7))),
    "table": ((False, (0.0, 0.0, 1.0, 0.45)), (False, (0.1, 0.4, 0.9, 1.0))),
    "lamp": ((False, (0.1, 0.0, 0.9, 0.48)), (False, (0.35, 0.4, 0.65, 1.0))),
    "ball": _OVAL,
    "kite": ((True, (0.05, 0.0, 0.95, 0.7)), (False, (0.35, 0.6, 0.65, 1.0))),
    "balloon": ((True, (0.0, 0.0, 1.0, 0.7)), (False, (0.4, 0.6, 0.6, 1.0))),
    "sign": ((False, (0.0, 0.0, 1.0, 0.62)), (False, (0.42, 0.6, 0.58, 1.0))),
    "sun": _OVAL,
    "moon": _OVAL,
    "cloud": _OVAL,
}


def silhouette(thing: Thing) -> tuple[tuple[bool, Box], ...]:
    """(oval or box, canvas box) of each piece of a thing's silhouette."""
    pieces = SILHOUETTES.get(thing.kind, _BOX)
    if thing.kind in ("girl", "boy"):
        holding = thing.slots["holding"] != NONE
        top = 0.17 if thing.slots["pose"] == "sitting" else 0.0
        body = (0.02, 0.72) if holding else (0.10, 0.90)
        pieces = ((False, (body[0], top, body[1], 1.0)),)
        if holding:
            pieces = (*pieces, (False, (0.70, top, 1.0, 0.30 + top)))
    elif thing.slots.get("pose") == "sleeping":
        pieces = ((True, (0.0, 0.45, 1.0, 1.0)),)
    placed = []
    for oval, (x0, y0, x1, y1) in pieces:
        fractions = (1 - x1, y0, 1 - x0, y1) if thing.flipped else (x0, y0, x1, y1)
        placed.append((oval, part(thing.box, fractions)))
    return tuple(placed)


def id_mask(scene: Scene, cells: int) -> Labels:
    """(cells, cells): 0 for the background, else 1 + the index of the frontmost thing."""
    mask = Image.new("L", (cells, cells))
    canvas = ImageDraw.Draw(mask)
    for index, thing in sorted(enumerate(scene.things), key=lambda pair: pair[1].depth):
        for oval, (x0, y0, x1, y1) in silhouette(thing):
            left, top = x0 * cells, y0 * cells  # Pillow's boxes include their last cell
            box = (left, top, max(left, x1 * cells - 1), max(top, y1 * cells - 1))
            (canvas.ellipse if oval else canvas.rectangle)(box, fill=index + 1)
    return np.asarray(mask)


def _thing_row(scene: Scene, thing: Thing) -> Labels:
    """The channels that depend on one thing only, others 0."""
    row = np.zeros(len(PATCH_CHANNELS), np.uint8)

    def put(channel: str, value: str) -> None:
        row[_PLACE[channel]] = _INDEX[channel][value]

    kind = KINDS[thing.kind]
    put("kind", thing.kind)
    put("size", size_word(thing) or "usual")
    put("count", str(min(4, len(scene.of_kind(thing.kind)))))
    if kind.main:
        put("main", thing.slots[kind.main])
    for slot, value in thing.slots.items():
        if slot != kind.main:
            put(_CHANNEL_OF[slot], "absent" if value == NONE else value)
    if thing.on is not None:
        put("support", next(other.kind for other in scene.things if other.id == thing.on))
    return row


def patch_labels(scene: Scene, grid: int = 8) -> Labels:
    """Labels what each patch of a picture shows.

    Args:
        scene: What is true.
        grid: Patches per side.

    Returns:
        Class numbers as in `PATCH_CHANNELS`, uint8 of shape (grid, grid, channels), rows from the
        top.
    """
    count = len(scene.things) + 1
    rows = np.zeros((count, len(PATCH_CHANNELS)), np.uint8)
    for index, thing in enumerate(scene.things):
        rows[index + 1] = _thing_row(scene, thing)
    mask = id_mask(scene, grid * CELLS).reshape(grid, CELLS, grid, CELLS)
    patches = mask.transpose(0, 2, 1, 3).reshape(grid * grid, CELLS * CELLS).astype(np.intp)
    offsets = np.arange(grid * grid)[:, None] * count
    covered = np.bincount((patches + offsets).ravel(), minlength=grid * grid * count)
    covered = covered.reshape(grid * grid, count)
    covered[:, 0] = 0
    covered[covered < LEAST * CELLS * CELLS] = 0
    first = covered.argmax(1)
    labels: Labels = rows[first]
    covered[np.arange(grid * grid), first] = 0
    second = rows[covered.argmax(1)]
    labels[:, _PLACE["kind2"]] = second[:, _PLACE["kind"]]
    labels[:, _PLACE["main2"]] = second[:, _PLACE["main"]]
    for index, thing in sorted(enumerate(scene.things), key=lambda pair: pair[1].depth):
        x, y = center(thing.box)
        patch = min(grid - 1, int(y * grid)) * grid + min(grid - 1, int(x * grid))
        labels[patch, _PLACE["centre"]] = rows[index + 1, _PLACE["kind"]]
        labels[patch, _PLACE["centre_main"]] = rows[index + 1, _PLACE["main"]]
    for channel in ("setting", "time", "weather", "wall"):
        labels[:, _PLACE[channel]] = _INDEX[channel][getattr(scene, channel)]
    return labels.reshape(grid, grid, -1)
