"""Setup of a training run: base model, data, caches, optimizer, all checked."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from revise_captions.critic.checkpoints import CriticCard, save_critic
from revise_captions.critic.gates.language import Vocabulary
from revise_captions.critic.paligemma.compile import compile_layers
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.engines.placement import device_and_dtype, training_dtype
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings, expect_adapters
from revise_captions.finetune.data.image_cache import PixelCache, pixel_cache
from revise_captions.finetune.data.records import Examples, add_replay, open_split
from revise_captions.finetune.models.adapters import (
    cast,
    choose_weights,
    part_of,
    set_dropout,
)
from revise_captions.finetune.models.bases import Base, load_base, named
from revise_captions.finetune.models.dense_labels import Dense, Heads, dense_labels
from revise_captions.finetune.models.instruct import ChatLearner
from revise_captions.finetune.models.paligemma import PackedLearner
from revise_captions.finetune.models.protocol import ForwardInputs, ForwardOutputs, Learner
from revise_captions.finetune.optim.distributed import Parallel, start
from revise_captions.finetune.optim.optimizer import FlatOptimizer
from revise_captions.finetune.optim.sharding import check_sharding, shard
from revise_captions.finetune.trainer.state import RunFolder, TrainingProgress, optimizer_state
from revise_captions.finetune.trainer.trackers import TrackedRun, expect_tracker, open_tracker
from revise_captions.finetune.trainer.validate import ValidationResult
from revise_captions.io.writing import write_text
from revise_captions.process_memory import keep_freed_memory
from revise_captions.runs.training_folder import check_run_folder, mark_run_folder
from revise_captions.text.formatting import plural

Report = Callable[[dict[str, Any]], None]
COMMAND = "captions finetune"
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


class Network(torch.nn.Module):
    """The model with the heads that only training uses.

    `error_onset` predicts from a word's last hidden state whether the sentence is wrong so far.
    """

    def __init__(self, model: Any, heads: Heads | None) -> None:
        super().__init__()
        self.model, self.heads = model, heads
        self.error_onset = torch.nn.Linear(model.config.get_text_config().hidden_size, 1)

    def forward(self, work: Callable[[], tuple[torch.Tensor, ...]]) -> tuple[torch.Tensor, ...]:
        """Runs `work`, which calls the model: FSDP gathers sharded weights around this call."""
        return work()


@dataclass(slots=True)
class EndCosts:
    """Seconds that the end of a run takes, as far as known.

    Attributes:
        caption: To validate a caption.
        saving: To save a state.
        writing: To write the finished critic, with its card.
        step: Of the last step, as the next one may begin just before the end.
        total: Of all this, plus the export: reserved at the end of a time limit.
    """

    caption: float = 0.0
    saving: float = 0.0
    writing: float = 0.0
    step: float = 0.0
    total: float = 0.0


@dataclass(slots=True)
class TrainingRun:
    """The state of a training run.

    Attributes:
        wrapped: PEFT's wrapper of the model, with LoRA.
        class_weights: Of wrong and of true sentences (`LossSettings.balance`).
        measured: The last validation.
        vocabulary: The critic's word lists, once they have been needed.
        began: When the run began (`time.monotonic`), minus the time that earlier processes took.
    """

    settings: TrainingSettings
    folder: RunFolder
    base: Base
    base_name: str
    learner: Learner
    network: Network
    wrapped: Any | None
    optimizer: FlatOptimizer
    train: Examples
    validation: Examples
    train_pixels: PixelCache | None
    dense: Dense | None
    progress: TrainingProgress
    report: Report
    parallel: Parallel = field(default_factory=Parallel)
    class_weights: tuple[float, float] = (1.0, 1.0)
    measured: ValidationResult | None = None
    tracked: TrackedRun | None = None
    vocabulary: Vocabulary | None = None
    began: float = 0.0
    end: EndCosts = field(default_factory=EndCosts)

    @property
    def model(self) -> Any:
        return self.network.model

    @property
    def codec(self) -> PromptTokenizer:
        assert self.base.codec is not None
        return self.base.codec

    def log(self, event: str, **values: Any) -> None:
        """Writes a line to log, terminal and tracker, from the first process."""
        if self.parallel.first:
            line = self.folder.log(event, **values)
            self.report(line)
            if self.tracked is not None:
                self.tracked.add(line, self.progress.step)

    def train_mode(self) -> None:
        """Sets train mode if dropout or gradient checkpointing need it."""
        settings = self.settings
        if settings.model.dropout or settings.lora.dropout or settings.compute.checkpointing:
            self.network.train()

    def forward(self, asked: ForwardInputs) -> ForwardOutputs:
        """The learner's forward pass, called through the network (see `Network.forward`)."""
        seen: list[ForwardOutputs] = []

        def work() -> tuple[torch.Tensor, ...]:
            found = self.learner.forward(asked)
            seen.append(found)
            parts = (found.logits, found.error_onset, found.tower)
            return tuple(part for part in parts if part is not None)

        outputs = iter(self.network(work))
        found = seen[0]
        return ForwardOutputs(
            next(outputs),
            None if found.error_onset is None else next(outputs),
            None if found.tower is None else next(outputs),
        )

    def dense_loss(
        self, tower: torch.Tensor, images: np.ndarray[Any, Any], colors: Sequence[int] = ()
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss of the dense heads on patch features, and each channel's accuracy.

        `colors`: as in `models.protocol.Images`; images in other colors have no color loss.
        """
        assert self.dense is not None
        assert self.network.heads is not None
        labels = torch.from_numpy(self.dense.labels[images].astype(np.int64)).to(tower.device)
        holds = None
        if any(colors):
            other = (np.array(colors) > 0)[:, None] & self.dense.colors
            holds = torch.from_numpy(~other).to(tower.device)
        result: tuple[torch.Tensor, torch.Tensor] = self.network.heads(
            tower, labels.flatten(1, 2), holds
        )
        return result


def prepare(
    data: Path,
    base: str,
    out: Path,
    settings: TrainingSettings,
    *,
    resume: bool,
    report: Report,
    began: float | None = None,
) -> TrainingRun:
    """Loads and checks everything before the first step, with the arguments of `run.finetune`."""
    began = time.monotonic() if began is None else began
    keep_freed_memory()
    _check(settings, base)
    parallel = start()
    torch.manual_seed(settings.seed)
    if parallel.first:  # the other processes may find what it has already written
        check_run_folder(out, COMMAND, go_on=resume)
    folder = RunFolder(out)
    saved = folder.load() if resume else None
    train, validation = open_split(data, "train"), open_split(data, "validation")
    add_replay(train, settings.data.replay, settings.data.replay_share)
    device, _ = device_and_dtype(settings.compute.device, "auto")
    settings = settings.with_options(dtype=training_dtype(settings.compute.dtype, device))
    if device == "cuda" and parallel.world > 1:
        device = parallel.device
    copied = folder.training / "base"
    if saved is not None:
        check_same_base(folder, base)
    if parallel.first:
        report({"event": "prepare", "what": f"loading {base}"})
    loaded = load_base(str(copied) if saved and copied.exists() else base, train, settings, device)
    if saved is None and parallel.first:
        mark_run_folder(out, COMMAND)
        _keep_base(folder, base, loaded, settings)
    wrapped = choose_weights(loaded.model, settings, named(base))
    if parallel.first:
        images = len(train.images) + len(validation.images)
        report({"event": "prepare", "what": f"reading {plural(images, 'image')}"})
    caches = _caches(parallel, loaded, settings, train, validation)
    dense, network = _network(loaded, settings, train, device)
    if settings.compute.shard_weights:
        shard(network, parallel)
    learner = _learner(loaded, settings, network, caches)
    optimizer = _optimizer(network, settings, parallel)
    progress = TrainingProgress()
    if saved is not None:
        progress = _restored(folder, saved, optimizer, settings)
    if settings.compute.compile and loaded.codec is not None:
        compile_layers(loaded.model, training=True)
    run = TrainingRun(
        settings, folder, loaded, base, learner, network, wrapped, optimizer, train, validation,
        caches.get(train.path), dense, progress, report, parallel, class_weights(train, settings),
        began=began - progress.seconds,
    )  # fmt: skip
    if settings.validation.log_with is not None and parallel.first:
        run.tracked = open_tracker(settings.validation.log_with, folder.training)
    _log_start(run, resumed=saved is not None)
    return run


def _check(settings: TrainingSettings, base: str) -> None:
    """Raises UserError if the settings need what the base or this installation does not have."""
    check_sharding(settings, base)
    expect_adapters(settings.lora.method)
    if settings.validation.log_with is not None:
        expect_tracker(settings.validation.log_with)


def _restored(
    folder: RunFolder, saved: dict[str, Any], optimizer: FlatOptimizer, settings: TrainingSettings
) -> TrainingProgress:
    """Puts the saved state into the optimizer and the random generators; returns the progress."""
    divided = settings.compute.shard_weights
    optimizer.load(optimizer_state(folder, saved, optimizer.share, divided))
    torch.set_rng_state(saved["rng"])
    if "cuda_rng" in saved and torch.cuda.is_available():
        torch.cuda.set_rng_state(saved["cuda_rng"])
    return TrainingProgress(**saved["progress"])


def _optimizer(network: Network, settings: TrainingSettings, parallel: Parallel) -> FlatOptimizer:
    chosen, compute = settings.optimizer, settings.compute
    return FlatOptimizer(
        network,
        weight_decay=chosen.weight_decay,
        betas=(0.9, chosen.beta2),
        ema=chosen.ema,
        slow=lambda name: part_of(name) == "tower",
        muon=lambda name: chosen.name == "muon" and ".layers." in name,
        share=parallel if compute.sharded or compute.shard_weights else None,
    )


def _log_start(run: TrainingRun, *, resumed: bool) -> None:
    settings, dense = run.settings, run.dense
    run.log(
        "start",
        settings=settings.options(),
        resumed=resumed,
        new_words=list(run.base.new_words),
        parameters=sum(p.numel() for p in run.model.parameters()),
        trained=sum(p.numel() for p in run.model.parameters() if p.requires_grad),
        captions=run.train.own,
        replayed=len(run.train) - run.train.own,
        images=len(run.train.images),
        validation_captions=len(run.validation),
        processes=run.parallel.world,
        device=str(run.model.device),
        dense=dict(zip(dense.names, dense.sizes, strict=True)) if dense else None,
    )


def _keep_base(folder: RunFolder, base: str, loaded: Base, settings: TrainingSettings) -> None:
    """Stores the base for resuming: its name, and the weights of a new model."""
    write_text(folder.training / "base.json", json.dumps({"base": named(base)}) + "\n")
    if loaded.folder is None:
        codec = loaded.codec
        assert codec is not None
        card = CriticCard(settings.model.attention_mode)
        folder.export("base", lambda path: save_critic(loaded.model, codec.pretrained, card, path))


def check_same_base(folder: RunFolder, base: str) -> None:
    """Raises UserError if the run to resume started from another base."""
    path = folder.training / "base.json"
    began = json.loads(path.read_text())["base"] if path.exists() else named(base)
    if began != named(base):
        raise UserError(
            f"the run in {folder.out} started from {began}, not from {base}",
            hint=f"add --base {began}",
        )


def _caches(
    parallel: Parallel, base: Base, settings: TrainingSettings, *splits: Examples
) -> dict[Path, PixelCache]:
    """Resized images by split, built by the first process; none for an instruct model."""
    if base.codec is None:
        return {}
    size = base.model.config.vision_config.image_size
    made: dict[Path, PixelCache] = {}
    if not parallel.first:
        parallel.wait()
    for number, split in enumerate(splits):
        augmented = 1 if settings.data.robust_share > 0 and number == 0 else 0
        made[split.path] = pixel_cache(
            split.root, split.images, split.root / ".pixels", size=size, variants=augmented
        )
    if parallel.first:
        parallel.wait()
    return made


def _network(
    base: Base, settings: TrainingSettings, train: Examples, device: str
) -> tuple[Dense | None, Network]:
    """The dense labels, and the model with its heads, in compute dtype and on its device."""
    dense = None
    if base.codec is not None:
        vision = base.model.config.vision_config
        grid = vision.image_size // vision.patch_size
        dense = dense_labels(train.root, train.path.stem, train.own_images, grid)
    if dense is not None and settings.data.replay:
        if settings.losses.tower or settings.tower.minutes:
            raise UserError(
                "replayed images have no dense labels",
                hint="add --tower-weight 0, or train without --replay",
            )
        dense = None
    if settings.tower.minutes and dense is None:
        raise UserError(f"--tower-minutes needs dense labels: {train.root}/labels/train.npy")
    heads = Heads(base.model.config.vision_config.hidden_size, dense.sizes) if dense else None
    network = Network(base.model, heads)
    cast(network, DTYPES[settings.compute.dtype])
    if settings.lora.method != "qlora":
        network.to(device)
    else:
        network.error_onset.to(device)
    network.eval()  # no dropout by default: a small critic underfits
    if settings.model.dropout:
        set_dropout(base.model, settings.model.dropout)
    if settings.compute.checkpointing:
        enable = getattr(base.model, "activation_checkpointing_enable", None)
        (enable or base.model.gradient_checkpointing_enable)({"use_reentrant": False})
    return dense, network


def _learner(
    base: Base, settings: TrainingSettings, network: Network, caches: dict[Path, PixelCache]
) -> Learner:
    if base.codec is None:
        assert base.engine is not None
        return ChatLearner(base.engine, settings.model.max_length)
    return PackedLearner(
        base.model,
        base.codec,
        settings.model.attention_mode,
        settings.model.max_length,
        multiple=64 if settings.compute.compile else 8,
        error_onset=network.error_onset if settings.losses.error_onset else None,
        pixels=caches,
    )


def class_weights(train: Examples, settings: TrainingSettings) -> tuple[float, float]:
    """Weights of wrong and true sentences: at `balance` 1 both classes have equal total weight.

    Replayed data are not counted.
    """
    if not settings.losses.balance:
        return 1.0, 1.0
    truth = [one.factual for i in range(train.own) for one in train[i].sentences]
    true = sum(truth)
    wrong = len(truth) - true
    if not true or not wrong:
        return 1.0, 1.0
    weights = [(len(truth) / (2 * count)) ** settings.losses.balance for count in (wrong, true)]
    return weights[0], weights[1]
