"""Datasets in five layouts as those who train on them read them, and one step of training on each.

    pairs = read("coco", Path("clean.json"), Path("images"))    # images and captions
    trained_on("coco", pairs)                                   # one step of the optimizer

Every reader is that of the layout's own ecosystem, or does what its scripts do; the models are tiny
ones of real architectures with random weights, which read captions as bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

Pair = tuple[Image.Image, str]
SIDE, WORDS = 32, 256
#: Token ids: bytes come after padding, begin, end, and an image's place.
_PAD, _BEGIN, _END, _IMAGE, _FIRST = range(5)
_VOCABULARY = 256 + _FIRST


# --- Readers ------------------------------------------------------------------------------------


def _imagefolder(out: Path, images: Path) -> list[Pair]:
    """`datasets`, as the training scripts of diffusers call it: images, then the column `text`."""
    import tempfile

    import datasets

    with tempfile.TemporaryDirectory() as cache:
        options = {"data_files": {"train": str(out / "**")}, "cache_dir": cache}
        loaded = datasets.load_dataset("imagefolder", **options)["train"]
        return [(row["image"].copy(), row["text"]) for row in loaded]


def _webdataset(out: Path, images: Path) -> list[Pair]:
    """As open_clip reads shards."""
    import webdataset

    return list(
        webdataset.WebDataset(str(out), shardshuffle=False)
        .decode("pilrgb")
        .rename(image="jpg;png;jpeg;webp", text="txt")
        .to_tuple("image", "text")
    )


def _llava(out: Path, images: Path) -> list[Pair]:
    """As LLaVA's documentation has it: turns alternate, begin with the human's, and name the one
    image by `<image>`; the first answer is the caption."""
    pairs = []
    for row in json.loads(out.read_text()):
        turns = row["conversations"]
        assert [turn["from"] for turn in turns] == ["human", "gpt"] * (len(turns) // 2)
        assert turns[0]["value"].count("<image>") == 1
        pairs.append((Image.open(images / row["image"]).convert("RGB"), turns[1]["value"]))
    return pairs


def _coco(out: Path, images: Path) -> list[Pair]:
    from pycocotools.coco import COCO

    coco = COCO(str(out))
    notes = [coco.anns[number] for number in sorted(coco.anns)]
    names = [coco.imgs[note["image_id"]]["file_name"] for note in notes]
    return [
        (Image.open(images / name).convert("RGB"), note["caption"])
        for name, note in zip(names, notes, strict=True)
    ]


def _files(out: Path, images: Path) -> list[Pair]:
    """As sd-scripts read `--caption_extension .txt`: for each image the file of its name, of which
    they take the first line and stop at an empty one."""
    pairs = []
    for path in sorted(out.glob("*.png")):
        lines = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
        assert lines, f"{path} has an empty caption"
        pairs.append((Image.open(path).convert("RGB"), lines[0].strip()))
    return pairs


# --- Models -------------------------------------------------------------------------------------


def _ids(text: str) -> list[int]:
    return [_FIRST + byte for byte in text.encode()][: WORDS // 2]


def _padded(rows: Sequence[list[int]]) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [_PAD] * (longest - len(row)) for row in rows])


def _pixels(images: Sequence[Image.Image]) -> torch.Tensor:
    arrays = [np.asarray(image.convert("RGB").resize((SIDE, SIDE))) for image in images]
    return torch.tensor(np.stack(arrays)).permute(0, 3, 1, 2) / 127.5 - 1


_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
_VISION: dict[str, Any] = _SIZES | {"image_size": SIDE, "patch_size": 8}


def _clip(pairs: Sequence[Pair]) -> Any:
    """CLIP, by its contrastive loss: what open_clip trains, and what diffusion models read with."""
    from transformers import CLIPConfig, CLIPModel

    text = _SIZES | {"vocab_size": _VOCABULARY, "max_position_embeddings": WORDS}
    text |= {"pad_token_id": _PAD, "bos_token_id": _BEGIN, "eos_token_id": _END}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=_VISION, projection_dim=16))
    ids = _padded([[_BEGIN, *_ids(text), _END] for _, text in pairs])
    images = _pixels([image for image, _ in pairs])
    return model, {"input_ids": ids, "pixel_values": images, "return_loss": True}


def _git(pairs: Sequence[Pair]) -> Any:
    """GIT, a captioner, by the loss of each caption's tokens."""
    from transformers import GitConfig, GitForCausalLM

    sizes = _SIZES | {"vocab_size": _VOCABULARY, "max_position_embeddings": WORDS}
    tokens = {"pad_token_id": _PAD, "bos_token_id": _BEGIN, "eos_token_id": _END}
    model = GitForCausalLM(GitConfig(vision_config=_VISION, **sizes, **tokens))
    ids = _padded([[_BEGIN, *_ids(text), _END] for _, text in pairs])
    labels = ids.masked_fill(ids == _PAD, -100)
    images = _pixels([image for image, _ in pairs])
    return model, {"input_ids": ids, "labels": labels, "pixel_values": images}


def _llava_model(pairs: Sequence[Pair]) -> Any:
    """LLaVA, by the loss of the answer alone, after the image's places."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig
    from transformers import LlavaForConditionalGeneration as Llava

    text = LlamaConfig(**_SIZES, vocab_size=_VOCABULARY, pad_token_id=_PAD)
    vision = CLIPVisionConfig(**_VISION)
    config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=_IMAGE)
    asked = [_BEGIN, *[_IMAGE] * (SIDE // _VISION["patch_size"]) ** 2]
    ids = _padded([[*asked, *_ids(text), _END] for _, text in pairs])
    labels = ids.masked_fill(ids == _PAD, -100)
    labels[:, : len(asked)] = -100
    images = _pixels([image for image, _ in pairs])
    return Llava(config), {"input_ids": ids, "labels": labels, "pixel_values": images}


#: By layout: who reads it, the reader, and the architecture that is trained on it.
LAYOUTS: dict[str, tuple[str, Callable[[Path, Path], list[Pair]], Callable[..., Any]]] = {
    "metadata": ("`datasets`' imagefolder", _imagefolder, _clip),
    "tar": ("`webdataset`", _webdataset, _clip),
    "llava": ("LLaVA's documented JSON", _llava, _llava_model),
    "coco": ("`pycocotools`", _coco, _git),
    "beside": ("`.txt` files, as sd-scripts", _files, _clip),
}


def read(layout: str, out: Path, images: Path) -> list[Pair]:
    """Images and captions, in order; `images`: the folder of LLaVA's and COCO's images."""
    return LAYOUTS[layout][1](out, images)


def trained_on(layout: str, pairs: Sequence[Pair]) -> float:
    """The loss of one batch; one step of the optimizer is taken on it.

    Raises:
        ValueError: The loss is not finite, or a weight that the captions reach has no gradient.
    """
    torch.manual_seed(0)
    model, batch = LAYOUTS[layout][2](pairs)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = model(**batch).loss
    loss.backward()
    words = model.get_input_embeddings() if layout in ("llava", "coco") else model.text_model
    known = [weight.grad for weight in words.parameters() if weight.grad is not None]
    if not torch.isfinite(loss) or not any(grad.abs().sum() > 0 for grad in known):
        raise ValueError(f"{layout}: loss {loss.item()}, {len(known)} gradients")
    optimizer.step()
    return float(loss.item())
