"""A model in this process, through transformers: any VLM or LLM with a chat template.

Answers are scored in one forward pass per batch, which computes only the logits after each prompt's
last token. Prompts of similar length share a batch, padded at the end, where causal attention never
looks, so a prompt's positions and answer are the same as when alone. A batch that fails, for lack
of memory or another reason, is halved and retried, down to single prompts; a prompt that fails
alone is `Failed`, and its neighbors are not.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from revise_captions.engines.answer_words import answer_of, word_ids
from revise_captions.engines.batches import kept, reported
from revise_captions.engines.model_files import (
    answer_ends,
)
from revise_captions.engines.protocol import (
    AnswerScores,
    Completion,
    Failed,
    Prompt,
    Sampling,
)
from revise_captions.engines.transformers.inputs import (
    EncodedPrompt,
    PromptEncoder,
    collate,
)
from revise_captions.engines.transformers.token_tree import (
    TokenTree,
    groups,
    grow,
    tree_inputs,
)
from revise_captions.engines.transformers.tree_decoding import decode
from revise_captions.errors import EngineDead
from revise_captions.records import Unscored

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
#: Implementations of attention that take a mask for each pair of tokens.
MASKED = ("sdpa", "eager")
#: By dtype, how much log-probabilities may differ due to the order of summation alone.
ROUNDING = {"torch.float32": 1e-3}


class TransformersEngine:
    """Made by `load_engine`. `batch_size` counts prompts."""

    def __init__(
        self, model: Any, encoder: PromptEncoder, settings: Mapping[str, str], *, batch_size: int
    ) -> None:
        self.model, self.encoder, self.settings = model.eval(), encoder, settings
        self.batch_size = batch_size
        self.ends = answer_ends(model, encoder.tokenizer, encoder.name)
        pad = encoder.tokenizer.pad_token_id
        self.pad = int(self.ends[0] if pad is None else pad)
        text = model.config.get_text_config()
        self.longest = int(getattr(text, "max_position_embeddings", 0) or 1 << 20)
        self._words: dict[tuple[str, ...], list[list[int]]] = {}
        self._keeps = "logits_to_keep" in inspect.signature(model.forward).parameters
        #: Whether prompts with a common beginning are computed as one tree (`share_trunks`).
        self.shares = False

    def answer_logprobs(
        self, prompts: Sequence[Prompt], words: Sequence[str]
    ) -> list[AnswerScores | Failed]:
        """See `protocol.Engine`. Raises UserError where a word is no single token."""
        asked = tuple(words)
        if asked not in self._words:
            vocabulary = self.encoder.tokenizer.get_vocab()
            self._words[asked] = word_ids(vocabulary, asked, self.encoder.name)
        ids = self._words[asked]
        rows = self._encoded(prompts)
        return self._each(rows, 1, lambda rows: self._score(rows, ids), f"judging {asked}")

    def share_trunks(self, trial: Sequence[Prompt], words: Sequence[str]) -> bool:
        """Computes prompts with a common beginning as trees from now on, if answers stay the same.

        Args:
            trial: Prompts about one picture.
            words: The answer words to score.

        Returns:
            Whether they do; with an unusual attention they may not.
        """
        self.shares = False
        if str(getattr(self.model.config, "_attn_implementation", "")) not in MASKED:
            return False
        plain = self.answer_logprobs(trial, words)
        self.shares = True
        shared = self.answer_logprobs(trial, words)
        self.shares = _equal(plain, shared, ROUNDING.get(str(self.model.dtype), 0.1))
        return self.shares

    def generate(
        self, prompts: Sequence[Prompt], max_tokens: int, sampling: Sampling | None = None
    ) -> list[Completion | Failed]:
        """See `protocol.Engine`. A batch samples from one generator, with the call's seed."""
        import torch

        rows = self._encoded(prompts)
        if sampling is None:
            kind = f"writing {max_tokens}"
            return self._each(rows, max_tokens, lambda b: self._write(b, max_tokens, {}), kind)
        drawn = {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p}
        with torch.random.fork_rng():
            torch.manual_seed(sampling.seed)
            return self._each(rows, max_tokens, lambda b: self._write(b, max_tokens, drawn), "")

    def given_logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str]
    ) -> list[tuple[float, ...] | Failed]:
        """See `protocol.ScoresAnswers`."""
        rows = self._encoded(prompts, answers)
        return self._each(rows, 0, self._score_given, "scoring")

    def _each(
        self,
        rows: Sequence[EncodedPrompt | Failed],
        room: int,
        run: Callable[[Sequence[EncodedPrompt]], list[Result]],
        kind: str,
    ) -> list[Result | Failed]:
        """Runs prompts in batches of similar length, longest first; answers in the order asked.

        `kind`: see `batches.kept`; its first word is shown to people.
        """
        results: list[Result | Failed] = [
            Failed(Unscored.TOO_LONG, f"over the model's {self.longest:,} tokens") for _ in rows
        ]
        fitting = []
        for k, row in enumerate(rows):
            if isinstance(row, Failed):
                results[k] = row
            elif len(row) + room <= self.longest:
                fitting.append((-len(row), k, row))
        fitting.sort(key=lambda item: item[:2])
        doing = kind.partition(" ")[0] or "writing"
        for batch in reported(doing, self._batches(fitting), len(fitting)):
            chosen = [row for _, _, row in batch]
            compute = partial(self._guarded, chosen, run)
            answers = kept(self.encoder.name, kind, chosen, compute)
            for (_, k, _), answer in zip(batch, answers, strict=True):
                results[k] = answer
        return results

    def _batches(
        self, fitting: Sequence[tuple[int, int, EncodedPrompt]]
    ) -> Iterator[list[tuple[int, int, EncodedPrompt]]]:
        """At most `batch_size` prompts at a time; prompts that share a trunk stay together."""
        together = [[k] for k in range(len(fitting))]
        if self.shares:
            together = groups([row for _, _, row in fitting])
        batch: list[tuple[int, int, EncodedPrompt]] = []
        for members in together:
            if batch and len(batch) + len(members) > self.batch_size:
                yield batch
                batch = []
            batch += [fitting[k] for k in members]
        if batch:
            yield batch

    def _encoded(
        self, prompts: Sequence[Prompt], answers: Sequence[str] | None = None
    ) -> list[EncodedPrompt | Failed]:
        try:
            return list(self.encoder.rows(prompts, answers))
        except (ValueError, TypeError, IndexError, RuntimeError) as error:
            if len(prompts) == 1:
                return [Failed(Unscored.ENGINE_ERROR, _first_line(error))]
        parts = slice(len(prompts) // 2), slice(len(prompts) // 2, None)
        return [
            row
            for part in parts
            for row in self._encoded(prompts[part], answers[part] if answers else None)
        ]

    def _guarded(
        self, rows: Sequence[EncodedPrompt], run: Callable[[Sequence[EncodedPrompt]], list[Result]]
    ) -> list[Result | Failed]:
        """Runs the batch, or its two halves if it fails. The order, and hence each prompt's
        neighbors in length, stays.
        """
        import torch

        try:
            with torch.inference_mode():
                return list(run(rows))
        except (RuntimeError, ValueError, IndexError) as error:
            problem = _first_line(error)
            if not isinstance(error, torch.OutOfMemoryError) and "CUDA error" in str(error):
                raise EngineDead(f"the device stopped responding: {problem}") from error
            if len(rows) == 1:
                return [Failed(Unscored.ENGINE_ERROR, problem)]
        logger.info("a batch of %d prompts failed, trying its halves: %s", len(rows), problem)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        middle = len(rows) // 2
        return self._guarded(rows[:middle], run) + self._guarded(rows[middle:], run)

    def _placed(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Inputs on the model's device, floats in its precision."""
        device, dtype = self.model.device, self.model.dtype
        return {
            name: self._placed(value)
            if isinstance(value, Mapping)
            else value.to(device, dtype)
            if value.is_floating_point()
            else value.to(device)
            for name, value in inputs.items()
        }

    def _trees(self, rows: Sequence[EncodedPrompt]) -> tuple[list[TokenTree], torch.Tensor]:
        """Trees of the rows, and each row's index among all leaves; no trees if no two rows have a
        common beginning.
        """
        import torch

        members = groups(rows) if self.shares else []
        if len(members) == len(rows):
            members = []
        order = torch.tensor([k for some in members for k in some], dtype=torch.long)
        return [grow([rows[k] for k in some]) for some in members], order.argsort()

    def _score(
        self, rows: Sequence[EncodedPrompt], words: Sequence[Sequence[int]]
    ) -> list[AnswerScores]:
        import torch

        trees, back = self._trees(rows)
        if trees:
            inputs = self._placed(tree_inputs(self.model, trees, self.pad))
            which = torch.tensor([t for t, tree in enumerate(trees) for _ in tree.leaves])[back]
            ends = torch.tensor([leaf for tree in trees for leaf in tree.leaves])[back]
        else:
            inputs = self._placed(collate(rows, self.pad, left=False))
            which = torch.arange(len(rows))
            ends = torch.tensor([len(row) - 1 for row in rows])
        places, column = ends.unique(return_inverse=True)
        if not self._keeps:
            column = ends
        kept = {"logits_to_keep": places.to(self.model.device)} if self._keeps else {}
        output = self.model(**inputs, **kept, use_cache=False)
        logits = output.logits[which, column].float()
        whole = logits.logsumexp(-1)
        masses = torch.stack([logits[:, list(ids)].logsumexp(-1) - whole for ids in words], dim=1)
        return [answer_of(mass) for mass in masses.double().tolist()]

    def _score_given(self, rows: Sequence[EncodedPrompt]) -> list[tuple[float, ...]]:
        import torch

        # the logits that predict a token are one place before it
        answers = [min(row.answer, len(row) - 1) for row in rows]  # nothing predicts the first
        starts = [len(row) - answer - 1 for row, answer in zip(rows, answers, strict=True)]
        kept = torch.arange(min(starts), max(map(len, rows)))
        options = {"logits_to_keep": kept.to(self.model.device)} if self._keeps else {}
        inputs = self._placed(collate(rows, self.pad, left=False))
        output = self.model(**inputs, **options, use_cache=False)
        logits = output.logits if self._keeps else output.logits[:, kept]
        found = []
        for row, start, answer, own in zip(rows, starts, answers, logits, strict=True):
            at = slice(start - min(starts), start - min(starts) + answer)
            ids = torch.tensor(row.ids[len(row) - answer :], device=own.device)
            chosen = own[at].float().log_softmax(-1).gather(1, ids[:, None])
            first = (0.0,) * (row.answer - answer)
            found.append((*first, *chosen[:, 0].double().tolist()))
        return found

    def _write(
        self, rows: Sequence[EncodedPrompt], limit: int, drawn: Mapping[str, Any]
    ) -> list[Completion]:
        import transformers

        trees, back = self._trees(rows)
        if trees and not drawn:  # equal prompts get separate samples
            inputs = self._placed(tree_inputs(self.model, trees, self.pad))
            new = decode(self.model, trees, inputs, pad=self.pad, ends=self.ends, limit=limit)
            return [self._written(new[k]) for k in back.tolist()]
        settings: Callable[..., Any] = transformers.GenerationConfig
        config = settings(
            max_new_tokens=limit,
            num_beams=1,
            pad_token_id=self.pad,
            eos_token_id=list(self.ends),
            use_cache=True,
            **({"do_sample": False} | dict(drawn)),
        )
        inputs = self._placed(collate(rows, self.pad, left=True))
        made = self.model.generate(**inputs, generation_config=config)
        new = made[:, inputs["input_ids"].shape[1] :].tolist()
        return [self._written(ids) for ids in new]

    def _written(self, ids: list[int]) -> Completion:
        end = next((k for k, i in enumerate(ids) if i in self.ends), None)
        text = self.encoder.tokenizer.decode(ids[:end], skip_special_tokens=True)
        return Completion(str(text).strip(), end is not None)


def _equal(
    ones: Sequence[AnswerScores | Failed], others: Sequence[AnswerScores | Failed], limit: float
) -> bool:
    """Whether all are answered, with log-probabilities differing by at most `limit`."""
    return all(
        isinstance(one, AnswerScores)
        and isinstance(other, AnswerScores)
        and all(
            abs(a - b) <= limit or a == b for a, b in zip(one.logprobs, other.logprobs, strict=True)
        )
        for one, other in zip(ones, others, strict=True)
    )


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
