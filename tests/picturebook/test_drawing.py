"""Scenes as sampled, pictures as drawn, labels as computed: each against the scene's own facts."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.drawing.lettering import LETTERS
from revise_captions.picturebook.drawing.patch_labels import (
    PATCH_CHANNELS,
    patch_labels,
)
from revise_captions.picturebook.drawing.pen import PALETTE
from revise_captions.picturebook.world.sample import sample_scene, thing_size
from revise_captions.picturebook.world.scene import (
    COLORS,
    KINDS,
    MARGIN,
    NONE,
    SPLITS,
    WALLS,
    WORDS,
    Box,
    Scene,
    Thing,
    held_out_relation,
    held_out_value,
    holds,
    overlap,
)

CHANNEL = {name: i for i, (name, _) in enumerate(PATCH_CHANNELS)}
SKY_LIGHTS = ("sun", "moon", "cloud")
PAD = 0.03


@pytest.fixture(scope="module")
def scenes() -> dict[str, list[Scene]]:
    return {split: [sample_scene(seed, split) for seed in range(300)] for split in SPLITS}


def everything(scenes: dict[str, list[Scene]]) -> list[Scene]:
    return list(itertools.chain.from_iterable(scenes.values()))


def alone(kind: str, slots: dict[str, str], style: int = 7, setting: str = "") -> Scene:
    """One thing of the usual size in the middle of a picture by day."""
    width, height = thing_size(kind, slots, 1.0)
    box = (0.5 - width / 2, 0.88 - height, 0.5 + width / 2, 0.88)
    setting = setting or KINDS[kind].settings[0]
    wall = "white" if setting == "room" else NONE
    thing = Thing(0, kind, box, slots)
    return Scene(0, "train", setting, "day", "clear", (thing,), style, wall)


def plain_slots(kind: str) -> dict[str, str]:
    """The first value of every slot, but with something held, so that its colour shows."""
    slots = {slot: values[0] for slot, values in KINDS[kind].slots.items()}
    return slots | ({"holding": "flag", "held": "red"} if "held" in slots else {})


def changed(a: Scene, b: Scene, size: int, least: int = 0) -> np.ndarray:
    """(size, size) bool: the pixels in which two scenes' pictures differ by more than `least`."""
    one, two = (np.asarray(draw(scene, size)).astype(int) for scene in (a, b))
    return np.abs(one - two).max(2) > least


def in_box(box: Box, size: int, pad: float) -> np.ndarray:
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size
    return (x > box[0] - pad) & (x < box[2] + pad) & (y > box[1] - pad) & (y < box[3] + pad)


def digest(seed: int, split: str) -> str:
    scene = sample_scene(seed, split)
    content = repr(scene).encode() + draw(scene, 128).tobytes() + patch_labels(scene).tobytes()
    return hashlib.sha256(content).hexdigest()


def test_another_process_gives_the_same_bytes() -> None:
    program = (
        "import hashlib\n"
        "from revise_captions.picturebook.world.sample import sample_scene\n"
        "from revise_captions.picturebook.drawing.draw import draw\n"
        "from revise_captions.picturebook.drawing.patch_labels import patch_labels\n"
        "for seed, split in ((3, 'train'), (4, 'test'), (5, 'compositional')):\n"
        "    s = sample_scene(seed, split)\n"
        "    c = repr(s).encode() + draw(s, 128).tobytes() + patch_labels(s).tobytes()\n"
        "    print(hashlib.sha256(c).hexdigest())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [digest(3, "train"), digest(4, "test"), digest(5, "compositional")]
    assert run.stdout.split() == expected


def test_unknown_split_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no split 'dev'.*train, validation"):
        sample_scene(0, "dev")


def test_no_scene_in_two_splits(scenes: dict[str, list[Scene]]) -> None:
    contents = [repr((s.setting, s.things, s.style)) for s in everything(scenes)]
    assert len(set(contents)) == len(contents)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_ordinary_splits_show_nothing_held_out(scenes: dict[str, list[Scene]], split: str) -> None:
    for scene in scenes[split]:
        for thing in scene.things:
            for slot, value in thing.slots.items():
                assert not held_out_value(thing.kind, slot, value)
        for a, b in itertools.permutations(scene.things, 2):
            for relation in ("on", "in front of", "behind", "next to"):
                if held_out_relation(a.kind, relation, b.kind):
                    assert not holds(relation, a, b), (scene.seed, a.kind, relation, b.kind)


def test_compositional_scenes_show_a_held_out_value(scenes: dict[str, list[Scene]]) -> None:
    for scene in scenes["compositional"]:
        clear = [
            thing
            for thing in scene.things
            if any(held_out_value(thing.kind, slot, value) for slot, value in thing.slots.items())
            and all(
                overlap(thing.box, o.box) <= 0.12 or o.depth < thing.depth or o.on == thing.id
                for o in scene.things
                if o is not thing
            )
        ]
        assert clear, scene.seed


def test_slots_are_the_kinds_own(scenes: dict[str, list[Scene]]) -> None:
    for scene in everything(scenes):
        assert [thing.id for thing in scene.things] == list(range(len(scene.things)))
        assert len({thing.depth for thing in scene.things}) == len(scene.things)
        for thing in scene.things:
            kind = KINDS[thing.kind]
            assert list(thing.slots) == list(kind.slots)
            assert all(value in kind.slots[slot] for slot, value in thing.slots.items())
            assert scene.setting in kind.settings
            assert (thing.slots.get("holding", NONE) == NONE) == (
                thing.slots.get("held", NONE) == NONE
            )
            assert 0 <= thing.box[0] < thing.box[2] <= 1
            assert 0 <= thing.box[1] < thing.box[3] <= 1
        most = Counter(thing.kind for thing in scene.things)
        assert all(count <= KINDS[kind].most for kind, count in most.items())


def test_time_weather_and_wall_fit_the_things(scenes: dict[str, list[Scene]]) -> None:
    for scene in everything(scenes):
        kinds = {thing.kind for thing in scene.things}
        assert not ("sun" in kinds and scene.time == "night")
        assert not ("moon" in kinds and scene.time == "day")
        assert "cloud" in kinds or scene.weather == "clear"
        if scene.setting == "room":
            assert scene.weather == "clear"
            assert scene.wall in WALLS
            assert not kinds & set(SKY_LIGHTS)
        else:
            assert scene.wall == NONE


def test_sizes_keep_away_from_the_thresholds(scenes: dict[str, list[Scene]]) -> None:
    for scene in everything(scenes):
        for thing in scene.things:
            ratio = (thing.box[3] - thing.box[1]) / KINDS[thing.kind].size[1]
            assert 0.7 <= ratio <= 1.41
            assert not 0.80 < ratio < 0.86
            assert not 1.17 < ratio < 1.25


def test_supports_carry_what_stands_on_them(scenes: dict[str, list[Scene]]) -> None:
    seen = 0
    for scene in everything(scenes):
        for thing in scene.things:
            if thing.on is None:
                continue
            seen += 1
            support = scene.things[thing.on]
            assert support.kind in ("table", "chair", "house", "fence", "sign")
            assert thing.kind == "bird" or support.kind in ("table", "chair")
            assert thing.depth > support.depth
            assert support.box[0] < (thing.box[0] + thing.box[2]) / 2 < support.box[2]
            assert support.box[1] < thing.box[3] < support.box[3]
            assert thing.slots.get("pose") != "flying"
    assert seen > 100


def test_scenes_vary(scenes: dict[str, list[Scene]]) -> None:
    train = scenes["train"]
    share_repeated = np.mean(
        [
            max(Counter(t.kind for t in s.things if t.kind not in SKY_LIGHTS).values()) > 1
            for s in train
        ]
    )
    assert 0.33 < share_repeated < 0.55
    counts = Counter(sum(t.kind not in SKY_LIGHTS for t in s.things) for s in train)
    assert set(counts) == {2, 3, 4, 5, 6, 7}
    pairs = [p for s in train for p in itertools.permutations(s.things, 2)]
    for relation in ("left of", "above", "next to", "in front of", "on"):
        assert sum(holds(relation, a, b) for a, b in pairs) > 30
    gaps = [abs((a.box[0] + a.box[2] - b.box[0] - b.box[2]) / 2) for a, b in pairs]
    assert np.mean([abs(gap - MARGIN) < 0.02 for gap in gaps]) < 0.02  # of left/right, unclear
    for kind, spec in KINDS.items():
        for slot, values in spec.slots.items():
            shown = {t.slots[slot] for s in everything(scenes) for t in s.of_kind(kind)}
            assert len(shown) >= min(3, len(values))


def test_rear_things_stay_visible(scenes: dict[str, list[Scene]]) -> None:
    """Measured on the pictures: what each thing changes, against what it changes on its own."""
    for scene in scenes["train"][:30]:
        bare = replace(scene, things=())
        for thing in scene.things:
            front = [t for t in scene.things if t.depth > thing.depth]
            if not any(overlap(thing.box, other.box) > 0 for other in front):
                continue
            rest = replace(scene, things=tuple(t for t in scene.things if t is not thing))
            whole = changed(replace(scene, things=(thing,)), bare, 128, 10).sum()
            seen = changed(scene, rest, 128, 10).sum()
            assert seen >= 0.5 * whole, (scene.seed, thing.kind)


@pytest.mark.parametrize(
    ("kind", "slot"), [(kind, slot) for kind, spec in KINDS.items() for slot in spec.slots]
)
@pytest.mark.parametrize("style", [1, 2])
def test_each_slot_is_drawn_in_its_box_and_nowhere_else(kind: str, slot: str, style: int) -> None:
    slots = plain_slots(kind)
    scene = alone(kind, slots, style)
    thing = scene.things[0]
    for value in KINDS[kind].slots[slot]:
        other = slots | {slot: value}
        if slot == "holding" and value == NONE:
            other["held"] = NONE
        if value == slots[slot] or (slot == "held" and value == NONE):
            continue
        twin = replace(scene, things=(replace(thing, slots=other),))
        difference = changed(scene, twin, 128)
        assert not (difference & ~in_box(thing.box, 128, PAD)).any(), value
        assert changed(scene, twin, 128, 40).sum() >= 6, value


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_thing_is_drawn_in_its_box(kind: str) -> None:
    for flipped, setting in itertools.product((False, True), KINDS[kind].settings[:2]):
        scene = alone(kind, plain_slots(kind), 3, setting)
        thing = replace(scene.things[0], flipped=flipped)
        bare = replace(scene, things=())
        difference = changed(replace(scene, things=(thing,)), bare, 128, 3)
        assert not (difference & ~in_box(thing.box, 128, PAD)).any()
        box = in_box(thing.box, 128, 0)
        assert (difference & box).sum() > 0.2 * box.sum()


@pytest.mark.parametrize(
    ("name", "values"),
    [("setting", ("meadow", "beach", "street", "room")), ("time", ("day", "night")),
     ("weather", ("clear", "cloudy", "rainy")), ("wall", WALLS)],
)  # fmt: skip
def test_scene_wide_facts_are_drawn(name: str, values: tuple[str, ...]) -> None:
    base = Scene(0, "train", "room" if name == "wall" else "meadow", "day", "clear", (), 5, "white")
    pictures = [np.asarray(draw(replace(base, **{name: v}), 64)).astype(int) for v in values]
    for a, b in itertools.combinations(pictures, 2):
        assert np.abs(a - b).max(2).mean() > 10


def test_a_room_shows_the_time_by_its_window() -> None:
    room = Scene(0, "train", "room", "day", "clear", (), 5, "white")
    assert changed(room, replace(room, time="night"), 128, 60).sum() > 300


@pytest.mark.parametrize("color", COLORS)
def test_colours_survive_jpeg_in_every_style(color: str) -> None:
    """The nearest of the ten named colours, after JPEG at 128 pixels, is the one meant."""
    palette = np.array([PALETTE[name] for name in COLORS], float)
    slots = {"walls": color, "roof": "red", "door": "brown", "windows": "1"}
    for style in range(25):
        picture = draw(alone("house", slots, style), 128)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=75)
        pixels = np.asarray(Image.open(buffer)).astype(float)
        wall = pixels[101:108, 47:54].reshape(-1, 3).mean(0)  # beside the door, under the windows
        assert COLORS[int(np.abs(palette - wall).sum(1).argmin())] == color, (style, wall)


def test_style_changes_pictures_but_no_labels() -> None:
    scene = sample_scene(11)
    other = replace(scene, style=scene.style + 1)
    assert draw(scene, 64).tobytes() != draw(other, 64).tobytes()
    assert np.array_equal(patch_labels(scene), patch_labels(other))


def test_any_size() -> None:
    scene = sample_scene(12)
    for size in (64, 128, 256, 384):
        assert draw(scene, size).size == (size, size)
        assert draw(scene, size).mode == "RGB"


def test_every_word_has_its_letters_and_no_two_look_alike() -> None:
    assert set("".join(WORDS)) <= set(LETTERS)
    shown = [alone("sign", {"board": "white", "word": word}) for word in WORDS]
    for a, b in itertools.combinations(shown, 2):
        assert changed(a, b, 128, 60).sum() > 15


def named(labels: np.ndarray, row: int, column: int, channel: str) -> str:
    return PATCH_CHANNELS[CHANNEL[channel]][1][labels[row, column, CHANNEL[channel]]]


def test_labels_of_a_scene_made_by_hand() -> None:
    house = Thing(
        0, "house", (0.25, 0.25, 0.75, 0.75),
        {"walls": "pink", "roof": "red", "door": "blue", "windows": "3"},
    )  # fmt: skip
    bird = Thing(
        1, "bird", (0.44, 0.15, 0.56, 0.27), {"feathers": "green", "pose": "standing"}, 1, 0
    )
    boy = Thing(
        2, "boy", (0.69, 0.62, 0.93, 0.98),
        {"shirt": "white", "hat": NONE, "pose": "waving", "holding": "flag", "held": "green"}, 2,
    )  # fmt: skip
    scene = Scene(0, "train", "street", "night", "clear", (house, bird, boy), 1)
    labels = patch_labels(scene)
    assert labels.shape == (8, 8, len(PATCH_CHANNELS))
    assert labels.dtype == np.uint8
    wall = {"kind": "house", "main": "pink", "second": "red", "third": "blue", "windows": "3",
            "size": "large", "count": "1", "pose": NONE, "word": NONE, "support": NONE}  # fmt: skip
    for channel, value in wall.items():
        assert named(labels, 4, 3, channel) == value
    child = {"kind": "boy", "main": "white", "second": "absent", "third": "green",
             "holding": "flag", "pose": "waving", "size": "usual"}  # fmt: skip
    for channel, value in child.items():
        assert named(labels, 6, 6, channel) == value
    assert named(labels, 5, 5, "kind") == "house"
    assert named(labels, 5, 5, "kind2") == "boy"
    assert named(labels, 5, 5, "main2") == "white"
    assert named(labels, 1, 3, "support") == "house"
    assert named(labels, 1, 4, "centre") == "bird"
    assert named(labels, 1, 4, "centre_main") == "green"
    assert named(labels, 4, 4, "centre") == "house"
    for row, column in ((0, 0), (7, 0), (0, 7)):
        assert named(labels, row, column, "kind") == NONE
        assert named(labels, row, column, "setting") == "street"
        assert named(labels, row, column, "time") == "night"
        assert named(labels, row, column, "wall") == NONE


def test_labels_name_only_what_the_scene_has(scenes: dict[str, list[Scene]]) -> None:
    for scene in everything(scenes)[::4]:
        labels = patch_labels(scene)
        for name, classes in PATCH_CHANNELS:
            assert labels[..., CHANNEL[name]].max() < len(classes)
            assert classes[0] == NONE
        kinds = {thing.kind for thing in scene.things}
        shown = {named(labels, r, c, "kind") for r in range(8) for c in range(8)}
        centres = {named(labels, r, c, "centre") for r in range(8) for c in range(8)}
        assert shown <= kinds | {NONE}
        assert len(kinds - shown - centres) <= 1
        for thing in scene.things:
            column, row = int(sum(thing.box[::2]) * 4), int(sum(thing.box[1::2]) * 4)
            assert named(labels, row, column, "centre") != NONE


@pytest.mark.parametrize("kind", list(KINDS))
def test_labelled_patches_are_drawn_and_drawn_patches_are_labelled(kind: str) -> None:
    """Against the picture itself: with and without the thing."""
    values = KINDS[kind].slots.get("pose", ("",))
    for pose in values:
        slots = plain_slots(kind) | ({"pose": pose} if pose else {})
        scene = alone(kind, slots, 3)
        drawn = changed(scene, replace(scene, things=()), 128, 12)
        share = drawn.reshape(8, 16, 8, 16).mean((1, 3))
        labeled = patch_labels(scene)[..., CHANNEL["kind"]] > 0
        assert share[labeled].min() > 0.03, pose
        assert share[~labeled].max() < 0.45, pose
