"""From verdicts and matches to DCScore (2503.07906, section 3.1, equations 1 and 2).

    s_p = |P_true| / |P|                                       precision: nothing made up
    s_r = (|Q| + |P_true \\ Q|) / (|O| + |P_true \\ Q|)          recall: nothing left out
    s_f = 2 s_p s_r / (s_p + s_r);  s_f' likewise over descriptive units only;  F = (s_f + s_f') / 2

P are the caption's units, P_true the correct ones, O the reference's, Q = P ∩ O those in both. The
paper leaves some cases open; here

* P and O are sets: a unit stated twice counts once, with its first match and verdict;
* |Q| counts the reference's units that some unit of the caption states, and P_true \\ Q the true
  units that state none of them, so that s_r is at most 1 however many units say the same;
* a matched unit that the verifier denies is in Q but not in P_true: the caption says what the
  reference says (recall), but the verifier does not see it (precision);
* a caption without units omits everything: s_r and s_f are 0, s_p is undefined; one whose sentences
  could not be decomposed has no score at all;
* if no unit is true, s_p and s_f are 0;
* a reference without units does not say what should be there: no s_r, no s_f, no F;
* a unit without a verdict is in neither |P| nor |P_true|, one without a match in neither Q nor
  P_true \\ Q. If units were asked about and none of them has a verdict, there is no s_p and no s_f.

That is the protocol `paper`. The authors' code, the protocol `released`, has a different s_r: a
matched unit counts only if it is true, and n units that match the same unit of the reference count
1/n each; a unit matches at most one. It also averages over samples of matches and verdicts
(`trials`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from revise_captions.dcscore.units import InformationUnit, UnitMatch, UnitVerdict

#: By the paper's equations, and by the authors' code.
PAPER, RELEASED = "paper", "released"


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """The sizes of the sets of equation 1.

    Attributes:
        units: |P|, counting only those with a verdict.
        true: |P_true|.
        references: |O|; None if there is no reference.
        matched: |Q|.
        added: |P_true \\ Q|.
        unscored: Units of P without a verdict.
        unmatched: Units of P without an answer from the matcher.
        denied: Matched units that the verifier denies.
        unread: The caption's sentences that could not be decomposed.
        credit: What matched units count for in s_r by the protocol `released`; None: |Q|.
    """

    units: int
    true: int
    references: int | None
    matched: int
    added: int
    unscored: int = 0
    unmatched: int = 0
    denied: int = 0
    unread: int = 0
    credit: float | None = None

    @property
    def precision(self) -> float | None:
        """s_p; None if no unit has a verdict."""
        return self.true / self.units if self.units else None

    @property
    def recall(self) -> float | None:
        """s_r; None if no reference has units, or if none of the caption could be decomposed."""
        if not self.references or (self.unread and not self.units + self.unscored):
            return None
        worth = self.matched if self.credit is None else self.credit
        return (worth + self.added) / (self.references + self.added)

    @property
    def f1(self) -> float | None:
        """s_f: 0 for a caption without units, None if s_p or s_r does not exist."""
        recall, precision = self.recall, self.precision
        if recall is None or (precision is None and self.unscored):
            return None
        if not precision or not recall:
            return 0.0
        return 2 * precision * recall / (precision + recall)


@dataclass(frozen=True, slots=True)
class CaptionScore:
    """DCScore of one caption.

    Attributes:
        all: Over all units.
        descriptive: Over the descriptive ones of caption and reference.
        trials: If matches and verdicts were sampled, the score of each pair of samples; the first
            is this one's own.
    """

    all: UnitCounts
    descriptive: UnitCounts
    trials: tuple[CaptionScore, ...] = ()

    @property
    def value(self) -> float | None:
        """F; None if one of the two F1 scores does not exist."""
        return self.figure(_f)

    def figure(self, of: Callable[[CaptionScore], float | None]) -> float | None:
        """A figure of the score: the mean over those of its trials that have it."""
        values = [of(one) for one in self.trials or (self,)]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None


def _f(score: CaptionScore) -> float | None:
    first, second = score.all.f1, score.descriptive.f1
    return None if first is None or second is None else (first + second) / 2


def normalized(text: str) -> str:
    """The key by which units are the same: their words, ignoring case and the final stop."""
    return " ".join(text.casefold().split()).rstrip(" .!")


def score(
    units: Sequence[InformationUnit],
    verdicts: Sequence[UnitVerdict],
    references: Sequence[InformationUnit] | None = None,
    matches: Sequence[UnitMatch] = (),
    unread: int = 0,
    protocol: str = PAPER,
) -> CaptionScore:
    """DCScore of a caption.

    Args:
        units: The caption's.
        verdicts: One per unit.
        references: The reference's units; None if there is no reference, and only s_p is computed.
        matches: One per unit if there is a reference.
        unread: Sentences of the caption that could not be decomposed.
        protocol: `paper` or `released`.
    """
    if protocol == RELEASED:
        matches = [UnitMatch(match.references[:1], match.unscored) for match in matches]
    if references is None:
        matches = [UnitMatch()] * len(units)
    rows = list(zip(units, verdicts, matches, strict=True))
    rows = list({normalized(row[0].text): row for row in reversed(rows)}.values())[::-1]
    own = list(references or ())
    first = {normalized(unit.text): i for i, unit in reversed(list(enumerate(own)))}
    same = {i: first[normalized(unit.text)] for i, unit in enumerate(own)}
    sharing = Counter(same[i] for _, _, match in rows for i in match.references)

    def counts(descriptive: bool) -> UnitCounts:
        there = {i for i in same.values() if own[i].descriptive or not descriptive}
        said = [
            (verdict, match, {same[i] for i in match.references} & there)
            for unit, verdict, match in rows
            if unit.descriptive or not descriptive
        ]
        judged = [row for row in said if row[0].correct is not None]
        true = [found for verdict, _, found in judged if verdict.correct]
        shares = sum(1 / sharing[i] for found in true for i in found)
        return UnitCounts(
            units=len(judged),
            true=len(true),
            references=None if references is None else len(there),
            matched=len(set[int]().union(*(found for _, _, found in said))),
            added=sum(
                bool(verdict.correct) and not found and not match.unscored
                for verdict, match, found in judged
                if references is not None
            ),
            unscored=len(said) - len(judged),
            unmatched=sum(bool(match.unscored) for _, match, _ in said),
            denied=sum(verdict.correct is False and bool(found) for verdict, _, found in judged),
            unread=unread,
            credit=None if protocol == PAPER else shares,
        )

    return CaptionScore(counts(False), counts(True))


def verdicts_of(matches: Sequence[UnitMatch]) -> tuple[UnitVerdict, ...]:
    """Verdicts without a verifier: a unit counts as true exactly if the reference states it."""
    return tuple(
        UnitVerdict(None, unscored=match.unscored)
        if match.unscored
        else UnitVerdict(bool(match.references))
        for match in matches
    )
