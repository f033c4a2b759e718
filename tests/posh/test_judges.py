"""Identifiers, prompts, and the two judges: with scripted engines and a toy encoder."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scripted_engine import ScriptedEngine, data_of, text_of

from revise_captions.engines.model_spec import Placement
from revise_captions.engines.protocol import AnswerScores, Completion, Failed
from revise_captions.errors import UserError
from revise_captions.graphs.grading.judge import GradingTask
from revise_captions.graphs.grading.offline_judge import OfflineJudge
from revise_captions.graphs.graph import Attribute, AttributeKind, Graph, Object, Relation
from revise_captions.posh import prompts
from revise_captions.posh.identifiers import candidates
from revise_captions.posh.language_judge import LanguageJudge, expected, parse_answer
from revise_captions.posh.released import FILES, ReleasedQuestions
from revise_captions.records import Span, Unscored

NONE = Span(0, 0)


def thing(name: str, **more) -> Object:
    return Object(name, name, NONE, (NONE,), **more)


#: "Two men. The tall man is on a horse. The other holds its face. …", reduced to what matters.
GRAPH = Graph(
    "A tall man on a horse, a man near a tree; the face of the tall man is red.",
    (thing("man"), thing("horse"), thing("man"), thing("tree"), thing("face", part_of=0)),
    (Attribute(0, "tall", NONE), Attribute(4, "red", NONE)),
    (Relation(0, "on", 1, NONE), Relation(2, "near", 3, NONE)),
)


def texts(index: int, owner: str = "") -> list[str]:
    return [item.text for item in candidates(GRAPH, index, owner)]


def test_identifiers_tell_objects_apart():
    """A.1.3: the class where it is unique, a quality that only one has, else a relation."""
    assert texts(1) == ["horse"]
    assert texts(0) == ["tall man"]
    assert texts(2) == ["man near tree"]
    assert texts(4, "tall man") == ["face of tall man", "face"]
    assert texts(4) == ["face"]


def test_other_names_are_candidates():
    text = "A man plays. The musician smiles."
    item = Object("man", "man", Span(2, 5), (Span(2, 5), Span(17, 25)))
    assert [c.text for c in candidates(Graph(text, (item,)), 0)] == ["man", "musician"]


def test_objects_that_nothing_tells_apart_still_have_a_name():
    graph = Graph("", (thing("man"), thing("man")))
    assert [c.text for c in candidates(graph, 0)] == ["man"]


def test_the_prompts_are_the_papers():
    """A.1.4, both directions, word for word."""
    precise = prompts.entity("REF", "GEN", "the tall man", precision=True)
    assert text_of(precise) == (
        "DESCRIPTION1: REF\n\nDESCRIPTION2: GEN\n\n"
        "Q: Is an entity matching “the tall man” (from DESCRIPTION2) mentioned in DESCRIPTION1?\n"
        "Consider paraphrases but do NOT infer unstated details.\n\n"
        "Scoring guide -> 1: absent; 2: weak hint; 3: partial; 4: clear; "
        "5: explicit & unambiguous.\n\n"
        "Respond ONLY with an integer 1-5."
    )
    recall = prompts.attribute("GEN", "REF", "hat", "red", precision=False)
    assert text_of(recall).startswith(
        "DESCRIPTION: GEN\n\nQ: Is “hat” described as “red” in the DESCRIPTION?\nConsider"
    )
    relation = prompts.relation("GEN", "REF", ("man", "horse"), "on", precision=False)
    assert (
        "Q: Is the relation between “man” and “horse” described as “on” in the DESCRIPTION?"
        in text_of(relation)
    )
    assert text_of(prompts.rewrite("dog small", of_relation=False)) == (
        "Rewrite “dog small” into a grammatically correct noun phrase, keeping all details. "
        "For example, “dog small” should be rewritten as “the small dog”. Output ONLY the phrase."
    )


def test_texts_are_data_and_the_beginning_is_shared():
    one = prompts.entity("REF", "GEN", "man", precision=True)
    other = prompts.attribute("REF", "GEN", "man", "tall", precision=True)
    assert one.parts[: one.shared] == other.parts[: other.shared]
    assert data_of(one) == ["REF", "GEN", "man"]


@pytest.mark.parametrize(
    ("text", "score"),
    [("1", 1), (" 5\n", 5), ("10", None), ("3.5", None), ("6", None), ("", None), ("4 of 5", None)],
)
def test_answers_are_read_exactly(text, score):
    assert parse_answer(text) == score


def test_the_score_is_the_weighted_mean():
    logprobs = tuple(math.log(p) for p in (0.1, 0.1, 0.1, 0.1, 0.4))
    assert expected(AnswerScores(logprobs, 0.8)) == pytest.approx(
        (0.1 + 0.2 + 0.3 + 0.4 + 2.0) / 0.8
    )
    assert expected(AnswerScores(logprobs, 0.4)) is None


def certain(score: int) -> AnswerScores:
    return AnswerScores(tuple(0.0 if k == score else -math.inf for k in range(1, 6)), 1.0)


def engine_that_knows(*found: str) -> ScriptedEngine:
    """Answers 5 for entities named in `found`, 1 for others; 4 for every claim about them."""

    def judge(prompt):
        *_, subject = data_of(prompt)[:3] if "an entity" in text_of(prompt) else ("claim",)
        if subject == "claim":
            return certain(4)
        return certain(5 if data_of(prompt)[-1] in found else 1)

    return ScriptedEngine(judge=judge, write=lambda prompt: Completion("", True))


def graded(judge: LanguageJudge) -> list[float | None]:
    (grades,) = judge.grade([GradingTask(GRAPH, (Graph("the other text"),), precision=True)])
    return [grade.score for grade in grades]


def test_three_passes_and_what_is_absent_is_not_asked_about():
    engine = engine_that_knows("tall man", "horse", "face of tall man")
    # objects: man, horse, the other man, tree, face; then tall, red; then on, near
    assert graded(LanguageJudge(engine)) == [5, 5, 1, 1, 5, 4, 4, 4, 1]
    asked = [text_of(prompt) for prompt in engine.asked]
    kinds = [("Rewrite" in t and "r") or ("an entity" in t and "e") or "c" for t in asked]
    # two identifiers rewritten; four wholes asked about; the part by two names; three claims
    assert "".join(kinds) == "rreeeeeeccc"
    assert not any("described as “near”" in t for t in asked)


def test_a_part_of_something_absent_goes_by_its_own_name():
    engine = engine_that_knows("horse", "face")
    assert graded(LanguageJudge(engine))[4] == 5


def test_a_judge_that_does_not_answer_leaves_components_unscored():
    silent = ScriptedEngine(judge=lambda prompt: AnswerScores((-9.0,) * 5, 0.01))
    assert graded(LanguageJudge(silent)) == [None] * 9
    assert graded(LanguageJudge(silent, unreadable_is_absent=True)) == [1] * 9
    failed = ScriptedEngine(judge=lambda prompt: Failed(Unscored.ENGINE_ERROR))
    (grades,) = LanguageJudge(failed).grade([GradingTask(GRAPH, (Graph("x"),), precision=True)])
    assert grades[0].unscored == str(Unscored.ENGINE_ERROR)
    assert grades[-1].unscored == "the judge could not say whether its object is there"


def test_without_log_probabilities_the_written_answer_counts():
    engine = ScriptedEngine(
        judge=lambda prompt: Failed(Unscored.NO_LOGPROBS),
        write=lambda prompt: Completion("10", True),
    )
    assert graded(LanguageJudge(engine, rewriting=False)) == [None] * 9
    spoken = ScriptedEngine(
        judge=lambda prompt: Failed(Unscored.NO_LOGPROBS),
        write=lambda prompt: Completion("3", True),
    )
    assert graded(LanguageJudge(spoken, rewriting=False)) == [3] * 9


def test_identifiers_are_rewritten_by_the_model_unless_it_babbles():
    def write(prompt):
        return Completion(
            "“the tall man”" if "tall man" in text_of(prompt) else "Sure!\nHere", True
        )

    engine = ScriptedEngine(judge=lambda prompt: certain(5), write=write)
    (grades,) = LanguageJudge(engine).grade([GradingTask(GRAPH, (Graph("x"),), precision=False)])
    assert grades[0].identifier == "the tall man"
    assert grades[2].identifier == "man near tree"


class Letters:
    """A toy encoder: words as directions, so that similarity is the share of common words."""

    def __init__(self) -> None:
        self.settings = {"encoder": "letters"}
        self.words: dict[str, int] = {}

    def __call__(self, phrases):
        rows = np.zeros((len(phrases), 400), dtype=np.float32)
        for row, phrase in zip(rows, phrases, strict=True):
            for word in phrase.lower().strip(".").split():
                row[self.words.setdefault(word, len(self.words))] = 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def scene(*pairs: tuple[str, str], edges=()) -> Graph:
    objects = tuple(thing(name) for name, _ in pairs)
    said = tuple(
        Attribute(i, value, NONE, AttributeKind.COUNT if value.isdigit() else AttributeKind.QUALITY)
        for i, (_, value) in enumerate(pairs)
        if value
    )
    relations = tuple(Relation(a, name, b, NONE) for a, name, b in edges)
    return Graph(" ".join(f"{v} {n}" for n, v in pairs), objects, said, relations)


def offline(source: Graph, *targets: Graph, judge: OfflineJudge | None = None) -> list[float]:
    judge = judge or OfflineJudge(Letters(), gist=0)
    (grades,) = judge.grade([GradingTask(source, targets, precision=True)])
    return [grade.score for grade in grades]


def test_texts_of_the_same_words_are_told_apart_by_their_structure():
    """As users get it: what whole texts have in common does not decide a component's grade."""
    right = scene(("hat", "red"), ("scarf", "blue"))
    swapped = replace(scene(("hat", "blue"), ("scarf", "red")), text=right.text)
    elsewhere = replace(scene(("dog", "")), text=right.text)
    same, crossed, absent = (
        offline(right, other, judge=OfflineJudge(Letters()))
        for other in (right, swapped, elsewhere)
    )
    assert max(crossed[2:]) < min(same[2:]) - 0.05
    assert max(absent) < min(same) - 0.5


def test_an_attribute_must_match_on_the_matched_object():
    """Swapped colours: every word is there, nothing is right."""
    right = scene(("hat", "red"), ("scarf", "blue"))
    swapped = scene(("hat", "blue"), ("scarf", "red"))
    same, crossed = offline(right, right), offline(swapped, right)
    assert same == pytest.approx([5] * 4, abs=0.05)
    assert crossed[:2] == pytest.approx([5, 5], abs=0.05)
    assert max(crossed[2:]) < 4


def test_what_agrees_is_not_marked_however_unlike_the_whole_texts_are():
    one = scene(("man", "tall"), ("horse", ""), edges=[(0, "on", 1)])
    other = replace(one, text="zzzz qqqq")
    objects, claims = np.split(np.array(offline(one, other, judge=OfflineJudge(Letters()))), [2])
    assert min(claims) > 3 > max(objects)


def test_a_relation_has_a_direction():
    one = scene(("man", ""), ("horse", ""), edges=[(0, "on", 1)])
    other = scene(("horse", ""), ("man", ""), edges=[(0, "on", 1)])
    assert offline(one, one)[2] == pytest.approx(5, abs=0.05)
    assert offline(one, other)[2] < offline(one, one)[2]


def test_counts_and_kinds_exclude_each_other():
    assert offline(scene(("dogs", "2")), scene(("dogs", "3")))[1] < 3.5
    assert offline(scene(("tall man", "")), scene(("tall woman", "")))[0] < 3


def test_what_any_reference_describes_is_described():
    source = scene(("dog", ""), ("cat", ""))
    both = offline(source, scene(("dog", "")), scene(("cat", "")))
    assert both == pytest.approx([5, 5], abs=0.05)


def test_what_is_said_of_a_denied_object_is_graded_by_itself():
    """Of an object that the other text denies it is absent; in a denial it is wrong, not absent."""
    dog = scene(("dog", "brown"))
    none = replace(dog, objects=(thing("dog", denied=True),))
    assert offline(dog, none)[1] == 1
    assert 1 < offline(none, dog)[1] < 2


def test_the_whole_texts_count_by_the_best_and_by_their_center():
    """The mean of the cosines to the best target and to the targets' centroid (the docstring)."""
    source, targets = (
        replace(scene(("dog", "")), text="a b c d"),
        [replace(scene(("dog", "")), text=text) for text in ("a b", "e f")],
    )
    cosine, center = 2 / (4 * 2) ** 0.5, 2 / (4 * 4) ** 0.5
    mixed = 0.9 * (cosine + center) / 2 + 0.1
    share = 1 / (1 + math.exp((0.45 - mixed) / 0.1))
    (grade,) = offline(source, *targets, judge=OfflineJudge(Letters()))
    assert grade == pytest.approx(2.5 + 2.5 * share, abs=1e-3)


def test_a_real_language_model_judges_through_transformers(tmp_path):
    """Random weights hardly ever answer a number: the path is real, and says that it knows nothing.

    With half of the probability on 1 to 5 not asked for, its grades are the weighted means.
    """
    from tinylm import model_of, tokenizer_of

    from revise_captions.engines.load import load_engine

    tokenizer = tokenizer_of()
    model_of("Qwen3", len(tokenizer)).save_pretrained(tmp_path / "llm")
    tokenizer.save_pretrained(tmp_path / "llm")
    engine = load_engine(str(tmp_path / "llm"), Placement(device="cpu"), option="--judge")
    task = GradingTask(GRAPH, (Graph("A tall man near a tree."),), precision=True)
    (grades,) = LanguageJudge(engine).grade([task])
    assert {grade.score for grade in grades} == {None}
    assert grades[0].unscored == "the judge's answer is no number from 1 to 5"
    (absent,) = LanguageJudge(engine, unreadable_is_absent=True).grade([task])
    assert [grade.score for grade in absent] == [1] * len(GRAPH.objects) + [1] * (
        len(GRAPH.attributes) + len(GRAPH.relations)
    )
    asked = [
        prompts.entity("A tall man.", "A man.", name, precision=True) for name in ("man", "ox")
    ]
    for answer in engine.answer_logprobs(asked, prompts.ANSWERS):
        assert isinstance(answer, AnswerScores)
        weights = [math.exp(logprob) for logprob in answer.logprobs]
        assert sum(weights) == pytest.approx(answer.answer_mass, rel=1e-3)
        known = expected(AnswerScores(answer.logprobs, 1.0))
        assert known == pytest.approx(np.average(range(1, 6), weights=weights))


# --- the authors' questions -----------------------------------------------------------------------

#: The keys of the authors' files; the words are made up.
TEXTS = {
    "prefix": "One: {target_text} Two: {source_text}",
    "verifiers": {
        "entity": "E {entity_identifier}?",
        "attribute": "A {entity_identifier}: {attribute}?",
        "relation": "R {entity1_identifier}, {entity2_identifier}: {relation}?",
    },
    "rewrite": {"attribute": "Say {entity_identifier}", "relation": "Tell {entity_identifier}"},
    "instructions": "1-5.",
}


@pytest.fixture
def released(tmp_path):
    for name in FILES:
        (tmp_path / name).write_text(json.dumps(TEXTS), encoding="utf-8")
    return ReleasedQuestions.read(tmp_path)


def named(questions, graph, index, names=(), absent=()):
    return [c.text for c in questions.candidates(graph, index, dict(names), absent)]


def test_released_identifiers(released):
    """Qualities of uncontested objects too, other names of contested ones, then relations."""
    graph = Graph(
        "A red horse, a man (the rider) on it, a man near a tree in a hat.",
        (
            thing("horse"),
            Object("man", "man", Span(15, 18), (Span(15, 18), Span(24, 29))),
            thing("man"),
            thing("tree"),
            thing("hat"),
        ),
        (Attribute(0, "red", NONE),),
        (Relation(1, "on", 0, NONE), Relation(2, "near", 3, NONE), Relation(2, "wear", 4, NONE)),
    )
    assert named(released, graph, 0) == ["horse", "red horse"]
    assert named(released, graph, 1) == ["rider"]
    assert named(released, graph, 2) == ["man near tree", "man wear hat"]
    assert named(released, graph, 2, absent=(3,)) == ["man wear hat"]
    assert [released.level(graph, index) for index in range(5)] == [0, 0, 0, 0, 1]
    assert named(released, graph, 4, {2: "the man near the tree"}) == [
        "hat",
        "hat of the man near the tree",
    ]


def test_our_left_is_asked_about_as_a_relation(released):
    value = "standing to our left"
    asked = text_of(released.attribute("T", "S", "the knight", value, precision=True))
    assert "R the knight, our left: standing to?" in asked
    graph = Graph("A knight to our left.", (thing("knight"),), (Attribute(0, value, NONE),))
    assert named(released, graph, 0) == ["knight"]


def test_the_first_identifier_with_the_best_rounded_score_is_the_released_one(released):
    graph = Graph("A red horse.", (thing("horse"),), (Attribute(0, "red", NONE),))
    grades = {"horse": 3.6, "red horse": 4.2}

    def judge(prompt):
        asked = text_of(prompt)
        which = next((name for name in grades if f"E {name}?" in asked), "")
        low = int(grades.get(which, 5.0))
        part = grades.get(which, 5.0) - low
        shares = [1 - part if k == low else part if k == low + 1 else 0 for k in range(1, 6)]
        return AnswerScores(tuple(math.log(p) if p else -math.inf for p in shares), 1.0)

    engine = ScriptedEngine(judge=judge, write=lambda _: Completion("", True))
    task = GradingTask(graph, (Graph("A horse."),), precision=True)
    (found,) = LanguageJudge(engine, questions=released, rewriting=False).grade([task])
    assert found[0].score == pytest.approx(3.6)  # 4.2 is no better, rounded
    assert text_of(engine.asked[-1]) == "One: A horse. Two: A red horse.\n\nA horse: red?\n\n1-5."
    assert LanguageJudge(engine, questions=released).settings["protocol"] == "released"


def test_released_prompts_are_the_users_files(tmp_path):
    with pytest.raises(UserError, match=r"cannot read the prompts in .*precision\.json"):
        ReleasedQuestions.read(tmp_path)
    (tmp_path / FILES[0]).write_text("{}")
    with pytest.raises(UserError, match="has not all of prefix"):
        ReleasedQuestions.read(tmp_path)
