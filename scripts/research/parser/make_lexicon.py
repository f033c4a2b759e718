"""Counts `lexicon.json` from FACTUAL's training file.

python -m scripts.research.parser.make_lexicon factual_sg/train.csv src/revise_captions/graphs
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import click

from revise_captions.graphs.triples import read_triples
from revise_captions.graphs.words import listed
from revise_captions.io.writing import write_text

#: Written "person" in the graphs, so never counted as objects.
_PEOPLE = listed("guy someone somebody anyone police couple one fire water")


def _stem(word: str) -> str:
    """A plural's singular; other words as they are ("building" is no form of "build" here)."""
    import simplemma

    if not word.endswith(("s", "men", "people", "children")):
        return word
    return str(simplemma.lemmatize(word, lang="en")).lower()


def count(path: Path) -> dict[str, list[str]]:
    """The lists of `lexicon.Lexicon`."""
    joined: Counter[tuple[str, str]] = Counter()
    parted: Counter[tuple[str, str]] = Counter()
    objects: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    owned: Counter[tuple[str, str]] = Counter()
    verbs: Counter[str] = Counter()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            words = row["caption"].lower().replace("-", " ").split()
            triples = read_triples(row["scene_graph"])
            names = {t[0] for t in triples} | {t[2] for t in triples if len(t) > 2 and t[1] != "is"}
            values = {(t[0].split()[-1], t[2]) for t in triples if len(t) > 2 and t[1] == "is"}
            edges = {t for t in triples if len(t) > 2 and t[1] != "is"}
            parts = {(t[0], t[2]) for t in edges if t[1] == "have"}
            verbs.update(t[1].split()[0] for t in edges)
            seen.update({_stem(word) for word in words})
            objects.update({_stem(word) for name in names for word in name.split()[-1:]})
            for pair in pairwise(words):
                if pair in parts:
                    owned[pair[0], _stem(pair[1])] += 1
                elif any(" ".join(pair) in name for name in names):
                    joined[pair[0], _stem(pair[1])] += 1
                elif (pair[1], pair[0]) in values:
                    parted[pair[0], _stem(pair[1])] += 1
    return _lists(joined, parted, objects, seen) | _more(owned, joined, parted, verbs, seen)


def _more(
    owned: Counter[tuple[str, str]],
    joined: Counter[tuple[str, str]],
    parted: Counter[tuple[str, str]],
    verbs: Counter[str],
    seen: Counter[str],
) -> dict[str, list[str]]:
    """Pairs of a whole and its part ("giraffe horn"), second words that mostly are parts, verbs."""
    rest: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for (_, second), times in owned.items():
        parts[second] += times
    for pair, times in (joined + parted).items():
        if pair[0] in {first for first, _ in owned}:
            rest[pair[1]] += times
    return {
        "owned": sorted(" ".join(p) for p, n in owned.items() if n > joined[p] + parted[p]),
        "parts": sorted(w for w, n in parts.items() if n > 1 and n > rest[w]),
        "verbs": sorted(v for v, n in verbs.items() if n > 1 and v.isalpha() and len(v) > 1),
    }


def _lists(
    joined: Counter[tuple[str, str]],
    parted: Counter[tuple[str, str]],
    objects: Counter[str],
    seen: Counter[str],
) -> dict[str, list[str]]:
    together: Counter[str] = Counter()
    apart: Counter[str] = Counter()
    for (first, _), times in joined.items():
        together[first] += times
    for (first, _), times in parted.items():
        apart[first] += times
    qualifying = {word for word, times in apart.items() if times > max(1, together[word])}
    return {
        "objects": sorted(w for w, n in objects.items() if n > 1 and n > 0.3 * seen[w]),
        "others": sorted(
            w for w, n in seen.items() if n > 9 and objects[w] < 0.15 * n and w not in _PEOPLE
        ),
        "joined": sorted(" ".join(p) for p, n in joined.items() if n > max(1, parted[p])),
        "parted": sorted(
            " ".join(p)
            for p, n in parted.items()
            if n > max(1, joined[p]) and p[0] not in qualifying
        ),
        "qualifying": sorted(qualifying),
    }


@click.command()
@click.argument("train", type=click.Path(exists=True, path_type=Path))
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(train: Path, folder: Path) -> None:
    """Count what FACTUAL's annotators did with nouns into FOLDER/lexicon.json."""
    lists = {key: "|".join(values) for key, values in count(train).items()}
    text = json.dumps(lists, indent=0, ensure_ascii=False) + "\n"
    write_text(folder / "lexicon.json", text)


if __name__ == "__main__":
    main()
