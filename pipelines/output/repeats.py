"""The same caption or rewrite on many images: a sign of a stuck model or provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from revise_captions.outside_text import on_one_line
from revise_captions.text.formatting import plural
from revise_captions.text.frequent import PLACES, FrequentTexts, digest

#: A text is reported from this share of all. LVD-2M's caption on 4,000 of two million videos (issue
#: 4 of its repository) is .002 of them; rewrites are sentences, and short ones naturally recur.
SHARES = {"caption": 0.001, "rewrite": 0.02}
#: How many texts of each kind are reported.
TOLD = 3


@dataclass(slots=True)
class Repeats:
    """Counts of original captions and of proposed rewrites, in bounded memory."""

    found: dict[str, FrequentTexts] = field(
        default_factory=lambda: {what: FrequentTexts() for what in SHARES}
    )

    def add(
        self, captions: Iterable[str], revisions: Iterable[Mapping[str, Any]], image: str
    ) -> None:
        """Adds a record; a rewrite tried twice for a sentence counts once."""
        place = digest(image)
        for caption in captions:
            if text := caption.strip():
                self.found["caption"].add(text, place)
        for revision in revisions:
            for sentence in revision["sentences"]:
                for rewrite in {one["text"] for one in sentence["attempts"] if one["text"]}:
                    self.found["rewrite"].add(rewrite, place)

    def __iadd__(self, other: Repeats) -> Repeats:
        for what, theirs in other.found.items():
            self.found[what] += theirs
        return self

    def as_json(self) -> list[dict[str, Any]]:
        """What recurs on at least `PLACES` images: `what` it is, its `text`, how many `times` of
        how many, and by how much that count may be too low (`short`)."""
        return [
            {"what": what, "text": text, "times": times, "of": known.total, "short": known.short}
            for what, known in self.found.items()
            for text, times, _ in _told(known, SHARES[what])
        ]


def _told(known: FrequentTexts, share: float) -> list[tuple[str, int, int]]:
    fewest = max(PLACES, share * known.total - known.short)
    return [one for one in known.most(fewest) if one[2] >= PLACES][:TOLD]


_SAID = {"caption": "Many images share one caption", "rewrite": "Many images got the same rewrite"}
_HELP = {
    "caption": "A captioner that is stuck does this. `--drop-duplicates 1` leaves out such "
    "captions before judging, `captions select` afterwards.",
    "rewrite": "A reviser that is stuck does this: check its rewrites in `captions explore` "
    "before you keep them, or choose another with `--reviser`.",
}


def said(repeated: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The summary's first lines: a sentence for each text, and a remedy."""
    return [
        (
            f"{_SAID[one['what']]}: {'at least ' if one['short'] else ''}{one['times']:,} of "
            f"{plural(one['of'], one['what'])} are “{on_one_line(one['text'])}”",
            _HELP[one["what"]],
        )
        for one in repeated
    ]
