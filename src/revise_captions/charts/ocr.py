"""Text in an image, by RapidOCR (extra `charts`), whose weights are in its wheel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.chart import Box
from revise_captions.charts.numerals import parse
from revise_captions.charts.ocr_boxes import (
    FAINT,
    SHORTEST,
    Corners,
    bounds,
    crop_of,
    detected,
)
from revise_captions.charts.ocr_engine import Pixels, ocr_engine
from revise_captions.process_memory import give_back_freed_memory

#: What is put around an image to see it at half its size.
_GRAY = 127
#: Light grows by a square of this part of an image's shorter side, so that lamps join to letters.
_LAMP = 0.02
#: Below this, a text is noise.
LEAST_SCORE = 0.5
#: Crops this many times as high as wide may be rotated text.
_TALL = 1.5
#: From here on an upright reading, a column of letters, is not considered.
_VERY_TALL = 2.6
#: A text this long of which one letter makes up this share is a pattern.
_LONG, _REPEATED = 12, 0.4
#: Degrees between which text is slanted.
_SLANTED = (12, 78)
#: By which the image is scaled when it is turned to read long slanted text.
_ENLARGED = 1.3
#: Rotated text is taken to read upward unless it reads this much better downward.
_DOWNWARD = 0.02


@dataclass(frozen=True, slots=True)
class TextWord:
    """A word of a line, with its bounding box in pixels."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text as recognized.

    Attributes:
        text: The whole line.
        box: Its bounding box.
        score: The recognizer's confidence, 0 … 1.
        angle: Degrees counterclockwise from horizontal, in [-90, 90].
        height: Of the text across its direction, in pixels.
        words: Of a horizontal line; a rotated one is one word.
        crop: What was recognized, upright: uint8, BGR, of shape (height, width, 3).
    """

    text: str
    box: Box
    score: float
    angle: float
    height: float
    words: tuple[TextWord, ...]
    crop: Pixels | None = field(default=None, compare=False, repr=False)


def text_lines(image: Pixels) -> tuple[TextLine, ...]:
    """The lines of text in an RGB image, top to bottom.

    Args:
        image: uint8 of shape (height, width, 3).

    Raises:
        ModuleNotFoundError: RapidOCR is not installed.
    """
    return seen_and_unread(image)[0]


def seen_and_unread(image: Pixels) -> tuple[tuple[TextLine, ...], tuple[TextLine, ...]]:
    """The lines of text in an RGB image as of `text_lines`, and what looks like text, but cannot be
    read."""
    with ocr_engine() as engine:
        found = _text_lines(engine, np.ascontiguousarray(image[:, :, ::-1]))
    give_back_freed_memory()
    return found


def character_odds(crop: Pixels) -> tuple[NDArray[np.float32], Mapping[str, int]]:
    """How likely the recognizer finds each character at each step along a crop: of shape (steps,
    characters), the first being CTC's blank; and the place of each character that it knows."""
    with ocr_engine() as engine:
        reader = engine.text_rec
        ratio = crop.shape[1] / crop.shape[0]
        odds = reader.session(reader.resize_norm_img(crop, ratio)[None].astype(np.float32))
        return odds[0], reader.postprocess_op.dict


def faint_text(image: Pixels) -> list[tuple[Box, Pixels]]:
    """Whatever looks like text at all in an RGB image, at its size and at half of it, and once its
    lights are joined: bounding boxes and crops, BGR. Large letters are found at half the size
    alone, and those of a matrix of lamps only where the lamps join.

    Args:
        image: uint8 of shape (height, width, 3).
    """
    pixels = np.ascontiguousarray(image[:, :, ::-1])
    joined = _joined(pixels)
    high, wide = (side // 2 for side in pixels.shape[:2])
    margins = ((high, high), (wide, wide), (0, 0))
    framed = np.pad(pixels, margins, constant_values=_GRAY)
    with ocr_engine() as engine:
        boxes = [detected(engine, pixels, FAINT)]
        boxes.append(detected(engine, framed, FAINT) - np.array([wide, high], dtype=np.float32))
        lights = detected(engine, joined, FAINT)
    found = [(bounds(one), crop_of(pixels, one)) for one in np.concatenate(boxes)]
    return found + [(bounds(one), crop_of(joined, one)) for one in lights]


def _joined(pixels: Pixels) -> Pixels:
    """An image whose lights run into each other."""
    import cv2

    side = max(3, round(_LAMP * min(pixels.shape[:2])))
    grown = cv2.dilate(pixels, np.ones((side, side), dtype=np.uint8))
    return np.asarray(cv2.GaussianBlur(grown, (0, 0), side / 5), dtype=np.uint8)


def with_turned(image: Pixels, lines: Sequence[TextLine], angle: float) -> tuple[TextLine, ...]:
    """Lines of text, and numbers slanted by an angle that are found once the image is turned back.

    The detector overlooks short slanted texts, such as the labels of a value axis.

    Args:
        image: uint8 of shape (height, width, 3).
        lines: What was recognized.
        angle: In degrees counterclockwise.
    """
    with ocr_engine() as engine:
        pixels = np.ascontiguousarray(image[:, :, ::-1])
        found = _turned_lines(engine, pixels, angle, 1.0 if angle else _ENLARGED)
    found = [line for line in found if parse(line.text) is not None]
    return tuple(sorted((*_beside(lines, found), *found), key=lambda line: line.box[:2][::-1]))


def _beside(lines: Iterable[TextLine], others: Sequence[TextLine]) -> list[TextLine]:
    """The lines that are no fragments of other, longer ones that are slanted."""
    return [
        line
        for line in lines
        if not any(len(line.text) <= len(o.text) and _along(line, o) for o in others if o != line)
    ]


def _along(line: TextLine, other: TextLine) -> bool:
    """Whether a line lies on a slanted one."""
    radians = math.radians(other.angle)
    x, y = ((line.box[k] + line.box[k + 2] - other.box[k] - other.box[k + 2]) / 2 for k in (0, 1))
    off = abs(x * math.sin(radians) + y * math.cos(radians))
    far = abs(x * math.cos(radians) - y * math.sin(radians))
    width, height = (other.box[k + 2] - other.box[k] for k in (0, 1))
    return off <= 0.5 * other.height and far <= 0.5 * math.hypot(width, height)


def _text_lines(engine: Any, pixels: Pixels) -> tuple[tuple[TextLine, ...], tuple[TextLine, ...]]:
    boxes = detected(engine, pixels)
    crops = [crop_of(pixels, corners) for corners in boxes]
    tall = [k for k, crop in enumerate(crops) if crop.shape[0] >= _TALL * crop.shape[1]]
    flat = [k for k in range(len(crops)) if k not in set(tall)]
    lines = _flat_lines(engine, [crops[k] for k in flat], boxes[flat])
    lines += _tall_lines(engine, [crops[k] for k in tall], boxes[tall])
    unread = tuple(line for line in lines if line.score < LEAST_SCORE or _is_noise(line.text))
    kept = [line for line in lines if line not in unread]
    kept = _slanted_again(engine, pixels, kept)
    kept = _beside(kept, [line for line in kept if _SLANTED[0] < abs(line.angle) < _SLANTED[1]])
    return tuple(sorted(kept, key=lambda line: (line.box[1], line.box[0]))), unread


def _is_noise(text: str) -> bool:
    """Whether a text is nothing, or what a curve or a pattern looks like: `wwwwppwwww`."""
    bare = text.strip().lower()
    if len(bare) < _LONG or any(letter.isdigit() for letter in bare):
        return not bare
    return max(bare.count(letter) for letter in set(bare) - {" "}) >= _REPEATED * len(bare)


def _slanted_again(engine: Any, pixels: Pixels, lines: list[TextLine]) -> list[TextLine]:
    """Slanted tick labels, read again in a rotated image, where the detector misses fewer."""
    for sign in (1, -1):
        first = [line for line in lines if _SLANTED[0] < line.angle * sign < _SLANTED[1]]
        if not any(character.isdigit() for line in first for character in line.text) and (
            len(first) < 2
        ):
            continue
        angle = float(np.median([line.angle for line in first]))
        again = _turned_lines(engine, pixels, angle, _ENLARGED, _strip(pixels, first))
        if sum(len(line.text) for line in again) > sum(len(line.text) for line in first):
            rest = [line for line in lines if line not in first]
            lines = rest + [line for line in again if not any(_meets(line, o) for o in rest)]
    return lines


def _strip(pixels: Pixels, labels: Sequence[TextLine]) -> Box:
    """The part of an image where slanted labels are, from one side to the other, with room for
    longer ones that were overlooked."""
    boxes = np.array([line.box for line in labels])
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    across = int(np.argmin(high - low))
    room = (high - low)[across] // 4 + round(max(line.height for line in labels))
    low[across], high[across] = low[across] - room, high[across] + room
    sides = pixels.shape[1], pixels.shape[0]
    low[1 - across], high[1 - across] = 0, sides[1 - across]
    x0, y0 = np.maximum(low, 0).tolist()
    x1, y1 = np.minimum(high, sides).tolist()
    return x0, y0, x1, y1


def _turned_lines(
    engine: Any, pixels: Pixels, angle: float, enlarged: float = 1.0, part: Box | None = None
) -> list[TextLine]:
    """The text that is level once the image is turned back by an angle, in the image's places.

    With `part`, nothing but that part of the image is looked at, as large as it would be in all of
    it, which has up to three times as many pixels when it is turned.
    """
    import cv2

    fill = [int(c) for c in np.median(pixels[0], axis=0)]
    turn, size = _turn(pixels, angle, enlarged)
    left, top = 0, 0
    if part is not None:
        left, top, right, bottom = part
        pixels = pixels[top:bottom, left:right]
        # the detector enlarges what is smaller
        turn, size = _turn(pixels, angle, enlarged, min(SHORTEST, *size))
    turned = np.asarray(cv2.warpAffine(pixels, turn, size, borderValue=fill), dtype=np.uint8)
    boxes = detected(engine, turned)
    across, down = (boxes[:, 1] - boxes[:, 0]).T
    boxes = boxes[np.abs(down) < 0.2 * across]
    lines = _flat_lines(engine, [crop_of(turned, corners) for corners in boxes], boxes)
    back = cv2.invertAffineTransform(turn)
    found = []
    for line, corners in zip(lines, boxes, strict=True):
        if line.score >= LEAST_SCORE and line.text:
            box = bounds(corners @ back[:, :2].T + back[:, 2] + (left, top))
            word = TextWord(line.text, box)
            whole = replace(line, box=box, angle=line.angle + angle, words=(word,))
            found.append(replace(whole, height=line.height / enlarged))
    return found


def _turn(
    pixels: Pixels, angle: float, enlarged: float, least: int = 0
) -> tuple[NDArray[np.float64], tuple[int, int]]:
    """How an image is turned back and enlarged, in the middle of one, (width, height), that has
    room for its corners; neither side is shorter than `least`."""
    import cv2

    height, width = pixels.shape[:2]
    center = (width / 2, height / 2)
    turn = np.asarray(cv2.getRotationMatrix2D(center, -angle, enlarged), dtype=np.float64)
    cos, sin = float(abs(turn[0, 0])), float(abs(turn[0, 1]))
    size = (
        max(least, round(height * sin + width * cos)),
        max(least, round(height * cos + width * sin)),
    )
    turn[:, 2] += (size[0] - width) / 2, (size[1] - height) / 2
    return turn, size


def _meets(line: TextLine, other: TextLine) -> bool:
    """Whether a line's center lies in another one."""
    x, y = (line.box[0] + line.box[2]) / 2, (line.box[1] + line.box[3]) / 2
    return other.box[0] <= x <= other.box[2] and other.box[1] <= y <= other.box[3]


def _flat_lines(engine: Any, crops: Sequence[Pixels], boxes: Corners) -> list[TextLine]:
    if not crops:
        return []
    read = engine.recognize_txt(list(crops))
    texts, scores = read.txts, read.scores
    located = engine.cal_rec_boxes(list(crops), boxes, read).word_results
    lines = []
    for text, score, corners, words, crop in zip(texts, scores, boxes, located, crops, strict=True):
        across, down = corners[1] - corners[0]
        angle = -math.degrees(math.atan2(down, across))
        parts = [TextWord(w, bounds(np.asarray(c))) for w, _, c in words if c is not None]
        high = float(np.linalg.norm(corners[3] - corners[0]))
        box = bounds(corners)
        lines.append(TextLine(text.strip(), box, float(score), angle, high, tuple(parts), crop))
    return lines


def _tall_lines(engine: Any, crops: Sequence[Pixels], boxes: Corners) -> list[TextLine]:
    """Text of narrow boxes: rotated one way or the other, or upright."""
    read = []
    for crop in crops:
        views = [np.rot90(crop, -1), np.rot90(crop, 1)]
        if crop.shape[0] < _VERY_TALL * crop.shape[1]:
            views.append(crop)
        found = engine.recognize_txt(views)
        pairs = zip(found.txts, found.scores, strict=True)
        read.append([(text.strip(), float(score)) for text, score in pairs])
    lines = []
    for k, (crop, texts) in enumerate(zip(crops, read, strict=True)):
        # labels of an axis are all turned the same way, which a number alone may not show: 600
        row = [j for j in range(len(boxes)) if _level(boxes[j], boxes[k])]
        upward, downward = (float(np.mean([read[j][way][1] for j in row])) for way in (0, 1))
        way = int(downward > upward + _DOWNWARD)
        upright = len(texts) > 2 and texts[2][1] > texts[way][1]
        text, score = texts[2 if upright else way]
        angle = 0.0 if upright else (90.0, -90.0)[way]
        box = bounds(boxes[k])
        high = float(crop.shape[1] if angle else crop.shape[0])
        words = tuple(_words_along(text, box, angle))
        seen = crop if upright else np.ascontiguousarray(np.rot90(crop, 1 if way else -1))
        lines.append(TextLine(text, box, score, angle, high, words, seen))
    return lines


def _words_along(text: str, box: Box, angle: float) -> Iterator[TextWord]:
    """The words of an upright or rotated line, which share its length by their letters."""
    if not angle:
        yield TextWord(text, box)
        return
    step, start = (box[3] - box[1]) / max(1, len(text)), 0
    for word in text.split():
        first = text.index(word, start)
        start = first + len(word)
        ends = (box[1] + first * step, box[1] + start * step)
        low, high = ends if angle < 0 else (box[3] - ends[1] + box[1], box[3] - ends[0] + box[1])
        yield TextWord(word, (box[0], round(low), box[2], round(high)))


def _level(corners: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two boxes begin or end in the same row of pixels."""
    low, high = (corners[:, 1].min(), other[:, 1].min()), (corners[:, 1].max(), other[:, 1].max())
    return min(abs(low[0] - low[1]), abs(high[0] - high[1])) <= 4
