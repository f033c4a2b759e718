"""DCScore against hand-made units, the exact truth and people, beside floors and targets.

    python -m scripts.research.dcscore.evaluate DATA [--only picture-book] [--write]

DATA holds `decapbench`, `faithscore` and `flickr8k_expert`; the picture-book rows need none of it.

**DeCapBench**: a unit of ours covers one made by hand where it has more than half of its content
lemmas, and is supported by one likewise. Images are split into two halves: the first was looked at
while the decomposer was made, the second is reported.

**FaithScore**: stage 1 says which sub-sentences are descriptive. The cues were made with the images
in even places (by id), and are reported on those in odd places.

**Picture book**: each caption's descriptive units are judged by the bundled critic and by the
oracle, both in the place of the sentence that says them; r over captions, one per picture. What is
missing is the verifier's or the units': two more rows have the critic on the sentences as they
stand, and the oracle on our units, both against the share of sentences that is true.

**Flickr8k-Expert**: reference-only, as no verifier for photographs works offline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from revise_captions.critic.options import CriticOptions
from revise_captions.dcscore.decomposers.graph import GraphDecomposer
from revise_captions.engines.model_spec import Placement
from revise_captions.graphs.triples import lemmas
from revise_captions.graphs.words import listed
from revise_captions.stats.classification import macro_f1, one_class_macro_f1
from revise_captions.stats.correlations import correlation
from revise_captions.stats.paired_tests import Floats, measured
from revise_captions.text.sentences import split
from scripts.research.frame.figures import ReportedFigure, share_of
from scripts.research.frame.report import table_command

#: Captions of each kind of picture-book text.
CAPTIONS = 140
#: DeCapBench's images of the first half.
TUNED = 106
#: Images of Flickr8k that are scored, the first ones of the file: all take some ten minutes.
IMAGES = 60
#: Table 1 of the paper: another data set (500 captions), GPT-4o at every step.
PEERS = "DCScore with GPT-4o on its own 500 captions .533 (τ), PCC .661"
_WINDOW = 256
_EMPTY = listed(
    "the a an there is are be was were it its their his her of and or to with that which this "
    "these those have has image show shows feature features picture photo in on at by for from "
    "as s not very some"
)
#: Units number what bears one name: "the rocks_0", "the rocks_1".
_INDEX = re.compile(r"_\d+\b")


def content(text: str) -> frozenset[str]:
    """The lemmas of a text's words, without those that any unit has."""
    plain = _INDEX.sub("", text.lower())
    spaced = "".join(c if c.isalnum() else " " for c in plain)
    return frozenset(lemmas(word) for word in spaced.split() if word not in _EMPTY) - {""}


def covers(part: frozenset[str], whole: frozenset[str]) -> bool:
    """Whether more than half of `part`'s words are among `whole`'s."""
    return bool(part) and 2 * len(part & whole) > len(part)


def share(parts: Sequence[frozenset[str]], wholes: Sequence[frozenset[str]]) -> float:
    """The share of `parts` that one of `wholes` covers; NaN without parts."""
    if not parts:
        return float("nan")
    return sum(any(covers(part, whole) for whole in wholes) for part in parts) / len(parts)


def _windows(text: str, count: int = 4) -> list[str]:
    """The floor without structure: every four words of a sentence next to each other."""
    rows = (span.of(text).split() for span in split(text))
    shifted = ((islice(words, k, None) for k in range(count)) for words in rows)
    return [" ".join(part) for row in shifted for part in zip(*row, strict=False)]


def _decapbench(data: Path) -> Iterator[ReportedFigure]:
    with (data / "decapbench" / "oracle_facts.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines][TUNED:]
    texts = [row["oracle_caption"] for row in rows]
    gold = [[content(unit) for unit in row["oracle_facts"]] for row in rows]
    made = [[unit.text for unit in one.units] for one in GraphDecomposer().decompose(texts)]
    ours, floor = (
        [list({words for unit in units if (words := content(unit))}) for units in found]
        for found in (made, list(map(_windows, texts)))
    )
    name = "DeCapBench, units: objects, qualities, clauses"
    yield share_of(
        f"{name}: covered",
        [share(g, o) for g, o in zip(gold, ours, strict=True)],
        floor=[share(g, f) for g, f in zip(gold, floor, strict=True)],
        floor_name="4-grams",
        target=0.8,
        note=f"{sum(map(len, made)) / sum(map(len, gold)):.2f} for one made by hand",
    )
    yield share_of(
        f"{name}: supported",
        [share(o, g) for g, o in zip(gold, ours, strict=True)],
        floor=[share(f, g) for g, f in zip(gold, floor, strict=True)],
        floor_name="4-grams",
        target=0.9,
    )


def _faithscore(data: Path) -> Iterator[ReportedFigure]:
    from revise_captions.dcscore.decomposers.descriptive import is_descriptive

    with (data / "faithscore" / "annotation.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    odd = set(sorted({row["id"] for row in rows})[1::2])
    said, labels, images = [], [], []
    for row in rows:
        before = True
        for part, label in row["stage 1"].items():
            before = is_descriptive(part, before)
            if row["id"] in odd:
                said.append(float(before))
                labels.append(float(bool(label)))
                images.append(row["id"])
    truth = np.array(labels)
    found = measured(macro_f1, said, truth, images)
    yield ReportedFigure(
        "FaithScore, descriptive or not: macro-F1",
        found.value or 0.0,
        found.low,
        found.high,
        found.rows,
        floor=one_class_macro_f1(truth),
        floor_name="one class",
        target=0.8,
    )


class _Caption(NamedTuple):
    """Shares of a caption's units and sentences that are correct.

    `said`: of the units, by the critic; `true`: by the oracle; the same of `sentences`. `unjudged`:
    units that the oracle cannot judge.
    """

    said: float
    true: float
    sentences_said: float
    sentences_true: float
    words: int
    units: int
    unjudged: int


def _picture_book(_: Path) -> Iterator[ReportedFigure]:
    for balanced in (False, True):
        every = list(_captions(balanced=balanced))
        rows = [one for one in every if one.units]
        said, true, by_sentence, sentences, words = np.array(rows, dtype=float).T[:5]
        name = "42 % of sentences wrong" if balanced else "fourteen captioners"
        units, unjudged = sum(one.units for one in rows), sum(one.unjudged for one in every)
        yield _correlated(
            f"{name}: s_p against the truth",
            said,
            true,
            floor=_pearson(words, true),
            floor_name="length",
            target=0.95,
            note=f"{units:,} units, {unjudged:,} more that the oracle cannot judge",
        )
        yield _correlated(
            f"{name}: whole sentences by the critic against the truth", by_sentence, sentences
        )
        yield _correlated(f"{name}: units by the oracle against true sentences", true, sentences)


def _correlated(name: str, one: Floats, other: Floats, **more: Any) -> ReportedFigure:
    found = measured(_pearson, one, other, [str(k) for k in range(len(one))])
    return ReportedFigure(
        f"Picture book, {name}, r", found.value or 0.0, found.low, found.high, len(one), **more
    )


def _pearson(one: Floats, other: Floats) -> float:
    return correlation("pearson", one, other)


def _captions(*, balanced: bool) -> Iterator[_Caption]:
    from revise_captions.critic.load import load_critic
    from revise_captions.critic.protocol import JudgeRequest
    from revise_captions.dcscore.units import VerifyTask
    from revise_captions.dcscore.verifiers import CriticVerifier
    from revise_captions.picturebook.oracle.truth import Truth, oracle
    from scripts.research.frame.held_out import held_out

    critic = load_critic("bundled", CriticOptions(Placement(device="cpu")))
    items = held_out("test", CAPTIONS, balanced=balanced)
    captions = GraphDecomposer().decompose([item.text for item in items])
    tasks = [VerifyTask(i.image, caption) for i, caption in zip(items, captions, strict=True)]
    verdicts = CriticVerifier(critic).verify(tasks)
    judged = critic.judge([JudgeRequest(item.image, item.text, item.spans) for item in items])
    for item, caption, answers, whole in zip(items, captions, verdicts, judged, strict=True):
        asked = [
            (unit, answer)
            for unit, answer in zip(caption.units, answers, strict=True)
            if unit.descriptive and answer.p_correct is not None
        ]
        truths = [
            oracle(item.scene, item.text[: caption.sentences[unit.sentence].start], unit.text)
            for unit, _ in asked
        ]
        found = [
            (bool(answer.correct), truth is Truth.TRUE)
            for (_, answer), truth in zip(asked, truths, strict=True)
            if truth in (Truth.TRUE, Truth.FALSE)
        ]
        said, true = np.mean(found, axis=0) if found else (np.nan, np.nan)
        factual = [v.p_factual is None or v.p_factual >= critic.threshold for v in whole]
        yield _Caption(
            float(said), float(true), float(np.mean(factual)), float(np.mean(item.factual)),
            len(item.text.split()), len(found), len(truths) - len(found),
        )  # fmt: skip


def _flickr8k(data: Path) -> Iterator[ReportedFigure]:
    from revise_captions.dcscore.offline_matcher import OfflineMatcher
    from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.frame import people

    encoder = load_encoder(device="cpu")
    every = people.flickr8k(data / "flickr8k_expert" / "flickr8k_expert.json")
    images = set(list(dict.fromkeys(item.image for item in every))[:IMAGES])
    items = [item for item in every if item.image in images]
    scorer = CaptionScorer(GraphDecomposer(), OfflineMatcher(encoder), None)
    tasks = [CaptionTask(item.text, None, item.references) for item in items]
    parts = (tasks[start : start + _WINDOW] for start in range(0, len(tasks), _WINDOW))
    ours = np.array([one.score.value or 0.0 for part in parts for one in scorer.score(part)])
    yield people.figure(
        "Flickr8k-Expert τ-c: DCScore F, reference-only",
        items,
        ours,
        floor=people.figure("", items, people.cosine(items, encoder)).value,
        floor_name="cosine to the best reference",
        peers=PEERS,
        note=f"{IMAGES} images",
    )


main = table_command(
    "dcscore",
    {
        "faithscore": ("faithscore/annotation.jsonl", _faithscore),
        "decapbench": ("decapbench/oracle_facts.jsonl", _decapbench),
        "picture-book": ("", _picture_book),
        "flickr8k": ("flickr8k_expert/flickr8k_expert.json", _flickr8k),
    },
    "Print every figure about DCScore as a Markdown table.",
)

if __name__ == "__main__":
    main()
