"""DCScore as the authors' code computes it, with prompts from the user's copy of that code.

One question decomposes the whole caption, with its objects numbered ("cat_0"); three samples match
the facts with the reference's, three verify them by image and reference; each match with each
verdict gives a score, and the nine are averaged (`score`, protocol `released`). The prompts are
read from the strings in `evaluation_decapbench.py`; that file is never run, and none of it is
shipped.

What differs: a sample whose answer cannot be read, or is about other facts, is left out, where the
code asks for everything again, up to five times; facts stated twice count once.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from revise_captions.dcscore.content import place_of
from revise_captions.dcscore.score import RELEASED, score
from revise_captions.dcscore.scorer import CaptionTask, ScoredCaption, by_hand
from revise_captions.dcscore.units import (
    Decomposition,
    InformationUnit,
    UnitMatch,
    UnitVerdict,
    UnscoredSentence,
)
from revise_captions.engines.protocol import (
    Completion,
    Engine,
    Failed,
    Picture,
    Prompt,
    Sampling,
)
from revise_captions.engines.templates import filled
from revise_captions.errors import UserError
from revise_captions.records import Span
from revise_captions.text.sentences import split

FILE = "evaluation_decapbench.py"
SYSTEM = "You are a helpful assistant."
TOKENS = 2000
#: Number of samples of matches and of verdicts, and their temperature.
SAMPLES = 3
_HOT, _VERIFYING = Sampling(temperature=1.0), Sampling(temperature=0.3)
UNREADABLE = "the model's answer is not the list asked for"
_NUMBERED = re.compile(r"\b([A-Za-z]+)_\d+\b")
Facts = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ReleasedPrompts:
    """The authors' prompts, with `{name}` for data and other braces doubled.

    Attributes:
        extract: Takes `caption`.
        match: Takes `predicted_atomic_facts`, `oracle_atomic_facts`.
        verify: Takes `reference_caption`, `atomic_facts`.
    """

    extract: str
    match: str
    verify: str

    @classmethod
    def read(cls, folder: Path) -> ReleasedPrompts:
        """Reads the prompts from the file in `folder`. Raises `UserError` if they are not there."""
        path = folder / FILE
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, SyntaxError) as error:
            raise UserError(
                f"cannot read the prompts in {path}: {error}",
                hint=f"--prompts is the folder of the authors' {FILE} "
                "(github.com/MAGAer13/DeCapBench, eval)",
            ) from None
        texts = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name) and isinstance(node.value.value, str)
        }
        names = ("extract_prompt", "match_prompt", "verify_prompt")
        if missing := [name for name in names if name not in texts]:
            raise UserError(f"{path} has no text {missing[0]}", hint="is it the authors' file?")
        return cls(*(texts[name] for name in names))


def facts_of(answer: Completion | Failed) -> Facts | str:
    """The list of facts in an answer's fenced block, in JSON or Python; or why there is none."""
    if isinstance(answer, Failed):
        return answer.detail or str(answer.reason)
    text = answer.text.rpartition("```json")[2].partition("```")[0].strip()
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(found, list) and all(
            isinstance(one, dict) and isinstance(one.get("fact"), str) for one in found
        ):
            return found
    return UNREADABLE


def _listed(facts: Facts) -> str:
    return "```json[\n" + "".join(f"  {_json(one)},\n" for one in facts) + "]\n```"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ReleasedScorer:
    """Scores captions as the authors' code does; see the module.

    Attributes:
        prompts: The authors'.
        extractor: The model that decomposes captions.
        matcher: The one that matches facts.
        verifier: The vision–language model that verifies them.
    """

    prompts: ReleasedPrompts
    extractor: Engine
    matcher: Engine
    verifier: Engine

    @property
    def settings(self) -> Mapping[str, str]:
        """Everything that determines a score."""
        parts = (("decomposer", self.extractor), ("matcher", self.matcher),
                 ("verifier", self.verifier))  # fmt: skip
        models = {f"{who}-{k}": v for who, engine in parts for k, v in engine.settings.items()}
        own = {"metric": "dcscore", "protocol": RELEASED, "prompts": "the authors'"}
        return {**models, **own, "samples": f"{SAMPLES}x{SAMPLES}"}

    def score(self, tasks: Sequence[CaptionTask]) -> list[ScoredCaption]:
        """One result per task, in order."""
        asked = [self._prompt(self.prompts.extract, {"caption": task.caption}) for task in tasks]
        answers = self.extractor.generate(asked, TOKENS, _HOT) if asked else []
        facts = map(facts_of, answers)
        return [self._scored(task, said) for task, said in zip(tasks, facts, strict=True)]

    def _scored(self, task: CaptionTask, facts: Facts | str) -> ScoredCaption:
        text = "\n".join(task.references)
        units = task.units if task.units is not None else task.references
        reference = by_hand(units, text)
        caption = _decomposed(task.caption, facts)
        if isinstance(facts, str) or not caption.units or task.image is None:
            why = "no image" if task.image is None else ""
            return _unscored(caption, reference, task, why)
        facts = list({one["fact"]: one for one in reversed(facts)}.values())[::-1]
        given = [{k: v for k, v in one.items() if k != "relevance"} for one in facts]
        oracle = [{"id": k, "fact": unit.text} for k, unit in enumerate(reference.units)]
        values = {"predicted_atomic_facts": _listed(given), "oracle_atomic_facts": _listed(oracle)}
        match = self._prompt(self.prompts.match, values)
        values = {"reference_caption": reference.text, "atomic_facts": _listed(given)}
        parts = (Picture(task.image), *filled(self.prompts.verify, values))
        verify = Prompt(parts, SYSTEM)
        answers = self.matcher.generate([match] * SAMPLES, TOKENS, _HOT)
        every = (_matches(facts_of(answer), facts, len(oracle)) for answer in answers)
        matched = [found for found in every if found is not None]
        answers = self.verifier.generate([verify] * SAMPLES, TOKENS, _VERIFYING)
        judged = (_verdicts(facts_of(answer), facts) for answer in answers)
        verified = [found for found in judged if found is not None]
        if not (matched and verified):
            return _unscored(caption, reference, task, UNREADABLE)
        scores = [
            score(caption.units, verdicts, reference.units, matches, protocol=RELEASED)
            for verdicts, matches in product(verified, matched)
        ]
        whole = replace(scores[0], trials=tuple(scores))
        return ScoredCaption(
            caption, verified[0], matched[0], reference, task.units is not None, whole
        )

    @staticmethod
    def _prompt(template: str, values: Mapping[str, str]) -> Prompt:
        return Prompt(filled(template, values), SYSTEM)


def _decomposed(caption: str, facts: Facts | str) -> Decomposition:
    """The facts as units, each assigned to the sentence with most of its words."""
    if isinstance(facts, str):
        spans = tuple(split(caption))
        return Decomposition(caption, spans, (), (UnscoredSentence(0, facts),))
    facts = list({one["fact"]: one for one in reversed(facts)}.values())[::-1]
    placed = by_hand([_NUMBERED.sub(r"\1", one["fact"]) for one in facts], caption)
    units = [
        InformationUnit(
            one["fact"],
            unit.sentence,
            _place(caption, placed, unit),
            one.get("relevance") == 1,
        )
        for one, unit in zip(facts, placed.units, strict=True)
    ]
    return Decomposition(caption, placed.sentences, tuple(units))


def _place(caption: str, placed: Decomposition, unit: InformationUnit) -> Span:
    home = placed.sentences[unit.sentence] if placed.sentences else Span(0, 0)
    return place_of(caption, home, unit.text)


def _matches(answer: Facts | str, facts: Facts, oracle: int) -> tuple[UnitMatch, ...] | None:
    said = {} if isinstance(answer, str) else {one["fact"]: one for one in answer}
    if set(said) != {one["fact"] for one in facts}:
        return None
    found = []
    for one in facts:
        which = str(said[one["fact"]].get("matched_oracle_id"))
        number = int(which) if which.isdecimal() else None
        if number is None and which != "None":
            return None
        if number is not None and number >= oracle:
            return None
        found.append(UnitMatch(() if number is None else (number,)))
    return tuple(found)


def _verdicts(answer: Facts | str, facts: Facts) -> tuple[UnitVerdict, ...] | None:
    said = {} if isinstance(answer, str) else {one["fact"]: one for one in answer}
    if set(said) != {one["fact"] for one in facts}:
        return None
    return tuple(UnitVerdict(said[one["fact"]].get("verification") == 1) for one in facts)


def _unscored(
    caption: Decomposition, reference: Decomposition, task: CaptionTask, why: str
) -> ScoredCaption:
    """A caption whose answers could not be read, or that says nothing."""
    verdicts = tuple(UnitVerdict(None, unscored=why) for _ in caption.units)
    matches = tuple(UnitMatch(unscored=why) for _ in caption.units)
    unread = len(caption.unscored)
    found = score(caption.units, verdicts, reference.units, matches, unread, RELEASED)
    return ScoredCaption(caption, verdicts, matches, reference, task.units is not None, found)
