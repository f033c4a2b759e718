"""From a caption to its DCScore: the whole path, each step of which has its own module.

    decompose     caption, and the reference unless decomposed by hand          graph_decomposer, …
    match         which units does the reference state?                         offline_matcher, …
    verify        which units does the image show?                              critic, ensemble, …
    score         s_p, s_r, s_f, F                                              score

Without a verifier, a unit is true if the reference states it (reference-only): s_p is then the
share of the caption supported by the reference, not by the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from revise_captions.dcscore.content import content_words, place_of
from revise_captions.dcscore.score import PAPER, CaptionScore, score, verdicts_of
from revise_captions.dcscore.units import (
    Decomposer,
    Decomposition,
    InformationUnit,
    MatchTask,
    UnitMatch,
    UnitMatcher,
    UnitVerdict,
    UnitVerifier,
    VerifyTask,
)
from revise_captions.records import Span
from revise_captions.text.sentences import split

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class CaptionTask:
    """A caption to score.

    Attributes:
        caption: Its text.
        image: RGB, upright; only a verifier needs it.
        references: Reference descriptions; () if there are none.
        units: The reference's units if it was decomposed by hand; None: the decomposer does it.
    """

    caption: str
    image: Image | None = None
    references: tuple[str, ...] = ()
    units: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ScoredCaption:
    """A caption's score with everything it came from.

    Attributes:
        caption: Its units.
        verdicts: One per unit.
        matches: One per unit; () without a reference.
        reference: The reference's units; None without a reference.
        by_hand: Whether these were given rather than made by the decomposer.
        score: The score.
    """

    caption: Decomposition
    verdicts: tuple[UnitVerdict, ...]
    matches: tuple[UnitMatch, ...]
    reference: Decomposition | None
    by_hand: bool
    score: CaptionScore

    @property
    def missed(self) -> frozenset[int]:
        """Indices of the reference's units that no unit of the caption states."""
        own = self.reference.units if self.reference is not None else ()
        said = {k for match in self.matches for k in match.references}
        return frozenset(range(len(own))) - said

    @property
    def why_unscored(self) -> str:
        """Why the caption has no DCScore; "" if it has one."""
        if self.score.value is not None:
            return ""
        if self.caption.unscored and not self.caption.units:
            return self.caption.unscored[0].reason
        if self.reference is None:
            return "no reference: only s_p can be had"
        if self.reference.unscored and not self.reference.units:
            return f"reference: {self.reference.unscored[0].reason}"
        if not self.reference.units:
            return "the reference has no units"
        reasons = [verdict.unscored for verdict in self.verdicts if verdict.unscored]
        return reasons[0] if reasons else "no unit of the reference is descriptive"


@dataclass(frozen=True, slots=True)
class CaptionScorer:
    """Scores captions. `verifier` None: reference-only; `protocol`: for recall."""

    decomposer: Decomposer
    matcher: UnitMatcher | None
    verifier: UnitVerifier | None
    protocol: str = PAPER

    @property
    def settings(self) -> Mapping[str, str]:
        """Everything that determines a score."""
        found = {"metric": "dcscore", "protocol": self.protocol, "verifier": "reference-only"}
        for part in (self.decomposer, self.matcher, self.verifier):
            found |= part.settings if part is not None else {}
        return found

    def score(self, tasks: Sequence[CaptionTask]) -> list[ScoredCaption]:
        """One result per task, in order; all steps are batched over the tasks."""
        texts = list(dict.fromkeys(t for task in tasks for t in _texts(task)))
        parts = dict(zip(texts, self.decomposer.decompose(texts), strict=True))
        captions = [parts[task.caption] for task in tasks]
        references = [_reference(task, parts) for task in tasks]
        matches = self._matches(captions, references)
        texts = [reference.text if reference else "" for reference in references]
        verdicts = self._verdicts(tasks, captions, matches, texts)
        return [
            ScoredCaption(
                caption,
                verdict,
                match,
                reference,
                task.units is not None,
                score(
                    caption.units,
                    verdict,
                    reference.units if reference else None,
                    match,
                    len(caption.unscored),
                    self.protocol,
                ),
            )
            for task, caption, reference, match, verdict in zip(
                tasks, captions, references, matches, verdicts, strict=True
            )
        ]

    def _matches(
        self, captions: Sequence[Decomposition], references: Sequence[Decomposition | None]
    ) -> list[tuple[UnitMatch, ...]]:
        asked = [
            MatchTask(caption, reference)
            for caption, reference in zip(captions, references, strict=True)
            if reference is not None and self.matcher is not None
        ]
        answers = iter(self.matcher.match(asked) if asked and self.matcher is not None else [])
        return [next(answers) if reference is not None else () for reference in references]

    def _verdicts(
        self,
        tasks: Sequence[CaptionTask],
        captions: Sequence[Decomposition],
        matches: Sequence[tuple[UnitMatch, ...]],
        references: Sequence[str],
    ) -> list[tuple[UnitVerdict, ...]]:
        if self.verifier is None:
            blind = UnitVerdict(None, unscored="no reference, and no verifier")
            return [
                verdicts_of(found) or (blind,) * len(caption.units)
                for caption, found in zip(captions, matches, strict=True)
            ]
        asked = [
            VerifyTask(task.image, caption, reference)
            for task, caption, reference in zip(tasks, captions, references, strict=True)
            if task.image is not None
        ]
        answers = iter(self.verifier.verify(asked) if asked else [])
        unseen = UnitVerdict(None, unscored="no image")
        return [
            (unseen,) * len(caption.units) if task.image is None else next(answers)
            for task, caption in zip(tasks, captions, strict=True)
        ]


def _texts(task: CaptionTask) -> list[str]:
    decomposed = task.units is None and task.references
    return [task.caption, *(["\n".join(task.references)] if decomposed else [])]


def _reference(task: CaptionTask, parts: Mapping[str, Decomposition]) -> Decomposition | None:
    """The reference's units; several references form one text, with a paragraph each."""
    text = "\n".join(task.references)
    if task.units is not None:
        return by_hand(task.units, text)
    return parts[text] if task.references else None


def by_hand(units: Sequence[str], text: str = "") -> Decomposition:
    """Units made by hand, each assigned to where the text has most of its words.

    Args:
        units: Their texts.
        text: The reference; "" if only its units are known, which then are the text.
    """
    text = text or "\n".join(unit.strip() for unit in units)
    sentences = tuple(split(text))
    words = [content_words(span.of(text)) for span in sentences]
    found = []
    for unit in units:
        own = content_words(unit)
        k = max(range(len(sentences)), key=lambda k: len(own & words[k]), default=0)
        home = sentences[k] if sentences else Span(0, 0)
        found.append(InformationUnit(unit.strip(), k, place_of(text, home, unit)))
    return Decomposition(text, sentences, tuple(found))
