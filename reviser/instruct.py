"""An instruct model in this process as a reviser, through its own chat template.

The template is rendered once, around a placeholder. The text before and after it is encoded with
special tokens; the request in between is untrusted, and encoded so that it cannot yield a special
token, or any other token added for the chat format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.engines.model_files import answer_ends, explained
from revise_captions.engines.model_spec import ModelSpec
from revise_captions.engines.placement import device_and_dtype
from revise_captions.errors import UserError
from revise_captions.pretrained import load_pretrained, load_weights
from revise_captions.reviser import prompts
from revise_captions.reviser.decoding import generate
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.tokens import plain_ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PLACEHOLDER = "\ue000request\ue001"
#: Extra tokens for models whose template always opens a `<think>` block.
THINKING_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat format with room for the request.

    Attributes:
        tokenizer: The model's.
        before: Ids before the request.
        after: Ids after it.
        added: Matches the added tokens of the tokenizer.
        thinks: Whether the template opens a `<think>` block.
    """

    tokenizer: PreTrainedTokenizerBase
    before: list[int]
    after: list[int]
    added: re.Pattern[str]
    thinks: bool

    def prompt(self, data: str) -> list[int]:
        """Ids of the whole prompt."""
        return [*self.before, *self.plain(data), *self.after]

    def plain(self, text: str) -> list[int]:
        """Ids of user text, which is split inside anything that looks like an added token; each
        part is encoded on its own without special tokens.
        """
        return plain_ids(self.tokenizer, self.added, text)


def chat_of(tokenizer: PreTrainedTokenizerBase, name: str) -> Chat:
    """Renders the chat template; without a system role, the instruction opens the user's turn.

    Raises:
        UserError: There is no template, or it drops the user's message.
    """
    from jinja2 import TemplateError

    if not tokenizer.chat_template:
        raise UserError(
            f"{name} has no chat template, so it is not an instruct model",
            hint="name its instruct version, for example Qwen/Qwen3-14B",
        )
    system = {"role": "system", "content": prompts.SYSTEM}
    merged = {"role": "user", "content": f"{prompts.SYSTEM}\n\n{PLACEHOLDER}"}
    try:
        text = _rendered(tokenizer, [system, {"role": "user", "content": PLACEHOLDER}])
        if prompts.SYSTEM not in text:
            text = _rendered(tokenizer, [merged])
    except TemplateError:
        text = _rendered(tokenizer, [merged])
    if text.count(PLACEHOLDER) != 1:
        raise UserError(f"the chat template of {name} drops the user's message")
    before, after = text.split(PLACEHOLDER)
    tokens = [t for t in tokenizer.get_added_vocab() if len(t) > 1 and not t.isspace()]
    return Chat(
        tokenizer,
        tokenizer.encode(before, add_special_tokens=False),
        tokenizer.encode(after, add_special_tokens=False),
        re.compile("|".join(map(re.escape, tokens)) or r"(?!)"),
        after.rfind("<think>") > after.rfind("</think>"),
    )


def _rendered(tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, str]]) -> str:
    """The messages as text, with the assistant's turn opened, and thinking off if possible."""
    return str(
        tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
    )


@dataclass(frozen=True, slots=True)
class InstructReviser:
    """A reviser over an instruct model, decoding greedily.

    Attributes:
        model: A causal language model.
        chat: Its chat format.
        settings: Everything that determines an answer, by name.
        ends: Ids that end an answer; the first one pads.
        longest: Tokens that its context can hold.
        batch_size: Sentences per batch.
        strict: See `Reviser`.
    """

    model: PreTrainedModel
    chat: Chat
    settings: Mapping[str, str]
    ends: tuple[int, ...]
    longest: int
    batch_size: int = 8
    strict: bool = False

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        asked = [self.chat.prompt(prompts.user_data(request)) for request in requests]
        limits = [self._limit(request) for request in requests]
        fitting = [k for k, prompt in enumerate(asked) if len(prompt) + limits[k] <= self.longest]
        generated = generate(
            self.model,
            [asked[k] for k in fitting],
            [limits[k] for k in fitting],
            pad=self.ends[0],
            eos=self.ends,
            batch_size=self.batch_size,
        )
        answers: list[str | None] = [None] * len(requests)
        for k, (answer,) in zip(fitting, generated, strict=True):
            answers[k] = self._answer(answer.ids, requests[k])
        return answers

    def _limit(self, request: RewriteRequest) -> int:
        """The most tokens that an answer may have: twice the sentence's, and a margin."""
        thinking = THINKING_TOKENS if self.chat.thinks else 0
        return 2 * len(self.chat.plain(request.sentence)) + 64 + thinking

    def _answer(self, ids: list[int], request: RewriteRequest) -> str | None:
        """None for an answer that was cut off, is empty, or has failed before."""
        if not ids or ids[-1] not in self.ends:
            return None
        text = self.chat.tokenizer.decode(ids[:-1], skip_special_tokens=False)
        if self.chat.thinks and "</think>" not in text:
            return None
        answer = prompts.read_answer(str(text), request.sentence)
        refused = {failed.casefold() for failed in request.failed}
        return None if answer is not None and answer.casefold() in refused else answer


def load_instruct(spec: ModelSpec, *, batch_size: int) -> InstructReviser:
    """Loads an instruct model into this process.

    Args:
        spec: A folder or a hub id.
        batch_size: Sentences per batch.

    Raises:
        UserError: It cannot be loaded, or has no chat template.
    """
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    name, source, trusted = spec.name, spec.source, spec.placement.trust_remote_code
    device, number = device_and_dtype(spec.placement.device, spec.placement.dtype)
    dtype, revision = str(number).removeprefix("torch."), spec.revision
    more: dict[str, Any] = {"name": name, "revision": revision, "trusted": trusted}
    try:
        tokenizer = load_pretrained(AutoTokenizer, source, **more)
        chat = chat_of(tokenizer, name)
        model = load_weights(AutoModelForCausalLM, source, dtype=number, **more)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise explained(name, error) from error
    model.to(device).eval()
    text_config = model.config.get_text_config()
    settings = {
        "reviser": name,
        "reviser-revision": getattr(model.config, "_commit_hash", None) or _fingerprint(source),
        "reviser-prompt": prompts.VERSION,
        "reviser-dtype": dtype,
        "reviser-device": device.split(":")[0],
        "transformers": transformers.__version__,
        **({"reviser-trust-remote-code": "yes"} if trusted else {}),
    }
    return InstructReviser(
        model,
        chat,
        settings,
        answer_ends(model, tokenizer, name),
        int(getattr(text_config, "max_position_embeddings", 0) or 4096),
        batch_size,
    )


def _fingerprint(folder: str) -> str:
    """A quick hash of a local checkpoint: configuration, and sizes and ends of its weight files."""
    import hashlib

    digest = hashlib.sha256()
    for path in sorted(Path(folder).iterdir()):
        if path.suffix in (".json", ".jinja") and path.is_file():
            digest.update(path.read_bytes())
        elif path.suffix in (".safetensors", ".bin"):
            size = path.stat().st_size
            digest.update(f"{path.name}.{size}".encode())
            with path.open("rb") as file:
                digest.update(file.read(1 << 16))
                file.seek(max(0, size - (1 << 16)))
                digest.update(file.read())
    return digest.hexdigest()[:12]
