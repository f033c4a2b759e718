"""A language model as the judge: questions in three passes, answers from 1 to 5 (POSH, section 3).

1. objects that are part of no other: every candidate identifier is asked about;
2. their parts, called by the owner's identifier if the owner was found;
3. attributes and relations of the objects found, called by the simplest identifier found.

An object's score is that of its best identifier, so that the one that the other text happens to use
counts. Claims about an absent object score 1 without being asked. The score is the mean of 1 to 5
weighted by the probabilities of these five tokens (Liu et al. 2023); if an engine gives no
probabilities, the generated answer is used, and only "1" to "5" count: "10" is not "1". If the five
together have less than half of the probability, the component is unscored.

Questions go to the engine one pass at a time over all texts, with each pair's in sequence: its
descriptions are the common beginning of all its prompts, and a prefix cache computes them once.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from revise_captions.engines.protocol import AnswerScores, Completion, Engine, Failed, Prompt
from revise_captions.graphs.grading.components import Component, Part, components
from revise_captions.graphs.grading.judge import LEAST, Grade, GradingTask
from revise_captions.graphs.graph import Graph
from revise_captions.posh import prompts
from revise_captions.posh.identifiers import By, Identifier, candidates
from revise_captions.posh.released import ReleasedQuestions
from revise_captions.records import Unscored

logger = logging.getLogger(__name__)

#: With less total probability on 1 to 5, there is no answer.
LEAST_MASS = 0.5
_REWRITTEN = 32  # tokens
_DIGIT = re.compile(r"\s*([1-5])\s*\Z")
_NO_ANSWER = "the judge's answer is no number from 1 to 5"
_DENIED = "the judge's questions are about what is there, and the text denies it"
_NO_OBJECT = "the judge could not say whether its object is there"


def parse_answer(text: str) -> float | None:
    """1 to 5 if the answer is exactly that, ignoring white space."""
    found = _DIGIT.match(text)
    return float(found.group(1)) if found else None


def expected(answer: AnswerScores) -> float | None:
    """The mean of 1 to 5 under the answer's probabilities; None if most of these are elsewhere."""
    if answer.answer_mass < LEAST_MASS:
        return None
    weights = [math.exp(logprob) for logprob in answer.logprobs]
    return sum(k * weight for k, weight in enumerate(weights, 1)) / sum(weights)


class PaperQuestions:
    """The paper's prompts (A.1.4), and its identifiers (A.1.3)."""

    version = prompts.VERSION
    entity = staticmethod(prompts.entity)
    attribute = staticmethod(prompts.attribute)
    relation = staticmethod(prompts.relation)
    rewrite = staticmethod(prompts.rewrite)

    def candidates(
        self, graph: Graph, index: int, names: Mapping[int, str], absent: Sequence[int]
    ) -> list[Identifier]:
        """Identifiers of an object, using that of its whole if that was found."""
        owner = graph.objects[index].part_of
        return candidates(graph, index, "" if owner is None else names.get(owner, ""))

    def level(self, graph: Graph, index: int) -> int:
        """How many nested wholes an object is a part of."""
        level, seen = 0, {index}
        while (owner := graph.objects[index].part_of) is not None and owner not in seen:
            level, index = level + 1, owner
            seen.add(owner)
        return level

    def better(self, new: float, known: float) -> bool:
        """Whether an identifier's score replaces an earlier one's."""
        return new > known


PAPER = PaperQuestions()


@dataclass(slots=True)
class _Sheet:
    """A task in progress: its objects' names and grades so far."""

    task: GradingTask
    target: str
    parts: list[Component]
    names: dict[int, str] = field(default_factory=dict)
    grades: dict[int, Grade] = field(default_factory=dict)

    def key(self, part: Part, index: int) -> int:
        offset = {
            Part.OBJECT: 0,
            Part.ATTRIBUTE: len(self.task.source.objects),
            Part.RELATION: len(self.task.source.objects) + len(self.task.source.attributes),
        }
        return offset[part] + index


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about component `key` of a sheet, by an identifier."""

    sheet: _Sheet
    key: int
    prompt: Prompt
    identifier: str = ""


class LanguageJudge:
    """Grades by questions to a language model (POSH, section 3).

    Args:
        engine: Runs the model.
        rewriting: Whether the model makes identifiers fluent before being asked about them.
        unreadable_is_absent: Whether to score an unreadable answer 1, as the authors' published
            code does, instead of leaving the component unscored.
        batch: How many tasks' questions are asked together.
        questions: What is asked, and with which identifiers; None: as in the paper.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        rewriting: bool = True,
        unreadable_is_absent: bool = False,
        batch: int = 64,
        questions: ReleasedQuestions | None = None,
    ) -> None:
        self.engine, self.rewriting, self.batch = engine, rewriting, batch
        self.unreadable_is_absent, self.released = unreadable_is_absent, questions
        self.questions = questions or PAPER
        self._fluent: dict[Identifier, str] = {}

    @property
    def settings(self) -> Mapping[str, str]:
        own = {
            "judge": "language model",
            "protocol": "paper" if self.released is None else "released",
            "prompts": self.questions.version,
            "rewriting": "on" if self.rewriting else "off",
            "unreadable": "1" if self.unreadable_is_absent else "unscored",
        }
        return {f"judge-{k}": v for k, v in self.engine.settings.items()} | own

    def grade(self, tasks: Sequence[GradingTask]) -> list[tuple[Grade, ...]]:
        """Three passes per batch of tasks; several targets are joined into one description."""
        found: list[tuple[Grade, ...]] = []
        for start in range(0, len(tasks), self.batch):
            found += self._grade(tasks[start : start + self.batch])
        return found

    def _grade(self, tasks: Sequence[GradingTask]) -> list[tuple[Grade, ...]]:
        sheets = [
            _Sheet(task, "\n".join(t.text for t in task.targets), components(task.source))
            for task in tasks
        ]
        for level in range(self._depth(sheets)):
            self._objects(sheets, level)
        self._claims(sheets)
        return [tuple(sheet.grades[k] for k in range(len(sheet.parts))) for sheet in sheets]

    def _objects(self, sheets: Sequence[_Sheet], level: int) -> None:
        """Asks about the objects that are `level` steps below a whole."""
        open_: list[tuple[_Sheet, int, list[Identifier]]] = []
        for sheet in sheets:
            source = sheet.task.source
            for index, item in enumerate(source.objects):
                if item.denied:
                    sheet.grades[index] = Grade(None, _DENIED)
                elif self.questions.level(source, index) == level:
                    absent = [i for i in sheet.grades if i not in sheet.names]
                    found = self.questions.candidates(source, index, sheet.names, absent)
                    open_.append((sheet, index, found))
        self._rewrite(identifier for _, _, many in open_ for identifier in many)
        asked = [
            _Asked(sheet, index, self._entity(sheet, name), name)
            for sheet, index, many in open_
            for name in dict.fromkeys(self._fluent.get(one, one.text) for one in many)
        ]
        for question, grade in zip(asked, self._ask(asked), strict=True):
            known = question.sheet.grades.get(question.key)
            if known is None or self._better(grade, known):
                question.sheet.grades[question.key] = grade
                if grade.present and self.released is not None:
                    question.sheet.names[question.key] = question.identifier
            if grade.present and self.released is None:
                question.sheet.names.setdefault(question.key, question.identifier)

    def _entity(self, sheet: _Sheet, name: str) -> Prompt:
        text = sheet.task.source.text
        return self.questions.entity(sheet.target, text, name, precision=sheet.task.precision)

    def _claims(self, sheets: Sequence[_Sheet]) -> None:
        """Asks about attributes and relations of objects found; settles the others unasked."""
        asked: list[_Asked] = []
        for sheet in sheets:
            source, precision = sheet.task.source, sheet.task.precision
            for i, said in enumerate(source.attributes):
                key = sheet.key(Part.ATTRIBUTE, i)
                if self._settled(sheet, key, (said.object,)):
                    continue
                name = sheet.names[said.object]
                prompt = self.questions.attribute(
                    sheet.target, source.text, name, said.value, precision=precision
                )
                asked.append(_Asked(sheet, key, prompt, name))
            for i, edge in enumerate(source.relations):
                key = sheet.key(Part.RELATION, i)
                if self._settled(sheet, key, (edge.subject, edge.target)):
                    continue
                both = sheet.names[edge.subject], sheet.names[edge.target]
                prompt = self.questions.relation(
                    sheet.target, source.text, both, edge.name, precision=precision
                )
                asked.append(_Asked(sheet, key, prompt, " / ".join(both)))
        for question, grade in zip(asked, self._ask(asked), strict=True):
            question.sheet.grades[question.key] = grade

    @staticmethod
    def _settled(sheet: _Sheet, key: int, objects: Iterable[int]) -> bool:
        """Grades a claim without asking if its objects are absent or could not be graded."""
        if sheet.parts[key].denied:
            sheet.grades[key] = Grade(None, _DENIED)
            return True
        grades = [sheet.grades[index] for index in objects]
        if all(grade.present for grade in grades):
            return False
        absent = any(grade.score is not None and not grade.present for grade in grades)
        sheet.grades[key] = Grade(LEAST) if absent else Grade(None, _NO_OBJECT)
        return True

    def _rewrite(self, identifiers: Iterable[Identifier]) -> None:
        """Has the model make identifiers fluent, except bare names; ignores odd answers."""
        if not self.rewriting:
            return
        new = [
            one
            for one in dict.fromkeys(identifiers)
            if one.by in (By.ATTRIBUTE, By.RELATION) and one not in self._fluent
        ]
        rewrite = self.questions.rewrite
        asked = [rewrite(one.text, of_relation=one.by is By.RELATION) for one in new]
        answers = self.engine.generate(asked, _REWRITTEN) if asked else []
        for one, answer in zip(new, answers, strict=True):
            self._fluent[one] = _phrase(answer) or one.text

    def _better(self, grade: Grade, known: Grade) -> bool:
        if known.score is None or grade.score is None:
            return known.score is None
        return self.questions.better(grade.score, known.score)

    def _depth(self, sheets: Sequence[_Sheet]) -> int:
        graphs = [sheet.task.source for sheet in sheets]
        level = self.questions.level
        return max((level(g, i) + 1 for g in graphs for i in range(len(g.objects))), default=0)

    def _ask(self, asked: Sequence[_Asked]) -> list[Grade]:
        if not asked:
            return []
        given = [question.prompt for question in asked]
        answers = self.engine.answer_logprobs(given, prompts.ANSWERS)
        mute = [
            i
            for i, answer in enumerate(answers)
            if isinstance(answer, Failed) and answer.reason is Unscored.NO_LOGPROBS
        ]
        if mute:
            logger.info("%d answers without probabilities are read as text", len(mute))
        spoken = self.engine.generate([given[i] for i in mute], 4) if mute else []
        written = dict(zip(mute, spoken, strict=True))
        return [
            self._graded(written.get(i, answer), question.identifier)
            for i, (question, answer) in enumerate(zip(asked, answers, strict=True))
        ]

    def _graded(self, answer: AnswerScores | Completion | Failed, identifier: str) -> Grade:
        reason, score = _NO_ANSWER, None
        if isinstance(answer, Failed):
            reason = str(answer.reason)
        elif isinstance(answer, Completion):
            score = parse_answer(answer.text)
        else:
            score = expected(answer)
        if score is None and self.unreadable_is_absent:
            return Grade(LEAST, identifier=identifier)
        return Grade(score, "" if score is not None else reason, identifier)


def _phrase(answer: Completion | Failed) -> str:
    """A rewritten identifier: one complete, short line, without quotes; else ""."""
    if isinstance(answer, Failed) or not answer.complete:
        return ""
    text = answer.text.strip().strip("“”\"'.").strip()
    return text if text and "\n" not in text else ""
