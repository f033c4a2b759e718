"""The tally: every figure against rows counted by hand, merging, and the table at 80 columns."""

import json
import random
import tracemalloc

import pytest
from tallied import (
    CLEARED,
    DELETED,
    FINE,
    FIXED,
    LATER,
    MOOD,
    REFUSED,
    SPEECHLESS,
    STRANGE,
    printed,
    row,
    sentence,
    tally_of,
)

from revise_captions.pipelines.output.outcomes import Outcome, outcome_of
from revise_captions.pipelines.output.shares import Speed
from revise_captions.pipelines.report.summary import MAX_GROUPS, OTHER, Tally
from revise_captions.records import UnknownWord, Unscored
from revise_captions.text.formatting import duration, percent


@pytest.fixture
def summary():
    tally = tally_of(
        row(FINE, MOOD, FIXED),
        row(REFUSED, STRANGE, FINE),
        row(DELETED, SPEECHLESS, LATER),
        row(FINE, FINE),
        row(CLEARED, STRANGE),
    )
    tally.quarantine("image_truncated")
    return tally.to_json(Speed(2.0, 5, 13))


def test_counts(summary):
    assert summary["records"] == {
        "read": 6,
        "written": 5,
        "changed": 2,
        "quarantined": 1,
        "quarantined_by_reason": {"image_truncated": 1},
    }
    assert summary["sentences"] == {
        "total": 13,
        "scored": 11,
        "factual": 6,
        "flagged": 5,
        "flagged_later": 1,
        "rewritten": 2,
        "accepted": 1,
        "deleted": 1,
        "dropped": 1,
        "not_assessable": 1,
        "unscored": 2,
        "unscored_by_reason": {"outside the model's domain": 2},
        "unknown_words": {},
        "unscored_after": 2,
    }
    assert (summary["captions"]["total"], summary["captions"]["changed"]) == (5, 2)


def fraction(estimate):
    return estimate["numerator"], estimate["denominator"]


def test_factuality_before_and_after(summary):
    everything, claims = summary["factuality"]["all"], summary["factuality"]["assessable"]
    # 13 sentences, 2 unscored, 2 gone afterwards; LATER is factual before and not after.
    assert fraction(everything["before"]) == (6, 11)
    assert fraction(everything["after"]) == (7, 9)
    assert everything["change"]["value"] == pytest.approx(7 / 9 - 6 / 11, abs=1e-6)
    assert fraction(claims["before"]) == (5, 10)
    assert fraction(claims["after"]) == (6, 8)
    assert everything["before"]["low"] < 6 / 11 < everything["before"]["high"]


def test_captions_whose_every_judged_sentence_is_factual(summary):
    assert fraction(summary["captions"]["all_factual"]["before"]) == (1, 5)
    assert fraction(summary["captions"]["all_factual"]["after"]) == (3, 5)


def test_table_6(summary):
    critic = summary["critic_on_flagged"]
    assert critic["before"] == 0
    assert fraction(critic["of_flagged"]) == (1, 5)
    assert fraction(critic["of_rewritten"]) == (1, 2)


def test_attempts_and_refusals(summary):
    assert summary["attempts"] == {
        "total": 5,
        "warnings": 0,
        "refused_by_guard": {"content words from neither sentence nor rationale": 1},
        "refused_by_critic": {"still judged nonfactual": 1},
        "refused_otherwise": {"the reviser gave none": 1},
    }


def test_flow_accounts_for_every_flagged_sentence(summary):
    flow = {(item["step"], item["end"]): item["sentences"] for item in summary["flow"]}
    assert flow == {
        ("rewrite accepted", "judged factual"): 1,
        ("deleted by the reviser", "removed"): 1,
        ("the reviser gave none", "removed"): 1,
        ("still judged nonfactual", "still flagged"): 1,
        ("no rewrite asked for", "still flagged"): 1,
        ("no rewrite asked for", "judged factual"): 1,
    }
    assert sum(flow.values()) == 6


def test_histogram_bins_are_closed_below_and_do_not_slip():
    tally = tally_of(*(row(sentence(k / 20)) for k in range(21)), row(sentence(0.2999)))
    assert tally.to_json()["experts"][""]["histogram"]["before"] == [1] * 5 + [2] + [1] * 13 + [2]


def test_histogram_after_leaves_out_what_is_gone(summary):
    histogram = summary["experts"][""]["histogram"]
    assert sum(histogram["before"]) == 11
    assert sum(histogram["after"]) == 9


@pytest.mark.parametrize(
    ("sentences", "outcome"),
    [
        ([FINE, STRANGE, FIXED, REFUSED, DELETED], Outcome.DROPPED),
        ([FIXED, REFUSED, FINE], Outcome.FLAGGED),
        ([FIXED, STRANGE], Outcome.REVISED),
        ([FINE, STRANGE], Outcome.UNSCORED),
        ([FINE, MOOD], Outcome.KEPT),
        ([FINE, LATER], Outcome.FLAGGED),
        ([], Outcome.KEPT),
    ],
)
def test_outcome(sentences, outcome):
    assert outcome_of(row(*sentences)["revision"]) is outcome
    assert tally_of(row(*sentences)).counts.outcomes[outcome] == 1


def test_several_captions_a_record_are_one_unit_for_the_bootstrap():
    part = row(FINE, REFUSED)
    several = {
        "revised_caption": {"short": "…", "sentences": "…"},
        "revision": {"short": part["revision"], "sentences": part["revision"]},
    }
    result = tally_of(several, several).to_json()
    assert result["captions"]["total"] == 4
    assert result["records"]["written"] == 2
    assert result["factuality"]["all"]["before"]["records"] == 2
    assert fraction(result["factuality"]["all"]["before"]) == (4, 8)


def random_rows(count, seed=0):
    rng = random.Random(seed)
    kinds = [FINE, FINE, FINE, MOOD, STRANGE, FIXED, REFUSED, DELETED, SPEECHLESS, LATER, CLEARED]
    return [row(*rng.choices(kinds, k=rng.randint(1, 12))) for _ in range(count)]


def test_shards_in_any_order_make_the_same_summary():
    rows = random_rows(900)
    whole = Tally(group_by="model")
    shards = [Tally(group_by="model") for _ in range(3)]
    for line, item in enumerate(rows):
        group = "ab"[line % 7 == 0]
        whole.add(item, line=line, group=group)
        shards[line % 3].add(item, line=line, group=group)
    total = Tally(group_by="model")
    for shard in shards[::-1]:
        total += shard
    ours, theirs = whole.to_json(), total.to_json()
    for result in (ours, theirs):
        result["groups"]["rows"].sort(key=lambda g: g["name"])
    assert ours == theirs


def test_shards_of_one_expert_with_two_thresholds_do_not_add_up():
    for expert in ("", "charts"):
        shards = [tally_of(row(FINE, threshold=at, expert=expert)) for at in (0.5, 0.6)]
        with pytest.raises(ValueError, match="threshold"):
            shards[0].__iadd__(shards[1])


def panel_rows():
    """“a” flags below 0.5, “b” below 0.25: the same 0.3 is wrong for one, right for the other."""
    sure, unsure = sentence(0.9), sentence(0.3)
    right = unsure | {"label": "factual"}
    return [row(sure, unsure, expert="a"), row(right, expert="b", threshold=0.25)]


def test_the_threshold_of_who_judged_decides_what_is_flagged():
    found = tally_of(*panel_rows()).to_json()
    assert fraction(found["factuality"]["all"]["before"]) == (2, 3)
    assert found["sentences"]["flagged"] == 1
    assert found["outcomes"][str(Outcome.FLAGGED)] == found["outcomes"][str(Outcome.KEPT)] == 1


def test_what_each_expert_judged_is_told_apart():
    found = tally_of(*panel_rows()).to_json()["experts"]
    assert list(found) == ["a", "b"]
    assert [found[name]["threshold"] for name in "ab"] == [0.5, 0.25]
    assert [found[name]["sentences"] for name in "ab"] == [2, 1]
    assert [fraction(found[name]["factuality"]["all"]["before"]) for name in "ab"] == [
        (1, 2), (1, 1),
    ]  # fmt: skip
    drawn = {name: found[name]["histogram"]["before"] for name in "ab"}
    assert {name: [k for k, n in enumerate(bins) if n] for name, bins in drawn.items()} == {
        "a": [6, 18], "b": [6],
    }  # fmt: skip
    assert all(found[name]["histogram"]["after"] == drawn[name] for name in "ab")


def test_one_critic_is_one_nameless_expert(summary):
    assert list(summary["experts"]) == [""]
    assert summary["experts"][""]["factuality"] == summary["factuality"]
    assert tally_of(*panel_rows()).experts_seen() == ("a", "b")
    assert Tally().experts_seen() == ()


def test_shards_of_experts_add_up():
    rows = [*panel_rows(), row(FIXED, expert="b", threshold=0.25), row(STRANGE), row(MOOD)] * 3
    whole = tally_of(*rows)
    parts = tally_of(*rows[:4])
    for line, item in enumerate(rows[4:], 5):
        other = Tally()
        other.add(item, line=line)
        parts += other
    assert parts.to_json() == whole.to_json()
    assert set(whole.to_json()["experts"]) == {"a", "b", ""}


def test_groups_are_the_tallies_of_their_rows():
    rows = random_rows(120)
    tally = Tally(group_by="model")
    alone = Tally()
    for line, item in enumerate(rows):
        tally.add(item, line=line, group=None if line % 3 else 7)
        if line % 3 == 0:
            alone.add(item, line=line)
    groups = {g["name"]: g for g in tally.to_json()["groups"]["rows"]}
    assert set(groups) == {"7", "(none)"}
    expected = alone.to_json()
    assert groups["7"]["factuality"] == expected["factuality"]
    assert groups["7"]["flagged"] == expected["sentences"]["flagged"]
    assert groups["7"]["unscored"] == expected["sentences"]["unscored"]


def test_too_many_groups_are_folded_and_none_is_lost():
    tally = Tally(group_by="id")
    for line in range(MAX_GROUPS + 50):
        tally.add(row(FINE, FIXED), line=line, group=line)
    rows = tally.to_json()["groups"]["rows"]
    assert len(rows) == MAX_GROUPS + 1
    assert rows[-1]["name"] == OTHER
    assert rows[-1]["records"] == 50
    assert sum(g["records"] for g in rows) == MAX_GROUPS + 50


def test_memory_does_not_grow_with_the_records():
    item = row(FINE, FIXED, REFUSED)
    tally = Tally()
    tracemalloc.start()
    for line in range(1000):
        tally.add(item, line=line)
    early = tracemalloc.get_traced_memory()[0]
    for line in range(1000, 4000):
        tally.add(item, line=line)
    late = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert late - early < 100_000


def test_mostly_unscored_is_the_headline_with_the_option_that_helps():
    head = tally_of(row(STRANGE, STRANGE, FINE), row(FIXED, STRANGE)).to_json()["headline"]
    assert head["kind"] == "unscored"
    assert head["text"] == "3 of 5 sentences came back unscored: outside the model's domain."
    assert "--critic" in head["help"]
    half = tally_of(row(STRANGE, FINE), row(FIXED, STRANGE)).to_json()["headline"]
    assert half["kind"] == "factuality"


@pytest.mark.parametrize("reason", list(Unscored))
def test_every_unscored_reason_has_a_hint_that_names_an_option(reason):
    strange = sentence(None, reason=reason, assessable=None)
    head = tally_of(row(strange)).to_json()["headline"]
    assert head["text"].startswith("The only sentence")
    assert str(reason) in head["text"]
    assert "`--" in head["help"]


def test_unknown_words_are_one_reason_and_counted_by_word():
    words = ("dragon", "Dragon", "zebra")
    strange = [sentence(None, reason=UnknownWord(word), assessable=None) for word in words]
    found = tally_of(row(*strange), row(FINE)).to_json()
    assert found["sentences"]["unscored_by_reason"] == {"unknown word": 3}
    assert found["sentences"]["unknown_words"] == {"dragon": 2, "zebra": 1}
    assert found["headline"]["text"] == "3 of 4 sentences came back unscored: unknown word."
    assert "`captions finetune" in found["headline"]["help"]
    text = printed(tally_of(row(*strange), row(FINE)).to_json(Speed(2.0, 2, 4)))
    assert "3  unknown word\n" in text
    assert "dragon 2, zebra 1\n" in text


def test_mostly_quarantined_is_the_headline():
    tally = tally_of(row(FINE))
    tally.quarantine("image_not_found")
    tally.quarantine("image_not_found")
    head = tally.to_json()["headline"]
    assert head["kind"] == "quarantined"
    assert head["text"].startswith("2 of 3 records could not be processed, mostly: image not found")


def test_an_empty_run_has_a_summary():
    result = Tally(group_by="x").to_json()
    assert result["headline"]["kind"] == "nothing"
    assert result["factuality"]["all"]["before"]["value"] is None
    json.dumps(result, allow_nan=False)


def test_table_fits_80_columns_without_escapes(summary):
    text = printed(summary)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    for needed in (
        "Records",
        "13",
        "outside the model's domain",
        "54.5 %",
        "77.8 %",
        "image trunc",
    ):
        assert needed in text
    assert "6.5 sentences/s, 2.5 records/s" in text


def test_table_begins_with_the_headline():
    text = printed(tally_of(row(STRANGE)).to_json())
    assert text.split("\n")[1].startswith("The only sentence came back unscored")


def test_table_where_the_terminal_knows_only_ascii(summary):
    assert printed(summary, encoding="ascii") == printed(summary)
    tally = Tally(group_by="model")
    tally.add(row(FINE), line=1, group="é" + "y" * 99)
    assert "\\xe9yyy" in printed(tally.to_json(), encoding="ascii")


def test_table_with_a_hostile_group_name():
    tally = Tally(group_by="model\x1b[31m")
    tally.add(row(FINE), line=1, group="[red]x\x1b[2J\ud800\n" + "y" * 99)
    text = printed(tally.to_json())
    assert "\x1b" not in text
    assert "[red]x·[2J" in text
    assert max(map(len, text.splitlines())) <= 80


def test_figures_for_people():
    assert [percent(x) for x in (0, 1, 0.99999, 0.00001, 0.5, None)] == [
        *("0 %", "100 %", "99.9 %", "0.1 %", "50.0 %", "–")
    ]
    assert [duration(s) for s in (3.21, 245, 11_220)] == ["3.2 s", "4 min 05 s", "3 h 07 min"]
