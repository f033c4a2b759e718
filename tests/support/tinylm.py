"""Language models of real architectures with random weights, and chat tokenizers."""

from __future__ import annotations

from typing import Any

from revise_captions.reviser import prompts

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKING = CHATML.replace("assistant\n{%", "assistant\n<think>\n{%")
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
)
ADDED = ("<|im_start|>", "<|im_end|>", "<pad>")


def tokenizer_of(template: str | None = CHATML) -> Any:
    """Byte-level BPE with chat tokens, special and (`<think>`, as Qwen has it) not special."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[AddedToken(text, special=True) for text in ADDED],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([prompts.SYSTEM], trainer)
    tokenizer.add_tokens([AddedToken("<think>"), AddedToken("</think>"), AddedToken("\n")])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<pad>"
    )
    fast.chat_template = template
    return fast


def model_of(family: str, size: int) -> Any:
    """A real architecture with random weights."""
    import torch
    import transformers

    shape = {
        "vocab_size": size,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 2048,
        "pad_token_id": 2,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    if family == "Phi3":
        del shape["head_dim"]
    names = {"Gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM")}
    config, model = names.get(family, (f"{family}Config", f"{family}ForCausalLM"))
    torch.manual_seed(0)
    return getattr(transformers, model)(getattr(transformers, config)(**shape)).eval()


def plain_model(family: str, size: int) -> Any:
    """GPT-2 or OPT with random weights: language models without a chat format."""
    import transformers

    if family == "GPT2":
        shape = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 256}
    else:
        shape = {"hidden_size": 32, "ffn_dim": 64, "num_hidden_layers": 2}
        shape |= {"num_attention_heads": 2, "word_embed_proj_dim": 32}
    ends = {"bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 2, "vocab_size": size}
    config = getattr(transformers, f"{family}Config")(**shape, **ends)
    name = "GPT2LMHeadModel" if family == "GPT2" else "OPTForCausalLM"
    return getattr(transformers, name)(config).eval()
