"""The table at the end of a run: complete in 80 columns, and plain text without a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from revise_captions.pipelines.output.repeats import said
from revise_captions.pipelines.report.corrected import trust
from revise_captions.pipelines.verify.findings import not_verified
from revise_captions.records import UnknownWord
from revise_captions.text.formatting import duration, percent, signed

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH = 80
#: Most groups in the terminal; the report has them all.
_GROUPS = 12
#: Most unknown words in the terminal; the summary has more.
_WORDS = 8
_WARNING = frozenset({"unscored", "quarantined", "nothing"})

Line = tuple[str, str, str]


def render_table(summary: Mapping[str, Any], console: Console) -> None:
    """Prints a summary (`Tally.to_json`). Nothing wraps; text fits the console's encoding."""
    plain = not (console.encoding or "").lower().startswith("utf")
    width = min(console.width, 100)

    def show(text: str = "", style: str | None = None) -> None:
        text = _printable(text)
        text = _ascii(text) if plain else text
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    head = summary["headline"]
    style = "bold yellow" if head["kind"] in _WARNING else "bold"
    show()
    shown: list[tuple[str, str | None]] = []
    for text, help_ in said(summary["repeated"]):
        shown += [(text, "bold yellow"), (help_, None)]
    for text, how in (*shown, (head["text"], style), (head["help"], None)):
        for line in _lines(text, max(width, 40)):
            show(line, how)
    sections = (_counts, _shares, _verification, _groups, _speed)
    for section in sections:
        rows = list(section(summary))
        if rows:
            show()
        for label, value, note in rows:
            show(_row(label, value, note, width))


def _lines(text: str, width: int) -> list[str]:
    """Wraps a text into lines, never separating a number from its unit."""
    joined = textwrap.wrap(text.replace(" %", "\0%"), width, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in joined]


def _row(label: str, value: str, note: str, width: int) -> str:
    """`label` left, `value` right-aligned, then a note; truncated, never wrapped."""
    text = f"{label:<31}{value:>10}  {note}".rstrip()
    return text if len(text) <= max(width, _WIDTH) else text[: max(width, _WIDTH) - 1] + "…"


def _printable(text: str) -> str:
    """Text without control characters, so that no field's value can steer the terminal."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)


def _ascii(text: str) -> str:
    for mark, plain in (("→", "->"), ("–", "-"), ("…", "..."), ("±", "+-"), ("−", "-")):
        text = text.replace(mark, plain)
    return text.encode("ascii", "backslashreplace").decode()


def _share(part: int, whole: int, of: str) -> str:
    return f"{percent(part / whole)} of {of}" if whole else ""


def _counts(summary: Mapping[str, Any]) -> Iterator[Line]:
    records, sentences, attempts = summary["records"], summary["sentences"], summary["attempts"]
    flagged = sentences["flagged"] + sentences["flagged_later"]
    yield "Records", f"{records['read']:,}", f"{records['changed']:,} changed"
    if records["quarantined"]:
        yield "  quarantined", f"{records['quarantined']:,}", ""
        yield from _reasons(records["quarantined_by_reason"])
    yield "Sentences", f"{sentences['total']:,}", ""
    yield "  flagged", f"{flagged:,}", _share(flagged, sentences["scored"], "those judged")
    if sentences["flagged_later"]:
        yield "    only in the revised context", f"{sentences['flagged_later']:,}", ""
    for key, label in (("rewritten", "revised (rewrite proposed)"), ("accepted", "accepted")):
        yield f"    {label}", f"{sentences[key]:,}", _share(sentences[key], flagged, "flagged")
    if sentences["deleted"]:
        yield "    deleted by the reviser", f"{sentences['deleted']:,}", ""
    yield "    dropped as unfixable", f"{sentences['dropped']:,}", ""
    yield "  unscored", f"{sentences['unscored']:,}", "in no share below" * bool(flagged)
    yield from _reasons(sentences["unscored_by_reason"], sentences["unknown_words"])
    refused = attempts["refused_by_guard"]
    if refused:
        yield "Rewrites refused by guards", f"{sum(refused.values()):,}", ""
        yield from _reasons(refused)


def _reasons(reasons: Mapping[str, int], words: Mapping[str, int] | None = None) -> Iterator[Line]:
    for reason, count in reasons.items():
        yield f"    {count:,}  {reason.replace('_', ' ')}", "", ""
        if reason == UnknownWord.KIND and words:
            listed = ", ".join(f"{word} {n:,}" for word, n in list(words.items())[:_WORDS])
            yield f"        {listed}{', …' if len(words) > _WORDS else ''}", "", ""


def _interval(estimate: Mapping[str, Any]) -> str:
    if estimate["low"] is None:
        return percent(estimate["value"])
    low, high = 100 * estimate["low"], 100 * estimate["high"]
    if estimate["value"] is None:
        return f"{low:.1f} to {high:.1f} %"
    return f"{percent(estimate['value'])} [{low:.1f}, {high:.1f}]"


def _shares(summary: Mapping[str, Any]) -> Iterator[Line]:
    shares = summary["factuality"]
    if shares["all"]["before"]["value"] is None:
        return
    level = f"{100 * summary['bootstrap']['level']:.0f} %"
    judged = "Judged factual" if summary["calibrated"] else "Called factual"
    yield _wide(judged, f"before [{level} interval]", "after")
    found = summary["corrected"]
    if found is not None:
        yield _wide("Sentences, corrected", _interval(found["before"]), _interval(found["after"]))
    rows = [("Sentences" if found is None else "  as the critic sees it", shares["all"])]
    if summary["sentences"]["not_assessable"]:
        rows.append(("  without non-assessable", shares["assessable"]))
    rows.append(("Captions, every sentence", summary["captions"]["all_factual"]))
    for label, share in rows:
        yield _wide(label, _interval(share["before"]), _interval(share["after"]))
    critic = summary["critic_on_flagged"]
    if critic["of_flagged"]["value"] is not None:
        yield _wide("Flagged sentences", percent(0.0), _interval(critic["of_flagged"]))
    if critic["of_rewritten"]["value"] is not None:
        yield _wide("  the rewritten ones", percent(0.0), _interval(critic["of_rewritten"]))
    yield from _what_it_rests_on(summary)


def _what_it_rests_on(summary: Mapping[str, Any]) -> Iterator[Line]:
    """How far to trust the shares."""
    text = trust(summary)
    for line in _lines(_printable(text), _WIDTH):
        yield line, "", ""


def _wide(label: str, before: str, after: str) -> Line:
    return f"{label:<26}{before:<24}  {after}", "", ""


def _verification(summary: Mapping[str, Any]) -> Iterator[Line]:
    found = summary["verification"]
    if found is None:
        return
    level = f"{100 * summary['bootstrap']['level']:.0f} %"
    if found["posh"] is not None or found["visual"] is not None:
        yield _compared("Verified", "before", "after", f"change [{level} interval]")
    if (posh := found["posh"]) is not None:
        for name in ("mistakes", "omissions", "overall"):
            label = f"POSH {name} (1: none)" if name != "overall" else "POSH overall"
            yield _moved(label, posh[name], 1, ".3f")
    if (visual := found["visual"]) is not None:
        yield _moved("Components the critic sees, %", visual, 100, ".1f")
    for key, label, of in (
        ("preservation", "Preservation", "unflagged claims"),
        ("edit_scope", "Edit scope", "changed claims"),
    ):
        if (share := found[key]) is not None:
            of = f"of {share['denominator']:,} {of}"
            yield f"{label:<31}{_interval(share)}  {of}", "", ""
    notes = [f"Note. {warning['text']}" for warning in found["warnings"]]
    for text in (*not_verified(summary), *notes):
        for line in _lines(_printable(text), _WIDTH):
            yield line, "", ""


def _compared(label: str, before: str, after: str, change: str) -> Line:
    return f"{label:<31}{before:>7}  {after:>7}  {change}".rstrip(), "", ""


def _moved(label: str, both: Mapping[str, Any], scale: int, how: str) -> Line:
    """Before, after and the difference with its interval; a dash for a missing value."""
    values = [both[part]["value"] for part in ("before", "after", "change")]
    if None in values:
        return _compared(label, "–", "–", "")
    before, after, change = (scale * value for value in values)
    text = f"{change:+{how}}"
    if both["change"]["low"] is not None:
        low, high = scale * both["change"]["low"], scale * both["change"]["high"]
        text += f" [{low:+{how}}, {high:+{how}}]"
    return _compared(label, f"{before:{how}}", f"{after:{how}}", signed(text))


def _groups(summary: Mapping[str, Any]) -> Iterator[Line]:
    groups = summary["groups"]
    if groups is None or not groups["rows"]:
        return
    yield _wide(f"By {_printable(groups['field'])}"[:25], "before", "after")
    for row in sorted(groups["rows"], key=lambda r: -r["sentences"])[:_GROUPS]:
        name = _printable(row["name"])
        name = name if len(name) <= 22 else name[:21] + "…"
        share = row["factuality"]["all"]
        yield _wide(f"  {name}", _interval(share["before"]), _interval(share["after"]))
    if (more := len(groups["rows"]) - _GROUPS) > 0:
        yield f"  … and {more:,} more, in the report", "", ""


def _speed(summary: Mapping[str, Any]) -> Iterator[Line]:
    speed = summary["speed"]
    if speed is None:
        return
    rate = ""
    if speed["records_per_second"] is not None:
        rate = (
            f"{speed['sentences_per_second']:,.1f} sentences/s, "
            f"{speed['records_per_second']:,.1f} records/s"
        )
    yield "Time", duration(speed["seconds"]), rate
    if used := speed.get("servers"):
        cached = (
            f"{percent(used['cached'] / max(used['tokens_in'], 1))} cached"
            if used["cached"]
            else ""
        )
        yield "Requests to servers", f"{used['requests']:,}", ""
        yield "  tokens in", f"{used['tokens_in']:,}", cached
        yield "  tokens out", f"{used['tokens_out']:,}", ""
        if used["cost"] is not None:
            yield "  cost", f"{used['cost']:.4g}", ""
