from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from revise_captions.errors import Reason, UserError
from revise_captions.io.rows import BadRow, Unparsed, dumps
from revise_captions.records import ImageRef, Record
from revise_captions.runs.digests import window_digest
from revise_captions.runs.journal import MAGIC, Journal, RowResult

SETTINGS = {"critic": "bundled", "threshold": 0.5, "rounds": 2}


def result(line: int, text: str = "A cat.") -> RowResult:
    return RowResult(line, {"revised_caption": text, "revision": {"sentences": [], "p": 0.1234}})


def filled(path: Path, windows: int = 3) -> Path:
    with Journal.open(path, SETTINGS) as journal:
        for window in range(windows):
            journal.append(window, f"d{window}", [result(2 * window + 1), result(2 * window + 2)])
    return path


def test_results_come_back_in_the_order_of_windows(tmp_path):
    bad = BadRow("in.jsonl", 3, Reason.IMAGE_NOT_FOUND, "a.jpg does not exist", "{}")
    with Journal.open(tmp_path / "j", SETTINGS) as journal:
        journal.append(1, "b", [bad, result(4, "\ud800 \u2028\n")])
        journal.append(0, "a", [result(1), result(2)])
        assert len(journal) == 2
        for _ in range(2):
            got = list(journal.results())
            assert [item.line for item in got] == [1, 2, 3, 4]
            assert got[0] == result(1)
            assert (got[2].reason, got[2].detail) == (bad.reason, bad.detail)
            assert got[3] == result(4, "\ud800 \u2028\n")


def test_results_of_this_process_are_cut_out_of_the_journal_as_they_are(tmp_path):
    """Whatever a caption spells, also the journal's own brackets."""
    texts = [
        '], [9, {"revised_caption": "x"',
        "\\",
        '\\"',
        "\ud800\u2028",
        "",
        "]]",
        '{"a": [1, 2]}',
    ]
    written = [result(line, text) for line, text in enumerate(texts, 1)]
    with Journal.open(tmp_path / "j", SETTINGS) as journal:
        journal.append(0, "a", written)
        cut = list(journal.results())
    assert all(isinstance(item.revised, Unparsed) for item in cut)
    assert [item.revised.text for item in cut] == [dumps(item.revised) for item in written]
    with Journal.open(tmp_path / "j", SETTINGS, resume=True) as journal:
        parsed = list(journal.results())
    assert not any(isinstance(item.revised, Unparsed) for item in parsed)
    assert cut == parsed == written


def test_a_gap_is_not_passed_over(tmp_path):
    with Journal.open(tmp_path / "j", SETTINGS) as journal:
        journal.append(1, "b", [result(2)])
        with pytest.raises(RuntimeError, match="window 0"):
            list(journal.results())


def test_resume_knows_what_is_done(tmp_path):
    filled(tmp_path / "j")
    with Journal.open(tmp_path / "j", SETTINGS, resume=True) as journal:
        assert [journal.done(w, f"d{w}") for w in range(4)] == [True, True, True, False]
        journal.append(3, "d3", [result(7)])
        assert [item.line for item in journal.results()] == [1, 2, 3, 4, 5, 6, 7]


def test_changed_input_is_named(tmp_path):
    filled(tmp_path / "j")
    with (
        Journal.open(tmp_path / "j", SETTINGS, resume=True) as journal,
        pytest.raises(UserError, match="window 1") as caught,
    ):
        journal.done(1, "other")
    assert "--force" in caught.value.hint


def test_every_cut_leaves_the_whole_windows_before_it(tmp_path):
    path = filled(tmp_path / "j")
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        with Journal.open(path, SETTINGS, resume=True) as journal:
            finished = max(0, sum(end <= cut for end in ends) - 1)
            assert len(journal) == finished
            for window in range(finished, 3):
                journal.append(
                    window, f"d{window}", [result(2 * window + 1), result(2 * window + 2)]
                )
        assert path.read_bytes() == whole


def test_a_damaged_line_and_what_follows_are_repeated(tmp_path, caplog):
    path = filled(tmp_path / "j")
    data = bytearray(path.read_bytes())
    second = data.index(b"\n", data.index(b"\n") + 1) + 1
    data[second + 40] ^= 1
    path.write_bytes(data)
    with Journal.open(path, SETTINGS, resume=True) as journal:
        assert [journal.done(w, f"d{w}") for w in range(3)] == [True, False, False]
    said = f"{path} is damaged from line 3 on: 1 finished windows are kept, 2 are repeated"
    assert caplog.messages == [said]


def test_a_cut_line_is_said_and_whole_lines_are_not(tmp_path, caplog):
    path = filled(tmp_path / "j")
    Journal.open(path, SETTINGS, resume=True).close()
    assert caplog.messages == []
    path.write_bytes(path.read_bytes()[:-1])
    Journal.open(path, SETTINGS, resume=True).close()
    said = f"{path} is damaged from line 4 on: 2 finished windows are kept, 1 are repeated"
    assert caplog.messages == [said]


def forged(body: bytes) -> bytes:
    return b"%08x %b\n" % (zlib.crc32(body), body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"3",
        b"3 d3",
        b"three d3 []",
        b"3 \xff []",
        b"3 d3 ",
        b"3 d3 7",
        b"3 d3 {}",
        b"3 d3 [7]",
        b"3 d3 [[]]",
        b"3 d3 [[7]]",
        b'3 d3 [["7", {}]]',
        b"3 d3 [[7, 8]]",
        b'3 d3 [[7, "no reason", "x"]]',
        b'3 d3 [[7, "url_failed", "x", "y"]]',
        b"3 d3 " + b"[" * 100_000,
        b"5 d5 []",
        b"%d d5 []" % 10**30,
    ],
)
def test_forged_lines_with_a_right_checksum_are_an_error(tmp_path, body):
    path = filled(tmp_path / "j")
    before = path.read_bytes() + forged(body)
    path.write_bytes(before)
    with pytest.raises(UserError, match="changed by another program") as caught:  # noqa: SIM117
        with Journal.open(path, SETTINGS, resume=True) as journal:
            list(journal.results())
    assert "--force" in caught.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"3 d3 {}", "window 3: TypeError('no list of results')"),
        (b'3 d3 [["7", {}]]', "window 3: TypeError('a result without a line')"),
        (b"5 d5 []", "it has no window 3, but later ones"),
        (b"three d3 []", "line 5: ValueError(\"invalid literal for int() with base 10: 'three'\")"),
    ],
)
def test_what_is_wrong_with_a_forged_line_is_said(tmp_path, body, what):
    path = filled(tmp_path / "j")
    path.write_bytes(path.read_bytes() + forged(body))
    with pytest.raises(UserError) as caught:  # noqa: SIM117
        with Journal.open(path, SETTINGS, resume=True) as journal:
            list(journal.results())
    assert caught.value.message == f"{path} was changed by another program: {what}"


@pytest.mark.parametrize("body", [b"", b"7", b"[]", b"{}", b'{"run_key": 1}', b"[" * 100_000])
def test_a_forged_header_is_an_error(tmp_path, body):
    path = tmp_path / "j"
    path.write_bytes(MAGIC + forged(body))
    with pytest.raises(UserError, match="changed by another program"):
        Journal.open(path, SETTINGS, resume=True)


def test_what_is_no_file_is_no_journal(tmp_path):
    os.mkfifo(tmp_path / "j")
    for options in ({}, {"resume": True}, {"force": True}):
        with pytest.raises(UserError, match="not a journal"):
            Journal.open(tmp_path / "j", SETTINGS, **options)
    (tmp_path / "link").symlink_to(filled(tmp_path / "mine"))
    before = (tmp_path / "mine").read_bytes()
    for options in ({}, {"resume": True}, {"force": True}):
        with pytest.raises(UserError, match="cannot write"):
            Journal.open(tmp_path / "link", SETTINGS, **options)
    assert (tmp_path / "mine").read_bytes() == before


def test_a_damaged_header_is_not_taken_for_an_empty_journal(tmp_path):
    path = filled(tmp_path / "j")
    path.write_bytes(path.read_bytes().replace(b"bundled", b"bungled"))
    before = path.read_bytes()
    for resume in (True, False):
        with pytest.raises(UserError, match="damaged"):
            Journal.open(path, SETTINGS, resume=resume)
    assert path.read_bytes() == before


def test_other_settings_are_named(tmp_path):
    filled(tmp_path / "j")
    other = {"critic": "bundled", "threshold": 0.7, "guard": ("a",)}
    with pytest.raises(UserError) as caught:
        Journal.open(tmp_path / "j", other, resume=True)
    assert "threshold was 0.5 and is 0.7" in caught.value.message
    assert "rounds was 2 and is None" in caught.value.message
    assert "critic" not in caught.value.message
    assert "--force" in caught.value.hint
    with Journal.open(tmp_path / "j", other, resume=True, force=True) as journal:
        assert len(journal) == 0


def test_an_unfinished_run_is_not_thrown_away_unasked(tmp_path):
    path = filled(tmp_path / "j")
    with pytest.raises(UserError, match="did not finish") as caught:
        Journal.open(path, SETTINGS)
    assert "--resume" in caught.value.hint
    with Journal.open(path, SETTINGS, resume=True, force=True) as journal:
        assert len(journal) == 3
    with Journal.open(path, SETTINGS, force=True) as journal:
        assert len(journal) == 0


@pytest.mark.parametrize("content", [b"something of yours\n", b"revise-captions jou_"])
def test_foreign_files_are_left_alone(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    for options in ({}, {"resume": True}, {"force": True}):
        with pytest.raises(UserError, match="not a journal"):
            Journal.open(tmp_path / "j", SETTINGS, **options)
    assert (tmp_path / "j").read_bytes() == content


def test_one_run_at_a_time(tmp_path):
    with Journal.open(tmp_path / "j", SETTINGS):
        for options in ({}, {"resume": True}, {"force": True}):
            with pytest.raises(UserError, match="another run"):
                Journal.open(tmp_path / "j", SETTINGS, **options)
    Journal.open(tmp_path / "j", SETTINGS, resume=True).close()


def test_delete(tmp_path):
    with Journal.open(tmp_path / "j", SETTINGS) as journal:
        journal.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="cannot write"):
        Journal.open(tmp_path / "none" / "j", SETTINGS)


def test_digests_see_every_part():
    def record(line=1, image=None, caption="A.", raw=None) -> Record:
        return Record("x", line, image or ImageRef(path="a"), {"c": caption}, {}, raw)

    bad = BadRow("x", 1, Reason.MALFORMED_JSON, "d", "{")
    variants = [
        [record()],
        [record(line=2)],
        [record(caption="B.")],
        [record(image=ImageRef(path="b"))],
        [record(image=ImageRef(url="a"))],
        [record(image=ImageRef(data=b"a"))],
        [record(image=ImageRef(data=b"b"))],
        [record(raw="{}")],
        [record(raw='{"\ud800"}')],
        [record(), record()],
        [bad],
        [BadRow("x", 1, Reason.MALFORMED_JSON, "d", b"{\xff")],
    ]
    assert len({window_digest(v) for v in variants}) == len(variants)
    assert window_digest([record()]) == window_digest([record()])


# --- Full disks ---------------------------------------------------------------------------------

LIMITED = """
import resource, sys
from pathlib import Path
from revise_captions.errors import UserError
from revise_captions.runs.journal import Journal, RowResult
journal = Journal.open(Path(sys.argv[1]), {"a": 1}, resume=True)
if sys.argv[2] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    for window in range(50):
        if not journal.done(window, "d"):
            row = RowResult(window, {"revised_caption": "x" * 500})
            journal.append(window, "d", [row])
except UserError as error:
    print(error)
    sys.exit(2)
print(len(list(journal.results())))
"""


def test_a_full_disk_loses_nothing_finished(tmp_path):
    path = tmp_path / "j"

    def attempt(limit: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LIMITED, str(path), str(limit)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    full = attempt(10_000)
    assert full.returncode == 2, full.stderr
    assert "cannot write" in full.stdout
    assert "--resume" in full.stdout
    assert full.stderr == ""
    assert path.read_bytes().endswith(b"\n")  # nothing torn
    assert attempt(0).stdout == "50\n"


# --- Kills --------------------------------------------------------------------------------------

HARNESS = """
import itertools, sys, time
from pathlib import Path
from revise_captions.pipelines.output import writers
from revise_captions.runs import paths
from revise_captions.runs.digests import window_digest
from revise_captions.runs.journal import Journal, RowResult
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow, Unparsed, dumps

source_name, out, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
source = open_source(source_name)
writers.check_output(source, out, resume=True)
with Journal.open(paths.journal_path(out), {"critic": "scripted"}, resume=True) as journal:
    print("begun", flush=True)
    items = iter(source)
    for window in itertools.count():
        rows = list(itertools.islice(items, 7))
        if not rows:
            break
        digest = window_digest(rows)
        if journal.done(window, digest):
            continue
        time.sleep(pause)
        journal.append(window, digest, [
            row if isinstance(row, BadRow) else
            RowResult(row.line, {"revised_caption": row.captions["caption"].upper()})
            for row in rows
        ])
    writers.write(source, journal.results(), out)
    journal.delete()
"""


@pytest.mark.slow
def test_killed_at_random_moments_the_result_is_the_same_to_the_byte(tmp_path):
    lines = [json.dumps({"image": "a.jpg", "caption": f"Caption {i}.", "n": i}) for i in range(700)]
    lines[100:102] = ["{broken", ""]
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(lines))
    script = tmp_path / "run.py"
    script.write_text(HARNESS)

    def start(out: Path, pause: float) -> subprocess.Popen[str]:
        command = [sys.executable, str(script), str(source), str(out), str(pause)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    whole = tmp_path / "whole.jsonl"
    assert start(whole, 0).wait() == 0
    assert len(whole.read_text().splitlines()) == 698

    out = tmp_path / "out.jsonl"
    dice = random.Random(11)
    killed = 0
    for attempt in range(12):
        run = start(out, 0.008)
        assert run.stdout is not None
        run.stdout.readline()  # "begun": past the imports
        time.sleep(dice.uniform(0, 0.12))
        run.send_signal(signal.SIGKILL)
        killed += run.wait() == -signal.SIGKILL
        assert not out.exists() or out.read_bytes() == whole.read_bytes()
        if attempt == 5:  # a torn tail, as a kill inside a write leaves it
            with Path(f"{out}.journal").open("ab") as journal:
                journal.write(b'0badc0de 99 abc [[1, {"rev')
    assert killed >= 10
    assert start(out, 0).wait() == 0
    assert out.read_bytes() == whole.read_bytes()
    quarantines = [tmp_path / f"{name}.quarantine.jsonl" for name in ("out", "whole")]
    assert quarantines[0].read_bytes() == quarantines[1].read_bytes()
    left = {name for name in os.listdir(tmp_path) if "journal" in name or "partial" in name}
    assert left == set()
