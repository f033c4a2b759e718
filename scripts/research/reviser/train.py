"""Trains the bundled reviser.

    python -m scripts.research.reviser.train DATA --out DIR --minutes 20

DATA is a folder with `train.jsonl` and `validation.jsonl` from `picturebook.generate` (images are
not read). DIR receives the checkpoint, `training/log.jsonl` and `training/state.pt`; the same
command with `--resume` continues from the last save. With `--steps` instead of `--minutes` the
result depends on the seed alone, not on the machine's speed.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from revise_captions.command_line.options import add_options, option
from revise_captions.command_line.printing import echo
from revise_captions.errors import UserError
from revise_captions.io.writing import check_new_folder
from revise_captions.reviser.protocol import Reviser, RewriteRequest
from scripts.research.reviser.data import ExplainedError, read_errors, stream
from scripts.research.reviser.synthetic import RewriteExample, edit

if TYPE_CHECKING:
    import torch
    from transformers import Qwen3ForCausalLM

    from revise_captions.finetune.optim.optimizer import FlatOptimizer
    from revise_captions.finetune.trainer.state import RunFolder
    from revise_captions.reviser.bundled_model.tokenizer import RewriteTokenizer

Report = Callable[[dict[str, Any]], None]
#: Examples that are drawn, encoded and batched together; `--resume` starts at a chunk.
CHUNK = 2048


@dataclass(frozen=True, slots=True)
class ReviserTrainingSettings:
    """Settings of a reviser's training; each field is an option."""

    minutes: float = option(20.0, "Stop after so many minutes of training (0: no limit).")
    steps: int = option(0, "Stop after so many optimizer steps (0: no limit).")
    tokens: int = option(512, "Positions in a batch, padding included.")
    learning_rate: float = option(3e-3, "Peak learning rate; cosine to 2 % of it.")
    warmup: int = option(150, "Steps of linear warmup.")
    weight_decay: float = option(0.02, "Decoupled weight decay, on matrices only.")
    ema: float = option(0.995, "Decay of the averaged weights, which are validated and written.")
    dtype: str = option(
        "float32",
        "Compute dtype; the optimizer keeps float32 copies of the weights.",
        choices=("bfloat16", "float32"),
    )
    synthetic: float = option(0.3, "Share of synthetic edits among the examples.")
    copies: int = option(30_000, "Begin with so many examples of sentences to repeat unchanged.")
    examples: int = option(400_000, "Read at most so many wrong sentences from train.jsonl.")
    vocab_size: int = option(1536, "Largest vocabulary of the tokenizer.")
    seed: int = option(0, "Seed of initial weights, data order and every random choice.")
    save_minutes: float = option(2.0, "Minutes between saves.")
    validate_minutes: float = option(4.0, "Minutes between validations (0: only at the end).")
    validate_examples: int = option(
        300, "Held-out sentences in the last validation; a third of them before."
    )


@dataclass(frozen=True, slots=True)
class RewriteBatch:
    """`ids` (rows, width), right-padded; `predict` flat positions whose next token is `targets`."""

    ids: torch.Tensor
    predict: torch.Tensor
    targets: torch.Tensor

    def __len__(self) -> int:
        return len(self.ids)


def batches(
    examples: Sequence[RewriteExample], codec: RewriteTokenizer, tokens: int, seed: str
) -> list[RewriteBatch]:
    """Batches of at most `tokens` positions from examples of about the same length, shuffled."""
    prompts = codec.prompts([example.request for example in examples])
    rewrites = codec.texts([example.rewrite for example in examples])
    rows = [
        (prompt, codec.answer(example.rewrite, ids))
        for example, prompt, ids in zip(examples, prompts, rewrites, strict=True)
        if prompt is not None and len(ids) <= 128
    ]
    rows.sort(key=lambda row: len(row[0]) + len(row[1]))
    groups: list[list[tuple[list[int], list[int]]]] = [[]]
    for row in rows:
        if (len(groups[-1]) + 1) * (len(row[0]) + len(row[1])) > tokens and groups[-1]:
            groups.append([])
        groups[-1].append(row)
    random.Random(seed).shuffle(groups)
    return [_batch(group, codec.pad) for group in groups]


def _batch(rows: Sequence[tuple[list[int], list[int]]], pad: int) -> RewriteBatch:
    import torch

    width = max(len(prompt) + len(answer) for prompt, answer in rows) - 1
    ids = torch.full((len(rows), width), pad)
    predict: list[int] = []
    targets: list[int] = []
    for number, (prompt, answer) in enumerate(rows):
        whole = prompt + answer[:-1]
        ids[number, : len(whole)] = torch.tensor(whole)
        start = number * width + len(prompt) - 1
        predict += range(start, start + len(answer))
        targets += answer
    return RewriteBatch(ids, torch.tensor(predict), torch.tensor(targets))


def loss_of(model: Qwen3ForCausalLM, batch: RewriteBatch) -> torch.Tensor:
    """Mean cross-entropy of the answers' tokens. Padding is on the right, so causal is enough."""
    from torch.nn.functional import cross_entropy

    hidden = model.model(input_ids=batch.ids, use_cache=False).last_hidden_state
    chosen = hidden.flatten(0, 1)[batch.predict]
    return cross_entropy(model.lm_head(chosen).float(), batch.targets)


def new_codec(
    data: Sequence[ExplainedError], settings: ReviserTrainingSettings
) -> RewriteTokenizer:
    """A tokenizer trained on the data and on synthetic edits."""
    from revise_captions.reviser.bundled_model.tokenizer import RewriteTokenizer, train_tokenizer

    rng = random.Random(f"{settings.seed}.tokenizer")
    some = data if len(data) <= 30_000 else rng.sample(list(data), 30_000)
    texts = [text for w in some for text in (w.context, w.sentence, *w.rationales, w.rewrite)]
    for _ in range(3_000):
        made = edit(rng)
        texts += [made.request.context, made.request.sentence, made.request.rationale]
    return RewriteTokenizer(train_tokenizer(texts, settings.vocab_size))


@dataclass(slots=True)
class ReviserRun:
    """The state of a training run."""

    settings: ReviserTrainingSettings
    folder: RunFolder
    codec: RewriteTokenizer
    model: Qwen3ForCausalLM
    optimizer: FlatOptimizer
    data: list[ExplainedError]
    held_out: list[ExplainedError]
    report: Report
    chunk: int = 0
    batch: int = 0
    step: int = 0
    seen: int = 0
    seconds: float = 0.0

    def progress(self) -> float:
        """Progress of the training in [0, 1]."""
        s = self.settings
        by_time = self.seconds / (60 * s.minutes) if s.minutes else 0.0
        by_step = self.step / s.steps if s.steps else 0.0
        return min(1.0, max(by_time, by_step))

    def state(self) -> dict[str, Any]:
        counters = {k: getattr(self, k) for k in ("chunk", "batch", "step", "seen", "seconds")}
        return {
            "optimizer": self.optimizer.state(),
            "counters": counters,
            "tokenizer": self.codec.pretrained.backend_tokenizer.to_str(),
        }

    def log(self, event: str, **values: Any) -> None:
        self.report(self.folder.log(event, step=self.step, examples=self.seen, **values))


def train(
    data: Path, out: Path, settings: ReviserTrainingSettings, *, resume: bool, report: Report
) -> Path:
    """Trains until a limit and writes the averaged weights to `out`, which it returns.

    Raises:
        UserError: There is no limit, the data is malformed, or nothing to resume.
    """
    if not settings.minutes and not settings.steps:
        raise UserError("training without end", hint="add --minutes or --steps")
    run = _start(data, out, settings, resume, report)
    run.log("start", settings=asdict(settings), parameters=run.model.num_parameters())
    saved = validated = time.monotonic()
    while run.progress() < 1:
        _chunk(run)
        now = time.monotonic()
        if now - saved > 60 * settings.save_minutes:
            run.folder.save(run.state())
            saved = time.monotonic()
        if settings.validate_minutes and now - validated > 60 * settings.validate_minutes:
            run.log("validate", **_validate(run, settings.validate_examples // 3))
            validated = time.monotonic()
    run.folder.save(run.state())
    figures = _validate(run, settings.validate_examples)
    _export(run, out, figures)
    run.log("done", minutes=round(run.seconds / 60, 2), **figures)
    return out


def _start(
    data: Path, out: Path, settings: ReviserTrainingSettings, resume: bool, report: Report
) -> ReviserRun:
    import torch
    from tokenizers import Tokenizer

    from revise_captions.finetune.optim.optimizer import FlatOptimizer
    from revise_captions.finetune.trainer.state import RunFolder
    from revise_captions.reviser.bundled_model.reviser import new_model
    from revise_captions.reviser.bundled_model.tokenizer import RewriteTokenizer, as_transformers

    if not resume:
        check_new_folder(out)
    folder = RunFolder(out)
    folder.training.mkdir(parents=True, exist_ok=True)
    state = folder.load() if resume else None
    if resume and state is None:
        raise UserError(f"{out} holds no saved training", hint="start it without --resume")
    wrong = read_errors(data / "train.jsonl", settings.examples)
    held_out = read_errors(data / "validation.jsonl", settings.validate_examples)
    torch.manual_seed(settings.seed)
    saved = state and as_transformers(Tokenizer.from_str(state["tokenizer"]))
    codec = RewriteTokenizer(saved) if saved else new_codec(wrong, settings)
    model = new_model(codec).to(getattr(torch, settings.dtype)).train()
    optimizer = FlatOptimizer(
        model, weight_decay=settings.weight_decay, betas=(0.9, 0.98), ema=settings.ema
    )
    counters = {}
    if state is not None:
        optimizer.load(state["optimizer"])
        counters = state["counters"]
    return ReviserRun(
        settings, folder, codec, model, optimizer, wrong, held_out, report, **counters
    )


def _chunk(run: ReviserRun) -> None:
    """Trains on one chunk of examples, from the batch where a resumed run stopped."""
    import torch

    from revise_captions.finetune.optim.optimizer import rate

    s = run.settings
    began = time.monotonic()
    copies = run.chunk * CHUNK < s.copies
    made = stream(run.data, run.chunk, CHUNK, seed=s.seed, synthetic=s.synthetic, copies=copies)
    todo = batches(made, run.codec, s.tokens, f"{s.seed}.{run.chunk}")
    losses: list[float] = []
    first = run.seen
    for batch in todo[run.batch :]:
        peak = rate(
            run.progress(), run.step, peak=s.learning_rate, warmup=s.warmup, schedule="cosine"
        )
        loss = loss_of(run.model, batch)
        torch.autograd.backward(loss)
        run.optimizer.step(peak, 1.0)
        losses.append(float(loss.detach()))
        run.step, run.batch, run.seen = run.step + 1, run.batch + 1, run.seen + len(batch)
        spent = time.monotonic() - began
        began += spent
        run.seconds += spent
        if run.progress() >= 1:
            break
    else:
        run.chunk, run.batch = run.chunk + 1, 0
    if losses:
        run.log(
            "train",
            loss=round(sum(losses) / len(losses), 4),
            minutes=round(run.seconds / 60, 2),
            per_second=round(run.seen / max(run.seconds, 1e-9), 1),
            last=run.seen - first,
        )


def _validate(run: ReviserRun, count: int) -> dict[str, Any]:
    """Share of exact matches of the averaged weights on held-out data and on synthetic edits, and
    their speed in this process.
    """
    from copy import deepcopy

    import torch

    from revise_captions.reviser.bundled_model.reviser import BundledReviser

    run.optimizer.use(run.optimizer.average)
    model = deepcopy(run.model).train(False)
    torch.nn.Module.float(model)
    reviser = BundledReviser(model, run.codec, {})
    run.optimizer.use(run.optimizer.master)
    rng = random.Random("validation")
    picked = [unaugmented(wrong, rng) for wrong in run.held_out[:count]]
    made = [edit(rng) for _ in range(count)]
    began = time.perf_counter()
    share = exact(reviser, picked)
    rate = len(picked) / (time.perf_counter() - began)
    return {
        "exact": share,
        "rewrites_per_second": round(rate, 1),
        "exact_made_up": exact(reviser, [m for m in made if not m.request.failed]),
        "exact_after_failures": exact(reviser, [m for m in made if m.request.failed]),
    }


def unaugmented(wrong: ExplainedError, rng: random.Random) -> RewriteExample:
    """A held-out sentence with one of its rationales."""
    request = RewriteRequest(wrong.context, wrong.sentence, rng.choice(wrong.rationales))
    return RewriteExample(request, wrong.rewrite)


def exact(reviser: Reviser, examples: Sequence[RewriteExample]) -> float | None:
    """Share of examples with exactly the expected rewrite; None without examples."""
    if not examples:
        return None
    answers = reviser.rewrite([e.request for e in examples])
    right = sum(a == e.rewrite for a, e in zip(answers, examples, strict=True))
    return round(right / len(examples), 4)


def _export(run: ReviserRun, out: Path, figures: dict[str, Any]) -> None:
    from revise_captions.reviser.bundled_model.reviser import ReviserCard, save_reviser

    run.optimizer.use(run.optimizer.average)
    training = {
        "settings": asdict(run.settings),
        "minutes": round(run.seconds / 60, 2),
        "steps": run.step,
        "examples": run.seen,
    }
    save_reviser(run.model, run.codec, ReviserCard(training=training, figures=figures), out)


@click.command(
    help=(__doc__ or "").replace("\n    python", "\n\n\b\n    python"),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to write.")
@click.option("--resume", is_flag=True, help="Continue from the last save in --out.")
@add_options(ReviserTrainingSettings)
def main(data: Path, out: Path, resume: bool, **settings: Any) -> None:
    try:
        train(data, out, ReviserTrainingSettings(**settings), resume=resume, report=_print)
    except UserError as error:
        echo(f"train-reviser: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        echo("stopped; add --resume to continue from the last save", err=True)
        sys.exit(130)


def _print(line: dict[str, Any]) -> None:
    echo(json.dumps(line))


if __name__ == "__main__":
    main()
