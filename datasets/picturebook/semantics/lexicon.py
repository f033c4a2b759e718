"""The words of the picture-book language: nouns, parts, colors, places, phrases.

Both directions share this module: what `realize` writes, `parse` reads. Tables map a phrase (lower
case, words joined by single spaces) to its meaning; the first phrase of a list is the usual one.
"""

from __future__ import annotations

from revise_captions.picturebook.world.scene import COLORS, KINDS, RELATIONS

PEOPLE = ("girl", "boy")
ANIMALS = ("dog", "cat", "bird")
#: Things that captions may mention and that no picture has; sentences about them are false.
FOREIGN = ("horse", "cow", "sheep", "rabbit", "bicycle", "bus", "truck", "bench", "woman", "man")
_IRREGULAR = {
    "child": "children", "sheep": "sheep", "bus": "buses", "bench": "benches", "woman": "women",
    "man": "men", "person": "people", "puppy": "puppies",
}  # fmt: skip


def plural(noun: str) -> str:
    """The plural of a one-word noun of this language."""
    return _IRREGULAR.get(noun, noun + "s")


#: singular noun -> the kinds it may denote; () stands for any kind.
NOUNS: dict[str, tuple[str, ...]] = {
    **{kind: (kind,) for kind in (*KINDS, *FOREIGN)},
    "sailboat": ("boat",),
    "puppy": ("dog",),
    "kitten": ("cat",),
    "cottage": ("house",),
    "animal": ANIMALS,
    "pet": ("dog", "cat"),
    "child": PEOPLE,
    "kid": PEOPLE,
    "person": PEOPLE,
    "vehicle": ("car", "boat"),
    "plant": ("tree", "flower"),
    "one": (),
    "thing": (),
    "object": (),
}
PLURALS: dict[str, tuple[str, ...]] = {plural(noun): kinds for noun, kinds in NOUNS.items()}
GENERIC: dict[tuple[str, ...], str] = {ANIMALS: "animal", PEOPLE: "child", (): "one"}

NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
NUMBER_WORDS = {value: word for word, value in NUMBERS.items()}

#: part noun (singular or plural) -> the slots it may name.
PARTS: dict[str, tuple[str, ...]] = {
    "roof": ("roof",), "door": ("door",), "walls": ("walls",), "wall": ("walls",),
    "windows": ("windows",), "window": ("windows",),
    "leaves": ("leaves",), "foliage": ("leaves",), "crown": ("leaves",),
    "petals": ("petals",), "shirt": ("shirt",), "t-shirt": ("shirt",), "top": ("shirt", "top"),
    "tabletop": ("top",), "hat": ("hat",), "hats": ("hat",), "cap": ("hat",), "caps": ("hat",),
    "shirts": ("shirt",), "collar": ("collar",), "collars": ("collar",), "coat": ("coat",),
    "fur": ("coat",), "feathers": ("feathers",), "plumage": ("feathers",), "body": ("body",),
    "hull": ("hull",), "sail": ("sail",), "sails": ("sail",), "seat": ("seat",),
    "shade": ("shade",), "lampshade": ("shade",), "board": ("board",),
    "roofs": ("roof",), "doors": ("door",), "hulls": ("hull",), "seats": ("seat",),
    "shades": ("shade",), "lampshades": ("shade",), "tops": ("shirt", "top"),
}  # fmt: skip
PLURAL_PARTS = {p for p in PARTS if p.endswith("s")}
#: slot -> nouns to write it with, and the verb-object nouns that go with clothes.
PART_NOUNS: dict[str, tuple[str, ...]] = {
    "roof": ("roof",), "door": ("door",), "walls": ("walls",), "windows": ("windows",),
    "leaves": ("leaves", "foliage"), "petals": ("petals",), "shirt": ("shirt", "top"),
    "hat": ("hat", "cap"), "collar": ("collar",), "coat": ("fur", "coat"),
    "feathers": ("feathers",), "body": ("body",), "hull": ("hull",), "sail": ("sail",),
    "top": ("top",), "seat": ("seat",), "shade": ("shade", "lampshade"), "board": ("board",),
}  # fmt: skip
CLOTHES = ("shirt", "hat", "collar")
ITEMS = ("balloon", "flag", "umbrella", "flower")

RELATION_PHRASES: dict[str, tuple[str, ...]] = {
    "left of": ("to the left of", "left of", "on the left side of", "on the left of"),
    "right of": ("to the right of", "right of", "on the right side of", "on the right of"),
    "above": ("above", "over"),
    "below": ("below", "beneath", "under", "underneath"),
    "next to": ("next to", "beside", "near", "right next to", "close to", "by"),
    "in front of": ("in front of",),
    "behind": ("behind",),
    "on": ("on", "on top of"),
}
RELATION_OF = {phrase: name for name in RELATIONS for phrase in RELATION_PHRASES[name]}
#: How many of a relation's phrases are written (the rest is only understood).
WRITTEN = {"left of": 2, "right of": 2, "above": 1, "below": 2, "next to": 3, "on": 2}

PLACE_PHRASES: dict[str, tuple[str, ...]] = {
    "left": (
        "on the left", "on the left side", "on the left side of the picture",
        "on the left of the picture", "on the left side of the image", "to the left",
        "at the left",
        "on the left side of the scene", "on the left of the image",
    ),
    "right": (
        "on the right", "on the right side", "on the right side of the picture",
        "on the right of the picture", "on the right side of the image", "to the right",
        "at the right",
        "on the right side of the scene", "on the right of the image",
    ),
    "middle": (
        "in the middle", "in the middle of the picture", "in the centre", "in the center",
        "in the middle of the scene", "near the middle", "in the center of the image",
        "in the middle of the image", "in the center of the picture",
    ),
    "background": ("in the background", "in the distance"),
    "foreground": ("in the foreground",),
    "sky": ("in the sky", "in the air", "up in the sky", "up in the air"),
    "ground": ("on the ground", "on the floor", "on the grass", "on the sand"),
    "water": ("on the water", "in the water", "at sea", "on the sea"),
}  # fmt: skip
PLACE_OF = {phrase: place for place, phrases in PLACE_PHRASES.items() for phrase in phrases}

#: pose -> (adjective or participle, verb singular, verb plural); the first is the usual one.
POSES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "standing": (("standing", "stands", "stand"),),
    "sitting": (("sitting", "sits", "sit"), ("seated", "sits", "sit")),
    "jumping": (("jumping", "jumps", "jump"), ("leaping", "leaps", "leap")),
    "waving": (("waving", "waves", "wave"),),
    "sleeping": (("sleeping", "sleeps", "sleep"), ("asleep", "sleeps", "sleep")),
    "flying": (("flying", "flies", "fly"),),
}
POSE_PARTICIPLES = {form[0]: pose for pose, forms in POSES.items() for form in forms}
POSE_VERBS = {verb: pose for pose, forms in POSES.items() for form in forms for verb in form[1:]}
#: Verbs that only say that something is there, by the kinds of which they are true.
REST_PARTICIPLES = {
    "parked": ("car",), "floating": ("balloon", "cloud", "boat", "kite"),
    "growing": ("tree", "flower"),
    "lying": ("ball",), "resting": ("ball",), "hanging": ("cloud", "moon", "sun"),
    "shining": ("sun", "moon"), "sailing": ("boat",), "located": (), "situated": (),
    "positioned": (), "placed": (), "visible": (), "present": (), "set": (), "seen": (),
    "glowing": ("moon", "sun"), "soaring": ("kite",), "drifting": ("cloud", "boat", "balloon"),
}  # fmt: skip
REST_VERBS = {
    "floats": "floating", "float": "floating", "grows": "growing", "grow": "growing",
    "lies": "lying", "lie": "lying", "rests": "resting", "rest": "resting", "hangs": "hanging",
    "hang": "hanging", "shines": "shining", "shine": "shining", "sails": "sailing",
    "sail": "sailing", "glows": "glowing", "soars": "soaring", "soar": "soaring",
    "drifts": "drifting", "drift": "drifting", "appears": "visible", "appear": "visible",
    "exists": "present", "exist": "present",
}  # fmt: skip
#: A thing without a pose of its own may still stand, sit or fly, as captions put it.
STILL_POSES = {
    "standing": ("house", "tree", "table", "chair", "lamp", "sign", "fence", "flower", "boat",
                 "car"),
    "sitting": ("ball", "lamp", "car", "house", "table", "chair", "boat"),
    "flying": ("kite", "balloon"),
}  # fmt: skip

SIZE_WORDS = {
    "small": "small", "little": "small", "tiny": "small", "large": "large", "big": "large",
    "tall": "large",
}  # fmt: skip
#: The third form is for people.
SIZE_FORMS = {"small": ("small", "little", "small"), "large": ("large", "big", "tall")}

PICTURE_WORDS = ("image", "picture", "scene", "illustration", "drawing", "photo", "photograph",
                 "painting")  # fmt: skip
SHOW_VERBS = ("shows", "depicts", "features", "captures", "presents", "contains", "displays",
              "portrays", "includes", "has")  # fmt: skip

PLAIN_SHOW_VERBS = ("show", "depict", "feature", "capture", "present", "contain", "display",
                    "portray", "include", "have")  # fmt: skip
#: Participles that say no more than that something is there.
EXISTS = ("visible", "present", "seen")

#: noun phrase (without determiner) -> setting
SETTING_NOUNS = {
    "meadow": "meadow", "grassy meadow": "meadow", "field": "meadow", "green field": "meadow",
    "grassy field": "meadow", "beach": "beach", "sandy beach": "beach", "seaside": "beach",
    "shore": "beach", "street": "street", "road": "street", "city street": "street",
    "town street": "street", "room": "room", "indoor room": "room", "living room": "room",
}  # fmt: skip
SETTING_FORMS: dict[str, tuple[str, ...]] = {
    "meadow": ("meadow", "grassy meadow", "field"),
    "beach": ("beach", "sandy beach"),
    "street": ("street", "road"),
    "room": ("room",),
}
#: adjectives that say nothing about the picture
MOODS = ("peaceful", "quiet", "cheerful", "lovely", "cosy", "cozy", "charming", "simple",
         "calm", "pretty", "playful", "whimsical", "colourful", "colorful", "lively")  # fmt: skip
WEATHER_ADJECTIVES = {
    "clear": "clear", "cloudy": "cloudy", "overcast": "cloudy", "rainy": "rainy", "wet": "rainy",
}  # fmt: skip
TIME_NOUNS = {
    "day": "day", "daytime": "day", "night": "night", "nighttime": "night", "evening": "night",
}  # fmt: skip

COLOR_SET = frozenset(COLORS)
FUNCTION_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "it",
        "its",
        "he",
        "she",
        "they",
        "them",
        "him",
        "her",
        "his",
        "hers",
        "their",
        "both",
        "all",
        "each",
        "every",
        "one",
        "other",
        "another",
        "some",
        "any",
        "no",
        "not",
        "none",
        "neither",
        "nor",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "has",
        "have",
        "had",
        "do",
        "does",
        "and",
        "or",
        "but",
        "while",
        "rather",
        "than",
        "instead",
        "of",
        "in",
        "on",
        "at",
        "to",
        "from",
        "by",
        "with",
        "within",
        "for",
        "as",
        "there",
        "here",
        "which",
        "who",
        "whose",
        "also",
        "too",
        "only",
        "just",
        "exactly",
        "actually",
        "really",
        "fact",
        "what",
        "where",
        "so",
        "can",
        "could",
        "see",
        "seen",
        "visible",
        "shows",
        "show",
        "image",
        "picture",
        "scene",
    ]
)


def lemma(word: str) -> str:
    """A word without its plural or third-person ending, in lower case, for comparing content."""
    word = word.lower()
    if word.endswith("'s"):
        word = word[:-2]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return word[:-1]
    return word
