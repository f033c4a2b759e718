"""Reads what is said about the picture as a whole: setting, time, weather, walls, lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from revise_captions.picturebook.oracle.nouns import Phrase
from revise_captions.picturebook.oracle.predicates import FILLERS, PredicateReader
from revise_captions.picturebook.oracle.tokens import Phrases
from revise_captions.picturebook.semantics.claims import (
    NP,
    Clause,
    SceneClaim,
    Statement,
)
from revise_captions.picturebook.semantics.lexicon import (
    COLOR_SET,
    MOODS,
    NUMBERS,
    PICTURE_WORDS,
    SETTING_NOUNS,
    SHOW_VERBS,
    TIME_NOUNS,
    WEATHER_ADJECTIVES,
)

#: Clauses that may have been read, each with the place after it, the longest first.
Clauses = Iterator[tuple[tuple[Clause, ...], int]]
SCENE_PHRASES: dict[str, tuple[str, str]] = {
    "it is raining": ("weather", "rainy"),
    "rain is falling": ("weather", "rainy"),
    "rain falls": ("weather", "rainy"),
    "rain is falling from the clouds": ("weather", "rainy"),
    "rain is coming down": ("weather", "rainy"),
    "there is rain": ("weather", "rainy"),
    "it is dark": ("time", "night"),
    "it is dark outside": ("time", "night"),
}
SCENE_SENTENCES = Phrases(SCENE_PHRASES)
TIME_PHRASES = Phrases(
    {
        "at night": ("time", "night"), "by night": ("time", "night"),
        "at nighttime": ("time", "night"), "during the night": ("time", "night"),
        "during the day": ("time", "day"), "by day": ("time", "day"),
        "in the daytime": ("time", "day"), "during the daytime": ("time", "day"),
        "in daylight": ("time", "day"), "in the rain": ("weather", "rainy"),
        "under a cloudy sky": ("weather", "cloudy"), "under a clear sky": ("weather", "clear"),
        "under a night sky": ("time", "night"),
        "in rainy weather": ("weather", "rainy"), "in clear weather": ("weather", "clear"),
        "in cloudy weather": ("weather", "cloudy"),
    }
)  # fmt: skip
SETTINGS_AT = Phrases(SETTING_NOUNS)
PICTURES = Phrases(
    dict.fromkeys([f"{a} {n}" for a in ("the", "this") for n in PICTURE_WORDS], True)
)


class SceneReader(PredicateReader):
    """Adds clauses about the picture as a whole."""

    def scene_clause(self, i: int) -> Clauses:
        fixed = SCENE_SENTENCES.at(self.words, i)
        if fixed:
            claims: list[Clause] = [SceneClaim(*fixed[0])]
            yield from self._scene_trailing(claims, fixed[1])
        picture = PICTURES.at(self.words, i)
        j = picture[1] if picture else i
        if picture and self.word(j) == "also":
            j += 1
        word, after = self.word(j), self.word(j + 1)
        if picture and word in SHOW_VERBS:
            yield from self._setting(j + 1)
        elif (picture and word == "is" and after == "set") or (
            picture and word == "takes" and after == "place"
        ):
            yield from self._located(j + 2)
        elif picture and word == "is":
            yield from self._located(j + 1)
            yield from self._setting(j + 1)
        elif not picture and word in ("this", "it") and after == "is":
            yield from self._this_is(j + 2)
        elif word == "the" and after == "setting" and self.word(j + 2) == "is":
            yield from self._setting(j + 3)
        elif (word == "the" and after == "weather" and self.word(j + 2) == "is") or (
            word == "the" and after == "sky" and self.word(j + 2) == "is"
        ):
            yield from self._weather(j + 3)
        elif word == "the" and after in ("wall", "walls"):
            yield from self._walls(j + 2)
        elif word == "the" and after == "room" and self.word(j + 2) == "has":
            yield from self._room_walls(j + 3)

    def _this_is(self, i: int) -> Clauses:
        """After "it is" / "this is": a picture of …, a rainy day, night, raining, not day."""
        a_picture = self.word(i) in ("a", "an") and self.word(i + 1) in PICTURE_WORDS
        if a_picture and self.word(i + 2) == "of":
            yield from self._setting(i + 3)
            yield from self.listed(i + 3)
        if self.word(i) == "not" and self.word(i + 1) == "raining":
            yield (SceneClaim("weather", "rainy", True),), i + 2
        yield from self._weather(i)
        yield from self._setting(i)

    def _weather(self, i: int) -> Clauses:
        """ "rainy", "a cloudy day", "night", "not clear", "rainy, not clear"."""
        denied = self.word(i) == "not"
        found = self._day(i + denied)
        if found is None:
            return
        claims = [replace(claim, negated=denied) for claim in found[0]]
        if denied and len(claims) > 1:
            return
        i = found[1]
        if denied and self.word(i) == "but":
            better = self._day(i + 1)
            if better:
                yield (*claims, *better[0]), better[1]
        contrast = self.not_at(i)
        wrong = self._day(contrast) if contrast else None
        if wrong and len(wrong[0]) == 1:
            yield (*claims, replace(wrong[0][0], negated=True)), wrong[1]
        yield from self._scene_trailing(list(claims), i)

    def _day(self, i: int) -> tuple[tuple[SceneClaim, ...], int] | None:
        """ "a [peaceful] rainy day", "rainy", "night", "daytime", "raining"."""
        i += self.word(i) in ("a", "an")
        while self.word(i) in MOODS and self.word(i) != "calm":
            i += 1
        claims: list[SceneClaim] = []
        if self.word(i) in WEATHER_ADJECTIVES:
            claims.append(SceneClaim("weather", WEATHER_ADJECTIVES[self.word(i)]))
            i += 1
        if self.word(i) in TIME_NOUNS:
            claims.append(SceneClaim("time", TIME_NOUNS[self.word(i)]))
            i += 1
        elif self.word(i) == "raining" and not claims:
            claims.append(SceneClaim("weather", "rainy"))
            i += 1
        i += self.word(i) in ("outside", "outdoors") and bool(claims)
        return (tuple(claims), i) if claims else None

    def _located(self, i: int) -> Clauses:
        """After "the scene is set": "on a beach at night"."""
        if self.word(i) in ("on", "in", "at", "along"):
            yield from self._setting(i + 1)

    def _setting(self, i: int) -> Clauses:
        """ "a quiet rainy street at night with a car", "a room with pink walls"; "not a …"."""
        denied = self.word(i) == "not"
        found = self._setting_noun(i + denied)
        if found is None:
            return
        claims, i = list(found[0]), found[1]
        if denied:
            if len(claims) == 1:
                made = (replace(claims[0], negated=True),)
                better = self._setting_noun(i + 1) if self.word(i) in ("but", ",") else None
                if better:
                    yield (*made, *better[0]), better[1]
                yield made, i
            return
        contrast = self.not_at(i)
        wrong = self._setting_noun(contrast) if contrast else None
        if wrong and len(wrong[0]) == 1:
            yield (*claims, replace(wrong[0][0], negated=True)), wrong[1]
        yield from self._scene_trailing(list(claims), i)

    def _setting_noun(self, i: int) -> tuple[tuple[SceneClaim, ...], int] | None:
        if self.word(i) not in ("a", "an", "the"):
            return None
        i += 1
        claims: list[SceneClaim] = []
        while True:
            word = self.word(i)
            if word in WEATHER_ADJECTIVES:
                claims.append(SceneClaim("weather", WEATHER_ADJECTIVES[word]))
            elif word not in MOODS:
                break
            i += 1
        if self.word(i) in TIME_NOUNS and self.word(i + 1) in ("scene", "view"):
            claims.append(SceneClaim("time", TIME_NOUNS[self.word(i)]))
            i += 2
            if self.word(i) in ("on", "in", "at"):
                inner = self._setting_noun(i + 1)
                return ((*claims, *inner[0]), inner[1]) if inner else None
            return tuple(claims), i
        setting = SETTINGS_AT.at(self.words, i)
        if setting is None:
            return None
        claims.append(SceneClaim("setting", setting[0]))
        return tuple(claims), setting[1] + (self.word(setting[1]) == "scene")

    def _scene_trailing(self, claims: list[Clause], i: int) -> Clauses:
        """ "at night", "on a rainy day", "in a meadow", "with pink walls", "with a dog"."""
        while True:
            phrase = TIME_PHRASES.at(self.words, i)
            if phrase:
                claims, i = [*claims, SceneClaim(*phrase[0])], phrase[1]
                continue
            filler = FILLERS.at(self.words, i)
            if filler:
                i = filler[1]
                continue
            if self.word(i) in ("on", "in", "at"):
                inner = self._setting_noun(i + 1) or (
                    self._day(i + 1) if self.word(i + 1) in ("a", "an") else None
                )
                if inner:
                    claims, i = [*claims, *inner[0]], inner[1]
                    continue
            break
        if self.word(i) in ("with", "where") or (self.word(i), self.word(i + 1)) == (",", "with"):
            j = i + 1 + (self.word(i) == ",")
            color = self.word(j)
            if color in COLOR_SET and self.word(j + 1) == "walls":
                walls = [*claims, SceneClaim("wall", color)]
                k = j + 2 + (self.word(j + 2) == ",")
                k += self.word(k) == "and"
                for made, end in self.listed(k) if k > j + 2 else ():
                    yield (*walls, *made), end
                yield from self._scene_trailing(walls, j + 2)
            else:
                for made, k in self.listed(j):
                    yield (*claims, *made), k
        yield tuple(claims), i

    def _walls(self, i: int) -> Clauses:
        """After "the wall(s)": "of the room are pink, not blue"."""
        if self.words[i : i + 3] == ("of", "the", "room"):
            i += 3
        if self.word(i) in ("is", "are"):
            i += 1
            denied = self.word(i) == "not"
            i += denied
            if self.word(i) in COLOR_SET:
                yield from self._wall_contrast(SceneClaim("wall", self.word(i), denied), i + 1)

    def _room_walls(self, i: int) -> Clauses:
        if self.word(i) in COLOR_SET and self.word(i + 1) == "walls":
            yield from self._wall_contrast(SceneClaim("wall", self.word(i)), i + 2)

    def _wall_contrast(self, claim: SceneClaim, i: int) -> Clauses:
        contrast = self.not_at(i)
        if contrast and self.word(contrast) in COLOR_SET:
            wrong = SceneClaim("wall", self.word(contrast), True)
            yield (claim, wrong), contrast + 1
        yield (claim,), i

    def list_of(self, i: int) -> Iterator[tuple[tuple[Phrase, ...], int]]:
        """Noun phrases joined by commas and "and", the longest list first."""
        first = self.noun_phrase(i)
        if first is None:
            return
        i = first[1]
        j = i + 1 if self.word(i) == "," else i
        j = j + 1 if self.word(j) in ("and", "or") else j
        if self.words[j : j + 3] == ("as", "well", "as"):
            j += 3
        j += self.word(j) == "also"
        if j > i:
            for rest, k in self.list_of(j):
                yield (first[0], *rest), k
        yield (first[0],), i

    def listed(self, i: int) -> Iterator[tuple[tuple[Statement, ...], int]]:
        for phrases, j in self.list_of(i):
            if any(phrase.part for phrase in phrases):
                continue
            nps = [phrase.np for phrase in phrases]
            if nps[0].det == "no":
                nps = [replace(np, det="no") if np.det in ("plural", "no") else np for np in nps]
            made = tuple(Statement(np) for np in nps)
            contrast = self.not_at(j)
            if contrast:
                wrong = self._wrong_listed(nps[-1], contrast)
                if wrong:
                    yield (*made, wrong[0]), wrong[1]
            yield made, j

    def _wrong_listed(self, np: NP, i: int) -> tuple[Statement, int] | None:
        """After "there are three balloons, not": "two"; after "there is a cat, not": "a dog"."""
        word = self.word(i)
        if word in NUMBERS and (i + 1 == self.end or self.word(i + 1) in (",", ";", "and")):
            other = replace(np, det="number", count=NUMBERS[word])
            return Statement(other, negated=True), i + 1
        found = self.noun_phrase(i)
        if found is None or found[0].part:
            return None
        return Statement(found[0].np, negated=True), found[1]
