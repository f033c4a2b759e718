"""From raters' answers to consensus labels; everything that cannot be used is reported.

Labels follow the protocol of VNLI-Critique (`benchmarks.annotation_protocol`): a sentence is
nonfactual if more than half of its raters say neutral or contradiction, and a rationale is correct
if more than half of them say so (section 4.3). A tie decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from revise_captions.benchmarks.annotation_protocol import (
    AGAINST,
    Consensus,
    verdict,
    vote_of,
)
from revise_captions.benchmarks.types import Rating
from revise_captions.pipelines.annotate.answers.readers import Problem, RaterAnswer
from revise_captions.pipelines.annotate.tasks.interfaces import (
    ASKING,
    FIRST,
    INTERFACES,
    QUALITY,
    SECOND,
)
from revise_captions.pipelines.annotate.tasks.units import ItemTarget, Unit

UNKNOWN = "an item that is not in the key"
NOT_A_CHOICE = "an answer that is no choice"
TWICE = "answered twice: the later answer counts"
AGAIN = "answered twice, alike"
NO_RATIONALE = "no rationale for a neutral or contradiction"
NO_ANSWERS = "nobody answered"
TOO_FEW = "too few raters"
FEWER = "fewer raters than planned, used"
MORE = "more raters than planned, used"
TIE = "a tie"
CORRECT = QUALITY[1]
ORIGINAL, REVISED = "original", "revised"


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The consensus about one item.

    Attributes:
        labels: Each rater's answer in canonical spelling; for pairs: original, revised, …
        majority: The answer of more than half of the raters, if there is one.
        good: Whether the sentence is factual, the rationale correct, or the revised version truer;
            None for a tie or too few answers.
        verdict: The protocol's verdict, for sentences.
        ratings: The raters' votes, for sentences.
        rewrites: What raters wrote in the place of a sentence that they call wrong, the longest
            first.
    """

    unit: Unit
    asked: ItemTarget
    labels: Mapping[str, str]
    majority: str | None
    good: bool | None
    verdict: Consensus | None = None
    ratings: tuple[Rating, ...] = ()
    rewrites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectedAnswers:
    """The results of all answered items, and the problems found on the way."""

    results: tuple[ItemResult, ...]
    problems: tuple[Problem, ...]

    def of(self, asked: ItemTarget) -> dict[str, ItemResult]:
        """The decided results of one kind of item, by unit."""
        return {
            found.unit.id: found
            for found in self.results
            if found.asked is asked and found.good is not None
        }


def collect(
    units: Sequence[Unit],
    answers: Iterable[RaterAnswer | Problem],
    planned: int,
    least: int,
    only: Sequence[str],
) -> CollectedAnswers:
    """Groups answers by item and rater and decides every item.

    Args:
        units: The sampled sentences, from the key.
        answers: Answers as read, in order.
        planned: Planned raters per item.
        least: Fewest raters that decide an item.
        only: Interfaces that were exported.
    """
    asked = {
        unit.item(one): (unit, one) for unit in units for one in unit.asked() if ASKING[one] in only
    }
    problems: list[Problem] = []
    kept: dict[str, dict[str, RaterAnswer]] = {}
    for answer in answers:
        if isinstance(answer, Problem):
            problems.append(answer)
        elif answer.item not in asked:
            problems.append(Problem(UNKNOWN, answer.item, answer.rater, answer.place))
        elif (problem := _misses(answer, asked[answer.item][1])) is not None:
            problems.append(problem)
        else:
            _keep(answer, kept.setdefault(answer.item, {}), problems)
    results = []
    for item, (unit, one) in asked.items():
        given = kept.get(item, {})
        found = _result(unit, one, list(given.values()), least)
        problems += _reservations(item, one, given, found, planned, least)
        if given:
            results.append(found)
    return CollectedAnswers(tuple(results), tuple(problems))


def _misses(answer: RaterAnswer, asked: ItemTarget) -> Problem | None:
    """The problem that makes an answer unusable, if there is one."""
    main = INTERFACES[ASKING[asked]].main
    given = answer.said.get(main, "")
    if _canonical(given, asked) is not None:
        return None
    choices = ", ".join(INTERFACES[ASKING[asked]].controls[main])
    detail = f"`{main}` is “{given[:60]}”; expected one of {choices}"
    return Problem(NOT_A_CHOICE, answer.item, answer.rater, answer.place, detail)


def _canonical(given: str, asked: ItemTarget) -> str | None:
    if asked in (ItemTarget.ORIGINAL, ItemTarget.REVISED):
        vote = vote_of(given)
        return None if vote is None else str(vote)
    interface = INTERFACES[ASKING[asked]]
    same = {choice.casefold(): choice for choice in interface.controls[interface.main]}
    return same.get(" ".join(given.casefold().replace("_", " ").split()))


def _keep(answer: RaterAnswer, raters: dict[str, RaterAnswer], problems: list[Problem]) -> None:
    """Keeps one answer per rater: the latest if times are known, otherwise the last one read."""
    before = raters.get(answer.rater)
    if before is not None:
        kind = AGAIN if before.said == answer.said else TWICE
        problems.append(Problem(kind, answer.item, answer.rater, answer.place))
        if before.when and answer.when and answer.when < before.when:
            return
    raters[answer.rater] = answer


def _result(
    unit: Unit, asked: ItemTarget, answers: Sequence[RaterAnswer], least: int
) -> ItemResult:
    main = INTERFACES[ASKING[asked]].main
    labels = {
        answer.rater: _shown(unit, _canonical(answer.said[main], asked) or "", asked)
        for answer in answers
    }
    most = majority(list(labels.values()))
    enough = len(labels) >= least
    if asked in (ItemTarget.ORIGINAL, ItemTarget.REVISED):
        ratings = tuple(rating_of(answer) for answer in answers)
        if not ratings:
            return ItemResult(unit, asked, labels, None, None)
        found = verdict(ratings)
        against = sum(rating.vote in AGAINST for rating in ratings)
        decided = enough and 2 * against != len(ratings)
        factual = found.factual if decided else None
        texts = {answer.said.get("rewrite", "") for answer in answers} - {""}
        rewrites = tuple(sorted(texts, key=lambda text: (-len(text), text)))
        return ItemResult(unit, asked, labels, most, factual, found, ratings, rewrites)
    good = CORRECT if asked is ItemTarget.CRITIQUE else REVISED
    votes = sum(label == good for label in labels.values())
    decided = enough and 2 * votes != len(labels)
    return ItemResult(unit, asked, labels, most, 2 * votes > len(labels) if decided else None)


def _shown(unit: Unit, label: str, asked: ItemTarget) -> str:
    """For pairs, the version that “First” or “Second” stands for."""
    if asked is not ItemTarget.PREFERENCE or label not in (FIRST, SECOND):
        return label
    return REVISED if (label == FIRST) == unit.swapped else ORIGINAL


def rating_of(answer: RaterAnswer) -> Rating:
    """An answer about a sentence as a rating of the protocol."""
    vote = vote_of(answer.said["label"])
    if vote is None:
        raise ValueError(f"no label: {answer.said['label']!r}")
    needs = {"yes": True, "no": False}.get(answer.said.get("needs_image", "").lower())
    rationale = answer.said.get("rationale", "") if vote in AGAINST else ""
    return Rating(answer.rater, vote, rationale, needs)


def majority(labels: Sequence[str]) -> str | None:
    """What more than half of the labels are."""
    return next((one for one in set(labels) if 2 * labels.count(one) > len(labels)), None)


def _reservations(
    item: str,
    asked: ItemTarget,
    given: Mapping[str, RaterAnswer],
    found: ItemResult,
    planned: int,
    least: int,
) -> list[Problem]:
    """The problems of an item and of its answers."""
    problems = []
    number = len(given)
    count = f"{number} of {planned}"
    if number == 0:
        return [Problem(NO_ANSWERS, item, detail=str(asked))]
    if number < least:
        problems.append(Problem(TOO_FEW, item, detail=f"{asked}: {count}"))
    elif found.good is None:
        problems.append(Problem(TIE, item, detail=f"{asked}: {', '.join(found.labels.values())}"))
    elif number < planned:
        problems.append(Problem(FEWER, item, detail=f"{asked}: {count}"))
    if number > planned:
        problems.append(Problem(MORE, item, detail=f"{asked}: {count}"))
    silent = [r.rater for r in found.ratings if r.vote in AGAINST and not r.rationale]
    problems += [Problem(NO_RATIONALE, item, rater, given[rater].place) for rater in silent]
    return problems
