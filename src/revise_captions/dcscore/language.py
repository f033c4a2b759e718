"""Language models as decomposer, matcher and verifier, through any engine, at temperature 0.

Answers must be JSON of a fixed schema (`prompts`); engines that can decode under a schema do, and
others are asked for it. Any other answer is `unscored` with its reason: there is no second try, and
nothing is extracted from prose.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from revise_captions.dcscore import prompts
from revise_captions.dcscore.content import place_of
from revise_captions.dcscore.units import (
    Decomposition,
    InformationUnit,
    MatchTask,
    UnitMatch,
    UnitVerdict,
    UnscoredSentence,
    VerifyTask,
)
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Engine,
    Failed,
    Prompt,
    WritesJson,
)
from revise_captions.records import Span, Unscored
from revise_captions.text.sentences import split

#: With less total probability on Yes and No, there is no answer.
LEAST_MASS = 0.5
#: Token limits of answers: a sentence's units, a batch of matches, one word.
_UNITS_TOKENS, _MATCH_TOKENS, _WORD_TOKENS = 1024, 2048, 4
#: Units per question about matches.
_BATCH = 40
PROSE = "the model's answer is not the JSON asked for"
CUT = "the model's answer was cut at its limit"
SKIPPED = "the model's answer leaves this unit out"
_FENCE = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)


def answers_of(
    engine: Engine, asked: Sequence[Prompt], schema: Mapping[str, Any], limit: int
) -> list[dict[str, Any] | str]:
    """For each prompt, the JSON object in its answer, or why there is none."""
    if not asked:
        return []
    if isinstance(engine, WritesJson):
        return list(map(_object, engine.generate_json(asked, schema, limit)))
    return list(map(_object, engine.generate(asked, limit)))


def _object(written: Completion | Failed) -> dict[str, Any] | str:
    if isinstance(written, Failed):
        return written.detail or str(written.reason)
    text = written.text.rpartition("</think>")[2]
    fenced = _FENCE.match(text)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return PROSE if written.complete else CUT
    return found if isinstance(found, dict) else PROSE


class LanguageDecomposer:
    """Asks a model about each sentence, in the context of its caption."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def settings(self) -> Mapping[str, str]:
        own = {"decomposer": "language model", "prompts": prompts.VERSION}
        return {f"decomposer-{k}": v for k, v in self.engine.settings.items()} | own

    def decompose(self, texts: Sequence[str]) -> list[Decomposition]:
        """One decomposition per text; only a sentence whose answer cannot be read is unscored."""
        spans = [tuple(split(text)) for text in texts]
        asked = [
            prompts.decomposition(text, span.of(text))
            for text, own in zip(texts, spans, strict=True)
            for span in own
        ]
        answers = iter(answers_of(self.engine, asked, prompts.UNITS_SCHEMA, _UNITS_TOKENS))
        return [
            _decomposition(text, own, [next(answers) for _ in own])
            for text, own in zip(texts, spans, strict=True)
        ]


def _decomposition(
    text: str, spans: tuple[Span, ...], answers: Sequence[dict[str, Any] | str]
) -> Decomposition:
    units: list[InformationUnit] = []
    unscored: list[UnscoredSentence] = []
    for k, (span, answer) in enumerate(zip(spans, answers, strict=True)):
        said = answer if isinstance(answer, str) else _units(answer)
        if isinstance(said, str):
            unscored.append(UnscoredSentence(k, said))
            continue
        units += [
            InformationUnit(unit, k, place_of(text, span, unit), shows) for unit, shows in said
        ]
    return Decomposition(text, spans, tuple(units), tuple(unscored))


def _units(answer: Mapping[str, Any]) -> list[tuple[str, bool]] | str:
    items = answer.get("units")
    if not isinstance(items, list):
        return PROSE
    found = []
    for item in items:
        text = item.get("text") if isinstance(item, dict) else None
        shows = item.get("descriptive") if isinstance(item, dict) else None
        if not isinstance(text, str) or not isinstance(shows, bool):
            return PROSE
        if text.strip():
            found.append((text.strip(), shows))
    return found


class LanguageMatcher:
    """Asks a model which of the reference's units state each unit."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def settings(self) -> Mapping[str, str]:
        own = {"matcher": "language model", "prompts": prompts.VERSION}
        return {f"matcher-{k}": v for k, v in self.engine.settings.items()} | own

    def match(self, tasks: Sequence[MatchTask]) -> list[tuple[UnitMatch, ...]]:
        """One match per unit; a unit that the answer leaves out is unscored."""
        parts = [
            [unit.text for unit in task.caption.units[start : start + _BATCH]]
            for task in tasks
            for start in range(0, len(task.caption.units), _BATCH)
        ]
        owners = [task for task in tasks for _ in range(0, len(task.caption.units), _BATCH)]
        references = [[unit.text for unit in task.reference.units] for task in owners]
        asked = [prompts.matching(part, own) for part, own in zip(parts, references, strict=True)]
        answers = answers_of(self.engine, asked, prompts.MATCHES_SCHEMA, _MATCH_TOKENS)
        found = iter(
            [
                match
                for part, own, answer in zip(parts, references, answers, strict=True)
                for match in _matches(answer, len(part), len(own))
            ]
        )
        return [tuple(next(found) for _ in task.caption.units) for task in tasks]


def _matches(answer: dict[str, Any] | str, units: int, references: int) -> list[UnitMatch]:
    items = answer.get("matches") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        return [UnitMatch(unscored=answer if isinstance(answer, str) else PROSE)] * units
    found = [UnitMatch(unscored=SKIPPED)] * units
    for item in items:
        number = item.get("unit") if isinstance(item, dict) else None
        said = item.get("references") if isinstance(item, dict) else None
        if type(number) is not int or not 1 <= number <= units or not isinstance(said, list):
            continue
        inside = all(type(k) is int and 1 <= k <= references for k in said)
        found[number - 1] = (
            UnitMatch(tuple(dict.fromkeys(k - 1 for k in said)))
            if inside
            else UnitMatch(unscored=PROSE)
        )
    return found


class LanguageVerifier:
    """Asks a vision–language model about each unit: DCScore's question if there is a reference,
    otherwise FeedQuill's.

    P(correct) is P(Yes) among Yes and No; an engine without log-probabilities is asked to write
    the answer, and only "yes" and "no" count.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def settings(self) -> Mapping[str, str]:
        own = {"verifier": "language model", "prompts": prompts.VERSION}
        return {f"verifier-{k}": v for k, v in self.engine.settings.items()} | own

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """One verdict per unit."""
        asked = [
            prompts.verification(task.image, unit.text, task.reference)
            if task.reference.strip()
            else prompts.training_verification(task.image, unit.text)
            for task in tasks
            for unit in task.caption.units
        ]
        scores = self.engine.answer_logprobs(asked, prompts.WORDS) if asked else []
        verdicts = list(map(_verdict, scores))
        silent = [
            k
            for k, score in enumerate(scores)
            if isinstance(score, Failed) and score.reason is Unscored.NO_LOGPROBS
        ]
        written = self.engine.generate([asked[k] for k in silent], _WORD_TOKENS) if silent else []
        for k, text in zip(silent, written, strict=True):
            verdicts[k] = _said(text)
        answers = iter(verdicts)
        return [tuple(next(answers) for _ in task.caption.units) for task in tasks]


def _verdict(score: AnswerScores | Failed) -> UnitVerdict:
    if isinstance(score, Failed):
        return UnitVerdict(None, unscored=str(score.reason))
    if score.answer_mass < LEAST_MASS:
        return UnitVerdict(None, unscored=str(Unscored.NO_ANSWER))
    yes, no = (math.exp(value) for value in score.logprobs)
    p = round(yes / (yes + no), 4)
    return UnitVerdict(p >= 0.5, p)


def _said(written: Completion | Failed) -> UnitVerdict:
    if isinstance(written, Failed):
        return UnitVerdict(None, unscored=str(written.reason))
    word = written.text.strip().strip(".!'\"*").lower()
    if word not in ("yes", "no"):
        return UnitVerdict(None, unscored=str(Unscored.NO_ANSWER))
    return UnitVerdict(word == "yes")
