"""The three ways something can go wrong, kept apart on purpose.

`UserError`    a mistake the user can mend: one line, what was found, what was expected, what to do.
`BadRecord`    this record cannot be processed: it goes to the quarantine, the run goes on.
`EngineDead`   nothing further can be computed: the run stops, resumable.

Whatever else a record raises in a step of its own (reading its row, its image, its URL, splitting
its sentences) is that record's fault: `own_step` makes a `BadRecord` of it. What several records
share (the journal, the output, the model) is outside such steps, and an exception there ends the
run.

What they say may quote a server or a library, so secrets in it are masked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from revise_captions.outside_text import masked


class UserError(Exception):
    """Shown as one line without a traceback; `hint` is the next command or option to try."""

    #: What the command exits with.
    status = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message, self.hint = masked(message), hint
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class NothingJudged(UserError):
    """The critic cannot judge these captions; going on would only write that down."""

    status = 4


class EngineDead(Exception):
    """The engine stopped answering; the journal makes the run resumable."""

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))


class Reason(StrEnum):
    """Why a record was quarantined. The values are part of the output format."""

    MALFORMED_JSON = "malformed_json"
    MALFORMED_CSV = "malformed_csv"
    NOT_AN_OBJECT = "not_an_object"
    INVALID_UTF8 = "invalid_utf8"
    LINE_TOO_LONG = "line_too_long"
    MISSING_CAPTION = "missing_caption"
    CAPTION_NOT_TEXT = "caption_not_text"
    EMPTY_CAPTION = "empty_caption"
    CAPTION_TOO_LONG = "caption_too_long"
    MISSING_IMAGE = "missing_image"
    IMAGE_NOT_FOUND = "image_not_found"
    IMAGE_OUTSIDE_ROOT = "image_outside_root"
    IMAGE_UNREADABLE = "image_unreadable"
    IMAGE_TRUNCATED = "image_truncated"
    IMAGE_TOO_LARGE = "image_too_large"
    IMAGE_TOO_SMALL = "image_too_small"
    IMAGE_TOO_LONG = "image_too_long"
    IMAGE_GRAY = "image_gray"
    DUPLICATE_CAPTION = "duplicate_caption"
    WRONG_LANGUAGE = "wrong_language"
    URL_NOT_ALLOWED = "url_not_allowed"
    URL_FAILED = "url_failed"
    BAD_REVISION = "bad_revision"
    BAD_REFERENCE = "bad_reference"
    UNEXPECTED_ERROR = "unexpected_error"


class BadRecord(Exception):
    """One record cannot be processed. `reason` is machine-readable, `detail` is for people."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, masked(detail)
        super().__init__(f"{reason}: {self.detail}")


@contextmanager
def own_step(reason: Reason) -> Iterator[None]:
    """Makes a `BadRecord` of whatever one record raises in a step that concerns no other record.

    The three errors above pass. So do KeyboardInterrupt and SystemExit, and MemoryError: what one
    record may take is limited before it is read or decoded, so the machine has run out of memory.

    Args:
        reason: The record's reason where the exception has none of its own.

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
    """Makes a `UserError` of whatever reading one row raises, where a figure needs every row.

    Args:
        place: The row, as the message names it.
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
