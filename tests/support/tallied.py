"""Rows as revise-captions writes them, with sentences of every fate, and their tally."""

from __future__ import annotations

from rich.console import Console

from revise_captions.pipelines.report.summary import Tally
from revise_captions.pipelines.report.terminal import render_table
from revise_captions.records import Unscored, Why


def attempt(text, accepted, why, after=None):
    return {
        "text": text,
        "accepted": accepted,
        "why": str(why),
        "round": 1,
        "p_before": 0.1,
        "p_after": after,
        "warning": "",
    }


def sentence(p=0.9, after=None, *, attempts=(), dropped=False, assessable=True, reason=None):
    """A sentence as rows hold it; `after` None means as before."""
    shown = next((a for a in reversed(attempts) if a["accepted"]), attempts[-1:] or None)
    shown = shown[0] if isinstance(shown, list | tuple) else shown
    return {
        "span": [0, 5],
        "label": "unscored" if p is None else "factual" if p >= 0.5 else "nonfactual",
        "reason": None if reason is None else str(reason),
        "assessable": assessable,
        "p_factual": p,
        "rationale": None,
        "fixes": [],
        "rewrite": shown["text"] if shown else None,
        "accepted": shown["accepted"] if shown else None,
        "why": shown["why"] if shown else None,
        "p_after": None if dropped else p if after is None else after,
        "dropped": dropped,
        "attempts": list(attempts),
    }


def row(*sentences, threshold=0.5, expert=""):
    """A row; `expert` is who of a panel judged it."""
    who = {"expert": expert} if expert else {}
    revision = {"signature": "s", **who, "threshold": threshold, "rounds": 2}
    revision["sentences"] = list(sentences)
    return {"revised_caption": "…", "revision": revision}


FINE = sentence(0.9)
MOOD = sentence(0.8, assessable=False)
STRANGE = sentence(None, reason=Unscored.OUTSIDE_DOMAIN, assessable=None)
FIXED = sentence(0.1, 0.7, attempts=[attempt("A.", True, Why.BETTER, 0.7)])
REFUSED = sentence(
    0.2, attempts=[attempt("B.", False, Why.NEW_CONTENT), attempt("C.", False, Why.NOT_FACTUAL)]
)
DELETED = sentence(0.2, attempts=[attempt("", True, Why.DELETED)], dropped=True)
SPEECHLESS = sentence(0.3, attempts=[attempt("", False, Why.NO_REWRITE)], dropped=True)
LATER = sentence(0.6, 0.4)
CLEARED = sentence(0.4, 0.8)


def tally_of(*rows, **options):
    tally = Tally(**options)
    for line, item in enumerate(rows, 1):
        tally.add(item, line=line)
    return tally


def printed(summary, width=80, encoding="utf-8"):
    import io

    buffer = io.BytesIO()
    file = io.TextIOWrapper(buffer, encoding=encoding)
    render_table(summary, Console(file=file, width=width))
    file.flush()
    return buffer.getvalue().decode(encoding)
