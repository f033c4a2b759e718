"""The explorer's server: this machine alone, the token, no path to anything else, decisions."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from explored import ask, rows_of, serving, write_run
from report_pages import HOSTILE

from revise_captions.errors import UserError
from revise_captions.pipelines.explore.decisions import Decisions, decisions_path
from revise_captions.pipelines.explore.index import RunFile
from revise_captions.pipelines.explore.session import ExploreOptions, open_session


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_run(tmp_path, 6, start=3)


def decide(server, caption, sentence, decision, text="", **headers):
    body = json.dumps(
        {"caption": caption, "sentence": sentence, "decision": decision, "text": text}
    )
    headers = {"Content_Type": "application/json"} | headers
    return ask(server, f"/{server.token}/decide", "POST", body, **headers)[0]


def flagged(run, caption):
    sentences = rows_of(run)[caption]["revision"]["sentences"]
    return [k for k, s in enumerate(sentences) if s["label"] == "nonfactual"]


def test_only_this_machine_with_the_token(run):
    with serving(run) as server:
        assert server.server_address[0] == "127.0.0.1"
        path = f"/{server.token}/"
        assert ask(server, path)[0] == 200
        assert ask(server, path, Host=f"localhost:{server.server_port}")[0] == 200
        for host in ("evil.example", "127.0.0.1", f"evil.example:{server.server_port}", ""):
            assert ask(server, path, Host=host)[0] == 403, host
        for wrong in ("/", "/x/", f"/{server.token}", f"/{server.token[:-1]}/"):
            assert ask(server, wrong)[0] == 404, wrong


def test_no_path_leads_to_a_file(run):
    with serving(run) as server:
        for path in (
            *("../revised.jsonl", "..%2f..%2fetc/passwd", "%2e%2e/", "image/../0", "image/-1"),
            *("image/99", "image/0/../../x", "/etc/passwd", "image/1e1", "figures/x", "\\..\\x"),
        ):
            assert ask(server, f"/{server.token}/{path}")[0] == 404, path


def test_an_image_outside_the_folder_is_not_served(run):
    (run.parent / "inside").mkdir()
    moved = run.parent / "inside/revised.jsonl"
    rows = rows_of(run)
    rows[0]["image"] = "../images/3.png"
    moved.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(moved) as server:
        assert ask(server, f"/{server.token}/image/0")[0] == 404
    with serving(moved, image_root=run.parent) as server:
        assert ask(server, f"/{server.token}/image/1")[0] == 200


def test_images_are_made_anew(run):
    """What a browser gets was decoded here, so that no file's bytes reach it."""
    (run.parent / "images/3.png").write_bytes(b"<svg onload='alert(1)'/>")
    with serving(run) as server:
        status, headers, data = ask(server, f"/{server.token}/image/1/large")
        assert (status, headers["Content-Type"], data[:2]) == (200, "image/jpeg", b"\xff\xd8")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert ask(server, f"/{server.token}/image/0")[0] == 404


def test_decisions_from_elsewhere_are_refused(run):
    with serving(run) as server:
        (sentence, *_) = flagged(run, 0)
        assert decide(server, 0, sentence, "accept", Origin="http://evil.example") == 403
        assert decide(server, 0, sentence, "accept", Content_Type="text/plain") == 415
        for wrong in (
            (0, sentence, "maybe"), (0, 99, "accept"), (99, 0, "accept"), (0, -1, "accept"),
            (0, sentence, "edit", 7), ("0", sentence, "accept"), (True, sentence, "accept"),
            (0, sentence, "edit", "x" * 30_000),
        ):  # fmt: skip
            assert decide(server, *wrong) == 400, wrong
        path = f"/{server.token}/decide"
        assert ask(server, path, "POST", "[" * 9999, Content_Type="application/json")[0] == 400
        assert ask(server, path, "POST", b"\xff", Content_Type="application/json")[0] == 400
        assert ask(server, path, "POST", "x" * 300_000, Content_Type="application/json")[0] == 400
        assert not server.session.decisions.path.exists()


def test_decisions_are_kept_taken_back_and_found_again(run):
    path = run.with_name("revised.decisions.jsonl")
    with serving(run) as server:
        (sentence, *_) = flagged(run, 0)
        assert decide(server, 0, sentence, "accept") == 200
        assert len(rows_of(path)) == 2
        assert decide(server, 0, sentence, "edit", " A true sentence. ") == 200
        (row,) = rows_of(path)
        assert row["rewrite"] == row["sentences"][0]["rewrite"] == "A true sentence."
    with serving(run) as server:
        _, _, page = ask(server, f"/{server.token}/")
        assert page.count(b'data-made="edit"') == 1
        assert b"A true sentence." in page
        _, headers, data = ask(server, f"/{server.token}/decisions.jsonl")
        assert data == path.read_bytes()
        assert headers["Content-Disposition"].startswith("attachment")
        assert decide(server, 0, sentence, "") == 200
        assert path.read_bytes() == b""
    with serving(run) as server:
        assert decide(server, 0, sentence, "reject") == 200


def test_the_command_serves_until_ctrl_c(run):
    """Once from the outside, as a user starts and ends it."""
    started = subprocess.Popen(
        [sys.executable, "-m", "revise_captions", "explore", str(run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # tests in the background of a shell inherit that Ctrl-C is ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    address = urlsplit(started.stdout.readline().decode().strip())
    connection = http.client.HTTPConnection(address.netloc, timeout=20)
    connection.request("GET", address.path)
    page = connection.getresponse().read()
    assert page.count(b'<article class="card"') == 6
    body = json.dumps({"caption": 0, "sentence": flagged(run, 0)[0], "decision": "reject"})
    connection.request("POST", f"{address.path}decide", body, {"Content-Type": "application/json"})
    found = json.loads(connection.getresponse().read())
    assert found == {"decided": 1, "left": sum(len(flagged(run, k)) for k in range(6)) - 1}
    started.send_signal(signal.SIGINT)
    said, _ = started.communicate(timeout=20)
    assert started.returncode == 0
    assert f"captions annotate import {run} {run.with_name('revised.decisions.jsonl')}" in (
        said.decode()
    )


def test_standard_input_is_no_run():
    with pytest.raises(UserError, match="cannot be standard input"):
        open_session(ExploreOptions(RunFile("-")))


def test_a_misspelled_folder_is_not_asked_to_be_made(tmp_path):
    with pytest.raises(UserError, match=r"/no/run\.jsonl does not exist"):
        open_session(ExploreOptions(RunFile(str(tmp_path / "no/run.jsonl"))))


def test_each_run_has_a_file_of_decisions_of_its_own():
    names = [decisions_path(out).name for out in ("a.v1.jsonl", "a.v2.jsonl", "a.parquet", "a")]
    assert len(set(names)) == 4
    assert names[0] == "a.v1.decisions.jsonl"


def test_two_explorers_keep_each_others_decisions(run):
    with serving(run) as one, serving(run) as two:
        places = [(k, s) for k in range(6) for s in flagged(run, k)]
        assert decide(one, *places[0], "reject") == 200
        assert decide(two, *places[1], "reject") == 200
        assert decide(one, *places[2], "reject") == 200
    assert len(rows_of(run.with_name("revised.decisions.jsonl"))) == 3


def test_decisions_made_at_once_in_two_explorers_are_all_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = write_run(tmp_path, 60, start=3)
    places = [(k, s) for k in range(60) for s in flagged(run, k)]
    assert len(places) >= 60
    with serving(run) as one, serving(run) as two, ThreadPoolExecutor(4) as pool:
        servers = [(one, two)[k % 2] for k in range(len(places))]
        answers = list(pool.map(lambda s, place: decide(s, *place, "reject"), servers, places))
    assert answers == [200] * len(places)
    assert len(rows_of(run.with_name("revised.decisions.jsonl"))) == len(places)


def test_every_request_has_an_answer(run, monkeypatch):
    with serving(run) as server:
        path = f"/{server.token}"
        assert ask(server, f"{path}/?differs=better")[0] == 400
        assert ask(server, f"{path}/?page={'9' * 50}")[0] == 200
        assert decide(server, 10**50, 0, "accept") == 400
        assert decide(server, 0, 10**50, "accept") == 400
        long = {"Content-Length": "9" * 5000, "Content-Type": "application/json"}
        assert ask(server, f"{path}/decide", "POST", "{}", **long)[0] == 400
        monkeypatch.setattr(server.views, "figures", lambda: 1 // 0)
        assert ask(server, f"{path}/figures")[0] == 500


def test_a_file_that_holds_no_decisions_is_left_alone(run, tmp_path):
    other = tmp_path / "notes.jsonl"
    other.write_text('{"mine": 1}\n')
    for path in (other, run):
        with pytest.raises(UserError):
            Decisions.open(path, "me", [run])
    assert other.read_text() == '{"mine": 1}\n'


def test_hostile_captions_stay_text(run):
    rows = rows_of(run)
    for row, text in zip(rows, HOSTILE, strict=False):
        row |= {"caption": text, "revised_caption": text, "model": text, "image": text}
        sentence = row["revision"]["sentences"][0] | {"span": [0, len(text)], "rationale": text}
        row["revision"]["sentences"] = [sentence]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(run) as server:
        status, _, page = ask(server, f"/{server.token}/")
        text = page.decode()
        assert status == 200
        assert text.count("<script") == 1
        assert "<img src=x" not in text
        assert "default-src &#39;none&#39;; img-src data: &#39;self&#39;" in text
        for model in ("%27%22%3E%3Csvg", "%00", "%ff", "%ed%a0%bd"):
            assert ask(server, f"/{server.token}/?model={model}&q={model}")[0] == 200


def test_rows_that_another_program_changed_are_counted_and_left_out(run):
    rows = rows_of(run)
    del rows[1]["revision"]["sentences"][0]["p_factual"]
    rows[2]["revision"]["sentences"] = [7]
    rows[3]["caption"] = None
    rows[4]["revision"]["sentences"][0]["span"] = "x"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    run.write_text(text + "{broken\n")
    with serving(run) as server:
        _, _, page = ask(server, f"/{server.token}/")
        assert page.count(b'<article class="card"') == 3
        assert page.count(b"<b>a revision that revise-captions did not write</b>") == 1
        assert b"4 rows of the file could not be read" in page


def test_every_page_of_a_run_opens(run):
    with serving(run) as server:
        for path in (
            "?sort=worst",
            "?sort=different",
            "?page=99",
            "?outcome=revised&q=x",
            "figures",
        ):
            status, headers, page = ask(server, f"/{server.token}/{path}")
            assert status == 200
            assert b"</html>" in page
            assert headers["Cache-Control"] == "no-store"
