"""Sampled sentences of a run, as raters are asked about them: context, rationale, rewrite.

A `Unit` is one sampled sentence with everything that the run says about it. It makes up to four
items: the original sentence, the rewritten sentence, the critic's rationale, and both versions side
by side. Raters see items under meaningless names; the key, which says what they are, stays with the
organizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.checked_json import checked_row, json_lines
from revise_captions.io.fields import captions_of
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.pipelines.annotate.tasks.sampling import SampledLocation, SentenceLocation
from revise_captions.pipelines.draft import compose, settled
from revise_captions.pipelines.output import outcomes
from revise_captions.pipelines.output.schema import from_json
from revise_captions.records import Revision, Sentence, Span


class ItemTarget(StrEnum):
    """What an item asks about."""

    ORIGINAL = "original"
    REVISED = "revised"
    CRITIQUE = "critique"
    PREFERENCE = "preference"


@dataclass(frozen=True, slots=True)
class SentenceInCaption:
    """A caption and the sentence in question, the `number`th of `count`, from 1."""

    caption: str
    span: Span
    number: int
    count: int

    @property
    def sentence(self) -> str:
        return self.span.of(self.caption)


@dataclass(frozen=True, slots=True)
class Unit:
    """One sampled sentence.

    Attributes:
        weight: Number of sentences of the run that it stands for.
        threshold: Of who judged it: P(factual) below it is nonfactual.
        p_after: P(factual) of the rewrite; None if the critic did not judge it.
        revised: The last rewrite, accepted or not, in the caption that it makes; None without one
            or for a deletion.
        same_context: Whether the text before the sentence is the same in both captions.
        gone: Whether the sentence was dropped or deleted.
        swapped: Whether the revised version comes first in the pair.
        image: The image's name in the key.
        shown: What tasks refer to it by.
        evidence: What tasks about the explanation refer to instead: the image with the places
            outlined that it goes by; "" where it names none.
    """

    id: str
    place: SentenceLocation
    stratum: str
    weight: float
    original: SentenceInCaption
    p_factual: float | None
    flagged: bool
    threshold: float
    error_types: tuple[str, ...] = ()
    rationale: str = ""
    accepted: bool = False
    p_after: float | None = None
    revised: SentenceInCaption | None = None
    same_context: bool = True
    gone: bool = False
    swapped: bool = False
    image: str = ""
    shown: str = ""
    evidence: str = ""

    def asked(self) -> tuple[ItemTarget, ...]:
        """What can be asked about it."""
        found = [ItemTarget.ORIGINAL]
        if self.revised is not None:
            found += [ItemTarget.REVISED, ItemTarget.PREFERENCE]
        if self.rationale:
            found.append(ItemTarget.CRITIQUE)
        return tuple(found)

    def item(self, asked: ItemTarget) -> str:
        """The name under which raters meet it."""
        return digest(f"{self.id}\0{asked}")

    def as_json(self) -> dict[str, Any]:
        """A row of the key."""
        row = asdict(self)
        row["place"] = self.place._asdict()
        row["items"] = {str(asked): self.item(asked) for asked in self.asked()}
        return row


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


# --- Reading a run ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunCaption:
    """One caption of a run: `stored` is its part of `revision`."""

    row: Row
    field: str
    caption: str
    revised_caption: str
    stored: Mapping[str, Any]


def captions_in(source: Source) -> Iterator[RunCaption | BadRow]:
    """Every caption of a run, in order. Raises `UserError` for a file that is no run."""
    for row in source.rows():
        if isinstance(row, BadRow):
            yield row
            continue
        if "revision" not in row.data:
            raise UserError(
                f"{source.name}, line {row.line}: there is no `revision`",
                hint="expected the output of revise-captions",
            )
        try:
            captions = captions_of(row, source.fields)
            parts = outcomes.captions_of(row.data)
        except BadRecord as error:
            yield BadRow.of(row, source.name, error)
            continue
        except (KeyError, TypeError, AttributeError) as error:
            raise _not_a_run(source.name, row.line, error) from None
        for field, revised, stored in parts:
            caption = captions[field] if field else next(iter(captions.values()))
            yield RunCaption(row, field, caption, revised, stored)


def _not_a_run(name: str, line: int, error: Exception) -> UserError:
    return UserError(
        f"{name}, line {line}: `revision` was not written by revise-captions: {error!r}",
        hint="pass the file as the run wrote it",
    )


def error_types(judged: RunCaption, sentence: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentence's types of error: its own, or those of the row's labeled sentence of its span.

    A run has them where its input had (`sentences` with `error_type` or `error_types`).
    """
    return error_types_of(judged.row.data, sentence)


def error_types_of(row: Mapping[str, Any], sentence: Mapping[str, Any]) -> tuple[str, ...]:
    """As `error_types`, for a sentence of a row's `revision`."""
    if found := _types(sentence):
        return found
    labeled = row.get("sentences")
    if not isinstance(labeled, list):
        return ()
    start, end = sentence["span"]
    for other in labeled:
        if isinstance(other, Mapping) and (other.get("start"), other.get("end")) == (start, end):
            return _types(other)
    return ()


def _types(sentence: Mapping[str, Any]) -> tuple[str, ...]:
    several = sentence.get("error_types") or [sentence.get("error_type")]
    return tuple(str(kind) for kind in several if kind) if isinstance(several, list) else ()


def unit(judged: RunCaption, drawn: SampledLocation, seed: int, name: str) -> Unit:
    """The unit of a drawn sentence. Raises `UserError` where the row does not hold together."""
    stored = {"revision": judged.stored, "revised_caption": judged.revised_caption}
    try:
        revision = from_json(judged.caption, stored)
        raw = judged.stored["sentences"][drawn.place.sentence]
        errors = error_types(judged, raw)
    except (BadRecord, LookupError, TypeError) as error:
        raise _not_a_run(name, judged.row.line, error) from None
    sentence = revision.sentences[drawn.place.sentence]
    place = drawn.place
    identity = digest(f"{seed}\0{place.line}\0{place.field}\0{place.sentence}")
    found = Unit(
        identity,
        place,
        drawn.stratum,
        drawn.weight,
        SentenceInCaption(
            judged.caption, sentence.span, place.sentence + 1, len(revision.sentences)
        ),
        sentence.verdict.p_factual,
        raw["label"] == "nonfactual",
        revision.threshold,
        errors,
        "" if sentence.rationale is None else sentence.rationale.text.strip(),
        accepted=sentence.accepted is not None,
        swapped=int(digest(f"{identity}\0order"), 16) % 2 == 1,
    )
    return _with_rewrite(found, revision, sentence)


def _with_rewrite(found: Unit, revision: Revision, sentence: Sentence) -> Unit:
    """Adds the rewrite that stands, or else the last one, in the caption that it makes."""
    attempt = sentence.accepted or (sentence.attempts[-1] if sentence.attempts else None)
    if attempt is None:
        return replace(found, gone=sentence.dropped)
    stands = sentence.accepted is not None
    after = sentence.now.p_factual if stands and not sentence.dropped else attempt.p_after
    found = replace(found, p_after=after)
    if not attempt.text.strip() or sentence.dropped:
        return replace(found, gone=sentence.dropped or stands)
    index = found.place.sentence
    shown = replace(sentence, attempts=(replace(attempt, accepted=True),))
    others = [settled(other) for other in revision.sentences]
    caption, spans = compose(revision.caption, [*others[:index], shown, *others[index + 1 :]])
    span = spans[index]
    if span is None:  # a rewrite of text always stands somewhere
        raise AssertionError("a rewrite of text does not stand in its caption")
    number = sum(other is not None for other in spans[: index + 1])
    revised = SentenceInCaption(caption, span, number, sum(other is not None for other in spans))
    same = caption[: span.start] == revision.caption[: sentence.span.start]
    return replace(found, revised=revised, same_context=same)


def read_key(path: Path) -> list[Unit]:
    """The units of an export. Raises `UserError`."""
    wanted = "a row of the key, as `captions annotate export` wrote it"
    return [
        checked_row(Unit, row, f"{path}, line {line}: not {wanted}")
        for line, row in json_lines(path, wanted)
    ]
