"""Examples for the reviser: a broken sentence, a rationale, and the sentence as it should be."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from revise_captions.reviser.protocol import RewriteRequest
from scripts.research.smollm2_reviser.faults import (
    Fault,
    capital,
    is_many,
    is_thing,
    name,
    put,
    replacements,
)
from scripts.research.smollm2_reviser.rationales import SAID, nothing_left, rationale
from scripts.research.smollm2_reviser.removals import additions, recount, removals
from scripts.research.smollm2_reviser.sentences import SourceSentence
from scripts.research.smollm2_reviser.words import EditWords

if TYPE_CHECKING:
    from spacy.tokens import Doc

#: Kinds of example with their share.
TASKS = {
    "one": 0.36, "number": 0.04, "several": 0.15, "added": 0.07, "removed": 0.13,
    "nothing": 0.11, "foreign": 0.08, "mixed": 0.06,
}  # fmt: skip
VOICES = {"plain": 0.6, "hedged": 0.15, "long": 0.25}
#: What a sentence is about most often is not what is wrong with it.
_RARE = {"object": 0.4}
CONTEXT = 200


@dataclass(frozen=True, slots=True)
class EditExample:
    """A request with its one right answer.

    Attributes:
        request: What the reviser is given.
        rewrite: The answer; "" deletes the sentence.
        task: A key of `TASKS`.
        kinds: The kinds of its faults.
        voice: A key of `VOICES`.
        command: Whether the rationale also commands something.
        image: The image of its sentence.
    """

    request: RewriteRequest
    rewrite: str
    task: str
    kinds: tuple[str, ...]
    voice: str
    command: bool = False
    image: str = ""


def example(
    said: SourceSentence, doc: Doc, words: EditWords, task: str, rng: random.Random
) -> EditExample | None:
    """One example of a task from a true sentence; None where it has no place for one."""
    voice = rng.choices(list(VOICES), list(VOICES.values()))[0]
    if words.held and task not in ("nothing", "foreign") and rng.random() < 0.15:
        voice = "unheard"
    made = _made(doc, words, task, voice, rng)
    if made is None:
        return None
    sentence, reason, answer, kinds = made
    command = rng.random() < 0.04
    if command:
        order = rng.choice(_commands(words))
        reason = f"{reason} {order}" if rng.random() < 0.5 else f"{order} {reason}"
    context = said.context[-CONTEXT:].lstrip() if rng.random() < 0.4 else ""
    request = RewriteRequest(context, sentence, reason)
    return EditExample(request, answer, task, kinds, voice, command, said.image)


def _commands(words: EditWords) -> tuple[str, ...]:
    commands: tuple[str, ...] = SAID["unheard_commands" if words.held else "commands"]
    return commands


def _made(
    doc: Doc, words: EditWords, task: str, voice: str, rng: random.Random
) -> tuple[str, str, str, tuple[str, ...]] | None:
    text = doc.text
    if task == "nothing":
        return _nothing(doc, rng)
    if task == "foreign":
        return _foreign(doc, words, rng)
    if task == "number":
        found = recount(doc, rng)
        if found is None:
            return None
        return found[0], _reason([found[2]], doc, voice, rng), found[1], ("number",)
    if task == "removed":
        gone = _chosen(removals(doc), 1, rng)
        if not gone:
            return None
        right = _tidy(put(text, [(f.start, f.end, f.right) for f in gone]))
        return text, _reason(gone, doc, voice, rng), right, _kinds(gone)
    faults: list[Fault] = []
    if task in ("added", "mixed"):
        faults += _chosen(additions(doc, words, rng), 1, rng)
    if task in ("one", "mixed"):
        faults += _chosen(replacements(doc, words, rng), 1, rng)
    if task == "several":
        faults += _chosen(replacements(doc, words, rng), rng.choice((2, 2, 2, 3)), rng)
    if len(faults) < {"one": 1, "added": 1}.get(task, 2) or not _apart(faults):
        return None
    broken = put(text, [(f.start, f.end, _cased(f, text)) for f in faults])
    if broken == text:
        return None
    return broken, _reason(faults, doc, voice, rng), text, _kinds(faults)


def _cased(fault: Fault, text: str) -> str:
    return capital(fault.wrong) if text[fault.start : fault.start + 1].isupper() else fault.wrong


def _chosen(faults: Sequence[Fault], count: int, rng: random.Random) -> list[Fault]:
    left = [f for f in faults if rng.random() < _RARE.get(f.kind, 1.0)] or list(faults)
    return rng.sample(left, count) if len(left) >= count else []


def _apart(faults: Sequence[Fault]) -> bool:
    """No two of them touch, and none undoes what another says."""
    ordered = sorted(faults, key=lambda f: (f.start, f.end))
    pairs = itertools.pairwise(ordered)
    if any(one.end >= two.start for one, two in pairs):
        return False
    changed = [f for f in faults if f.kind == "object"]
    return not any(f.thing == c.right for c in changed for f in faults if f is not c)


def _kinds(faults: Sequence[Fault]) -> tuple[str, ...]:
    return tuple(fault.kind for fault in faults)


def _reason(faults: Sequence[Fault], doc: Doc, voice: str, rng: random.Random) -> str:
    spoken = {word for f in faults for word in f"{f.thing} {f.right} {f.wrong}".split()}
    others = [name(token) for token in doc if is_thing(token) and token.text not in spoken]
    return rationale(faults, others, voice, rng)


def _tidy(text: str) -> str:
    return capital(" ".join(text.split()).replace(" ,", ",").replace(" .", "."))


def _nothing(doc: Doc, rng: random.Random) -> tuple[str, str, str, tuple[str, ...]] | None:
    roots = [token for token in doc if token.dep_ == "ROOT"]
    if len(doc) > 18 or not roots:
        return None
    subject = next((c for c in roots[0].children if c.dep_.startswith("nsubj")), None)
    if subject is not None and is_thing(subject) and roots[0].pos_ == "ADJ" and len(doc) < 9:
        fault = Fault("detail", 0, 0, "", roots[0].text, name(subject), is_many(subject))
        return doc.text, rationale([fault], (), "plain", rng), "", ("nothing",)
    what = roots[0]
    if subject is not None and is_thing(subject) and len(doc) < 12 and what.text.endswith("ing"):
        fault = Fault("detail", 0, 0, "", what.text, name(subject), is_many(subject))
        return doc.text, rationale([fault], (), "plain", rng), "", ("nothing",)
    clauses = any(t.dep_ in ("conj", "advcl", "parataxis") and t.pos_ == "VERB" for t in doc)
    if subject is None or not is_thing(subject) or clauses or subject.i > 4:
        return None
    why = nothing_left(name(subject), is_many(subject), rng)
    return doc.text, why, "", ("nothing",)


def _foreign(
    doc: Doc, words: EditWords, rng: random.Random
) -> tuple[str, str, str, tuple[str, ...]] | None:
    """A rationale that is about nothing in the sentence, or only commands: nothing changes."""
    if rng.random() < 0.4:
        return doc.text, rng.choice(_commands(words)), doc.text, ("command",)
    said = {token.text.lower() for token in doc}
    thing, right, wrong = rng.choice(words.nouns), *rng.sample(words.adjectives, 2)
    if {thing, right, wrong} & said:
        return None
    fault = Fault("adjective", 0, 0, right, wrong, thing)
    return doc.text, rationale([fault], (), "plain", rng), doc.text, ("foreign",)


def stream(
    data: Sequence[tuple[SourceSentence, Doc]], words: EditWords, seed: str
) -> Iterator[EditExample]:
    """Examples without end, tasks by their shares."""
    rng = random.Random(seed)
    while True:
        task = rng.choices(list(TASKS), list(TASKS.values()))[0]
        for _ in range(20):
            said, doc = rng.choice(data)
            if (made := example(said, doc, words, task, rng)) is not None:
                yield made
                break
