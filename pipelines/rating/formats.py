"""A leaderboard as a table: for the terminal, Markdown, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from revise_captions.outside_text import csv_name, markdown_cell, plain
from revise_captions.stats.leaderboard import COLUMNS, Leaderboard, Ratings

HEADINGS = {
    "response": "responses without a wrong sentence",
    "overall": "correct sentences, overall",
    "per_description": "correct sentences, mean per description",
}


def rows_of(
    board: Leaderboard, ratings: Ratings, controlled: Mapping[str, float]
) -> list[dict[str, Any]]:
    """One dictionary per captioner, best first, ready for JSON or CSV."""
    found = []
    for standing in board.standings:
        index = ratings.captioners.index(standing.captioner)
        totals = dict(zip(COLUMNS, ratings.counts[index].sum(0), strict=True))
        judged = ratings.sums(board.criterion)[1][index].sum()
        found.append(
            {
                "rank": rank_text(standing.best_rank, standing.worst_rank),
                "captioner": standing.captioner,
                "score": standing.value,
                "low": standing.low,
                "high": standing.high,
                "length_controlled": controlled.get(standing.captioner),
                "captions": int(totals["captions"]),
                "judged": int(judged),
                "sentences": int(totals["sentences"]),
                "unscored": int(totals["unscored"]),
                "not_assessable": int(totals["not_assessable"]),
                "words_per_caption": totals["words"] / max(totals["captions"], 1),
            }
        )
    return found


def rank_text(best: int | None, worst: int | None) -> str:
    """`3`, or a range like `2–4` if no order can be claimed; `–` for none."""
    if best is None:
        return "–"
    return str(best) if best == worst else f"{best}–{worst}"


def shown(name: str) -> str:
    """A captioner's name on one line without invisible characters."""
    return plain(" ".join(name.split()))


def _cells(row: Mapping[str, Any]) -> list[str]:
    interval = "" if row["low"] is None else f"{100 * row['low']:.1f}–{100 * row['high']:.1f}"
    corrected = ""
    if row.get("corrected") is not None:
        ends = f"{100 * row['corrected_low']:.1f}–{100 * row['corrected_high']:.1f}"
        corrected = f"{100 * row['corrected']:.1f} ({ends})"
    return [
        row["rank"],
        shown(row["captioner"]),
        "–" if row["score"] is None else f"{100 * row['score']:.1f}",
        interval,
        corrected,
        "" if row["length_controlled"] is None else f"{100 * row['length_controlled']:.1f}",
        f"{row['captions']:,}",
        f"{row['judged']:,}",
        f"{row['sentences']:,}",
        f"{row['unscored']:,}",
        f"{row['words_per_caption']:.0f}",
    ]


_TITLES = (
    "rank", "captioner", "score %", "95 %", "corrected", "at equal length", "captions",
    "judged", "sentences", "unscored", "words",
)  # fmt: skip


def judged_fewer(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a score is over fewer captions or sentences than the other columns say."""
    return any(r["judged"] not in (r["captions"], r["sentences"] - r["unscored"]) for r in rows)


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Titles, then a line a captioner; columns that hold nothing are left out."""
    table = [list(_TITLES), *(_cells(row) for row in rows)]
    used = [k for k in range(len(_TITLES)) if any(line[k] for line in table[1:])]
    if not judged_fewer(rows):
        used.remove(_TITLES.index("judged"))
    return [[line[k] for k in used] for line in table]


def as_text(rows: Sequence[Mapping[str, Any]]) -> str:
    return text_table(_lines(rows), left=1)


def as_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    return markdown_table(_lines(rows), left=1)


def as_latex(rows: Sequence[Mapping[str, Any]]) -> str:
    return latex_table(_lines(rows), left=1)


def text_table(lines: Sequence[Sequence[str]], left: int) -> str:
    """Aligned columns, titles first; column `left` is aligned left, all others right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown_table(lines: Sequence[Sequence[str]], left: int) -> str:
    """As `text_table`, in Markdown."""
    titles, *body = ([markdown_cell(cell) for cell in line] for line in lines)
    rows = [titles, ["---" if k == left else "---:" for k in range(len(titles))], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in rows)


_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
}  # fmt: skip


def latex_table(lines: Sequence[Sequence[str]], left: int) -> str:
    """As `text_table`, in LaTeX with booktabs."""
    titles, *body = (
        # behind a \\\\, LaTeX takes a bracket or asterisk for its argument
        ("{}" if line[0].startswith(("[", "*")) else "")
        + " & ".join("".join(_LATEX.get(c, c) for c in cell) for cell in line)
        + r" \\"
        for line in lines
    )
    columns = "".join("l" if k == left else "r" for k in range(len(lines[0])))
    head = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", titles, "\\midrule"]
    return "\n".join([*head, *body, "\\bottomrule", "\\end{tabular}"])


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Full precision. A name that a spreadsheet would take for a formula is quoted with a `'`."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "captioner": csv_name(str(row["captioner"]))})
    return text.getvalue()
