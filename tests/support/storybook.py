"""Made-up rows with drawn pictures, for the report's tests and for looking at it.

python tests/support/storybook.py report.html [records]
"""

from __future__ import annotations

import random
import re
import sys
import time
from pathlib import Path

from PIL import Image, ImageDraw

from revise_captions.pipelines.output.outcomes import Outcome
from revise_captions.pipelines.output.shares import Speed
from revise_captions.pipelines.report.page import write_report
from revise_captions.pipelines.report.sample import ReportRow, Sampler, report_rows
from revise_captions.pipelines.report.summary import Tally
from revise_captions.records import Unscored, Why

COLOURS = {
    "red": "#c8503c",
    "blue": "#4f7fb0",
    "yellow": "#e8bd4f",
    "green": "#6a9a5b",
    "white": "#fbf6ea",
    "purple": "#84659c",
}
MODELS = ("BLIP-3 4.6B", "PaliGemma 2 10B", "LLaVA-OneVision 7B", "Molmo 72B", "كابتشنر")


def picture(seed: int) -> Image.Image:
    """A house, a sun or a moon, a kite, a hill."""
    rng = random.Random(seed)
    night = rng.random() < 0.3
    image = Image.new("RGB", (448, 336), "#33415c" if night else "#cfe3ee")
    draw = ImageDraw.Draw(image)
    draw.ellipse((340, 30, 400, 90), fill="#f3ead0" if night else "#f4cd6a")
    draw.ellipse((-120, 210, 330, 520), fill="#7d9c66" if night else "#a9c68a")
    draw.ellipse((150, 240, 620, 560), fill="#64875a" if night else "#8fb377")
    x = rng.randint(60, 190)
    wall, roof, kite = (COLOURS[rng.choice(list(COLOURS))] for _ in range(3))
    draw.rectangle((x, 160, x + 110, 250), fill=wall, outline="#4a3c30", width=2)
    draw.polygon([(x - 14, 162), (x + 55, 105), (x + 124, 162)], fill=roof, outline="#4a3c30")
    draw.rectangle((x + 44, 200, x + 68, 250), fill="#6b4a35")
    for left in (x + 12, x + 78):
        draw.rectangle((left, 180, left + 20, 202), fill="#f8e9a8" if night else "#d9ecf5")
    draw.polygon([(300, 70), (322, 100), (300, 140), (278, 100)], fill=kite, outline="#4a3c30")
    draw.line((300, 140, 308, 180, 296, 230), fill="#4a3c30", width=2)
    return image


#: wrong sentence, rationale, what became of it: (rewrite, why, P after) for each try
WRONG = [
    (
        "The roof is blue and has a small chimney.",
        "The roof is red, and there is no chimney.",
        [("The roof is red.", Why.BETTER, 0.97)],
    ),
    (
        "Three children are flying a green kite together.",
        "There is a yellow kite, and nobody is in the picture.",
        [
            ("Three girls are flying a yellow kite.", Why.NOT_FACTUAL, 0.21),
            ("A yellow kite is in the sky.", Why.BETTER, 0.93),
        ],
    ),
    (
        "It is parked to the left of the fence.",
        "The kite is to the right of the house.",
        [("It is to the right of the house.", Why.BETTER, 0.71)],
    ),
    ("A dog sleeps beside the door.", "There is no dog.", [("", Why.DELETED, None)]),
    (
        "The sign above the door reads “BAKERY”.",
        "No sign is above the door.",
        [
            ("The sign above the door reads “HOME” in gold letters.", Why.NEW_CONTENT, None),
            ("The sign above the door is empty.", Why.NOT_FACTUAL, 0.3),
        ],
    ),
    (
        "Two windows glow orange in the dusk.",
        "The windows are pale, and it is day.",
        [
            ("<b>Two windows are pale.</b>", Why.LEAKED_MARKUP, None),
            ("Two windows are pale.", Why.BETTER, 0.88),
        ],
    ),
]
RIGHT = [
    "A small house stands on a green hill.",
    "The door in the middle is brown.",
    "A kite hangs high in the air, its string curling down towards the grass.",
    "There is one large round light in the upper right corner.",
    "Two windows flank the door.",
    "Rolling hills fill the lower half of the picture.",
]
MOOD = ["The scene feels calm and cheerful.", "It could be a page out of an old picture book."]


def _attempts(tries, before):
    return [
        {
            "text": text,
            "accepted": why in (Why.BETTER, Why.DELETED),
            "why": str(why),
            "round": n,
            "p_before": before,
            "p_after": after,
            "warning": "",
        }
        for n, (text, why, after) in enumerate(tries, 1)
    ]


def _sentence(rng, strange, drop):
    """`(text, sentence without its span)`."""
    base = {
        "label": "factual",
        "reason": None,
        "reason_after": None,
        "assessable": True,
        "rationale": None,
        "fixes": [],
        "rewrite": None,
        "accepted": None,
        "why": None,
        "dropped": False,
        "attempts": [],
    }
    kind = rng.random()
    if strange or kind < 0.02:
        reason = Unscored.OUTSIDE_DOMAIN if strange else Unscored.TOO_LONG
        return rng.choice(RIGHT), base | {
            "label": "unscored",
            "reason": str(reason),
            "reason_after": str(reason),
            "assessable": None,
            "p_factual": None,
            "p_after": None,
        }
    if kind < 0.3:
        text, rationale, tries = rng.choice(WRONG)
        p = round(0.45 * rng.random() ** 2, 4)
        attempts = _attempts(tries, p)
        last = attempts[-1]
        gone = last["why"] == str(Why.DELETED) or (drop and not last["accepted"])
        after = None if gone else last["p_after"] if last["accepted"] else p
        return text, base | {
            "label": "nonfactual",
            "p_factual": p,
            "p_after": after,
            "rationale": rationale,
            "rewrite": last["text"],
            "accepted": last["accepted"],
            "why": last["why"],
            "dropped": gone,
            "attempts": attempts,
        }
    p = round(1 - 0.45 * rng.random() ** 3, 4)
    mood = kind > 0.88
    text = rng.choice(MOOD if mood else RIGHT)
    return text, base | {"p_factual": p, "p_after": p, "assessable": not mood}


def story(seed: int) -> tuple[str, dict]:
    """A caption and its output row."""
    rng = random.Random(seed)
    strange, drop, good = rng.random() < 0.05, rng.random() < 0.4, rng.random() < 0.15
    caption, revised, sentences = "", "", []
    for _ in range(rng.randint(3, 7)):
        text, sentence = _sentence(rng, strange, drop)
        while good and sentence["label"] == "nonfactual":
            text, sentence = _sentence(rng, strange, drop)
        gap = " " if caption else ""
        start = len(caption + gap)
        caption += gap + text
        sentences.append({"span": [start, len(caption)], **sentence})
        if not sentence["dropped"]:
            now = sentence["rewrite"] if sentence["accepted"] else text
            revised += (" " if revised else "") + now
    revision = {"signature": "bundled|p1|t0.5", "threshold": 0.5, "rounds": 2}
    revision["sentences"] = sentences
    return caption, {"revised_caption": revised, "revision": revision}


def book(records: int, *, strange: bool = False) -> tuple[dict, list[ReportRow]]:
    """The summary and the sample of a made-up run."""
    tally, sampler = Tally(group_by="model"), Sampler()
    for line in range(1, records + 1):
        if line % 97 == 5:
            tally.quarantine("image_truncated")
            sampler.add(
                ReportRow(
                    "captions.jsonl",
                    line,
                    Outcome.QUARANTINED,
                    '{"image": "pages/17.png", "caption": "A house"}',
                    reason="image_truncated",
                    detail="ends after 1,204 bytes",
                )
            )
            continue
        caption, row = story(line)
        model = MODELS[line * 7 % 13 % len(MODELS)]
        tally.add(row, line=line, group=model)
        for item in report_rows(
            row,
            {"caption": caption},
            source="captions.jsonl",
            line=line,
            group=model,
        ):
            sampler.add(item)
    rows = sampler.rows(lambda r: None if r.reason else picture(r.line))
    sentences = tally.counts.totals["sentences"]
    return tally.to_json(Speed(sentences / 118.4, records, sentences)), rows


SIGNATURE = re.sub(
    r"\s+",
    " ",
    """revise-captions 0.1.0 | critic bundled@3f9c1e2 image-prefix |
    prompts v1 | threshold 0.5 | reviser bundled@a01b77d | rounds 2 | transformers 5.23""",
)
SETTINGS = {
    "critic": "bundled",
    "reviser": "bundled",
    "threshold": 0.5,
    "rounds": 2,
    "on_unfixable": "keep",
    "shard": [0, 1],
    "adapter": None,
}


def speed(rows: int = 20_000) -> float:
    """Rows a second of processor time through the tally, with groups: the best of three."""
    made = [story(line)[1] for line in range(2000)]
    rates = []
    for _ in range(3):
        tally = Tally(group_by="model")
        start = time.process_time()
        for line in range(rows):
            tally.add(made[line % len(made)], line=line, group=MODELS[line % 5])
        tally.to_json()
        rates.append(rows / (time.process_time() - start))
    return max(rates)


if __name__ == "__main__":
    if sys.argv[1] == "--speed":
        print(f'{{"rows_per_second": {speed():.0f}}}')
        sys.exit()
    summary, rows = book(int(sys.argv[2]) if len(sys.argv) > 2 else 400)
    write_report(
        Path(sys.argv[1]),
        summary=summary,
        rows=rows,
        title="captions.jsonl",
        signature=SIGNATURE,
        settings=SETTINGS,
    )
