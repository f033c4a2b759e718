"""From claims to words. `parse` reads what this writes (and more).

A sentence's template is text with fields: `{s0}` the subject of clause 0, `{p0}` its predicate
with its verb, `{be0}` is/are, `{r0}` the subject's last relation or place, fronted (`{s0}` then
leaves it out), `{l0}` what is said about the scene; `{c0}` subject and predicate, by style.
"""

from __future__ import annotations

import re

from revise_captions.picturebook.semantics.claims import (
    ANY,
    NP,
    Constraint,
    Has,
    Holds,
    IsA,
    Not,
    Placed,
    SceneClaim,
    SentenceForm,
    Size,
    Stands,
    Statement,
    main_slot,
)
from revise_captions.picturebook.semantics.lexicon import (
    GENERIC,
    NUMBER_WORDS,
    PART_NOUNS,
    PLACE_PHRASES,
    PLURAL_PARTS,
    POSES,
    RELATION_PHRASES,
    SIZE_FORMS,
    SIZE_WORDS,
    plural,
)
from revise_captions.picturebook.world.scene import NONE

_FIELD = re.compile(r"\{([a-z]+)(\d)\}")
_OBJECTS = {"he": "him", "she": "her", "they": "them"}
_POSSESSIVES = {"it": "its", "he": "his", "she": "her", "they": "their"}


class Unsayable(ValueError):
    """Claims that these templates have no words for."""


def realize(sentence: SentenceForm) -> str:
    """The sentence as text: first letter in capitals, a full stop at its end."""
    fronted = {int(number) for name, number in _FIELD.findall(sentence.template) if name == "r"}

    def fill(match: re.Match[str]) -> str:
        name, number = match[1], int(match[2])
        clause = sentence.clauses[number]
        if isinstance(clause, SceneClaim):
            return scene_text(clause)
        front = number in fronted
        if name == "s":
            return noun_phrase(clause.subject, front=front)
        if name == "be":
            return "are" if is_plural(clause.subject) else "is"
        if name == "r":
            return postmodifier(clause.subject.constraints[-1], is_plural(clause.subject))
        if name == "p":
            return predicate(clause)
        return whole_clause(clause)

    text = _FIELD.sub(fill, sentence.template)
    return text[0].upper() + text[1:]


def is_plural(np: NP) -> bool:
    if np.det == "no":
        return np.count != 1
    return np.det in ("they", "both", "both of them", "all") or (np.count != 1 and np.det != "each")


def article(following: str) -> str:
    return "an" if following[0] in "aeiou" else "a"


def noun_of(np: NP) -> str:
    if np.noun:
        return np.noun
    return GENERIC.get(np.kinds) or np.kinds[0]


def noun_phrase(np: NP, front: bool = False, as_object: bool = False) -> str:
    """ "a small red car next to the tree", "it", "both girls". `front`: leave out the last one."""
    if np.det in ("it", "he", "she", "they"):
        return _OBJECTS.get(np.det, np.det) if as_object else np.det
    constraints = np.constraints[:-1] if front else np.constraints
    many = is_plural(np)
    if not np.kinds and not constraints and not np.noun:
        return _bare(np)
    before, after = [], []
    noun = noun_of(np)
    worn = 0
    for constraint in constraints:
        word = adjective(constraint)
        if word and _precedes(constraint, np):
            before.append(word)
        else:
            after.append(_feature_after(constraint, many, worn))
            worn += isinstance(constraint, Has) and constraint.slot in ("shirt", "hat")
    before.sort(key=lambda word: word not in SIZE_WORDS)
    words = [*before, plural(noun) if many else noun]
    return " ".join([*_determiner(np, words[0]), *words, *after])


def _bare(np: NP) -> str:
    if np.det == "other":
        return "the other one" if np.count == 1 else "the others"
    return {
        "another": "another one", "one of": "one of them", "both": "both", "all": "all of them",
        "each": "each of them", "both of them": "both of them",
    }[np.det]  # fmt: skip


def _determiner(np: NP, following: str) -> list[str]:
    number = [NUMBER_WORDS[np.count]] if np.count > 1 else []
    match np.det:
        case "a":
            return [article(following)]
        case "number":
            return [NUMBER_WORDS[np.count]]
        case "plural":
            return []
        case "some":
            return ["several" if np.count > 2 else "some"]
        case "other":
            return ["the other", *number]
        case "both":
            return ["both"]
        case "all":
            return ["all", *number] if number else ["all the"]
        case "each" | "another" | "no":
            return [np.det]
        case "one of":
            return ["one of the"]
    return ["the", *number]


def _precedes(constraint: Constraint, np: NP) -> bool:
    if isinstance(constraint, Has) and constraint.slot == "pose":
        return constraint.form >= 10
    return True


def adjective(constraint: Constraint) -> str:
    """The word for a constraint that can stand before the noun, or ""."""
    match constraint:
        case Size(word, form):
            return SIZE_FORMS[word][form % 3]
        case Has(slot, value) if slot in ("", "pattern"):
            return value
        case Has("light", value, form):
            return "lit" if value == "on" and form else ""
        case Has("pose", value):
            return POSES[value][0][0]
    return ""


def part_phrase(constraint: Has, many: bool = False, definite: str = "") -> str:
    """ "a green roof", "two windows", "green leaves"; `definite`: its possessive or article."""
    nouns = PART_NOUNS[constraint.slot]
    noun = nouns[constraint.form % len(nouns)]
    if constraint.slot == "windows":
        noun = "window" if constraint.value == "1" else "windows"
        return f"{NUMBER_WORDS[int(constraint.value)]} {noun}"
    if many and noun not in PLURAL_PARTS and noun not in ("fur", "foliage"):
        noun += "s"
        words = noun if constraint.value == ANY else f"{constraint.value} {noun}"
        return f"no {noun}" if constraint.value == NONE else words
    if constraint.value == NONE:
        return f"no {noun}"
    words = noun if constraint.value == ANY else f"{constraint.value} {noun}"
    if noun in PLURAL_PARTS or noun in ("fur", "foliage"):
        return words
    return f"{article(words)} {words}"


def held_phrase(constraint: Holds, many: bool = False) -> str:
    item = plural(constraint.item) if many else constraint.item
    words = f"{constraint.color} {item}" if constraint.color else item
    return words if many else f"{article(words)} {words}"


def word_phrase(word: str, form: int) -> str:
    return (word, f'"{word}"', f'the word "{word}"', f"the word {word}")[form % 4]


def _feature_after(constraint: Constraint, many: bool, worn: int) -> str:
    """A constraint after the noun. `worn`: how many clothes were named before it."""
    if isinstance(constraint, Has) and constraint.slot == "shirt":
        return f"{'and' if worn else ('in', 'wearing')[constraint.form // 2 % 2]} " + part_phrase(
            constraint, many
        )
    if isinstance(constraint, Has) and constraint.slot == "hat":
        lead = "and" if worn else ("with", "wearing")[constraint.form // 2 % 2]
        return f"{lead} {part_phrase(constraint, many)}"
    return postmodifier(constraint, many)


def postmodifier(constraint: Constraint, many: bool = False) -> str:
    """A constraint as it follows a noun: "with a red roof", "next to it", "on the left"."""
    match constraint:
        case Has("pose", value):
            return POSES[value][0][0]
        case Has("word", value, form):
            return f"that {'say' if many else 'says'} {word_phrase(value, form)}"
        case Has("light", value):
            verb = "are" if many else "is"
            return f"that {verb} switched {value}"
        case Has("rest", value):
            return value
        case Has():
            return f"with {part_phrase(constraint, many)}"
        case Holds():
            verb = "carrying" if constraint.form % 2 else "holding"
            return f"{verb} {held_phrase(constraint, many)}"
        case Placed(place, form):
            phrases = PLACE_PHRASES[place]
            return phrases[form % len(phrases)]
        case Stands(relation, other, form):
            phrases = RELATION_PHRASES[relation]
            return f"{phrases[form % len(phrases)]} {noun_phrase(other, as_object=True)}"
        case Size():
            return f"that {'are' if many else 'is'} {complement(constraint, many)}"
    raise Unsayable(f"{constraint!r} cannot follow a noun")


def predicate(statement: Statement) -> str:
    """The verb and what follows: "is red", "has a red roof and a blue door", "is sleeping"."""
    many = is_plural(statement.subject)
    be = "are" if many else "is"
    head = statement.preds[0]
    rest = statement.preds[1:]
    style = statement.style
    match head:
        case Not(claim):
            if isinstance(claim, Has) and claim.slot in ("shirt", "hat"):
                start = f"{be} not wearing {part_phrase(claim, many)}"
            elif isinstance(claim, Holds):
                start = f"{be} not holding {held_phrase(claim, many)}"
            elif isinstance(claim, Has) and claim.slot == "word":
                start = f"does not say {word_phrase(claim.value, claim.form)}"
            elif isinstance(claim, Has) and claim.slot in PART_NOUNS and _is_part(claim, statement):
                start = f"{'do' if many else 'does'} not have {part_phrase(claim, many)}"
            else:
                start = f"{be} not {complement(claim, many)}"
        case Has("shirt" | "hat"):
            wear = {"wears": "wear" if many else "wears", "has": "have" if many else "has"}
            start = f"{wear.get(style, f'{be} wearing')} {part_phrase(head, many)}"
        case Holds():
            hold = "hold" if many else "holds"
            doing = "carrying" if head.form % 2 else "holding"
            start = f"{hold if style == 'holds' else f'{be} {doing}'} {held_phrase(head, many)}"
        case Has("word", value, form):
            verbs = ("say", "read", "bear") if many else ("says", "reads", "bears")
            verb = verbs[form // 4 % 3] if form % 4 > 1 else verbs[form // 4 % 2]
            start = f"{verb} {word_phrase(value, form)}"
        case Has("pose", value) if style == "verb":
            forms = POSES[value][head.form % len(POSES[value])]
            start = forms[2] if many else forms[1]
        case Has(slot) if slot in PART_NOUNS and _is_part(head, statement):
            start = f"{'have' if many else 'has'} {part_phrase(head, many)}"
        case _:
            start = f"{be} {complement(head, many)}"
    return " ".join([start, *_more(head, rest, many, style)])


def _is_part(claim: Has, statement: Statement) -> bool:
    kinds = statement.subject.kinds
    return claim.slot != "" and not (kinds and claim.slot == main_slot(kinds[0]) == "colour")


def _more(head: Constraint, rest: tuple[Constraint, ...], many: bool, style: str) -> list[str]:
    words: list[str] = []
    for constraint in rest:
        if isinstance(constraint, Has) and constraint.slot in PART_NOUNS:
            words += ["and", part_phrase(constraint, many)]
        elif isinstance(constraint, Has | Size) and isinstance(head, Has | Size):
            words += ["and", complement(constraint, many)]
        elif isinstance(constraint, Holds) and isinstance(head, Has) and head.slot != "pose":
            if style in ("wears", "has"):
                words += ["and", "hold" if many else "holds", held_phrase(constraint, many)]
            else:
                words += ["and", postmodifier(constraint, many)]
        else:
            words.append(postmodifier(constraint, many))
    return words


def complement(constraint: Constraint, many: bool) -> str:
    """What follows "is": "red", "small", "asleep", "next to the tree", "a cat"."""
    match constraint:
        case Has("pose", value, form):
            return POSES[value][form % len(POSES[value])][0]
        case Has("light", value, form):
            return (f"switched {value}", f"turned {value}", "lit" if value == "on" else value)[
                form % 3
            ]
        case Has("rest", value):
            return value
        case Has("windows" | "word" | "hat" | "shirt" | "collar"):
            return f"with {part_phrase(constraint, many)}"
        case Has(_, value):
            return value
        case Size(word, form):
            return SIZE_FORMS[word][form % 3 and 2]
        case IsA(what):
            return noun_phrase(what)
        case Stands() | Placed() | Holds():
            return postmodifier(constraint, many)
    raise ValueError(f"{constraint!r} cannot follow a verb")


def whole_clause(statement: Statement) -> str:
    """Subject and predicate; styles "part" ("its roof is red"), "part of", "part's"."""
    subject = statement.subject
    if not statement.style.startswith("part"):
        return f"{noun_phrase(subject)} {predicate(statement)}"
    claim = statement.preds[0]
    negative = isinstance(claim, Not)
    inner = claim.claim if isinstance(claim, Not) else claim
    if not isinstance(inner, Has):
        raise ValueError(f"{inner!r} is no part")
    nouns = PART_NOUNS[inner.slot]
    noun = nouns[inner.form % len(nouns)]
    be = "are" if noun in PLURAL_PARTS else "is"
    if negative:
        be += " not"
    if subject.det in _POSSESSIVES:
        return f"{_POSSESSIVES[subject.det]} {noun} {be} {inner.value}"
    if statement.style == "part":
        return f"{noun_phrase(subject)}'s {noun} {be} {inner.value}"
    return f"the {noun} of {noun_phrase(subject)} {be} {inner.value}"


def scene_text(claim: SceneClaim) -> str:
    """The noun of a setting, the adjective of a weather, a time or a wall's color."""
    return claim.noun or claim.value
