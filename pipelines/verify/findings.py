"""What the report says about verifications: lines of its table, findings under a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Claims that one finding names; the row has more.
_NAMED = 8


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """A line of a before-and-after table.

    Attributes:
        note: What is counted.
        before: None for a property of the change itself.
        scale: 100 for percentages, 1 for POSH scores, of which 1 is the best.
    """

    name: str
    note: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any]
    change: Mapping[str, Any] | None
    scale: int = 100


def lines(summary: Mapping[str, Any]) -> list[ComparisonLine]:
    """The table's lines, without those that have no value."""
    found = summary["verification"]
    return [] if found is None else [x for x in _lines(found) if x.after["value"] is not None]


def _lines(found: Mapping[str, Any]) -> Iterator[ComparisonLine]:
    if (posh := found["posh"]) is not None:
        for name, note in (
            ("mistakes", "how much of the caption the reference says"),
            ("omissions", "how much of the reference the caption says"),
            ("overall", "harmonic mean of the two"),
        ):
            yield ComparisonLine(f"POSH, {name}", note, **posh[name], scale=1)
    if (share := found["preservation"]) is not None:
        note = f"of {share['denominator']:,} claims that nobody flagged, still made"
        yield ComparisonLine("Preservation", note, None, share, None)
    if (share := found["edit_scope"]) is not None:
        note = f"of {share['denominator']:,} claims that came or went, named by a rationale"
        yield ComparisonLine("Edit scope", note, None, share, None)
    if (visual := found["visual"]) is not None:
        note = "of a caption's single components, put to the critic"
        yield ComparisonLine("What the critic sees", note, **visual)


def not_verified(summary: Mapping[str, Any]) -> list[str]:
    """What could not be checked and why, one line per check."""
    found = summary["verification"]
    return [
        f"{_NAMES[check]}, not checked: "
        + "; ".join(f"{n:,} {why}" for why, n in reasons.items())
        + (" (components, or captions)." if check == "visual" else " (captions).")
        for check, reasons in (found["unscored"] if found is not None else {}).items()
    ]


@dataclass(frozen=True, slots=True)
class Finding:
    """A line under a record: `text`, then `claims` as marks."""

    tone: str
    text: str
    claims: Sequence[str] = ()
    more: int = 0


def findings(revision: Mapping[str, Any] | None) -> list[Finding]:
    """The findings about one caption; none if it was not verified."""
    if revision is None or "verification" not in revision:
        return []
    found = revision["verification"]
    made: list[Finding] = []
    for check, describe in _DESCRIBE.items():
        part = found.get(check)
        if part is None:
            continue
        if reason := part.get("unscored"):
            made.append(Finding("unsure", f"{_NAMES[check]}, not checked: {reason}."))
        else:
            made += describe(part)
    return made


def _preservation(part: Mapping[str, Any]) -> Iterator[Finding]:
    if part["lost"]:
        lost = [item["claim"] for item in part["lost"]]
        yield _finding("bad", "Lost, though nobody flagged it:", lost, part["of"] - part["kept"])
    elif part["of"]:
        yield Finding("good", f"All {part['of']:,} claims that nobody flagged are still made.")


def _edit_scope(part: Mapping[str, Any]) -> Iterator[Finding]:
    beyond = part["beyond"]
    for change, verb in (("removed", "Gone"), ("added", "New")):
        claims = [item["claim"] for item in beyond if item["change"] == change]
        if claims:
            yield _finding("bad", f"{verb}, though no rationale names it:", claims, len(claims))
    if part["of"] and not beyond:
        yield Finding("good", "Nothing changed beyond what the rationales name.")


def _visual(part: Mapping[str, Any]) -> Iterator[Finding]:
    before, after = part["before"], part["after"]
    text = f"The critic sees {before['seen']} of {before['of']} components"
    if (after["seen"], after["of"]) != (before["seen"], before["of"]):
        text += f", and now {after['seen']} of {after['of']}"
    asked = [f"{item['asked']} P {item['p_factual']:.2f}" for item in after["unseen"]]
    left_out = after["of"] - after["seen"]
    if not before["of"] and not after["of"]:
        reasons = ", ".join(before["unscored_by_reason"]) or "there is none to ask about"
        yield Finding("unsure", f"The critic could judge no component: {reasons}.")
    elif asked:
        yield _finding("bad", f"{text}. It does not see:", asked, left_out)
    else:
        yield Finding("good", f"{text}.")


def _posh(part: Mapping[str, Any]) -> Iterator[Finding]:
    before, after = part["before"], part["after"]
    scores = [_moved(name, before.get(name), after.get(name)) for name in ("mistakes", "omissions")]
    yield Finding("", f"POSH beside the reference: {', '.join(scores)}.")
    if reason := after.get("unscored"):
        yield Finding("unsure", f"POSH has no score of the revised caption: {reason}.")
        return
    for key, text in (("absent", "Not in the reference:"), ("missing", "Only in the reference:")):
        if after[key]:
            yield _finding("unsure", text, [item["claim"] for item in after[key]], len(after[key]))


def _moved(name: str, before: float | None, after: float | None) -> str:
    values = ["none" if value is None else f"{value:.2f}" for value in (before, after)]
    return f"{name} {values[0]}" if before == after else f"{name} {values[0]} → {values[1]}"


def _finding(tone: str, text: str, claims: Sequence[str], total: int) -> Finding:
    shown = list(dict.fromkeys(claims))[:_NAMED]
    more = max(0, total - len(shown)) if len(shown) == _NAMED else 0
    return Finding(tone, text, shown, more)


_DESCRIBE = {
    "preservation": _preservation,
    "edit_scope": _edit_scope,
    "visual": _visual,
    "posh": _posh,
}
_NAMES = {
    "preservation": "Preservation",
    "edit_scope": "Edit scope",
    "visual": "What the critic sees",
    "posh": "POSH",
}


def went_wrong(revision: Mapping[str, Any] | None) -> bool:
    """Whether the revision lost a claim, or changed one that no rationale names."""
    if revision is None or "verification" not in revision:
        return False
    found = revision["verification"]
    parts = (found.get("preservation", {}).get("lost"), found.get("edit_scope", {}).get("beyond"))
    return any(parts)
