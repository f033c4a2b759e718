"""The AutoRater: from judged captions to the counts behind a leaderboard.

    captions by captioners ─ revise-captions --stage critique ─ one row of counts per caption ─
    ratings.json ─ leaderboard

Rows that revise-captions has revised are rated twice, before and after, as `NAME` and
`NAME, revised`. `ratings.json` keeps counts by captioner and image, so that captioners can be added
without judging the others again, and the settings behind them: results of another critic or
threshold are never mixed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revise_captions.critic.panel import EXPERTS
from revise_captions.critic.profile import IDENTITY
from revise_captions.errors import UserError, mended_by_user
from revise_captions.io.checked_json import read_checked
from revise_captions.io.fields import Fields, look_up
from revise_captions.io.readers import open_rows, open_source
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.writing import write_json
from revise_captions.pipelines.output.error_types import type_of
from revise_captions.pipelines.rating.examples import BehindScore, BoardEvidence, StoredEvidence
from revise_captions.records import Label, Span, kind_of_reason
from revise_captions.signature import settings_of
from revise_captions.stats.leaderboard import (
    COLUMNS,
    RatedSentence,
    Ratings,
    collect,
    counts_of,
)

#: What of a signature decides a rating; the reviser does not.
RATER = (
    *IDENTITY,
    "probability-map",
    "dtype",
    "threshold",
    "calibration",
    "engine",
    "transformers",
    "rapidocr",
)
#: Fields that say who wrote a caption, best first.
CAPTIONER_FIELDS = ("model", "captioner", "vlm_model", "model_name", "system")
REVISED = ", revised"

#: By captioner and image: flagged sentences of each kind of error.
Errors = Mapping[str, Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class RatedCaptioners:
    """Ratings, the settings that produced them, error types by captioner and image, examples.

    `experts` names who of a panel judged an image. A panel's settings stand in `rater` as
    `expert.key`, of each expert that judged something.
    """

    ratings: Ratings
    rater: Mapping[str, str]
    errors: Errors = field(default_factory=dict)
    evidence: BoardEvidence = field(default_factory=BoardEvidence)
    experts: Mapping[str, str] = field(default_factory=dict)

    @property
    def judges(self) -> tuple[str, ...]:
        """The experts that judged something; "" where one critic judges everything."""
        return tuple(dict.fromkeys(self.experts.get(image, "") for image in self.ratings.images))


@dataclass(frozen=True, slots=True)
class Counted:
    """One caption's `leaderboard.counts_of`, its error types, the rater's signature, examples.

    `wrong` has the flagged sentences, `unscored` the reasons of those that were not judged;
    `expert` names who of a panel judged it.
    """

    captioner: str
    image: str
    counts: tuple[float, ...]
    errors: Mapping[str, int]
    signature: str
    wrong: tuple[BehindScore, ...] = ()
    unscored: tuple[str, ...] = ()
    expert: str = ""


def is_judged(name: str) -> bool:
    """Whether the file is an output of revise-captions: its first row has a `revision`."""
    first = next(iter(open_rows(name).rows()), None)
    return isinstance(first, Row) and "revision" in first.data


def read_judged(
    name: str,
    *,
    captioner: str | None = None,
    captioner_field: str | None = None,
    image_field: str | None = None,
    caption_field: str | None = None,
) -> Iterator[Counted]:
    """Counts of each row of an output of revise-captions; revised rows give two.

    Args:
        captioner: Captioner of the whole file.

    Raises:
        UserError: A row has no `revision`, or nothing names its captioner or image.
    """
    fields = Fields(None, (caption_field,) if caption_field else ())
    source = open_source(name, fields=fields, need_image=False)
    for row in source.rows():
        if isinstance(row, BadRow):
            raise UserError(f"{name}, row {row.line}: {row.detail}")
        revision = row.data.get("revision")
        if not isinstance(revision, Mapping) or "sentences" not in revision:
            raise UserError(f"{name}, row {row.line} has no `revision` of a single caption")
        who = captioner or _named(row.data, captioner_field, CAPTIONER_FIELDS)
        image = _named(row.data, image_field, _IMAGES)
        if who is None:
            raise _unnamed(name, row.line, "captioner")
        if image is None:
            raise _unnamed(name, row.line, "image")
        caption = str(look_up(row.data, source.fields.captions[0]))
        with mended_by_user(f"{name}, row {row.line}: `revision` is not of revise-captions"):
            counted = list(_counted(row.data, caption, who, image))
        yield from counted


def _counted(row: Mapping[str, Any], caption: str, captioner: str, image: str) -> Iterator[Counted]:
    """The caption as it came and, where a reviser was there, as it was revised."""
    revision = row["revision"]
    signature = str(revision["signature"])
    settings = settings_of(signature)
    judged = JudgedCaption(
        captioner, image, caption, revision["sentences"], float(revision["threshold"]), signature,
        str(revision.get("expert", "")),
    )  # fmt: skip
    kinds = _kinds(row, caption, revision["sentences"])
    yield judged.as_it_came(kinds)
    if "reviser" in settings:  # also where it had nothing to do
        yield judged.revised(kinds, len(str(row["revised_caption"]).split()))


@dataclass(frozen=True, slots=True)
class JudgedCaption:
    """One caption with its judged sentences, to be counted as it came and as it was revised."""

    captioner: str
    image: str
    caption: str
    sentences: Sequence[Mapping[str, Any]]
    threshold: float
    signature: str
    expert: str = ""

    def as_it_came(self, kinds: Sequence[str]) -> Counted:
        rated = [RatedSentence(Label(s["label"]), s["assessable"]) for s in self.sentences]
        wrong = [
            self._example(s, s["p_factual"], kind, s["rewrite"] if s["accepted"] else "")
            for s, kind, r in zip(self.sentences, kinds, rated, strict=True)
            if _wrong(r)
        ]
        reasons = tuple(kind_of_reason(s["reason"]) for s in self.sentences if s["reason"])
        words = len(self.caption.split())
        return self._counted(self.captioner, rated, words, wrong, reasons)

    def revised(self, kinds: Sequence[str], words: int) -> Counted:
        """What stands in the revised caption, of so many words."""
        now = [_after(s, self.threshold) for s in self.sentences]
        wrong = [
            self._example(s, s["p_after"], kind, "")
            for s, kind, r in zip(self.sentences, kinds, now, strict=True)
            if r is not None and _wrong(r)
        ]
        left = (s.get("reason_after") for s in self.sentences)
        reasons = tuple(kind_of_reason(reason) for reason in left if reason)
        rated = [r for r in now if r is not None]
        return self._counted(self.captioner + REVISED, rated, words, wrong, reasons)

    def _counted(
        self,
        captioner: str,
        rated: Sequence[RatedSentence],
        words: int,
        wrong: Sequence[BehindScore],
        reasons: tuple[str, ...],
    ) -> Counted:
        kinds = Counter(one.kind for one in wrong)
        counts = counts_of(rated, words)
        return Counted(
            captioner, self.image, counts, kinds, self.signature, tuple(wrong), reasons,
            self.expert,
        )  # fmt: skip

    def _example(
        self, sentence: Mapping[str, Any], p: float, kind: str, rewrite: str | None
    ) -> BehindScore:
        start, end = sentence["span"]
        rationale = str(sentence["rationale"] or "")
        more = {"rationale": rationale, "rewrite": rewrite or "", "kind": kind}
        return BehindScore.of(p, self.image, self.caption, start, end, **more)


def _wrong(sentence: RatedSentence) -> bool:
    return sentence.label is Label.NONFACTUAL


def _kinds(
    row: Mapping[str, Any], caption: str, sentences: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The error type of each sentence: from the row's labels (`error_type`, `error_types` of
    its `sentences`), otherwise from the critic's rationale.
    """
    labels = row.get("sentences")
    named = [s for s in labels if isinstance(s, Mapping)] if isinstance(labels, list) else []
    found = []
    for sentence in sentences:
        span = Span(*sentence["span"])
        own = next((kind for s in named if (kind := _named_kind(s, span))), None)
        rationale = str(sentence.get("rationale") or "")
        found.append(own or type_of(span.of(caption), rationale))
    return found


def _named_kind(label: Mapping[str, Any], span: Span) -> str | None:
    start, end = label.get("start"), label.get("end")
    if not (
        isinstance(start, int) and isinstance(end, int) and span.start < end and start < span.end
    ):
        return None
    kinds = label.get("error_types") or label.get("error_type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    return kind if isinstance(kind, str) and kind else None


def expect_captioner(name: str, field: str | None) -> str | None:
    """The first row's captioner. Raises `UserError` if it has none: before hours of judging."""
    first = next((row for row in open_rows(name).rows() if isinstance(row, Row)), None)
    found = None if first is None else _named(first.data, field, CAPTIONER_FIELDS)
    if first is not None and found is None:
        raise _unnamed(name, first.line, "captioner")
    return found


def expect_new(ratings: Ratings, captioners: Iterable[str]) -> None:
    """Raises `UserError` where the leaderboard already has one of the captioners."""
    if twice := sorted(set(ratings.captioners) & set(captioners)):
        raise UserError(
            f"the leaderboard already has {', '.join(twice)}",
            hint="choose a new --out, or remove the captioner from the input",
        )


def _unnamed(name: str, line: int, what: str) -> UserError:
    hint = f"set --{what}-field, or pass NAME=FILE"
    return UserError(f"{name}, row {line}: no field names its {what}", hint=hint)


_IMAGES = ("image_id", "image", "image_path", "image_file", "file_name", "img", "url", "jpg", "png")


def _named(row: Mapping[str, Any], field: str | None, known: Sequence[str]) -> str | None:
    for name in (field,) if field else known:
        value = look_up(row, name)
        if isinstance(value, str | int) and str(value):
            return str(value)
    return None


def _after(sentence: Mapping[str, Any], threshold: float) -> RatedSentence | None:
    """The sentence in the revised caption; None if it is gone."""
    if sentence["dropped"]:
        return None
    if sentence["p_after"] is None:
        return RatedSentence(Label.UNSCORED, sentence["assessable"])
    label = Label.FACTUAL if sentence["p_after"] >= threshold else Label.NONFACTUAL
    return RatedSentence(label, sentence["assessable"])


def rate(rows: Iterable[Counted]) -> RatedCaptioners:
    """Ratings of captions. Raises `UserError` if their raters differ."""
    seen: dict[tuple[str, str], dict[str, str]] = {}
    rater: dict[str, str] = {}
    errors: dict[str, dict[str, dict[str, int]]] = {}
    evidence, experts = BoardEvidence(), dict[str, str]()

    def counted() -> Iterator[tuple[str, str, tuple[float, ...]]]:
        for row in rows:
            if (by := (row.signature, row.expert)) not in seen:
                seen[by] = rater_of(row.signature, row.expert)
                _same(rater, seen[by], "the input")
                rater.update(seen[by])
            if row.errors:
                kinds = errors.setdefault(row.captioner, {}).setdefault(row.image, {})
                for kind, count in row.errors.items():
                    kinds[kind] = kinds.get(kind, 0) + count
            evidence.add(row.captioner, row.wrong, row.unscored)
            if row.expert:
                experts[row.image] = row.expert
            yield row.captioner, row.image, row.counts

    ratings = collect(counted())
    return RatedCaptioners(ratings, rater, errors, evidence, experts)


def rater_of(signature: str, expert: str = "") -> dict[str, str]:
    """The settings in a signature that decide a rating, of a panel's expert under its name."""
    settings = settings_of(signature)
    if EXPERTS in settings and not expert:
        return {}  # nobody of the panel took the image
    mark = f"{expert}." if expert else ""
    return {mark + key: settings[mark + key] for key in RATER if mark + key in settings}


def _same(one: Mapping[str, str], other: Mapping[str, str], where: str) -> None:
    """Raises `UserError` where a rater is not the same as before; other experts may join."""
    raters = [{key.rpartition(".")[0] for key in settings} for settings in (one, other)]
    names = [
        key
        for key in one.keys() | other.keys()
        if key.rpartition(".")[0] in raters[0] & raters[1] and one.get(key) != other.get(key)
    ]
    if one and other and not raters[0] & raters[1] and "" in raters[0] | raters[1]:
        names = ["critic"]
    if names:
        no = "a panel" if names == ["critic"] else "none"  # a single critic always has its name
        named = "; ".join(f"{k}: {one.get(k, no)} and {other.get(k, no)}" for k in sorted(names))
        raise UserError(
            f"{where} was rated with different settings, which must not be mixed ({named})",
            hint="rate all captioners with the same critic and threshold",
        )


def joined(old: RatedCaptioners, new: RatedCaptioners) -> RatedCaptioners:
    """Both together. Raises `UserError` for different raters or shared captioners."""
    _same(old.rater, new.rater, "the leaderboard")
    expect_new(old.ratings, new.ratings.captioners)
    rows = [*_rows(old.ratings), *_rows(new.ratings)]
    errors, evidence = {**old.errors, **new.errors}, old.evidence.joined(new.evidence)
    experts = {**old.experts, **new.experts}
    rater = {**old.rater, **new.rater}
    return RatedCaptioners(collect(rows), rater, errors, evidence, experts)


def _rows(ratings: Ratings) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    for captioner, of_images in zip(ratings.captioners, ratings.counts, strict=True):
        for image, counts in zip(ratings.images, of_images, strict=True):
            if counts.any():
                yield captioner, image, tuple(counts.tolist())


def write_ratings(path: Path, rated: RatedCaptioners) -> None:
    """Writes `ratings.json`: rater, counts by captioner and image, error types, examples, and
    who of a panel judged which images."""
    counts: dict[str, dict[str, Any]] = {}
    for captioner, image, row in _rows(rated.ratings):
        counts.setdefault(captioner, {})[image] = [int(v) if v == int(v) else v for v in row]
    stored = {"rater": rated.rater, "columns": COLUMNS, "counts": counts, "errors": rated.errors}
    stored["experts"] = rated.experts
    write_json(path, stored | {"evidence": rated.evidence.as_json()})


def read_ratings(path: Path) -> RatedCaptioners:
    """Reads what `write_ratings` wrote."""
    stored = read_checked(_StoredRatings, path, what="a leaderboard's ratings")
    if stored.columns != COLUMNS:
        raise UserError(f"{path} is not a leaderboard's ratings of this version: `columns`")
    rows = [
        (captioner, image, row)
        for captioner, of_images in stored.counts.items()
        for image, row in of_images.items()
    ]
    if odd := {len(row) for *_, row in rows} - {len(COLUMNS)}:
        found = f"`counts`: a row of {min(odd)}, expected {len(COLUMNS)}"
        raise UserError(f"{path} is not a leaderboard's ratings: {found}")
    evidence = BoardEvidence.read(stored.evidence)
    return RatedCaptioners(collect(rows), stored.rater, stored.errors, evidence, stored.experts)


@dataclass(frozen=True, slots=True)
class _StoredRatings:
    """What `write_ratings` writes."""

    rater: dict[str, str]
    columns: tuple[str, ...]
    counts: dict[str, dict[str, tuple[float, ...]]]
    experts: dict[str, str]
    errors: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    evidence: StoredEvidence = field(default_factory=StoredEvidence)
