"""DCScore with the authors' prompts, from a file of their code's shape, by hand."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from PIL import Image
from scripted_engine import ScriptedEngine, text_of

from revise_captions.dcscore.released import FILE, ReleasedPrompts, ReleasedScorer
from revise_captions.dcscore.rows import FIGURES, line_of, row_of, scored_row
from revise_captions.dcscore.scorer import CaptionTask
from revise_captions.engines.protocol import Completion
from revise_captions.errors import UserError

#: Three texts with the places and doubled braces that the authors' have; the words are made up.
CODE = '''
import nothing_that_is_there
extract_prompt = """Take apart: [{{"fact": 1}}]
{caption}
Facts"""
verify_prompt = """Check {reference_caption} / {atomic_facts}"""
match_prompt = """Match {predicted_atomic_facts} with {oracle_atomic_facts}"""
'''
FACTS = ["There is a cat_0.", "The cat_0 is red.", "It feels calm."]


def fenced(rows):
    return Completion(f"Here:\n```json\n{json.dumps(rows)}\n```", True)


def answers():
    """One decomposition; matches of which the third names other facts; three verdicts."""
    yield fenced([{"fact": f, "relevance": int(f != FACTS[2])} for f in FACTS])
    for ids in ((0, 1, "None"), (0, 0, None)):
        yield fenced([{"fact": f, "matched_oracle_id": k} for f, k in zip(FACTS, ids, strict=True)])
    yield fenced([{"fact": "another", "matched_oracle_id": 0}])
    for says in ((1, 1, 0), (1, 0, 0), (1, 1, 1)):
        yield Completion(
            str([{"fact": f, "verification": v} for f, v in zip(FACTS, says, strict=True)]), True
        )


def test_nine_scores_are_averaged_and_what_cannot_be_read_is_left_out(tmp_path):
    (tmp_path / FILE).write_text(CODE)
    said = answers()
    engine = ScriptedEngine(write=lambda _: next(said))
    scorer = ReleasedScorer(ReleasedPrompts.read(tmp_path), engine, engine, engine)
    image = Image.new("RGB", (8, 8))
    task = CaptionTask("A red cat. It feels calm.", image, ("A cat sits.",), ("a cat", "it sits"))
    (found,) = scorer.score([task])
    asked = list(map(text_of, engine.asked))
    assert asked[0] == 'Take apart: [{"fact": 1}]\nA red cat. It feels calm.\nFacts'
    assert '{"id": 1, "fact": "it sits"}' in asked[1]
    assert asked[4].startswith("<image>Check A cat sits. / ```json[\n  {")
    assert [unit.descriptive for unit in found.caption.units] == [True, True, False]
    assert len(found.score.trials) == 6
    assert FIGURES["s_p"](found.score) == pytest.approx((2 / 3 + 1 / 3 + 1) / 3)
    # recall over verdicts, with the first mapping and with the one in which two units share a fact
    recall = [2 / 2, 1 / 2, 3 / 3, 1 / 2, 0.5 / 2, 2 / 3]
    assert FIGURES["s_r"](found.score) == pytest.approx(sum(recall) / 6)
    assert len(line_of(found)["trials"]) == 6
    kept = json.loads(json.dumps(asdict(row_of("a", found))))
    assert scored_row(kept).score == found.score
    assert scorer.settings["protocol"] == "released"


def test_prompts_are_the_authors_file(tmp_path):
    with pytest.raises(UserError, match="cannot read the prompts"):
        ReleasedPrompts.read(tmp_path)
    (tmp_path / FILE).write_text("extract_prompt = 1\n")
    with pytest.raises(UserError, match="has no text extract_prompt"):
        ReleasedPrompts.read(tmp_path)
