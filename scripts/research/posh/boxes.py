"""Labelled boxes of an image as evidence: what is there, how often, and on which side.

COCO's annotators marked every thing of its 80 categories (Lin et al. 2014), so that a thing of one
of them without a box is not in the picture. Of all else the boxes say nothing. A category that a
caption names is there, whatever the boxes say: annotators overlook things too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from revise_captions.graphs import words
from revise_captions.graphs.graph import Attribute, AttributeKind, Graph, Object
from revise_captions.graphs.triples import lemmas

#: COCO's categories.
CATEGORIES = words.listed(
    "person bicycle car motorcycle airplane bus train truck boat traffic_light fire_hydrant "
    "stop_sign parking_meter bench bird cat dog horse sheep cow elephant bear zebra giraffe "
    "backpack umbrella handbag tie suitcase frisbee ski snowboard sports_ball kite "
    "baseball_bat baseball_glove skateboard surfboard tennis_racket bottle wine_glass cup "
    "fork knife spoon bowl banana apple sandwich orange broccoli carrot hot_dog pizza donut "
    "cake chair couch potted_plant bed dining_table toilet tv laptop mouse remote keyboard "
    "cell_phone microwave oven toaster sink refrigerator book clock vase scissors teddy_bear "
    "hair_drier toothbrush "
)
#: Other names, as lemmas, where they name nothing else (after CHAIR's list, Rohrbach et al. 2018).
_NAMES = {
    "bike": "bicycle", "motorbike": "motorcycle", "scooter": "motorcycle", "moped": "motorcycle",
    "plane": "airplane", "jet": "airplane", "aeroplane": "airplane", "airliner": "airplane",
    "taxi": "car", "suv": "car", "sedan": "car", "minivan": "car", "locomotive": "train",
    "pickup": "truck", "ship": "boat", "sailboat": "boat", "canoe": "boat", "kayak": "boat",
    "yacht": "boat", "rowboat": "boat", "stoplight": "traffic light", "hydrant": "fire hydrant",
    "duck": "bird", "goose": "bird", "seagull": "bird", "gull": "bird", "pigeon": "bird",
    "parrot": "bird", "owl": "bird", "eagle": "bird", "swan": "bird", "puppy": "dog",
    "kitten": "cat", "pony": "horse", "foal": "horse", "lamb": "sheep", "bull": "cow",
    "cattle": "cow", "ox": "cow", "rucksack": "backpack", "parasol": "umbrella",
    "purse": "handbag", "necktie": "tie", "luggage": "suitcase", "skis": "ski",
    "racket": "tennis racket", "racquet": "tennis racket", "wineglass": "wine glass",
    "mug": "cup", "teacup": "cup", "hotdog": "hot dog", "doughnut": "donut", "cupcake": "cake",
    "sofa": "couch", "loveseat": "couch", "houseplant": "potted plant", "television": "tv",
    "notebook computer": "laptop", "cellphone": "cell phone", "phone": "cell phone",
    "smartphone": "cell phone", "fridge": "refrigerator", "hairdryer": "hair drier",
    "hair dryer": "hair drier", "crowd": "person", "family": "person", "audience": "person",
}  # fmt: skip
#: What ends in a category's name and is none of it.
_OTHERS = words.listed(
    "flower_bed garden_bed river_bed truck_bed railroad_tie railway_tie rocking_horse"
)
#: What only people have.
_LIMBS = words.listed("hand finger thumb arm elbow beard")
#: A box with a smaller share of the picture may be left out of a count.
CLEAR = 0.01
#: From so many on, COCO's annotators marked the rest as one crowd.
CROWD = 10


@dataclass(frozen=True, slots=True)
class Box:
    """`left`, `right`, `top`, `bottom`: shares of the picture's width and height, from its upper
    left corner.
    """

    category: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


@cache
def category(name: str) -> str:
    """The category that an object belongs to; "" for none."""
    known, whole = _by_lemmas(), lemmas(name)
    if whole.replace(" ", "_") in _OTHERS:
        return ""
    last = whole.rpartition(" ")[2]
    for one in (whole, last):
        one = _NAMES.get(one, one)
        if one in known:
            return known[one]
    return "person" if last in words.PERSONS else ""


@cache
def _by_lemmas() -> Mapping[str, str]:
    """ "Parking meter" has the lemmas "park meter"."""
    names = [one.replace("_", " ") for one in CATEGORIES]
    return {**{one: one for one in names}, **{lemmas(one): one for one in names}}


def category_in(graph: Graph, index: int) -> str:
    """An object's category, with what the parser took for a quality: a "potted" plant."""
    name = graph.objects[index].name
    whole = (f"{said.value} {name}" for said in graph.attributes_of(index))
    return next((one for one in map(category, whole) if " " in one), category(name))


_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def as_text(boxes: Sequence[Box]) -> str:
    """ "There is a dog. There are two chairs." """
    lines = []
    for name, count in Counter(box.category for box in boxes).items():
        many = f"{_NUMBERS.get(count, 'many')} {name}{'es' if name.endswith('s') else 's'}"
        lines.append(f"There is a {name}." if count == 1 else f"There are {many}.")
    return " ".join(lines)


def against(graph: Graph, boxes: Sequence[Box], said: frozenset[str]) -> Iterator[str]:
    """What the boxes hold against a text's claims, each in a few words; nothing without boxes.

    `said`: the lemmas of the captions' words.
    """
    if not boxes:
        return
    there: dict[str, list[Box]] = {}
    for box in boxes:
        there.setdefault(category(box.category), []).append(box)
    for index, item in enumerate(graph.objects):
        yield from _absent(graph, index, item, there, said)
    for said_of in graph.attributes:
        mine = _of(graph, said_of.object, there)
        if mine and said_of.kind is AttributeKind.COUNT and said_of.value.isdigit():
            yield from _count(graph, said_of, mine)
        side = side_of(said_of.value) if said_of.kind is AttributeKind.PLACE else ""
        yield from _side(graph.objects[said_of.object].name, side, mine)
    for edge in graph.relations:
        mine = _of(graph, edge.subject, there)
        yield from _side(graph.objects[edge.subject].name, side_of(edge.name), mine)


def _of(graph: Graph, index: int, there: Mapping[str, Sequence[Box]]) -> Sequence[Box]:
    one = category_in(graph, index)
    return there.get(one, ()) if one else ()


def _absent(
    graph: Graph,
    index: int,
    item: Object,
    there: Mapping[str, Sequence[Box]],
    said: frozenset[str],
) -> Iterator[str]:
    one, head = category_in(graph, index), lemmas(item.lemma).rpartition(" ")[2]
    known = {*there, *map(category, said)}
    if one and one not in known and head not in said:
        yield f"no {one} among the boxes"
    if head in _LIMBS and "person" not in known:
        yield f"{item.name}, and no person among the boxes"


def _count(graph: Graph, item: Attribute, boxes: Sequence[Box]) -> Iterator[str]:
    """More than there are boxes, or fewer than there are clear ones."""
    number, noun = int(item.value), graph.objects[item.object].span
    claim = graph.text[item.span.start : max(item.span.end, noun.end)]
    before = graph.text[: item.span.start].lower().split()
    if {"other", "more", "additional"} & set(claim.lower().split()):
        number += 1  # and the one that they are other than
    clear = sum(box.area >= CLEAR for box in boxes)
    if len(boxes) < number and len(boxes) < CROWD:
        yield f"{claim}, and {len(boxes)} among the boxes"
    elif number < clear and before[-2:] != ["at", "least"]:
        yield f"{claim}, and {clear} clear ones among the boxes"


def side_of(text: str) -> str:
    """The side of the picture that a place or a relation names, "left" or "right"; "" for none."""
    found = {"left", "right"}.intersection(text.replace("-", " ").split())
    return found.pop() if len(found) == 1 else ""


def on_side(side: str, boxes: Sequence[Box]) -> bool:
    """Whether one of the boxes has its middle in that half of the picture."""
    return any((box.middle < 0.5) == (side == "left") for box in boxes)


def _side(name: str, side: str, boxes: Sequence[Box]) -> Iterator[str]:
    if side and boxes and not on_side(side, boxes):
        yield f"{name} on the {side}, and every box of one in the other half"
