"""Secrets are masked and control characters spelled out, and nothing else is touched."""

from __future__ import annotations

import logging

import pytest

from revise_captions.command_line.log import configure
from revise_captions.errors import BadRecord, Reason, described
from revise_captions.outside_text import masked, plain, without_secrets


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer ***"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz1234'}", "{'Authorization': 'Basic ***'}"),
        ("bearer abcdefgh12345678, then", "bearer ***, then"),
        ("Incorrect API key provided: sk-proj-abc123DEF456.", "Incorrect API key provided: ***."),
        ("hf_abcdefgh1JKLMNOP and ghp_abcdefgh12345678", "*** and ***"),
        ("AKIA1234567890ABCDEF", "***"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "***"),
        (
            "https://a.org/b.png?token=abc12345678&w=3: 403",
            "https://a.org/b.png?token=***&w=3: 403",
        ),
        (
            "https://a.org/b.png?X-Amz-Signature=ab12cd34ef56",
            "https://a.org/b.png?X-Amz-Signature=***",
        ),
        ('"api_key": "0123456789"', '"api_key": "***"'),
    ],
)
def test_what_looks_like_a_secret_is_masked(text, said):
    assert masked(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "a bearer of bad news, the bearer certificates",
        "over the model's 2,048 tokens",
        "the password: mountains",
        "a token: <|im_end|>",
        "sk-learn-contributions is a name",
        "https://a.org/cat-2024-01-01.png?width=1024",
        "line 3: column 17 (char 1234567890)",
    ],
)
def test_what_does_not_is_left(text, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert masked(text) == text
    assert masked("EMPTY") == "EMPTY"


def test_secrets_of_the_environment_are_known(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "correct horse")
    assert masked("a correct horse, battery") == "a ***, battery"


def test_of_two_secrets_the_longer_goes_first():
    assert without_secrets("abcdefgh-ijkl", "abcdefgh", None, "", "abcdefgh-ijkl") == "***"


def test_errors_and_the_log_mask(monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "unguessable-key")
    assert BadRecord(Reason.URL_FAILED, "x unguessable-key").detail == "x ***"
    assert described(ValueError("y" * 295 + " unguessable-key")).endswith("y ***")
    root = logging.getLogger("revise_captions")
    level, handlers = root.level, list(root.handlers)
    try:
        configure(0)
        logging.getLogger("revise_captions.x").warning("%s\x1b[2J", "unguessable-key")
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
    assert capsys.readouterr().err.endswith("WARNING ***U+001B[2J\n")


def test_controls_are_spelled_out_and_letters_are_not():
    assert plain("a\x1b\u202eb\ud800\n\tä\u0928\u094d\U0001f469\u200d\U0001f33e") == (
        "aU+001BU+202EbU+D800\n\tä\u0928\u094d\U0001f469\u200d\U0001f33e"
    )
