"""A tiny vision model that judges and rewrites, for `scripts.checks.servers --here`.

    python -m scripts.checks.served_vision FOLDER                   # makes it, in a minute or two
    python -m scripts.checks.served_vision FOLDER --gguf            # also model.gguf, mmproj.gguf
    python -m scripts.checks.served_vision FOLDER --llama-cpp 8080  # serves those two

An Idefics 3, which transformers, vLLM and llama.cpp all have, is taught on drawn pictures to answer
Yes or No and to stop there, to explain, and to rewrite in sentences: a random one says what no
server's answer can be read from. It judges badly; what counts is that it judges alike everywhere.
--gguf needs the package gguf, --llama-cpp xllamacpp, which carries llama.cpp's server.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from revise_captions.command_line.printing import echo
from revise_captions.critic import chat_prompts
from revise_captions.engines.load import load_engine
from revise_captions.engines.model_spec import Placement
from revise_captions.engines.protocol import Data, Prompt
from revise_captions.reviser import prompts as reviser_prompts
from revise_captions.reviser.protocol import RewriteRequest
from scripts.checks.vllm_vision import ROOT, tiny
from scripts.research.frame.held_out import Item, held_out

FAMILY = "idefics3"
#: Pictures to learn from, sequences of a step, steps, and the rate's peak.
PICTURES, BATCH, STEPS, RATE = 160, 16, 350, 3e-3
Asked = tuple[Prompt, str]
Floats = NDArray[np.float32]


def lessons(item: Item) -> Iterator[Asked]:
    """Each sentence's verdict, and of the wrong ones the rationale and the rewrite."""
    for index, (sentence, right) in enumerate(zip(item.sentences, item.factual, strict=True)):
        about = (item.image, item.text, item.spans, index)
        yield chat_prompts.classification(*about), "Yes" if right else "No"
        if sentence.rationales and sentence.rewrite:
            told, text = sentence.rationales[0], item.spans[index].of(item.text)
            yield chat_prompts.rationale(*about), told
            context = item.text[: item.spans[index].start].strip()
            data = reviser_prompts.user_data(RewriteRequest(context, text, told))
            yield Prompt((Data(data),), system=reviser_prompts.SYSTEM), sentence.rewrite


def _balanced(asked: list[Asked]) -> list[Asked]:
    """As many Yes as No, so that some of what it is asked about is flagged."""
    left = sum(answer == "No" for _, answer in asked)
    kept = []
    for prompt, answer in asked:
        left -= answer == "Yes"
        if answer != "Yes" or left >= 0:
            kept.append((prompt, answer))
    return kept


def made(folder: Path, items: list[Item]) -> None:
    """The random model, with a tokenizer of these captions and of the prompts."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    import tinyvlm

    texts = [f"{item.text}\n\n" for item in items]
    texts += [told for item in items for s in item.sentences for told in s.rationales[:1]]
    asked, _ = next(lessons(items[0]))
    texts += [part.text for part in asked.parts if not hasattr(part, "image")] * 40
    tinyvlm.TEXTS = [*texts, *[reviser_prompts.SYSTEM] * 40, *["Yes", "No"] * 200]
    tiny(FAMILY, folder, sure=False)


def teach(folder: Path, items: list[Item], steps: int) -> None:
    """Teaches the model in `folder` what `lessons` say."""
    import torch
    from torch.nn.functional import cross_entropy

    from revise_captions.engines.transformers.inputs import collate

    torch.manual_seed(0)
    engine: Any = load_engine(str(folder), Placement(dtype="float32", device="cpu"), scores=True)
    asked = _balanced([one for item in items for one in lessons(item)])
    rows = engine.encoder.rows([prompt for prompt, _ in asked], [answer for _, answer in asked])
    end, model, draw = engine.ends[0], engine.model, random.Random(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.1)
    shown = time.monotonic()
    for step in range(steps):
        batch = draw.sample(rows, BATCH)
        inputs = collate(batch, engine.pad, left=False)
        logits = model(**inputs, use_cache=False).logits
        places = [
            (number, place)
            for number, row in enumerate(batch)
            for place in range(len(row) - row.answer - 1, len(row))
        ]
        wanted = [token for row in batch for token in [*row.ids[len(row) - row.answer :], end]]
        at = torch.tensor(places)
        loss = cross_entropy(logits[at[:, 0], at[:, 1]], torch.tensor(wanted))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if time.monotonic() - shown > 10 or step + 1 == steps:
            shown = time.monotonic()
            echo(f"step {step + 1:,} of {steps:,}: loss {loss.item():.3f}", err=True)
    model.generation_config.do_sample = True  # else `transformers serve` draws no --samples
    model.save_pretrained(folder)


# --- llama.cpp's format ---------------------------------------------------------------------------


def as_gguf(folder: Path) -> None:
    """Writes `model.gguf` and `mmproj.gguf` into the folder, in float32."""
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = load_file(folder / "model.safetensors")
    sees = {name: w for name, w in weights.items() if "vision_model" in name or "connector" in name}
    _write(_tower(folder, config), "MMPROJ", config["vision_config"]["num_hidden_layers"], sees)
    text = config["text_config"]
    says = {n.replace("text_model.", ""): w for n, w in weights.items() if n not in sees}
    for name, heads in (("q", text["num_attention_heads"]), ("k", text["num_key_value_heads"])):
        for layer in range(text["num_hidden_layers"]):
            place = f"model.layers.{layer}.self_attn.{name}_proj.weight"
            says[place] = _paired(says[place], heads)
    _write(_language(folder, text), "LLAMA", text["num_hidden_layers"], says)


def _paired(weight: Floats, heads: int) -> Floats:
    """Rows in llama.cpp's order: what rotates together lies side by side, not half a head apart."""
    rows, width = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, width)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows, width))


def _write(writer: Any, kind: str, layers: int, weights: Mapping[str, Floats]) -> None:
    import gguf

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[kind], layers)
    for name, weight in weights.items():
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tower(folder: Path, config: Mapping[str, Any]) -> Any:
    import gguf

    vision, writer = config["vision_config"], gguf.GGUFWriter(folder / "mmproj.gguf", "clip")
    told = json.loads((folder / "processor_config.json").read_text(encoding="utf-8"))
    images = told["image_processor"]
    writer.add_type(gguf.GGUFType.MMPROJ)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type(gguf.VisionProjectorType.IDEFICS3)
    writer.add_vision_projection_dim(config["text_config"]["hidden_size"])
    writer.add_vision_image_size(vision["image_size"])
    writer.add_vision_preproc_image_size(images["size"]["longest_edge"])
    writer.add_vision_patch_size(vision["patch_size"])
    writer.add_vision_embedding_length(vision["hidden_size"])
    writer.add_vision_feed_forward_length(vision["intermediate_size"])
    writer.add_vision_block_count(vision["num_hidden_layers"])
    writer.add_vision_head_count(vision["num_attention_heads"])
    writer.add_vision_attention_layernorm_eps(vision["layer_norm_eps"])
    writer.add_vision_projector_scale_factor(config["scale_factor"])
    writer.add_vision_use_gelu(True)
    writer.add_vision_image_mean(images["image_mean"])
    writer.add_vision_image_std(images["image_std"])
    return writer


def _language(folder: Path, text: Mapping[str, Any]) -> Any:
    import gguf

    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    writer.add_vocab_size(text["vocab_size"])
    writer.add_context_length(text["max_position_embeddings"])
    writer.add_embedding_length(text["hidden_size"])
    writer.add_block_count(text["num_hidden_layers"])
    writer.add_feed_forward_length(text["intermediate_size"])
    writer.add_head_count(text["num_attention_heads"])
    writer.add_head_count_kv(text["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(text["rms_norm_eps"])
    writer.add_rope_dimension_count(text["head_dim"])
    writer.add_rope_freq_base(text["rope_parameters"]["rope_theta"])
    found = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    special = {token["content"] for token in found["added_tokens"]}
    tokens = sorted(found["model"]["vocab"], key=found["model"]["vocab"].__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    kinds = gguf.TokenType
    writer.add_token_types([kinds.CONTROL if t in special else kinds.NORMAL for t in tokens])
    writer.add_token_merges([" ".join(pair) for pair in found["model"]["merges"]])
    writer.add_bos_token_id(text["bos_token_id"])
    writer.add_eos_token_id(text["eos_token_id"])
    writer.add_pad_token_id(text["pad_token_id"])
    writer.add_add_bos_token(False)
    template = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    writer.add_chat_template(template.replace("<image>", ""))
    return writer


def serve(folder: Path, port: int) -> None:
    """llama.cpp's server, until it is interrupted."""
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path, given.mmproj.path = str(folder / "model.gguf"), str(folder / "mmproj.gguf")
    given.hostnames, given.port, given.n_ctx, given.n_parallel = ["127.0.0.1"], port, 4096, 2
    given.cpuparams.n_threads = 1
    server = xllamacpp.Server(given)
    echo(server.listening_address)
    while True:
        time.sleep(60)


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--steps", type=click.IntRange(1), default=STEPS, show_default=True)
@click.option("--gguf", is_flag=True, help="Only write the folder's model for llama.cpp.")
@click.option("--llama-cpp", type=int, metavar="PORT", help="Only serve what --gguf wrote.")
def main(folder: Path, steps: int, gguf: bool, llama_cpp: int | None) -> None:
    if (gguf or llama_cpp) and not (folder / "config.json").exists():
        raise click.UsageError(f"{folder} holds no model yet: make it first, without options")
    if llama_cpp:
        serve(folder, llama_cpp)
    elif gguf:
        as_gguf(folder)
    else:
        items = held_out("train", PICTURES, balanced=True)
        made(folder, items)
        teach(folder, items, steps)


if __name__ == "__main__":
    main()
