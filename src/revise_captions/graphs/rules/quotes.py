"""What is written on things: quoted texts as attributes of the sign, word or label that bears them.

The words inside quotation marks name nothing in the scene ("a sign that says “NO CARS”").
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from revise_captions.graphs.rules.draft import NOMINAL, GraphDraft, Said
from revise_captions.graphs.rules.roles import Node
from revise_captions.graphs.rules.subjects import subject_of
from revise_captions.records import Span

#: Double quotation marks anywhere; single ones only around whole words.
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{0,80})[\"”]|(?<![\w'])['‘]([^'‘’\n]{1,40})['’](?!\w)")
_JOINTS = frozenset((",", "and", "or", ":", "&", "plus"))


def quoted(text: str) -> list[Span]:
    """What stands between quotation marks, without them."""
    found = []
    for match in _QUOTED.finditer(text):
        group = 1 if match[1] is not None else 2
        if match[group].strip(" .,"):
            found.append(Span(match.start(group), match.end(group)))
    return found


def inside(nodes: Sequence[Node], spans: Sequence[Span]) -> frozenset[int]:
    """The nodes in any of the spans, which are in order and apart."""
    starts = [span.start for span in spans]
    found = set()
    for node in nodes:
        at = bisect_right(starts, node.start) - 1
        if at >= 0 and node.end <= spans[at].end:
            found.add(node.index)
    return frozenset(found)


def written(draft: GraphDraft) -> Iterator[Said]:
    """Each quoted text, said of what bears it, where that is plain."""
    words = [node for node in draft.nodes if node.pos not in ("PUNCT", "SPACE")]
    starts = [node.start for node in words]
    last: int | None = None
    for span in quoted(draft.text):
        first, end = bisect_left(starts, span.start), bisect_left(starts, span.end)
        near = words[first - 1] if first else None
        again = near is not None and (near.text in _JOINTS or near.index in draft.quoted)
        after = words[end] if end < len(words) else None
        bearer = last if again else _bearer(draft, near, after, span)
        last = bearer
        if bearer is not None:
            value = draft.text[span.start : span.end].strip(" .,").lower()
            yield Said(bearer, value, span)


def _bearer(draft: GraphDraft, before: Node | None, after: Node | None, span: Span) -> int | None:
    if before is not None and before.pos in NOMINAL and before.index in draft.things:
        return before.index
    if after is not None and after.start <= span.end + 2 and after.index in draft.things:
        return after.index
    if before is None or before.pos not in ("VERB", "AUX"):
        return None
    verb = draft.nodes[before.head] if before.pos == "AUX" and before.head >= 0 else before
    subject = subject_of(draft, verb)
    return None if subject is None else subject.index
