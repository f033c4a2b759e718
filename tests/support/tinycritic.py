"""A tiny random critic of the real architecture, with weights large enough that mistakes show."""

from __future__ import annotations

from pathlib import Path

import torch

from revise_captions.critic.checkpoints import CriticCard, save_critic
from revise_captions.critic.gates.language import Vocabulary, write_vocabulary
from revise_captions.critic.paligemma.model import new_model
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer, train_tokenizer

TEXTS = [
    "There is a red circle. It is on the left. There are 3 blue boats near the house.",
    'A sign reads "CAFE". The sky is grey, and two people walk. Both wear hats.',
    "The circle is red, not blue. There is no dog in the picture. The scene feels calm.",
] * 20
SMALL = {
    "image_size": 64,
    "tower_hidden": 64,
    "tower_intermediate": 96,
    "tower_layers": 2,
    "tower_heads": 2,
    "hidden": 64,
    "intermediate": 96,
    "layers": 3,
    "heads": 4,
}


def tiny(seed: int = 0, sure: bool = True, fluent: bool = False):
    """A model with sharp attention and its tokenizer; if `sure`, its answers are all Yes or No.

    If `fluent`, they are long and all different.
    """
    torch.manual_seed(seed)
    tokenizer = PromptTokenizer(train_tokenizer(TEXTS, 512))
    model = new_model(tokenizer, **SMALL).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "q_proj" in name or "k_proj" in name:
                parameter.mul_(3)
            if "layernorm" in name and "language" in name:
                parameter.add_(torch.randn_like(parameter) * 0.2)
        if sure:
            # every hidden state has a positive first dimension, and Yes and No read it
            model.lm_head.weight[:, 0] = 1.0
            model.lm_head.weight[[tokenizer.yes, tokenizer.no]] *= 3
            model.lm_head.weight[[tokenizer.yes, tokenizer.no], 0] = 12.0
        if fluent:
            # a small model with tied embeddings repeats its last token: signs that hide it from
            # itself, and no ids without a text
            norm = model.model.language_model.norm.weight
            norm.copy_(torch.where(torch.rand_like(norm) < 0.5, -2.0, 0.0))
            model.lm_head.weight[len(tokenizer.pretrained) :] = 0
    return model, tokenizer


def saved(
    folder: Path,
    attention_mode: AttentionMode = AttentionMode.IMAGE_PREFIX,
    *,
    sure: bool = True,
    fluent: bool = False,
    **card,
) -> Path:
    model, tokenizer = tiny(sure=sure, fluent=fluent)
    save_critic(model, tokenizer.pretrained, CriticCard(attention_mode, **card), folder)
    known = {w.lower() for t in TEXTS for w in t.replace(".", " ").split()}
    write_vocabulary(folder, Vocabulary(frozenset(known)))
    return folder
