"""A leaderboard and a POSH page of captioners with odd names."""

from __future__ import annotations

from revise_captions.graphs.grading.components import components
from revise_captions.graphs.grading.judge import Grade
from revise_captions.graphs.graph import Graph, Object
from revise_captions.pipelines.rating.examples import BehindScore, BoardEvidence
from revise_captions.pipelines.rating.page import page
from revise_captions.posh.corpus import row_of
from revise_captions.posh.display import view_of
from revise_captions.posh.page import PoshPage
from revise_captions.posh.scoring import Graded, Score
from revise_captions.records import Span
from revise_captions.runs.score_file import FileScores

LONG = "organization/a-very_long-model.name_with@many+parts:and/no-spaces_at-all-in_it-2026"
NAMES = (LONG, "x" * 90, "كابتشنر", "<script>document.body.dataset.hacked = 1</script>", "b")


def board():
    rows = [
        {
            "rank": "1–5", "captioner": name, "score": 0.5 + k / 10, "low": 0.4 + k / 10,
            "high": 0.55 + k / 10, "length_controlled": 0.5, "captions": 9, "judged": 9,
            "sentences": 12_345, "unscored": 3, "not_assessable": 0, "words_per_caption": 47.0,
        }
        for k, name in enumerate(NAMES)
    ]  # fmt: skip
    square = [[0.5] * len(NAMES)] * len(NAMES)
    criterion = {"heading": "correct sentences", "table": rows, "wins": square, "p_values": square}
    criterion["least_p"] = 0.01
    rater = {"critic": LONG, "threshold": "0.5"}
    criteria = dict.fromkeys(("response", "overall", "per_description"), criterion)
    head = {"rater": rater, "images": 9, "replicates": 1000, "errors": None, "people": None}
    head["few"] = f"9 images: too few to tell {LONG} from others."
    return {**head, "criteria": criteria}


def board_page():
    evidence = BoardEvidence()
    for name in NAMES:
        wrong = BehindScore.of(0.1, LONG, f"One. {name}", 5, 5 + len(name), rationale=name)
        evidence.add(name, [wrong], ())
    return page(board(), evidence)


def posh_page():
    shown, found = PoshPage(LONG), FileScores(LONG)
    for k, name in enumerate(NAMES):
        span = Span(0, len(name))
        graph = Graph(name, (Object(name, name, span, (span,)),))
        parts = tuple(components(graph))
        sides = [Graded(graph, parts, tuple(Grade(1.0 + k) for _ in parts)) for _ in range(2)]
        score = Score(sides[0], (sides[1],))
        shown.add(view_of(name, score))
        found.kept.append(row_of(score, name).as_json())
    return shown.render(found)
