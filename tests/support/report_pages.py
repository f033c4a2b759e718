"""Report pages: one of made-up rows, one of captions that would break out of it."""

import pytest
import storybook

from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.report.page import write_report
from revise_captions.pipelines.report.sample import ReportRow
from revise_captions.pipelines.report.summary import Tally

HOSTILE = [
    "</script><script>document.body.dataset.hacked = 1</script>",
    "<!-- <script> --!> <img src=x onerror=document.body.dataset.hacked=2>",
    "\"'><svg/onload=document.body.dataset.hacked=3> ${7*7} {{ 7*7 }} {% raw %}",
    "line\u2028separator\u2029 and \ud83d lone \udc00 surrogates",
    "abc \u202egnp.exe\u202c \u2066isolated\u2069 bell\x07 nul\x00 esc\x1b[31m",
    "]]> &lt;b&gt; &amp; &#x3c;script&#x3e; \\u003cscript\\u003e",
    "مرحبا بالعالم. 世界 👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿 e\u0301",
]


def hostile_row(caption, line=1):
    """One flagged sentence that is the whole caption; rationale and rewrites are as hostile."""
    attempt = {
        "text": caption + "?",
        "accepted": False,
        "why": "still judged nonfactual",
        "round": 1,
        "p_before": 0.1,
        "p_after": 0.2,
        "warning": "",
    }
    kept = attempt | {
        "text": caption[::-1],
        "accepted": True,
        "p_after": 0.9,
        "why": "judged factual, and better than before",
    }
    sentence = {
        "span": [0, len(caption)],
        "label": "nonfactual",
        "reason": None,
        "reason_after": None,
        "assessable": True,
        "p_factual": 0.1,
        "rationale": caption,
        "fixes": [
            {
                "span": [0, 3],
                "right": caption,
                "kind": caption,
                "certain": True,
                "basis": caption,
                "evidence": [{"box": [1, 2, 3, 4], "label": caption}],
            }
        ],
        "rewrite": caption[::-1],
        "accepted": True,
        "why": kept["why"],
        "p_after": 0.9,
        "dropped": False,
        "attempts": [attempt, kept],
    }
    revision = {"signature": "s", "threshold": 0.5, "rounds": 2, "sentences": [sentence]}
    row = ReportRow(
        caption,
        line,
        Outcome.REVISED,
        caption,
        field=caption,
        group=caption,
        revised_caption=caption[::-1],
        revision=revision,
    )
    return {"revised_caption": caption[::-1], "revision": revision}, row


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    tally = Tally(group_by=HOSTILE[0])
    rows = []
    for line, caption in enumerate(HOSTILE, 1):
        data, row = hostile_row(caption, line)
        tally.add(data, line=line, group=caption)
        rows.append(row)
    tally.quarantine("malformed_json")
    bad = ReportRow(
        "x", 99, Outcome.QUARANTINED, HOSTILE[0], reason="malformed_json", detail=HOSTILE[1]
    )
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    write_report(
        path,
        summary=tally.to_json(),
        rows=[*rows, bad],
        title=" ".join(HOSTILE),
        signature=HOSTILE[0],
        settings={HOSTILE[0]: HOSTILE[1], "n": [HOSTILE[2]]},
    )
    return path


def write_book(path):
    """The report of the story book's rows."""
    summary, rows = storybook.book(300)
    write_report(
        path,
        summary=summary,
        rows=rows,
        title="captions.jsonl",
        signature=storybook.SIGNATURE,
        settings=storybook.SETTINGS,
    )
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_book(tmp_path_factory.mktemp("report") / "report.html")
