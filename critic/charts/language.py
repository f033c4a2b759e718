"""SmolLM2 on what was read off a chart: a LoRA adapter taught it to tell true sentences from false.

    Text: Unemployment in Norway | % of the labor force       at most `TEXT_TOKENS`
    Values:
    line:
    Men | 2004: 3.2; 2005: ~4.1; …                            at most `VALUE_TOKENS`
    Caption:
    The rate was highest in 2005.
    True?                                                     Yes or No
    It fell after that.
    True?

Attention is causal: a sentence is judged in the context of those before it, and the reading is
encoded once for all of them.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.charts import Chart
from revise_captions.charts.formats import series_lines
from revise_captions.engines.batches import reported
from revise_captions.engines.placement import fast_cpu_dtype
from revise_captions.engines.smollm2 import NAME, is_installed, load_merged
from revise_captions.text.tokens import PlainText

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

ADAPTER = Path(__file__).parent / "smollm2"
TEXT_TOKENS, VALUE_TOKENS, SENTENCE_TOKENS = 90, 130, 90
#: Sentences of longer captions are judged so many at a time, without those before.
WINDOW = 24
#: Answers that are kept, some hundred bytes each: a window's captions are judged twice.
KEPT = 8192
#: Log-odds beyond these say no more.
LIMIT = 5.0
_HEADS = ("Text: ", "\nValues:\n", "\nCaption:", "\nTrue?", "\n", " Yes", " No")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class AskedCaption:
    """A caption to ask about.

    Attributes:
        charts: What was read in its image.
        lines: The lines of text in its image.
        sentences: Its sentences, in order.
    """

    charts: tuple[Chart, ...]
    lines: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackedSentences:
    """The sentences of a caption as tokens that follow those of a reading.

    Attributes:
        ids: Token ids.
        asks: For each sentence the place in `ids` after which its answer would stand.
        spans: For each sentence its own tokens, half-open.
    """

    ids: tuple[int, ...]
    asks: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


class ChartPrompts:
    """Readings and captions to token ids. Nothing in them becomes a tag of the model's chats."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._encode = PlainText(tokenizer).ids
        *self._heads, yes, no = self._encode(_HEADS)
        #: The ids of Yes and of No.
        self.answers = (yes[0], no[0])

    def reading(self, charts: Sequence[Chart], lines: Sequence[str]) -> list[int]:
        """The tokens of what was read: text that is no category, then values by series."""
        shown = {mark.category for chart in charts for one in chart.series for mark in one.marks}
        words = dict.fromkeys(" ".join(line.split()) for line in lines)
        text = " | ".join(line for line in words if line not in shown and _LETTER.search(line))
        values = [line for chart in charts for line in (_kind(chart), *series_lines(chart))]
        said, read = self._encode([text, "\n".join(values)])
        before, between, *_ = self._heads
        return [*before, *said[:TEXT_TOKENS], *between, *read[:VALUE_TOKENS]]

    def caption(self, sentences: Sequence[str]) -> PackedSentences:
        """The tokens of sentences, each with its question; of a long one only its beginning."""
        *_, head, question, line_break = self._heads
        ids, asks, spans = list(head), [], []
        for said in self._encode([" ".join(sentence.split()) for sentence in sentences]):
            ids += line_break
            spans.append((len(ids), len(ids) + len(said[:SENTENCE_TOKENS])))
            ids += [*said[:SENTENCE_TOKENS], *question]
            asks.append(len(ids) - 1)
        return PackedSentences(tuple(ids), tuple(asks), tuple(spans))


def _kind(chart: Chart) -> str:
    return f"horizontal {chart.kind}:" if chart.horizontal else f"{chart.kind}:"


class ChartLanguage:
    """The language model of the chart critic, loaded when it is first asked.

    Args:
        folder: Its adapter.
        dtype: What it computes in; "" for what this processor does fast.
    """

    def __init__(self, folder: Path = ADAPTER, dtype: str = "") -> None:
        self.folder, self.dtype = folder, dtype or fast_cpu_dtype()
        self._odds: OrderedDict[bytes, float] = OrderedDict()

    @property
    def name(self) -> str:
        """Model, adapter's digest and dtype, for signatures."""
        data = (self.folder / "adapter_model.safetensors").read_bytes()
        return f"{NAME}+{hashlib.sha256(data).hexdigest()[:12]}/{self.dtype}"

    @cached_property
    def _loaded(self) -> tuple[ChartPrompts, PreTrainedModel]:
        tokenizer, model = load_merged(self.folder, self.dtype)
        return ChartPrompts(tokenizer), model.eval()

    def log_odds(self, captions: Sequence[AskedCaption]) -> list[list[float]]:
        """Log-odds of Yes for each sentence of captions, to three decimals, within ±`LIMIT`.

        Only captions of which a sentence, or one before it, is new are computed, one at a time: one
        keeps a core busy, and what padding costs, several at once do not save. Those of one reading
        follow each other, and it is encoded once for all of them.
        """
        prompts, _ = self._loaded
        rows: list[list[AskedRow]] = []
        for one in captions:
            reading = prompts.reading(one.charts, one.lines)
            starts = range(0, len(one.sentences), WINDOW)
            parts = [prompts.caption(one.sentences[at : at + WINDOW]) for at in starts]
            rows.append([_row(reading, part) for part in parts])
        new = {
            row.keys[-1]: row
            for parts in rows
            for row in parts
            if not all(key in self._odds for key in row.keys)
        }
        groups: dict[tuple[int, ...], list[AskedRow]] = {}
        for row in new.values():
            groups.setdefault(row.ids[: row.shared], []).append(row)
        for group in reported("judging captions", groups.values(), len(new)):
            for row, odds in zip(group, self._computed(group), strict=True):
                self._odds.update(zip(row.keys, odds, strict=True))
        answers = [[self._odds[key] for row in parts for key in row.keys] for parts in rows]
        while len(self._odds) > KEPT:
            self._odds.popitem(last=False)
        return answers

    def _computed(self, rows: Sequence[AskedRow]) -> list[list[float]]:
        """Answers on rows of one reading."""
        import torch
        from transformers import DynamicCache

        prompts, model = self._loaded
        head = model.lm_head.weight[list(prompts.answers)].float()
        shared, known = 0, None
        found = []
        with torch.inference_mode():
            if len(rows) > 1:
                shared, known = rows[0].shared, DynamicCache()
                ids = torch.tensor([rows[0].ids[:shared]])
                model.model(input_ids=ids, past_key_values=known, use_cache=True)
            for row in rows:
                ids = torch.tensor([row.ids[shared:]])
                out = model.model(input_ids=ids, past_key_values=known, use_cache=shared > 0)
                if known is not None:
                    known.crop(shared - len(row.ids))
                asks = [at - shared for at in row.asks]
                yes, no = (out.last_hidden_state[0, asks].float() @ head.T).T
                found.append((yes - no).tolist())
        return [[round(max(-LIMIT, min(LIMIT, odds)), 3) for odds in one] for one in found]


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A reading and sentences as tokens.

    Attributes:
        ids: Token ids.
        asks: For each sentence the place in `ids` after which its answer would stand.
        keys: For each sentence a digest of all that its answer depends on.
        shared: How many of the tokens are the reading's.
    """

    ids: tuple[int, ...]
    asks: tuple[int, ...]
    keys: tuple[bytes, ...]
    shared: int


def _row(reading: Sequence[int], packed: PackedSentences) -> AskedRow:
    asks = tuple(len(reading) + at for at in packed.asks)
    keys = tuple(_prefixes(reading, packed))
    return AskedRow((*reading, *packed.ids), asks, keys, len(reading))


def _prefixes(reading: Sequence[int], packed: PackedSentences) -> list[bytes]:
    """A digest, for each sentence, of all that its answer depends on: attention is causal."""
    digest, keys, start = blake2b(digest_size=16), [], 0
    digest.update(array("q", reading).tobytes() + b"|")
    for at in packed.asks:
        digest.update(array("q", packed.ids[start : at + 1]).tobytes())
        keys.append(digest.digest())
        start = at + 1
    return keys


def chart_language() -> ChartLanguage | None:
    """The bundled adapter; None where SmolLM2 is not installed."""
    return ChartLanguage() if is_installed() else None
