"""The reviser that puts in what the critic names."""

from __future__ import annotations

from revise_captions.records import Fix, Span
from revise_captions.reviser.fixes import FixReviser
from revise_captions.reviser.protocol import RewriteRequest

SENTENCE = "It had 5 in May and 7 in June."
MAY, JUNE = Fix(Span(7, 8), "9"), Fix(Span(20, 21), "4", certain=False)


def rewritten(*fixes: Fix, **more) -> str | None:
    return FixReviser().rewrite([RewriteRequest("", SENTENCE, "as is", fixes=fixes, **more)])[0]


def test_only_what_is_certain_is_written():
    assert rewritten(MAY, JUNE) == "It had 9 in May and 7 in June."
    assert rewritten(JUNE) is None
    assert rewritten() is None


def test_no_rationale_is_known_by_its_wording():
    request = RewriteRequest("", "It had 5.", "A is at 9, not 5.")
    assert FixReviser().rewrite([request]) == [None]
    assert not FixReviser().by_rule(request)


def test_what_failed_is_not_tried_again():
    assert rewritten(MAY, failed=("It had 9 in May and 7 in June.",)) is None


def test_a_whole_sentence_goes_by_a_fix():
    whole = Fix(Span(0, len(SENTENCE)), "")
    assert rewritten(whole) == ""
    assert FixReviser().by_rule(RewriteRequest("", SENTENCE, "", fixes=(whole,)))
