"""Progress and answers batch by batch: what an interrupted window does not lose."""

from __future__ import annotations

import json
import math
import pickle
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import tinyvlm
import torch
from commands import write_input
from PIL import Image

from revise_captions.engines.batches import kept, key_of, observed_by, reported, restored, stored
from revise_captions.engines.protocol import AnswerScores, Completion, Data, Failed, Picture, Prompt
from revise_captions.errors import EngineDead, Reason
from revise_captions.io.rows import BadRow
from revise_captions.pipelines import cli
from revise_captions.pipelines.output.batch_journal import MAGIC, BatchJournal
from revise_captions.records import Unscored
from revise_captions.runs.progress import Progress


def quiet(doing: str, done: int, of: int) -> None:
    pass


def journal(folder: Path, *, resumed: bool = True, key: str = "run") -> BatchJournal:
    return BatchJournal(folder / "out.journal", key, quiet, resumed=resumed)


ANSWERS = [
    AnswerScores((-0.1234567890123, -math.inf), 0.987654321),
    Completion("“Ja” \ud83d \n</s>", True),
    Failed(Unscored.TOO_LONG, "over 7"),
    (0.1, -3.0),
    [[3, 1, 2], []],
]


def test_answers_come_back_as_they_were():
    stored_ = json.loads(json.dumps([stored(answer) for answer in ANSWERS]))
    assert [restored(answer) for answer in stored_] == ANSWERS
    with pytest.raises(TypeError):
        stored("text")


def test_a_key_knows_texts_and_pictures():
    def prompt(text: str, color: str) -> Prompt:
        return Prompt((Picture(Image.new("RGB", (4, 4), color)), Data(text)))

    keys = [
        key_of(kind, [prompt(text, color)])
        for kind in ("judging", "writing 9")
        for text in ("a", "b")
        for color in ("red", "blue")
    ]
    assert len(set(keys)) == 8
    assert key_of("judging", [prompt("a", "red")]) == keys[0]
    assert key_of("judging", [(prompt("a", "red"), {"seed": 1})]) != key_of(
        "judging", [(prompt("a", "red"), {"seed": 2})]
    )


def run_window(batches: BatchJournal, computed: list[str], names: str, digest: str = "d") -> list:
    """Each name is a batch of one prompt; what is computed is noted."""
    found = []
    with batches.window(0, digest):
        for name in reported("judging", names, len(names)):

            def compute(name: str = name) -> list[Completion]:
                if name == "!":
                    raise KeyboardInterrupt
                computed.append(name)
                return [Completion(f"{name}{len(computed)}", True)]

            found += kept("model", "judging", [Prompt((Data(name),))], compute)
    return found


def test_an_interrupted_window_goes_on_where_it_stopped(tmp_path):
    computed: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_window(journal(tmp_path), computed, "aba!")
    path = tmp_path / "out.journal.batches"
    with path.open("ab") as file:
        file.write(b"0123 torn")
    batches = journal(tmp_path)
    found = run_window(batches, computed, "abac")
    assert computed == ["a", "b", "a", "c"]
    # what was asked twice comes back as it was answered each time
    assert [answer.text for answer in found] == ["a1", "b2", "a3", "c4"]
    assert run_window(journal(tmp_path), computed, "abac") == found  # killed before the journal
    batches.clear()
    assert not path.exists()


@pytest.mark.parametrize("change", ["window", "run", "force", "foreign"])
def test_batches_of_something_else_do_not_count(tmp_path, change, caplog):
    computed: list[str] = []
    run_window(journal(tmp_path), computed, "a")
    path = tmp_path / "out.journal.batches"
    if change == "foreign":
        path.write_text("precious")
    batches = journal(
        tmp_path, resumed=change != "force", key="other" if change == "run" else "run"
    )
    run_window(batches, computed, "a", digest="other" if change == "window" else "d")
    assert computed == ["a", "a"]
    batches.clear()
    assert path.exists() == (change == "foreign")
    if change == "foreign":
        assert path.read_text() == "precious"
        assert "was not written by revise-captions" in caplog.text


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(MAGIC)
    (tmp_path / "out.journal.batches").symlink_to(tmp_path / "precious")
    batches = journal(tmp_path)
    run_window(batches, [], "a")
    batches.clear()
    assert (tmp_path / "precious").read_bytes() == MAGIC


def test_without_an_observer_nothing_is_kept():
    assert kept("m", "judging", [], lambda: [1]) == [1]
    batches = journal(Path())
    with observed_by(batches):
        assert kept("m", "", [], lambda: [1]) == [1]


def test_an_instruct_model_loses_a_batch_not_a_window(tmp_path, monkeypatch, capsys):
    """Cut and resumed, the run computes no batch twice, and writes the same bytes."""
    from revise_captions.engines import batches
    from revise_captions.engines.transformers.engine import TransformersEngine

    monkeypatch.chdir(tmp_path)
    tinyvlm.saved(tmp_path / "vlm", "idefics3")
    write_input(tmp_path / "in.jsonl", 6)
    options = ["--critic", "vlm", "--batch-size", "4", "--allow-unscored", "--device", "cpu"]
    options += ["--threshold", "0.9", "--rounds", "1"]
    plain, generate = TransformersEngine._guarded, TransformersEngine.generate
    done: list[int] = []

    def guarded(self, rows, run):
        if batches._OBSERVER.get() is not None:  # not a trial while the model is loaded
            if len(done) == limit:
                raise EngineDead("cut")
            done.append(len(rows))
        return plain(self, rows, run)

    def revise(*more: str) -> int:
        with pytest.raises(SystemExit) as stopped:
            cli.main(["in.jsonl", *more, *options])
        capsys.readouterr()
        return int(stopped.value.code or 0)

    limit = -1
    monkeypatch.setattr(TransformersEngine, "_guarded", guarded)
    short = lambda engine, prompts, limit, *more: generate(engine, prompts, 4, *more)  # noqa: E731
    monkeypatch.setattr(TransformersEngine, "generate", short)  # it never comes to an end
    assert revise("whole.jsonl") == 0
    total = len(done)
    assert total >= 6
    done.clear()
    limit = total - 2
    assert revise("out.jsonl") == 3
    assert Path("out.jsonl.journal.batches").exists()
    limit = -1
    assert revise("out.jsonl", "--resume") == 0
    assert len(done) == total
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    assert not list(Path().glob("out.jsonl.journal*"))


def test_a_reviser_s_batches_are_kept(tmp_path):
    """Ids come back as they were decoded, without the model."""
    from revise_captions.reviser.decoding import generate

    class Doubling:
        """Writes its prompt's ids again and ends."""

        device, name_or_path, calls = "cpu", "doubling", 0

        def generate(self, input_ids, attention_mask, generation_config, logits_processor):
            self.calls += 1
            return torch.cat([input_ids, input_ids, torch.full((len(input_ids), 1), 9)], dim=1)

    model = Doubling()

    def decode(size: int = 2) -> list[list[list[int]]]:
        prompts = [[3, 4, 5], [6], [7, 8], [6]]
        found = generate(model, prompts, [8] * 4, pad=0, eos=[9], batch_size=size)  # type: ignore[arg-type]
        return [[answer.ids for answer in own] for own in found]

    expected = decode()
    assert expected == [[[3, 4, 5, 9]], [[6, 9]], [[0, 7, 8, 9]], [[6, 9]]]
    for calls in (2, 0):
        model.calls = 0
        with journal(tmp_path).window(0, "d"):
            assert decode() == expected
        assert model.calls == calls


def test_ray_shows_counts(monkeypatch, tmp_path):
    """What a window that a replica sends back holds is counted as a local one is."""
    from revise_captions.pipelines.job import ray_runner
    from revise_captions.runs.journal import Journal

    bad = BadRow("in.jsonl", 1, Reason.IMAGE_UNREADABLE, "gone")
    row = {"window": 0, "digest": "d", "results": pickle.dumps([bad]), "error": ""}
    windows = SimpleNamespace(iter_rows=lambda: iter([row]))
    monkeypatch.setattr(ray_runner, "_windows", lambda *_: windows)
    progress = Progress(1)
    with Journal.open(tmp_path / "journal", {}) as kept_:
        ray_runner.process(None, kept_, progress, lambda rows: None)  # type: ignore[arg-type]
    assert progress.counts == {"flagged": 0, "rewritten": 0, "unscored": 0, "quarantined": 1}


def test_progress_shows_counts_and_batches(capsys, monkeypatch):
    monkeypatch.setattr("revise_captions.runs.progress.LINE_SECONDS", 0.0)
    progress = Progress(200)
    progress.batch("judging", 16, 420)
    progress.advance(64, 400, {"flagged": 12, "rewritten": 7, "unscored": 0, "quarantined": 1})
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("0 of 200 records (0 %)")
    assert first.endswith("; judging 16 of 420")
    assert ", 12 flagged, 7 rewritten, 1 quarantined" in second
    assert "unscored" not in second


def test_the_time_left_falls_inside_a_window(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("revise_captions.runs.progress.time.monotonic", lambda: clock[0])
    progress = Progress(200)
    shown = []
    for seconds, report in (
        (50, lambda: progress.advance(100, 400)),
        (90, lambda: progress.batch("judging", 0, 40)),
        (130, lambda: progress.batch("judging", 10, 40)),
    ):
        clock[0] = seconds
        report()
        shown.append(capsys.readouterr().err.strip())
    rates = "100 of 200 records (50 %), 2.0 records/s, 8 sentences/s"
    assert shown == [
        f"{rates}, 50.0 s left",
        f"{rates}, 10.0 s left; judging 0 of 40",
        f"{rates}; judging 10 of 40, 2 min 00 s left",
    ]


def test_a_slow_model_shows_life_before_its_first_batch_ends(tmp_path, capsys, monkeypatch):
    for name in ("LINE_SECONDS", "BEAT_SECONDS"):
        monkeypatch.setattr(f"revise_captions.runs.progress.{name}", 0.01)
    shown: list[str] = []
    with Progress(200) as progress:
        observer = BatchJournal(tmp_path / "journal", "run", progress.batch, resumed=True)
        with observed_by(observer):
            for _ in reported("rewriting", [[1, 2, 3], [4, 5, 6, 7]], 7):
                while len(shown) < 3:  # as long as the batch takes
                    time.sleep(0.02)
                    shown += capsys.readouterr().err.splitlines()
    assert shown[0].startswith("0 of 200 records (0 %)")
    assert shown[2].endswith("; rewriting 0 of 7")
