"""A model on a server that speaks OpenAI's protocol: vLLM, transformers, SGLang, llama.cpp, …

A server's answers, not its name, show what it can do:

    by id     vLLM returns the exact log-probabilities of the ids in `logprob_token_ids`; the ids of
              the answer words come from its `/tokenize`
    top       the answer lists the 20 likeliest tokens, or as many as the server gives; a word not
              among them is less probable than the last one, and counts as having probability 0
    none      what the user chose: `samples`, the share of each word in that many sampled answers
              (the paper's way with closed models, section 4.1: five); a probability that the model
              states; a label, 0 or 1. Otherwise the sentence is `unscored: the engine gives no
              log-probabilities`

An answer that lacks what the first one had is read in the next weaker way: nothing is guessed. A
server that refuses connections, fails `DEAD_AFTER` prompts in a row, or no longer accepts the key
or knows the model, is dead. A prompt that it refuses (other 4xx), fails on after all retries, or
answers unintelligibly is `Failed`, and its neighbors are not.
"""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from revise_captions.engines.answer_words import (
    answer_of,
    is_spelling,
    log_sum,
    spellings,
)
from revise_captions.engines.batches import kept, reported
from revise_captions.engines.openai import messages
from revise_captions.engines.openai.capabilities import EVERYTHING, Capabilities
from revise_captions.engines.openai.http import Http, Refused, Unanswered
from revise_captions.engines.openai.usage import Spending, usage_of
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Failed,
    Prompt,
    Sampling,
    Template,
)
from revise_captions.engines.server_options import Without
from revise_captions.errors import EngineDead, UserError, described
from revise_captions.records import Unscored

logger = logging.getLogger(__name__)

#: How many prompts in a row may fail before the server counts as gone.
DEAD_AFTER = 8
#: Statuses that do not concern the prompt: invalid key, no credit left, the model is gone.
_GONE = (401, 402, 404)
#: Token limits for an answer of one word (enough for "**Yes**"), and for a number.
SAMPLE_TOKENS, STATED_TOKENS = 4, 8
#: Added after the question to ask for a stated probability.
STATE = (
    " Do not answer with a word, but with the probability, in percent from 0 to 100, that the "
    "answer is {}. Write only the number."
)
Asked = TypeVar("Asked")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Instead:
    """The user's choice of what replaces log-probabilities if a server gives none.

    Attributes:
        samples: How many answers to sample; 0: none.
        without: What is asked for otherwise.
    """

    samples: int = 0
    without: Without = "unscored"

    @property
    def said(self) -> str:
        """The name used in signatures."""
        names = {"unscored": "none", "stated": "stated probability", "label": "hard labels"}
        return f"{self.samples} samples" if self.samples else names[self.without]


NOTHING = Instead()


def id_options(ids: Sequence[Sequence[int]], limit: str) -> dict[str, Any]:
    """Asks vLLM for the log-probabilities of exactly these tokens. `limit`: the server's parameter
    for the most tokens of an answer."""
    return {
        "logprobs": True,
        limit: 1,
        "logprob_token_ids": [number for numbers in ids for number in numbers],
        "return_tokens_as_token_ids": True,
    }


class OpenAIEngine:
    """Made by `probe.connect`. `in_flight`: how many requests wait for answers at the same time."""

    def __init__(
        self,
        http: Http,
        model: str,
        settings: Mapping[str, str],
        *,
        can: Capabilities = EVERYTHING,
        in_flight: int = 16,
        instead: Instead = NOTHING,
        spending: Spending | None = None,
    ) -> None:
        self.http, self.model, self.settings, self.can = http, model, settings, can
        self.in_flight, self.instead = in_flight, instead
        self.spending = spending or Spending()
        self.reports_cache = False
        self._schemas = True
        self._ids: dict[tuple[str, ...], list[list[int]] | None] = {}
        self._lost, self._refused = 0, False
        self._lock = threading.Lock()

    def able(self, can: Capabilities, settings: Mapping[str, str] | None = None) -> OpenAIEngine:
        """The same engine for a server with these capabilities."""
        made = OpenAIEngine(
            *(self.http, self.model, self.settings if settings is None else settings),
            can=can,
            in_flight=self.in_flight,
            instead=self.instead,
            spending=self.spending,
        )
        made._ids = self._ids
        return made

    def answer_logprobs(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> list[AnswerScores | Failed]:
        """See `protocol.Engine`."""
        ids = self.word_ids(words) if self.can.scoring == "id" else None
        kind = f"judging {tuple(words)} {self.can.logprobs} {self.instead.said}"
        return self._each(prompts, lambda prompt: self._scored(prompt, words, ids), kind)

    def generate(
        self, prompts: Sequence[Prompt], max_tokens: int, sampling: Sampling | None = None
    ) -> list[Completion | Failed]:
        """See `protocol.Engine`."""
        options: list[dict[str, Any]] = [
            {
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                **({"seed": sampling.seed + number} if self.can.seed else {}),
            }
            if sampling is not None
            else {}
            for number in range(len(prompts))
        ]
        return self._each(
            list(zip(prompts, options, strict=True)),
            lambda asked: self._written(asked[0], max_tokens, **asked[1]),
            f"writing {max_tokens}",
        )

    def generate_json(
        self, prompts: Sequence[Prompt], schema: Mapping[str, Any], max_tokens: int
    ) -> list[Completion | Failed]:
        """See `protocol.WritesJson`; a server that refuses a schema is asked without one."""
        kind = f"writing {max_tokens} {schema}"
        return self._each(
            prompts, lambda prompt: self._under_schema(prompt, schema, max_tokens), kind
        )

    def word_ids(self, words: Sequence[str]) -> list[list[int]] | None:
        """Ids of each word's one-token spellings, from vLLM's `/tokenize`; None without one."""
        asked = tuple(words)
        if asked not in self._ids:
            try:
                self._ids[asked] = [self._spelled(word) for word in asked]
            except (Refused, Unanswered):
                self._ids[asked] = None
            if self._ids[asked] is not None and not all(self._ids[asked] or []):
                self._ids[asked] = None
        return self._ids[asked]

    def _spelled(self, word: str) -> list[int]:
        found = set()
        for text in spellings(word):
            asked = {"model": self.model, "prompt": text, "add_special_tokens": False}
            tokens = self.http.post("../tokenize", asked).get("tokens")
            if isinstance(tokens, list) and len(tokens) == 1 and isinstance(tokens[0], int):
                found.add(tokens[0])
        return sorted(found)

    def _each(
        self, asked: Sequence[Asked], ask: Callable[[Asked], Result], kind: str
    ) -> list[Result | Failed]:
        """Asks all, `in_flight` at a time; answers come in the order asked.

        `kind`: see `batches.kept`; its first word is shown to people.
        """

        def one(item: Asked) -> list[Result | Failed]:
            return kept(self.model, kind, [item], lambda: [self._guarded(item, ask)])

        contexts = [copy_context() for _ in asked]
        pool = ThreadPoolExecutor(max_workers=self.in_flight)
        try:
            # the pool queues all prompts at once: never more than a window of the input
            answers = pool.map(lambda context, item: context.run(one, item), contexts, asked)
            doing = kind.partition(" ")[0]
            return [answer for (answer,) in reported(doing, answers, len(contexts))]
        except (EngineDead, KeyboardInterrupt, SystemExit):
            self.http.pace.stop()
            raise
        finally:
            # after a dead server or Ctrl-C, start nothing new
            pool.shutdown(wait=False, cancel_futures=True)

    def _guarded(self, asked: Asked, ask: Callable[[Asked], Result]) -> Result | Failed:
        try:
            result = ask(asked)
        except Refused as error:
            if error.status in _GONE:
                raise EngineDead(
                    f"{self.http.base} accepts no more requests: {error.detail}"
                ) from error
            with self._lock:
                self._lost = 0  # a server that refuses is still alive
                first, self._refused = not self._refused, True
            level = logging.WARNING if first else logging.DEBUG
            logger.log(level, "%s refused a prompt: %s", self.http.base, error.detail)
            return Failed(error.reason, error.detail)
        except Unanswered as error:
            with self._lock:
                self._lost += 1
                dead = error.gone or self._lost >= DEAD_AFTER
            if dead:
                raise EngineDead(f"{self.http.base} stopped responding: {error}") from error
            logger.info("%s gave up on a prompt: %s", self.http.base, error)
            return Failed(Unscored.ENGINE_ERROR, str(error))
        except (UserError, EngineDead, MemoryError):
            raise
        except Exception as error:  # caused by this prompt's text, or by its answer
            logger.info("%s: unusable answer: %s", self.http.base, described(error))
            return Failed(Unscored.ENGINE_ERROR, described(error))
        with self._lock:
            self._lost = 0
        return result

    def chat(self, prompt: Prompt, **options: Any) -> dict[str, Any]:
        """The first choice of a chat completion. Raises `Refused` or `Unanswered`."""
        body = {
            "model": self.model,
            "messages": messages.messages_of(
                prompt, system=self.can.system, pixels=self.can.pixels
            ),
            "temperature": 0.0,
            **options,
        }
        if not self.can.temperature:
            del body["temperature"]
        if self.can.thinking:
            body["chat_template_kwargs"] = {"enable_thinking": False}
        self.spending.check()
        found = self.http.post("chat/completions", body, check=messages.is_completion)
        used, cache = usage_of(found)
        self.spending.add(used)
        self.reports_cache |= cache
        choice: dict[str, Any] = found["choices"][0]
        return choice

    def _scored(
        self, prompt: Prompt, words: Sequence[str], ids: list[list[int]] | None
    ) -> AnswerScores | Failed:
        if ids is not None:
            listed = messages.first_logprobs(self.chat(prompt, **id_options(ids, self.can.limit)))
            if (answer := by_id(listed, ids)) is not None:
                return answer
        if self.can.scoring != "none":
            asked = self.can if self.can.scoring != "id" else replace(self.can, scoring="top")
            listed = messages.first_logprobs(self.chat(prompt, **asked.wanted()))
            if listed:
                return by_text(listed, words)
        return self._without_logprobs(prompt, words)

    def _without_logprobs(self, prompt: Prompt, words: Sequence[str]) -> AnswerScores | Failed:
        way = self.instead
        if way.samples:
            return shares([self.sampled(prompt, seed) for seed in range(way.samples)], words)
        if way.without == "label":
            return shares([self._said(prompt, **{self.can.limit: SAMPLE_TOKENS})], words)
        if way.without == "stated" and len(words) == 2:
            asked = replace(prompt, parts=(*prompt.parts, Template(STATE.format(words[0]))))
            return stated(self._said(asked, **{self.can.limit: STATED_TOKENS}))
        return Failed(Unscored.NO_LOGPROBS, "the server's answer holds no logprobs")

    def sampled(self, prompt: Prompt, seed: int) -> str:
        """A short answer at a temperature of 1. Raises `Refused` or `Unanswered`."""
        seeded = {"seed": seed} if self.can.seed else {}
        return self._said(prompt, temperature=1.0, **{self.can.limit: SAMPLE_TOKENS}, **seeded)

    def _said(self, prompt: Prompt, **options: Any) -> str:
        return messages.text_of(self.chat(prompt, **options))

    def _under_schema(
        self, prompt: Prompt, schema: Mapping[str, Any], max_tokens: int
    ) -> Completion | Failed:
        if self._schemas:
            named = {"name": "answer", "schema": schema, "strict": True}
            guided = {"type": "json_schema", "json_schema": named}
            try:
                return self._written(prompt, max_tokens, response_format=guided)
            except Refused as error:
                detail = error.detail
            written = self._written(prompt, max_tokens)  # raises if it was the prompt
            logger.info("%s takes no JSON schema: %s", self.http.base, detail)
            self._schemas = False
            return written
        return self._written(prompt, max_tokens)

    def _written(self, prompt: Prompt, max_tokens: int, **options: Any) -> Completion | Failed:
        choice = self.chat(prompt, **{self.can.limit: max_tokens}, **options)
        return Completion(messages.text_of(choice).strip(), choice.get("finish_reason") != "length")


def shares(said: Sequence[str], words: Sequence[str]) -> AnswerScores | Failed:
    """The share of answers that begin with each word."""
    counts = [sum(messages.begins_with(text, word) for text in said) for word in words]
    if not any(counts):
        return Failed(Unscored.NO_ANSWER, f"no answer word in {said[0][:40]!r}")
    return answer_of([math.log(n / len(said)) if n else -math.inf for n in counts])


def stated(text: str) -> AnswerScores | Failed:
    """The two words' probabilities, from the first one's, stated in percent in an answer."""
    found = re.search(r"(?<![\d.])(\d{1,3}(?:\.\d+)?)(?![\d.]*\d)", text)
    share = float(found[1]) / 100 if found else 2.0
    if share > 1:
        return Failed(Unscored.NO_ANSWER, f"no number from 0 to 100 in {text[:40]!r}")
    return answer_of([math.log(p) if p > 0 else -math.inf for p in (share, 1 - share)])


def by_id(listed: Mapping[str, float], ids: Sequence[Sequence[int]]) -> AnswerScores | None:
    """The answer from `token_id:…` entries; None if one that was asked for is missing."""
    masses = []
    for numbers in ids:
        if any(f"token_id:{number}" not in listed for number in numbers):
            return None
        masses.append(log_sum(listed[f"token_id:{number}"] for number in numbers))
    return answer_of(masses)


def by_text(listed: Mapping[str, float], words: Sequence[str]) -> AnswerScores | Failed:
    """The answer from the likeliest tokens' texts.

    If none of the words is among them, their share is known only to be small: no answer.
    """
    masses = [
        log_sum(value for token, value in listed.items() if is_spelling(token, word))
        for word in words
    ]
    if all(mass == -math.inf for mass in masses):
        return Failed(Unscored.NO_ANSWER, f"no answer word among the {len(listed)} likeliest")
    return answer_of(masses)
