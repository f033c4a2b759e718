"""Training examples for the reviser: wrong sentences, augmented so that it learns to copy.

The rows of `<data>/<split>.jsonl` are those of `picturebook.generate`. A sentence with a rewrite
("" deletes, null: none known) gives an example: its `rationales` (or `rationale`) and the text
before it are the request.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.content_words import FUNCTION_WORDS
from scripts.research.reviser.synthetic import RewriteExample, articles, edit, filler

CONTEXT_CHARACTERS = 240
#: How many times more often a sentence with several candidates for the change is drawn.
HARD = 3
_SEVERAL = re.compile(r"\band\b|\bwhile\b|, there |\bthe\b.+\bthe\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
#: Words that renaming would make ungrammatical, besides the function words.
_KEEP = FUNCTION_WORDS | set(
    "left right front back top next side not no only instead rather actually image picture scene "
    "sentence text color colour nothing none both all without".split()
)


@dataclass(frozen=True, slots=True)
class ExplainedError:
    """One wrong sentence of the data with all its rationales."""

    context: str
    sentence: str
    rationales: tuple[str, ...]
    rewrite: str


def read_errors(path: Path, limit: int) -> list[ExplainedError]:
    """The first `limit` wrong sentences of a split that have a rewrite.

    Raises:
        UserError: The file cannot be read or has no such sentence, or a row is malformed.
    """
    found: list[ExplainedError] = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                try:
                    found += _errors_of(json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise UserError(
                        f"{path}:{number} is not a judged caption: {type(error).__name__}: {error}",
                        hint='expected {"caption", "sentences": [{"start", "end", "rationales", '
                        '"rewrite"}]}',
                    ) from None
                if len(found) >= limit:
                    break
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}",
            hint="write data with python -m revise_captions.picturebook.generate",
        ) from None
    if not found:
        raise UserError(f"{path} has no wrong sentence with a rewrite and a rationale")
    return found[:limit]


def _errors_of(row: dict[str, Any]) -> Iterator[ExplainedError]:
    caption: str = row["caption"]
    for sentence in row["sentences"]:
        rewrite = sentence.get("rewrite")
        rationales = sentence.get("rationales") or [sentence.get("rationale")]
        rationales = tuple(r for r in rationales if r)
        if rewrite is None or not rationales:
            continue
        start, end = sentence["start"], sentence["end"]
        context = caption[max(0, start - CONTEXT_CHARACTERS) : start]
        yield ExplainedError(context, caption[start:end], rationales, rewrite)


def example(wrong: ExplainedError, rng: random.Random) -> RewriteExample:
    """A training example with one rationale, at times with renamed words or failed attempts."""
    request = RewriteRequest(wrong.context, wrong.sentence, rng.choice(wrong.rationales))
    made = RewriteExample(request, wrong.rewrite)
    if rng.random() < 0.4:
        made = renamed(made, rng)
    if rng.random() < 0.2:
        made = with_failures(made, rng)
    return made


def renamed(made: RewriteExample, rng: random.Random) -> RewriteExample:
    """The same example with one to three of its content words replaced throughout.

    Only words that the answer copies from the sentence or the rationale are replaced, so the
    reviser learns to follow rationales with words it has never seen.
    """
    request = made.request
    available = {*_words(request.sentence), *_words(request.rationale)}
    texts = [request.context, request.sentence, request.rationale, made.rewrite]
    taken = {word.lower() for text in texts for word in _words(text)}
    words = sorted({w for w in _words(made.rewrite or request.sentence) if _nameable(w, available)})
    others: dict[str, str] = {}
    for word in rng.sample(words, min(len(words), rng.choice((1, 1, 2, 3)))):
        kind = "action" if word.endswith("ing") else rng.choice(("adjective", "noun"))
        other = filler(kind, rng, 0.7)
        if word.isupper():
            other = filler("sign", rng, 1.0).split()[0]
        if other.lower() not in taken and other not in others.values():
            others[word] = other
    if not others:
        return made

    def exchange(match: re.Match[str]) -> str:
        word = match.group()
        if word in others:
            return others[word]
        if word.lower() in others and word.istitle():
            return others[word.lower()].capitalize()
        stem = word.removesuffix("s").removesuffix("'")
        return others[stem] + word[len(stem) :] if stem in others else word

    context, sentence, rationale, rewrite = (
        _article(_WORD.sub(exchange, text), text) for text in texts
    )
    return RewriteExample(
        replace(request, context=context, sentence=sentence, rationale=rationale), rewrite
    )


def with_failures(made: RewriteExample, rng: random.Random) -> RewriteExample:
    """Adds one to three plausible but wrong earlier rewrites."""
    request = made.request
    failed: list[str] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = _corrupted(made.rewrite or request.sentence, request, rng)
        if text not in (made.rewrite, *failed):
            failed.append(text)
    return RewriteExample(replace(request, failed=tuple(failed)), made.rewrite)


def _corrupted(text: str, request: RewriteRequest, rng: random.Random) -> str:
    """`text` with one word dropped or replaced by one of the request or a random one."""
    words = [match for match in _WORD.finditer(text) if match.group().lower() not in _KEEP]
    if not words or rng.random() < 0.15:
        return request.sentence
    target = rng.choice(words)
    chance = rng.random()
    if chance < 0.2:
        other = ""
    elif chance < 0.6:
        other = rng.choice(_words(f"{request.rationale} {request.sentence}") or [""])
    else:
        other = filler(rng.choice(("adjective", "noun")), rng, 0.3)
    spoiled = text[: target.start()] + other + text[target.end() :]
    return articles(" ".join(spoiled.split()))


def _words(text: str) -> list[str]:
    return [match.group() for match in _WORD.finditer(text)]


def _nameable(word: str, available: set[str]) -> bool:
    return (
        len(word) > 2
        and word in available
        and (word.islower() or word.isupper())
        and word.lower() not in _KEEP
    )


def _article(text: str, like: str) -> str:
    """`articles`, but a lower-case beginning is kept."""
    done = articles(text)
    return done if like[:1].isupper() else text[:1] + done[1:]


def draw(data: Sequence[ExplainedError], rng: random.Random) -> ExplainedError:
    """A random one, by rejection: one with several candidates for the change is `HARD` times as
    likely.
    """
    while True:
        wrong = rng.choice(data)
        if _SEVERAL.search(wrong.sentence) or rng.random() < 1 / HARD:
            return wrong


def stream(
    data: Sequence[ExplainedError],
    chunk: int,
    size: int,
    *,
    seed: int,
    synthetic: float,
    copies: bool,
) -> list[RewriteExample]:
    """Chunk number `chunk` of an endless, reproducible stream of examples.

    Args:
        size: Examples in a chunk.
        synthetic: Share of synthetic edits.
        copies: Make sentences to repeat unchanged. Copying takes a new model longest to learn, and
            it learns it several times faster from these than from edits.
    """
    rng = random.Random(f"{seed}.{chunk}")
    made = [
        edit(rng) if not data or rng.random() < synthetic else example(draw(data, rng), rng)
        for _ in range(size)
    ]
    if not copies:
        return made
    return [
        RewriteExample(RewriteRequest("", e.request.sentence, ""), e.request.sentence) for e in made
    ]
