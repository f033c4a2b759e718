"""One text on many images is told first, from counts in bounded memory, and limits are counted."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from commands import outcome
from layout_inputs import make
from tallied import FINE, FIXED, attempt, printed, row, sentence

from revise_captions.command_line.captions import main
from revise_captions.pipelines.report.summary import Tally
from revise_captions.records import Why
from revise_captions.text import frequent
from revise_captions.text.frequent import PLACES, FrequentTexts

STUCK = "I am sorry, I cannot\x1b[31m see it."


def tally_of_captions(captions, images):
    tally = Tally()
    for line, (caption, image) in enumerate(zip(captions, images, strict=True)):
        tally.add(row(FINE, FIXED), line=line, captions=[caption], image=image)
    return tally.to_json()


def test_what_recurs_on_many_images_is_told_before_anything_else():
    captions = [STUCK if n % 20 == 0 else f"Cat {n}." for n in range(400)]
    summary = tally_of_captions(captions, map(str, range(400)))
    caption, rewrite = summary["repeated"]
    assert (caption["times"], caption["of"], caption["short"]) == (20, 400, 0)
    assert (rewrite["text"], rewrite["times"]) == ("A.", 400)  # of FIXED, in every row
    shown = " ".join(printed(summary).split())
    assert shown.startswith(
        "Many images share one caption: 20 of 400 captions are “I am sorry, I cannot"
    )
    assert shown.index("Many images got the same rewrite") < shown.index(
        summary["headline"]["text"]
    )
    assert "\x1b" not in shown
    one_image = tally_of_captions(captions, ["a"] * 400)
    few = tally_of_captions([STUCK] * (PLACES - 1), map(str, range(PLACES - 1)))
    assert one_image["repeated"] == few["repeated"] == []


def test_a_rewrite_that_is_tried_twice_or_refused_counts_once():
    again = sentence(0.2, attempts=[attempt("B.", False, Why.NOT_FACTUAL)] * 2)
    tally = Tally()
    for line in range(PLACES):
        tally.add(row(again), line=line)
    (told,) = tally.to_json()["repeated"]
    assert (told["what"], told["times"], told["of"]) == ("rewrite", PLACES, PLACES)


@pytest.mark.parametrize("parts", [1, 3])
def test_no_frequent_text_is_missed_and_no_count_is_too_large(monkeypatch, parts):
    monkeypatch.setattr(frequent, "COUNTERS", 50)
    rng = random.Random(parts)
    texts = [str(int(rng.paretovariate(0.5))) for _ in range(5000)]
    true, found = Counter(texts), FrequentTexts()
    for part in range(parts):
        one = FrequentTexts()
        for number, text in enumerate(texts[part::parts]):
            one.add(text, str(number).encode())
        found += one
    counted = {text: times for text, times, _ in found.most(0)}
    assert len(counted) <= 50
    assert 0 < found.short <= len(texts) / 51
    assert all(true[text] - found.short <= n <= true[text] for text, n in counted.items())
    assert {text for text, n in true.items() if n > len(texts) / 51} <= counted.keys()


def test_the_report_counts_what_captions_select_keeps(command, tmp_path, capsys):
    pytest.importorskip("duckdb")
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl", "--report", "r.html").code == 0
    limits = json.loads((tmp_path / "r.json").read_text())["summary"]["limits"]
    told = set()
    for number, (name, column) in enumerate(limits["columns"].items()):
        limit, kept = column["kept"][len(column["kept"]) // 2]
        where = f"{name} {column['sign']} {limit}"
        line = ["select", "out.jsonl", f"{number}.jsonl", "--where", where]
        code, said, err = outcome(main, capsys, *line)
        assert code == 0, err
        assert int(said.split()[0]) == kept, where
        told.add(kept)
    assert limits["records"] == 70
    assert len(told) > 3
    page = (tmp_path / "r.html").read_text()
    assert '<section id="limits"' in page
    assert 'class="curve after"' in page
