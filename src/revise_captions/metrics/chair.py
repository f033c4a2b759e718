"""CHAIR: which COCO objects a caption mentions that its image does not have (Rohrbach et al. 2018).

    CHAIR_i    share of the objects mentioned in all captions that are not in their images
    CHAIR_s    share of the captions that mention such an object
    value      1 − CHAIR_i of the caption; 1 if it mentions no object, as in the released code

An image's objects are those of its instances and those that its reference captions mention. As in
the released code, each mention counts, where the paper's formula has sets; two words take
precedence over one ("hot dog"); "baby" or "adult" before an animal and "passenger" before a vehicle
are not persons; "bow tie" is a tie, "toilet seat" is not a chair. The words for each object come
from the user's copy of the authors' `synonyms.txt`; without it only COCO's category names count, so
fewer mentions are found. The released code accepts any two words from a list of its own, and uses
another library's singulars.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from revise_captions.errors import UserError, mended_by_user
from revise_captions.io.rows import BadRow, Row
from revise_captions.layouts.coco import images_of, listed
from revise_captions.metrics.protocol import (
    Metric,
    MetricInput,
    MetricScore,
    Needs,
    StoredImage,
)
from revise_captions.metrics.registry import MetricOptions, scored_alone
from revise_captions.records import Span

SYNONYMS = "synonyms.txt"
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
#: Possible plurals; excludes "training" and "bore", whose lemmas are COCO objects.
_PLURAL = re.compile(r".*(s|men)|children|mice|geese")
#: By COCO supercategory: words that do not name an object themselves when before one.
_BEFORE = {"animal": ("baby", "adult"), "vehicle": ("passenger",)}
#: Two words that are one object or, like "home plate", none.
_PHRASES = {"bow tie": "tie", "toilet seat": "toilet", "home plate": ""}


@cache
def _singular(word: str) -> str:
    import simplemma

    if word == "skies":  # simplemma would give "ski"
        return "sky"
    return str(simplemma.lemmatize(word, lang="en")) if _PLURAL.fullmatch(word) else word


def _key(words: Sequence[str]) -> str:
    return " ".join([*words[:-1], _singular(words[-1])])


@dataclass(frozen=True, slots=True)
class ObjectWords:
    """Which words mean which object.

    Attributes:
        objects: The object for one or several words, the last in the singular; "" for none.
        longest: Most words of a key.
    """

    objects: Mapping[str, str]
    longest: int

    def mentioned(self, text: str) -> list[str]:
        """The objects that a text mentions, in order and with repetitions."""
        words = _WORD.findall(text.lower())
        found: list[tuple[str, str]] = []
        at = 0
        while at < len(words):
            sizes = range(min(self.longest, len(words) - at), 0, -1)
            keys = {size: _key(words[at : at + size]) for size in sizes}
            size = next((n for n, key in keys.items() if key in self.objects), 0)
            if size and (name := self.objects[keys[size]]):
                found.append((keys[size], name))
            at += size or 1
        return [name for key, name in found if key != "seat" or "toilet" not in words]


def object_words(synonyms: Iterable[str], categories: Mapping[str, str]) -> ObjectWords:
    """The words from a list of synonyms, and from COCO's categories.

    Args:
        synonyms: Lines, each an object's name and its synonyms, separated by commas.
        categories: COCO's supercategories, by category name.
    """
    objects: dict[str, str] = {}
    for line in synonyms:
        names = [part.strip().lower() for part in line.split(",") if part.strip()]
        objects |= {_key(name.split()): names[0] for name in names}
    for name in categories:
        objects.setdefault(_key(name.lower().split()), name.lower())
    filed = {objects[_key(name.lower().split())]: under for name, under in categories.items()}
    more = {
        f"{before} {key}": name
        for key, name in objects.items()
        for before in _BEFORE.get(filed.get(name, ""), ())
    }
    more |= {
        phrase: objects.get(of, "") for phrase, of in _PHRASES.items() if not of or of in objects
    }
    objects |= more
    return ObjectWords(objects, max((key.count(" ") + 1 for key in objects), default=0))


@dataclass(frozen=True, slots=True)
class CocoTruth:
    """The content of COCO's files.

    Attributes:
        words: The words for objects.
        images: Ids by file name.
        objects: Of each image with instances or captions, by id.
        source: Where the words come from.
    """

    words: ObjectWords
    images: Mapping[str, object]
    objects: Mapping[object, frozenset[str]]
    source: str

    def of(self, image: object) -> frozenset[str] | None:
        """The objects of an image; None if COCO's files do not have it."""
        if not isinstance(image, StoredImage):
            return None
        name = Path(image.ref.path or image.ref.url or "").name
        known = self.images.get(name)
        return None if known is None else self.objects.get(known, frozenset())


def read_truth(folder: Path) -> CocoTruth:
    """Reads `instances_*.json`, `captions_*.json` and, if it exists, `synonyms.txt`.

    Raises:
        UserError: There are no such files, or they are not COCO's.
    """
    instances, captions = (sorted(folder.glob(f"{kind}_*.json")) for kind in _KINDS)
    if not instances or not captions:
        raise UserError(
            f"{folder} lacks COCO's instances_*.json or captions_*.json",
            hint="give a folder with both, such as annotations/ of COCO 2014: chair=DIR",
        )
    path = folder / SYNONYMS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    categories = {
        number: (str(row["name"]), str(row.get("supercategory", "")))
        for file in instances
        for row in _rows(file, "categories")
        for number in [row["id"]]
    }
    words = object_words(lines, dict(categories.values()))
    objects: dict[object, set[str]] = {}
    for file in instances:
        for row in _rows(file, "annotations"):
            with mended_by_user(f"{file}: an annotation is not COCO's"):
                name, _ = categories[row["category_id"]]
                own = words.objects[_key(name.lower().split())]
                objects.setdefault(row["image_id"], set()).add(own)
    for file in captions:
        for row in _rows(file, "annotations"):
            with mended_by_user(f"{file}: an annotation is not COCO's"):
                own_objects = words.mentioned(str(row["caption"]))
                objects.setdefault(row["image_id"], set()).update(own_objects)
    images = {
        Path(where).name: number
        for file in (*instances, *captions)
        for number, where in images_of(file, str(file)).items()
    }
    source = SYNONYMS if lines else "COCO's category names alone"
    return CocoTruth(words, images, {k: frozenset(v) for k, v in objects.items()}, source)


_KINDS = ("instances", "captions")


def _rows(path: Path, wanted: str) -> Iterator[Mapping[str, object]]:
    for row in listed(path, str(path), wanted):
        if isinstance(row, BadRow):
            raise UserError(f"{path}: {row.detail}")
        assert isinstance(row, Row)
        yield row.data


class Chair:
    """1 − CHAIR_i of each text, with the counts of both figures."""

    name = "chair"
    threshold: float | None = None
    needs: frozenset[Needs] = frozenset()

    def __init__(self, truth: CocoTruth) -> None:
        self.truth = truth
        there = sorted((str(image), sorted(names)) for image, names in truth.objects.items())
        said = repr((sorted(truth.words.objects.items()), there))
        digest = hashlib.sha256(said.encode()).hexdigest()[:12]
        self.settings = {"metric": "1 − CHAIR_i", "words": truth.source, "objects": digest}

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        return [self._score(item) for item in items]

    def score_parts(
        self, items: Sequence[MetricInput], spans: Sequence[Sequence[Span]]
    ) -> list[list[MetricScore]]:
        """Each part as a text of its own."""
        return scored_alone(self, items, spans)

    def _score(self, item: MetricInput) -> MetricScore:
        there = self.truth.of(item.image)
        if there is None:
            return MetricScore(None, "the image is not in COCO's files")
        found = self.truth.words.mentioned(item.text)
        wrong = sum(name not in there for name in found)
        return MetricScore(
            1 - wrong / len(found) if found else 1.0,
            counts={"CHAIR_i": (wrong, len(found)), "CHAIR_s": (bool(wrong), 1)},
        )


def load_chair(argument: str, options: MetricOptions) -> Metric:
    """1 − CHAIR_i: share of mentioned COCO objects in the image =DIR, with COCO's annotations."""
    if not argument:
        raise UserError("chair needs COCO's annotations", hint="chair=DIR")
    return Chair(read_truth(Path(argument)))
