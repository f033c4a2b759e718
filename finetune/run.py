"""A training run before its first step: base model, data, caches, optimiser, all checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from revise_captions.critic.checkpoint import CriticCard, read_card, save_critic
from revise_captions.critic.codec import Codec, train_tokenizer
from revise_captions.critic.model import keep_freed_memory, new_model, use_tree_attention
from revise_captions.errors import UserError
from revise_captions.finetune.data import Examples, open_split, texts
from revise_captions.finetune.optimizer import FlatAdamW
from revise_captions.finetune.pixels import PixelCache, pixel_cache
from revise_captions.finetune.settings import Settings
from revise_captions.finetune.state import Progress, RunFolder
from revise_captions.finetune.tower import Dense, Heads, dense_labels
from revise_captions.finetune.validate import Measured

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration

Report = Callable[[dict[str, Any]], None]
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


class Network(torch.nn.Module):
    """The model and, while it trains, heads on it: one set of parameters to optimise.

    `trace` reads from a word's last hidden state whether its sentence has gone wrong by then.
    """

    def __init__(self, model: PaliGemmaForConditionalGeneration, heads: Heads | None) -> None:
        super().__init__()
        self.model, self.heads = model, heads
        self.trace = torch.nn.Linear(model.config.text_config.hidden_size, 1)


@dataclass(slots=True)
class Run:
    """All that a training run holds on to."""

    settings: Settings
    folder: RunFolder
    codec: Codec
    network: Network
    optimizer: FlatAdamW
    train: Examples
    validation: Examples
    train_pixels: PixelCache
    validation_pixels: PixelCache
    dense: Dense | None
    progress: Progress
    report: Report
    measured: Measured | None = None

    @property
    def model(self) -> PaliGemmaForConditionalGeneration:
        return self.network.model

    def log(self, event: str, **values: Any) -> None:
        self.report(self.folder.log(event, **values))


def load_base(base: str, train: Examples, settings: Settings) -> tuple[Any, Codec]:
    """A fresh model with a tokenizer of its own (`new`), or a checkpoint folder or hub id."""
    from transformers import AutoTokenizer, PaliGemmaForConditionalGeneration

    torch.manual_seed(settings.seed)
    if base == "new":
        codec = Codec(train_tokenizer(texts(train), settings.vocab_size))
        model = new_model(codec)
        if settings.tower_from:
            copy_tower(Path(settings.tower_from), model)
        return model, codec
    try:
        tokenizer = AutoTokenizer.from_pretrained(base)
        model = PaliGemmaForConditionalGeneration.from_pretrained(base)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no base model at {base!r}: {str(error).splitlines()[0]}",
            hint="--base takes a folder, a hub id that you have access to, or 'new'",
        ) from None
    if (Path(base) / "critic.json").exists():
        trained = read_card(Path(base)).regime
        if trained is not settings.regime and not settings.change_regime:
            raise UserError(
                f"{base} was trained {trained}, this run is set to {settings.regime}",
                hint=f"add --regime {trained}, or --change-regime to teach it the other one",
            )
    use_tree_attention(model)
    return model, Codec(tokenizer)


def copy_tower(folder: Path, model: PaliGemmaForConditionalGeneration) -> None:
    """Gives `model` the image tower of a checkpoint of the same tower shape."""
    from transformers import PaliGemmaForConditionalGeneration

    try:
        other = PaliGemmaForConditionalGeneration.from_pretrained(folder)
        model.model.vision_tower.load_state_dict(other.model.vision_tower.state_dict())
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(
            f"no image tower of this shape in {folder}: {str(error).splitlines()[0]}",
            hint="--tower-from takes a folder that finetune-critic wrote",
        ) from None


def prepare(
    data: Path, base: str, out: Path, settings: Settings, *, resume: bool, report: Report
) -> Run:
    """Reads and checks everything before the first step."""
    keep_freed_memory()
    torch.manual_seed(settings.seed)
    folder = RunFolder(out)
    saved = folder.load() if resume else None
    if not resume and (folder.training / "state.pt").exists():
        raise UserError(f"{out} holds a training run", hint="add --resume, or name another --out")
    train, validation = open_split(data, "train"), open_split(data, "validation")
    model, codec = load_base(str(folder.training / "base") if saved else base, train, settings)
    if saved is None:
        card = CriticCard(settings.regime)
        folder.export("base", lambda path: save_critic(model, codec.tokenizer, card, path))
    size = model.config.vision_config.image_size
    grid = size // model.config.vision_config.patch_size
    cache = train.root / ".pixels"
    variants = 1 if settings.robust_share > 0 else 0
    train_pixels = pixel_cache(train.root, train.images, cache, size=size, variants=variants)
    validation_pixels = pixel_cache(
        validation.root, validation.images, cache, size=size, variants=0
    )
    dense = dense_labels(train.root, train.path.stem, len(train.images), grid)
    if settings.tower_minutes and dense is None:
        raise UserError(f"--tower-minutes needs dense labels: {train.root}/labels/train.npy")
    heads = Heads(model.config.vision_config.hidden_size, dense.sizes) if dense else None
    network = Network(model, heads).to(DTYPES[settings.dtype])
    network.eval()  # no dropout: a critic this small underfits
    optimizer = FlatAdamW(
        network,
        weight_decay=settings.weight_decay,
        betas=(0.9, settings.beta2),
        ema=settings.ema,
        slow=lambda name: "vision_tower" in name,
    )
    progress = Progress()
    if saved is not None:
        optimizer.load(saved["optimizer"])
        progress = Progress(**saved["progress"])
        torch.set_rng_state(saved["rng"])
    if settings.compile:
        compile_layers(model)
    run = Run(
        settings, folder, codec, network, optimizer, train, validation, train_pixels,
        validation_pixels, dense, progress, report,
    )  # fmt: skip
    run.log(
        "start",
        settings={**asdict(settings), "regime": str(settings.regime)},
        resumed=saved is not None,
        parameters=sum(p.numel() for p in model.parameters()),
        captions=len(train),
        images=len(train.images),
        validation_captions=len(validation),
        dense=dict(zip(dense.names, dense.sizes, strict=True)) if dense else None,
    )
    return run


def compile_layers(model: PaliGemmaForConditionalGeneration) -> None:
    """Compiles each layer for the few padded lengths that training meets."""
    import torch._dynamo

    torch._dynamo.config.recompile_limit = 64
    torch._dynamo.config.accumulated_recompile_limit = 1024
    # compiled, plain attention over 64 patches is 1.5 times as fast as the fused kernel
    model.model.vision_tower.set_attn_implementation("eager")
    for layer in (*model.model.language_model.layers, *model.model.vision_tower.encoder.layers):
        layer.compile(dynamic=False)
