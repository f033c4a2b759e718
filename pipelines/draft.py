"""A caption under revision: its sentences, their rewrites so far, and its current text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PIL import Image

from revise_captions.records import Revision, Sentence, Span, Verdict
from revise_captions.text.markdown import item_mark

NOT_JUDGED = Verdict(None)


@dataclass(frozen=True, slots=True)
class Draft:
    """A caption in progress.

    Attributes:
        image: As the critic sees it; None where the stage uses no image.
        caption: The original text.
        sentences: What is known so far.
        rounds: How often the reviser has been asked.
        stale: Index of the first sentence to judge (again), None if none.
        error: See `Revision`.
        threshold: See `Revision`; that of the critic or expert that judged it last.
        expert: See `Revision`.
    """

    image: Image.Image | None
    caption: str
    sentences: tuple[Sentence, ...]
    rounds: int = 0
    stale: int | None = 0
    error: str = ""
    threshold: float = 0.5
    expert: str = ""


def new_draft(
    image: Image.Image | None, caption: str, spans: Sequence[Span], threshold: float = 0.5
) -> Draft:
    """A caption not judged yet."""
    sentences = tuple(Sentence(span, NOT_JUDGED, NOT_JUDGED) for span in spans)
    stale = 0 if sentences else None
    return Draft(image, caption, sentences, stale=stale, threshold=threshold)


def present_text(sentence: Sentence, caption: str) -> str:
    """The sentence's text in the caption now, a pending rewrite included; "" once it is gone."""
    if sentence.dropped:
        return ""
    if not sentence.attempts:
        return sentence.span.of(caption)
    attempt = sentence.pending or sentence.accepted
    return sentence.span.of(caption) if attempt is None else attempt.text


def compose(caption: str, sentences: Sequence[Sentence]) -> tuple[str, tuple[Span | None, ...]]:
    """The current caption, and where each sentence now is in it (None: gone).

    Bytes outside the replaced spans are copied, never rebuilt. A removed sentence takes one gap
    with it: the white space before it or, if nothing is left before it, the white space after it.
    The only sentence of a list item takes the item's marker too; other structure stays
    (`text.markdown`).
    """
    if not any(sentence.attempts or sentence.dropped for sentence in sentences):
        return caption, tuple(sentence.span for sentence in sentences)
    parts: list[str] = []
    spans: list[Span | None] = []
    length = cursor = 0  # the caption is done up to the cursor
    first = True  # only structure so far
    ends = [*(s.span.start for s in sentences[1:]), len(caption)]
    for sentence, end in zip(sentences, ends, strict=True):
        text = present_text(sentence, caption)
        gap, behind = caption[cursor : sentence.span.start], caption[sentence.span.end : end]
        cursor = sentence.span.end
        if not text:
            spans.append(None)
            last = end == len(caption)
            gap, taken = _without_sentence(gap, behind, first, last)
            cursor += taken
        else:
            spans.append(Span(length + len(gap), length + len(gap) + len(text)))
            first = False
        parts += [gap, text]
        length += len(gap) + len(text)
    parts.append(caption[cursor:])
    return "".join(parts), tuple(spans)


def _without_sentence(gap: str, behind: str, first: bool, last: bool) -> tuple[str, int]:
    """What stays of the gap before a removed sentence, and how many characters after it go too."""
    ends_line = re.match(r"[\r\n]|$", behind)
    margin = len(behind) - len(behind.lstrip())
    if ends_line and (item := item_mark(gap)) is not None:
        return gap[:item], margin if first and not item else 0
    if not gap.strip() and not first:
        return "", 0
    return gap, 0 if last or (ends_line and not first) else margin


def flagged(draft: Draft) -> list[int]:
    """Indices of the sentences still in the caption and judged nonfactual in it."""
    return [
        k
        for k, sentence in enumerate(draft.sentences)
        if (p := sentence.now.p_factual) is not None
        and p < draft.threshold
        and not sentence.dropped
    ]


def revision_of(draft: Draft, signature: str) -> Revision:
    """The draft as a result. A rewrite still pending is not in the revised caption."""
    standing = [settled(s) if s.attempts else s for s in draft.sentences]
    revised, _ = compose(draft.caption, standing)
    return Revision(
        draft.caption,
        revised,
        draft.sentences,
        draft.rounds,
        signature,
        draft.error,
        draft.threshold,
        draft.expert,
    )


def settled(sentence: Sentence) -> Sentence:
    """The sentence without a rewrite that no critic has judged yet."""
    if sentence.pending is None:
        return sentence
    return replace(sentence, attempts=sentence.attempts[:-1])


def resumed(image: Image.Image | None, revision: Revision) -> Draft:
    """A stored revision as a draft: stale from the first rewrite that awaits the critic."""
    waiting = [k for k, s in enumerate(revision.sentences) if s.pending is not None]
    stale = min(waiting, default=None)
    return Draft(
        image,
        revision.caption,
        revision.sentences,
        revision.rounds,
        stale,
        revision.error,
        revision.threshold,
        revision.expert,
    )
