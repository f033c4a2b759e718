"""What is decided in explorer or report is what `annotate import` and captions finetune take."""

from __future__ import annotations

import json

import pytest
from explored import rows_of, write_run

from revise_captions.finetune.data.records import open_split
from revise_captions.pipelines.annotate.answers.import_answers import import_answers
from revise_captions.pipelines.annotate.options import ImportOptions
from revise_captions.pipelines.explore.index import RunFile
from revise_captions.pipelines.explore.session import ExploreOptions, open_session

EDITED = "Nothing of the kind is there."


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "run").mkdir()
    return write_run(tmp_path / "run", 20, start=3)


def decide_some(run):
    """Accepts, rejects and edits in turn; returns what was decided by caption and sentence."""
    session = open_session(ExploreOptions(RunFile(str(run))))
    made = {}
    ways = ("accept", "reject", "edit")
    for caption, row in enumerate(rows_of(run)):
        for k, sentence in enumerate(row["revision"]["sentences"]):
            if sentence["label"] == "nonfactual":
                decision = ways[len(made) % 3]
                text = EDITED if decision == "edit" else ""
                session.decisions.decide(session.unit(caption, k), decision, text)
                made[row["caption"], tuple(sentence["span"])] = (decision, sentence)
    return session.decisions.path, made


def check_sentence(decision, sentence, found):
    """A training sentence (of finetune.data) against what was decided."""
    assert found.factual == (decision == "reject")
    if decision == "reject":
        return
    assert found.rationales == (sentence["rationale"],)
    expected = {"edit": EDITED, "accept": "" if sentence["dropped"] else sentence["rewrite"]}
    assert found.rewrite in (expected[decision], "")  # "" where its context changed, too


def test_finetune_critic_takes_the_decisions_as_they_are(run):
    path, made = decide_some(run)
    examples = open_split(path, "train")
    originals = [e for e in examples if (e.caption, tuple(e.spans[0])) in made]
    assert len(originals) == len(made) > 9
    for example in originals:
        check_sentence(*made[example.caption, tuple(example.spans[0])], example.sentences[0])
        assert (path.parent / example.image).is_file()
    revised = [e for e in examples if (e.caption, tuple(e.spans[0])) not in made]
    assert revised
    assert all(e.sentences[0].factual for e in revised)
    assert any(e.sentences[0].rewrite == EDITED for e in originals)


def test_annotate_import_takes_the_decisions_and_finetune_critic_its_folder(run, tmp_path):
    path, made = decide_some(run)
    out = tmp_path / "data"
    found = import_answers(ImportOptions(run, (path,), out, validation=0.3))
    assert found.answers == len(rows_of(path))
    assert not any("nobody" in kind or "not in the key" in kind for kind in found.problems)
    seen = {}
    for split in ("train", "validation"):
        for example in open_split(out, split):
            assert (out / example.image).is_file()
            for sentence in example.sentences:
                seen[example.caption, tuple(sentence.span)] = sentence
    assert made.keys() <= seen.keys()
    for place, (decision, sentence) in made.items():
        check_sentence(decision, sentence, seen[place])
    figures = json.loads((out / "figures.json").read_text())
    assert "no sample of the run" in figures["sample"]


def test_decisions_of_another_run_are_one_line(run, tmp_path):
    path, _ = decide_some(run)
    other = write_run(tmp_path, 3, start=80, pictures=False)
    with pytest.raises(Exception, match="no answer is about a sentence of"):
        import_answers(ImportOptions(other, (path,), tmp_path / "data"))


def test_an_accepted_removal_has_no_rewrite(run):
    path, made = decide_some(run)
    removed = {place for place, (how, s) in made.items() if how == "accept" and s["dropped"]}
    rows = [r for r in rows_of(path) if r["decision"] == "accept"]
    of_removed = [
        r for r in rows
        if (r["caption"], (r["sentences"][0]["start"], r["sentences"][0]["end"])) in removed
    ]  # fmt: skip
    assert of_removed
    assert all(r["sentences"][0]["rewrite"] is None for r in of_removed)
