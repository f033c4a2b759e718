"""The bundled revisers: a small Qwen 3 for the picture book, SmolLM2 with an adapter for English.

This project trained both to edit a sentence by a rationale. Too small for world knowledge, they
have learned to copy the sentence, with the rationale's correction put in place. Their guards are
strict by default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.charts.claims.edits import with_fixes
from revise_captions.errors import UserError
from revise_captions.io.checked_json import read_checked
from revise_captions.io.writing import write_text
from revise_captions.pretrained import load_pretrained, load_weights
from revise_captions.records import ABSENCE, Complaint
from revise_captions.reviser.bundled_model.smollm2 import VERSION as CHAT_VERSION
from revise_captions.reviser.bundled_model.tokenizer import (
    FAILED_TRIES,
    VERSION,
    RewriteTokenizer,
)
from revise_captions.reviser.decoding import Decoded, generate
from revise_captions.reviser.guards import check
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.clauses import refers_back

if TYPE_CHECKING:
    from transformers import PreTrainedModel, Qwen3ForCausalLM

    from revise_captions.reviser.bundled_model.smollm2 import ChatRewriteTokenizer

CARD = "reviser.json"
#: The share of a sentence's and its rationale's words that must be known. It separates sentences of
#: the picture book from captions of photographs.
KNOWN = 0.75
#: A less likely reading of a rationale is used only where the model writes nothing. Both values
#: were chosen on the unreported half of other people's edits, the first also on generated faults.
READ = 0.9
#: An English rewrite with a less likely token is a guess, and is discarded.
CERTAIN = 0.85
_WORD = re.compile(r"[^\W\d_]+")
#: The bundled shape: 0.75 million parameters with a vocabulary of 1,536.
SHAPE = {
    "hidden_size": 128,
    "intermediate_size": 352,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
}


@dataclass(frozen=True, slots=True)
class ReviserCard:
    """The facts about a checkpoint, stored beside transformers' own files.

    Attributes:
        prompt: Version of the prompts it was trained on.
        revision: A hash of weights and tokenizer.
        training: Data and settings of the training.
        figures: Its results.
    """

    prompt: str = VERSION
    revision: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        text = json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"
        write_text(folder / CARD, text)


def read_card(folder: Path) -> ReviserCard:
    """`reviser.json` of a folder, of a small model or of an adapter of SmolLM2.

    Raises:
        UserError: It is broken, or for another prompt version.
    """
    path = folder / CARD
    card = read_checked(ReviserCard, path, what="a reviser's card")
    if card.prompt not in (VERSION, CHAT_VERSION):
        raise UserError(
            f"{folder} was trained with prompt {card.prompt}, but this version sends {VERSION} "
            f"(or {CHAT_VERSION}, SmolLM2)",
            hint="train it again with python -m scripts.research.reviser.train",
        )
    return card


def new_model(tokenizer: RewriteTokenizer, **shape: int) -> Qwen3ForCausalLM:
    """A model of the bundled shape, randomly initialized from torch's generator."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    if unknown := shape.keys() - SHAPE.keys():
        raise ValueError(f"unknown shape: {sorted(unknown)}, expected some of {sorted(SHAPE)}")
    configure: Callable[..., Qwen3Config] = Qwen3Config
    config = configure(
        vocab_size=len(tokenizer.pretrained),
        max_position_embeddings=1024,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad,
        eos_token_id=tokenizer.eos,
        bos_token_id=None,
        **(SHAPE | shape),
    )
    return Qwen3ForCausalLM(config)


@dataclass(frozen=True, slots=True)
class BundledReviser:
    """Decodes greedily at first; after failed rewrites, takes the best new one of a beam search.

    Where the model knows English, a rule applies the fixes that the rationale gives as data; the
    model corrects the rest, if it is certain of every token and the guards let it through. A
    sentence that denies what is there is never left to the model, whose training only taught it to
    deny something else. A fix makes it say what is there, or it is deleted.

    Attributes:
        model: The network.
        tokenizer: Of its prompts.
        settings: Everything that determines an answer, by name.
        batch_size: Sentences per batch.
        english: Whether it knows English at large.
        strict: See `Reviser`.
    """

    model: PreTrainedModel
    tokenizer: RewriteTokenizer | ChatRewriteTokenizer
    settings: Mapping[str, str]
    batch_size: int = 32
    english: bool = False
    strict: bool = True

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        return self._fault_by_fault(requests) if self.english else self._rewrite(requests)

    def _fault_by_fault(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        """Applies the fixes given as data, then corrects the other faults of each rationale one by
        one, batching each step over all requests.

        A step that the guards refuse is skipped if there are others. Merely likely fixes are the
        last resort, where nothing else was written.
        """
        answers = [_by_fixes(request) for request in requests]
        todo = [[fault for fault in r.read_faults if not _is_named(r, fault)] for r in requests]
        for step in range(max(map(len, todo), default=0)):
            chosen = [k for k, named in enumerate(todo) if step < len(named) and answers[k] != ""]
            if not chosen:
                break
            asked = [
                replace(requests[k], sentence=answers[k] or requests[k].sentence,
                        rationale=todo[k][step].text, faults=(replace(todo[k][step], fixes=()),))
                for k in chosen
            ]  # fmt: skip
            for k, request, text in zip(chosen, asked, self._rewrite(asked), strict=True):
                alone = answers[k] is None and len(todo[k]) == 1
                if alone or _passes(request, text):
                    answers[k] = text
        return [
            _by_fixes(request, least=0.0) if answer is None else answer
            for request, answer in zip(requests, answers, strict=True)
        ]

    def _rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        """One rewrite per request, from the whole rationale."""
        prompts = self.tokenizer.prompts(requests)
        answers = [_affirmed(request) for request in requests]
        open_ = [k for k, answer in enumerate(answers) if answer is None and prompts[k] is not None]
        first = [k for k in open_ if not requests[k].failed]
        again = [k for k in open_ if requests[k].failed]
        for chosen, beams in ((first, 1), (again, 1 + 2 * FAILED_TRIES)):
            found = self._answers([requests[k] for k in chosen], beams)
            for k, texts in zip(chosen, found, strict=True):
                answers[k] = texts[0] if texts else None
        return answers

    def foreign(self, requests: Sequence[RewriteRequest], known: float = KNOWN) -> list[bool]:
        """See `KnowsWords`: a word is known if it is a single token, and a request is foreign if
        its share of known words is below `known`."""
        if self.english:
            return [False] * len(requests)
        found = [_words(f"{r.sentence} {r.rationale}") for r in requests]
        pieces = iter(self.tokenizer.texts([f" {word}" for words in found for word in words]))
        return [
            bool(words) and sum(len(next(pieces)) == 1 for _ in words) < known * len(words)
            for words in found
        ]

    def _answers(self, requests: Sequence[RewriteRequest], beams: int) -> list[list[str]]:
        """Each request's usable answers, best first, without those that failed before."""
        prompts = [prompt for prompt in self.tokenizer.prompts(requests) if prompt is not None]
        lengths = self.tokenizer.texts([request.sentence for request in requests])
        generated = generate(
            self.model,
            prompts,
            [2 * len(ids) + 24 for ids in lengths],
            pad=self.tokenizer.pad,
            eos=[self.tokenizer.eos],
            batch_size=max(1, self.batch_size // beams),
            beams=beams,
        )
        result = []
        for request, answers in zip(requests, generated, strict=True):
            texts = [self.tokenizer.decode(answer.ids) for answer in answers if self._sure(answer)]
            refused = {text.casefold() for text in request.failed}
            found = [text for text in texts if text is not None and text.casefold() not in refused]
            result.append([t for t in found if _passes(request, t)] if self.english else found)
        return result

    def _sure(self, answer: Decoded) -> bool:
        return not self.english or answer.least is None or answer.least >= CERTAIN


def _is_named(request: RewriteRequest, fault: Complaint, least: float = READ) -> bool:
    """Whether a rule corrects a fault; after failed rewrites none does."""
    certain = bool(fault.fixes) and all(fix.certain for fix in fault.fixes)
    return certain and fault.likely >= least and not request.failed


def _by_fixes(request: RewriteRequest, least: float = READ) -> str | None:
    """The sentence with the fixes given as data; None if none has a probability of `least`."""
    if (text := _affirmed(request)) is not None:
        return text
    named = [fault for fault in request.read_faults if _is_named(request, fault, least)]
    fixes = [fix for fault in named for fix in fault.fixes]
    return with_fixes(request.sentence, fixes) if fixes else None


def _passes(request: RewriteRequest, text: str | None) -> bool:
    """Whether the guards let a rewrite through."""
    if text is None:
        return False
    return check(request, text, mode="strict").why is None


def _affirmed(request: RewriteRequest) -> str | None:
    """The sentence saying what is there; a deletion if the next sentence would then refer to it."""
    fixes = [x for fault in request.read_faults for x in fault.fixes if x.kind == ABSENCE]
    if not fixes:
        return None
    text = with_fixes(request.sentence, fixes[:1])
    if refers_back(request.after):
        return ""
    return None if text in request.failed else text


def _words(text: str) -> list[str]:
    """Runs of letters, except those in capitals: sign text can be copied whatever it is."""
    return [word for word in _WORD.findall(text) if len(word) == 1 or not word.isupper()]


def load_bundled(
    folder: Path, *, device: str, dtype: str, batch_size: int, name: str
) -> BundledReviser:
    """Loads a checkpoint of `scripts.research.reviser.train`, or an adapter of SmolLM2.

    Raises:
        UserError: It cannot be read.
    """
    import torch
    import transformers
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

    card = read_card(folder)
    codec: RewriteTokenizer | ChatRewriteTokenizer
    if card.prompt == CHAT_VERSION:
        from revise_captions.reviser.bundled_model.smollm2 import load_adapted

        codec, model = load_adapted(folder, dtype)
    else:
        try:
            codec = RewriteTokenizer(load_pretrained(PreTrainedTokenizerFast, folder))
            model = load_weights(Qwen3ForCausalLM, folder, dtype=getattr(torch, dtype))
        except (OSError, ValueError) as error:
            raise UserError(f"the reviser in {folder} cannot be loaded: {error}") from None
    torch.nn.Module.to(model, device).train(False)
    settings = {
        "reviser": name,
        "reviser-revision": card.revision,
        "reviser-prompt": card.prompt,
        "reviser-dtype": dtype,
        "reviser-device": device.split(":")[0],
        "transformers": transformers.__version__,
    }
    english = card.prompt == CHAT_VERSION
    if english:
        settings |= {"reviser-certain": str(CERTAIN), "reviser-read": str(READ)}
    return BundledReviser(model, codec, settings, batch_size, english)


def save_reviser(
    model: Qwen3ForCausalLM, tokenizer: RewriteTokenizer, card: ReviserCard, folder: Path
) -> ReviserCard:
    """Writes weights in bfloat16, tokenizer and card.

    Returns:
        The card with its revision, a hash of the files of weights and tokenizer.
    """
    import copy
    import hashlib

    import torch

    folder.mkdir(parents=True, exist_ok=True)
    small = copy.deepcopy(model)
    torch.nn.Module.to(small, torch.bfloat16)
    small.save_pretrained(folder)
    tokenizer.pretrained.save_pretrained(folder)
    digest = hashlib.sha256()
    for name in ("model.safetensors", "tokenizer.json"):
        digest.update((folder / name).read_bytes())
    card = replace(card, revision=digest.hexdigest()[:12])
    card.write(folder)
    return card
