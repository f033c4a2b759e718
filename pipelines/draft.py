"""A caption under revision: its sentences, their rewrites so far, and its text as it now stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PIL import Image

from revise_captions.records import Revision, Sentence, Span, Verdict

NOT_JUDGED = Verdict(None)


@dataclass(frozen=True, slots=True)
class Draft:
    """A caption under way.

    Attributes:
        image: As the critic sees it; None where the stage looks at none.
        caption: The original text.
        sentences: What was found out so far.
        rounds: How often the reviser has been asked.
        stale: Index of the first sentence to judge (again), None if none.
        error: See `Revision`.
        threshold: See `Revision`; of who judged it last.
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
    """A caption that nobody has judged yet."""
    sentences = tuple(Sentence(span, NOT_JUDGED, NOT_JUDGED) for span in spans)
    stale = 0 if sentences else None
    return Draft(image, caption, sentences, stale=stale, threshold=threshold)


def present_text(sentence: Sentence, caption: str) -> str:
    """What stands in the caption now; a pending rewrite already does. "" once it is gone."""
    if sentence.dropped:
        return ""
    if not sentence.attempts:
        return sentence.span.of(caption)
    attempt = sentence.pending or sentence.accepted
    return sentence.span.of(caption) if attempt is None else attempt.text


def compose(caption: str, sentences: Sequence[Sentence]) -> tuple[str, tuple[Span | None, ...]]:
    """The present caption, and where each sentence now stands in it (None: gone).

    Bytes outside the replaced spans are copied, never rebuilt. A sentence that is gone takes one
    gap with it: the white space before it, or, where nothing is left before it, the one behind.
    """
    if not any(sentence.attempts or sentence.dropped for sentence in sentences):
        return caption, tuple(sentence.span for sentence in sentences)
    parts: list[str] = []
    spans: list[Span | None] = []
    length = 0
    cursor = 0  # everything of the caption before it is dealt with
    empty = True  # no sentence has been kept yet
    for index, sentence in enumerate(sentences):
        text = present_text(sentence, caption)
        gap = caption[cursor : sentence.span.start]
        cursor = sentence.span.end
        if not text:
            spans.append(None)
            if index == 0 or empty:
                # The first gap is the caption's own margin; what follows the sentence goes instead.
                parts, length = [caption[: sentences[0].span.start]], sentences[0].span.start
            continue
        if index and empty:
            gap = ""
        parts += [gap, text]
        spans.append(Span(length + len(gap), length + len(gap) + len(text)))
        length += len(gap) + len(text)
        empty = False
    parts.append(caption[cursor:])
    return "".join(parts), tuple(spans)


def flagged(draft: Draft) -> list[int]:
    """Indices of the sentences that stand in the caption and are judged nonfactual in it."""
    return [
        k
        for k, sentence in enumerate(draft.sentences)
        if (p := sentence.now.p_factual) is not None
        and p < draft.threshold
        and not sentence.dropped
    ]


def revision_of(draft: Draft, signature: str) -> Revision:
    """The draft as a result. A rewrite still pending does not stand in the revised caption."""
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
