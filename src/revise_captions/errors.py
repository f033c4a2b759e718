"""The three ways something can go wrong, kept apart on purpose.

`UserError`    a mistake the user can mend: one line, what was found, what was expected, what to do.
`BadRecord`    this record cannot be processed: it goes to the quarantine, the run goes on.
`EngineDead`   nothing further can be computed: the run stops, resumable.
"""

from __future__ import annotations

from enum import StrEnum


class UserError(Exception):
    """Shown as one line without a traceback; `hint` is the next command or option to try."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class EngineDead(Exception):
    """The engine stopped answering; the journal makes the run resumable."""


class Reason(StrEnum):
    """Why a record was quarantined. The values are part of the output format."""

    MALFORMED_JSON = "malformed_json"
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
    URL_NOT_ALLOWED = "url_not_allowed"
    URL_FAILED = "url_failed"
    BAD_REVISION = "bad_revision"


class BadRecord(Exception):
    """One record cannot be processed. `reason` is machine-readable, `detail` is for people."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
