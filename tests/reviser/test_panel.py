"""Several revisers as one: who flagged a sentence decides which of them rewrites it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from revise_captions.records import Fix, Span
from revise_captions.reviser.load import load_reviser
from revise_captions.reviser.panel import PanelReviser
from revise_captions.reviser.protocol import KnowsWords, RewriteRequest, WritesByRule
from revise_captions.reviser.scripted import DropReviser


@dataclass
class Own:
    """Signs what it writes; knows words that begin with a small letter, rules for what rises."""

    name: str
    strict: bool = False
    asked: list[int] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, str]:
        return {"reviser": self.name, "dtype": f"{self.name}-bits"}

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        self.asked.append(len(requests))
        return [f"{self.name}: {request.sentence}" for request in requests]


class Knowing(Own):
    def foreign(self, requests: Sequence[RewriteRequest]) -> list[bool]:
        return [not request.sentence.islower() for request in requests]

    def by_rule(self, request: RewriteRequest) -> bool:
        return "rose" in request.sentence


def request(sentence: str, expert: str) -> RewriteRequest:
    return RewriteRequest("", sentence, "why", expert=expert)


REQUESTS = [
    request("it rose.", "charts"), request("A dog.", "scenes"), request("It fell.", "charts"),
    request("It rose.", "nobody"), request("a cat.", "scenes"), request("It rose.", ""),
]  # fmt: skip


def panel() -> PanelReviser:
    return PanelReviser({"scenes": Own("own"), "charts": Knowing("rules")})


def test_every_request_goes_to_the_reviser_of_its_expert_in_the_order_asked():
    reviser = panel()
    assert reviser.rewrite(REQUESTS) == [
        "rules: it rose.", "own: A dog.", "rules: It fell.", None, "own: a cat.", None,
    ]  # fmt: skip
    assert [one.asked for one in reviser.revisers.values()] == [[2], [2]]


def test_who_has_nothing_to_do_is_not_asked():
    reviser = panel()
    assert reviser.rewrite([]) == reviser.foreign([]) == []
    assert reviser.rewrite(REQUESTS[1:2]) == ["own: A dog."]
    assert reviser.revisers["charts"].asked == []


def test_words_and_rules_are_those_of_each_experts_own():
    reviser = panel()
    assert isinstance(reviser, KnowsWords)
    assert isinstance(reviser, WritesByRule)
    assert reviser.foreign(REQUESTS) == [False, False, True, False, False, False]
    assert [reviser.by_rule(one) for one in REQUESTS] == [True, *[False] * 5]


def test_one_strict_reviser_makes_the_panel_strict():
    assert not panel().strict
    assert PanelReviser({"a": Own("a"), "b": Own("b", strict=True)}).strict


def test_settings_name_each_reviser_by_its_expert():
    assert panel().settings == {
        "reviser": "own+rules",
        "scenes.reviser": "own", "scenes.dtype": "own-bits",
        "charts.reviser": "rules", "charts.dtype": "rules-bits",
    }  # fmt: skip


def test_charts_are_rewritten_by_fixes_and_never_by_another_reviser():
    """What has no certain fix stays as it is."""
    reviser = PanelReviser({"picturebook": DropReviser(), "charts": load_reviser("fixes")})
    fell = Fix(Span(3, 7), "fell", "trend", certain=True)
    trend = RewriteRequest("", "It rose.", "It fell.", fixes=(fell,), expert="charts")
    scene = RewriteRequest("", "It rose.", "There is no dog.", expert="picturebook")
    unfixed = RewriteRequest("", "It rose.", "The chart does not show 7.", expert="charts")
    unsure = replace(trend, fixes=(replace(fell, certain=False),))
    asked = [scene, trend, unfixed, unsure]
    assert reviser.rewrite(asked) == ["", "It fell.", None, None]
    assert [reviser.by_rule(one) for one in asked] == [False, True, False, False]
    assert reviser.settings["charts.reviser"] == load_reviser("fixes").settings["reviser"]
