"""The three ways something can go wrong, deliberately kept apart.

`UserError`    a mistake the user can fix: one line with what was found, expected, and to be done.
`BadRecord`    this record cannot be processed: it goes to the quarantine, the run goes on.
`EngineDead`   nothing further can be computed: the run stops, resumable.

Any other exception in a step that concerns a single record (reading its row, image or URL,
splitting its sentences) is that record's fault: `own_step` turns it into a `BadRecord`. What
records share (the journal, the output, the model) is outside such steps, and an exception there
ends the run.

Messages may quote a server or a library, so secrets in them are masked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from revise_captions.outside_text import masked


class UserError(Exception):
    """Shown as one line without a traceback; `hint` is the next command or option to try."""

    #: The command's exit status.
    status = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message, self.hint = masked(message), hint
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class NothingJudged(UserError):
    """The critic cannot judge these captions; going on would only record that."""

    status = 4


class EngineDead(Exception):
    """The engine stopped answering; the journal makes the run resumable."""

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))


class Reason(StrEnum):
    """Why a record was quarantined. The values are part of the output format."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Reason:
        """A member that also says what it means."""
        made = str.__new__(cls, value)
        made._value_, made.meaning = value, meaning
        return made

    MALFORMED_JSON = "malformed_json", "the line is not valid JSON"
    MALFORMED_CSV = (
        "malformed_csv",
        "the row has more or fewer fields than the first line, or an unclosed quotation mark",
    )
    NOT_AN_OBJECT = "not_an_object", "the line is JSON, but not an object"
    INVALID_UTF8 = "invalid_utf8", "the line is not encoded as UTF-8"
    LINE_TOO_LONG = "line_too_long", "the line exceeds the maximum length"
    MISSING_CAPTION = "missing_caption", "no field holds a caption; `--caption-field` names one"
    CAPTION_NOT_TEXT = (
        "caption_not_text",
        "the field does not hold text; `--caption-field` names another",
    )
    EMPTY_CAPTION = "empty_caption", "the caption has nothing to judge"
    CAPTION_TOO_LONG = "caption_too_long", "the caption exceeds the maximum number of characters"
    MISSING_IMAGE = "missing_image", "no field holds an image; `--image-field` names one"
    IMAGE_NOT_FOUND = (
        "image_not_found",
        "there is no such file; `--image-root` sets the folder that paths start from",
    )
    IMAGE_OUTSIDE_ROOT = (
        "image_outside_root",
        "the path leads out of the input's folder; `--image-root` allows another",
    )
    IMAGE_UNREADABLE = "image_unreadable", "the file is not an image, or is damaged"
    IMAGE_TRUNCATED = "image_truncated", "the image file ends too early"
    IMAGE_TOO_LARGE = "image_too_large", "the image exceeds the size limits"
    IMAGE_TOO_SMALL = "image_too_small", "left out by `--min-side`"
    IMAGE_TOO_LONG = "image_too_long", "left out by `--max-ratio`"
    IMAGE_GRAY = "image_gray", "left out by `--drop-gray`"
    DUPLICATE_CAPTION = "duplicate_caption", "left out by `--drop-duplicates`"
    WRONG_LANGUAGE = "wrong_language", "left out by `--language`"
    URL_NOT_ALLOWED = (
        "url_not_allowed",
        "the image is at a URL, which needs `--allow-urls`, or at a private address, which is "
        "never fetched",
    )
    URL_FAILED = "url_failed", "the URL returned no image"
    BAD_REVISION = (
        "bad_revision",
        "the row has no `revision` of an earlier stage, or one of another caption",
    )
    BAD_REFERENCE = (
        "bad_reference",
        "the row has no reference, or one that is not text; `--reference-field` names another",
    )
    UNEXPECTED_ERROR = (
        "unexpected_error",
        "processing this record raised an unexpected error; please report it",
    )


class BadRecord(Exception):
    """One record cannot be processed. `reason` is machine-readable, `detail` is for people."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, masked(detail)
        super().__init__(f"{reason}: {self.detail}")


@contextmanager
def own_step(reason: Reason) -> Iterator[None]:
    """Turns any exception in a step that concerns only one record into a `BadRecord`.

    The three errors above pass through. So do KeyboardInterrupt, SystemExit, and MemoryError: each
    record's memory is limited before it is read or decoded, so it is the machine that has run out.

    Args:
        reason: The reason, if the exception has none of its own.

    Raises:
        BadRecord: With the exception's class in the detail.
    """
    try:
        yield
    except (UserError, EngineDead, BadRecord, MemoryError):
        raise
    except Exception as error:
        raise BadRecord(reason, described(error)) from error


@contextmanager
def mended_by_user(place: str, hint: str = "") -> Iterator[None]:
    """Turns any exception from reading one row into a `UserError`, where a figure needs every row.

    Args:
        place: What the message calls the row.
        hint: As in `UserError`.

    Raises:
        UserError: With the exception's class.
    """
    try:
        with own_step(Reason.UNEXPECTED_ERROR):
            yield
    except BadRecord as error:
        raise UserError(f"{place}: {error.detail}", hint=hint) from error


def described(error: BaseException) -> str:
    """An exception's class and its text, on one line of bounded length."""
    text = masked(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
