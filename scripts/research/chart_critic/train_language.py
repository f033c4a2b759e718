"""Trains the LoRA adapter that the chart critic asks beside its claims, on the world of charts.

    python -m scripts.research.chart_critic.train_language --out runs/chart-language --minutes 58
    cp runs/chart-language/adapter_* critic/charts/smollm2/

SmolLM2 learns to answer, behind each sentence of a caption, whether what was read off the chart
bears it out, and with a smaller weight to write the true sentences. Every chart is new, read with a
reader's errors, and has several captions, which share its reading and do not see each other. No
real chart or caption is among them. The same command goes on after an interruption.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from revise_captions.chart_world.captions import sample_caption
from revise_captions.chart_world.readings import exact_reading, noisy_reading, text_of_chart
from revise_captions.chart_world.tables import sample_table
from revise_captions.critic.charts.language import ChartPrompts
from revise_captions.engines.smollm2 import smollm2_folder
from scripts.research.frame.lora import LoraPlan, adapted, lora, train

if TYPE_CHECKING:
    import torch

#: The layers below `FIRST` have no adapter: nothing is propagated back through them.
RANK, FIRST, TEXT_WEIGHT, WARMUP, FLOOR = 8, 12, 0.1, 40, 0.04
#: Charts that batches of similar lengths are made of; sentences of a chart; charts without values.
CHUNK, SENTENCES, UNREAD = 96, 10, 0.1


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A reading and captions as one row of tokens.

    Attributes:
        ids: Token ids: the reading, then the captions.
        positions: Their positions: every caption's go on from the reading's.
        captions: 0 for the reading's tokens, else the caption's number from 1.
        asks: Where each sentence is asked about.
        spans: The tokens of each sentence, half-open.
        labels: Whether each is true.
    """

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    captions: tuple[int, ...]
    asks: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    labels: tuple[bool, ...]


def sample_row(prompts: ChartPrompts, rng: random.Random) -> ChartRow:
    """A new chart with captions of about `SENTENCES` sentences in all."""
    table = sample_table(rng)
    captions, taken = [sample_caption(rng, table) for _ in range(8)], 0
    lines = [line for line, _ in text_of_chart(exact_reading(table), rng)]
    chart = noisy_reading(table, rng)
    ids = prompts.reading([chart] if rng.random() >= UNREAD else [], lines)
    start, positions, owners = len(ids), list(range(len(ids))), [0] * len(ids)
    asks: list[int] = []
    spans: list[tuple[int, int]] = []
    labels: list[bool] = []
    for number, caption in enumerate(captions, start=1):
        if taken >= SENTENCES:
            break
        packed = prompts.caption([one.text for one in caption.statements])
        asks += [len(ids) + at for at in packed.asks]
        spans += [(len(ids) + a, len(ids) + b) for a, b in packed.spans]
        labels += [one.error is None for one in caption.statements]
        positions += range(start, start + len(packed.ids))
        owners += [number] * len(packed.ids)
        ids += packed.ids
        taken += len(caption.statements)
    return ChartRow(
        tuple(ids), tuple(positions), tuple(owners), tuple(asks), tuple(spans), tuple(labels)
    )


def batches(prompts: ChartPrompts, tokens: int, seed: int) -> Iterator[list[ChartRow]]:
    """Batches of at most this many positions, the same for the same seed."""
    for number in itertools.count():
        rng = random.Random(f"{seed}.{number}")
        made: list[list[ChartRow]] = [[]]
        for row in sorted(
            (sample_row(prompts, rng) for _ in range(CHUNK)), key=lambda r: len(r.ids)
        ):
            if made[-1] and len(row.ids) * (len(made[-1]) + 1) > tokens:
                made.append([])
            made[-1].append(row)
        rng.shuffle(made)
        yield from made


def inputs(rows: Sequence[ChartRow]) -> dict[str, torch.Tensor]:
    """Ids, positions and mask: tokens see what stands before them in reading and caption."""
    import torch

    width = max(len(row.ids) for row in rows)

    def padded(name: str, filler: int) -> torch.Tensor:
        parts = [[*getattr(r, name), *[filler] * (width - len(r.ids))] for r in rows]
        return torch.tensor(parts)

    owners = padded("captions", -1)
    seen = (owners[:, None] == 0) | (owners[:, None] == owners[:, :, None])
    before = torch.ones(width, width, dtype=torch.bool).tril()
    return {"input_ids": padded("ids", 0), "position_ids": padded("positions", 0),
            "attention_mask": (seen & before)[:, None]}  # fmt: skip


def loss_of(model: Any, rows: Sequence[ChartRow], answers: tuple[int, int]) -> tuple[Any, float]:
    """Cross-entropy of Yes against No, plus that of true sentences' text; the share right."""
    import torch
    from torch.nn.functional import cross_entropy

    given = inputs(rows)
    hidden = model.model(**given, use_cache=False).last_hidden_state
    asked = [
        (k, at, not y) for k, r in enumerate(rows) for at, y in zip(r.asks, r.labels, strict=True)
    ]
    which, places, wrong = (torch.tensor(column) for column in zip(*asked, strict=True))
    logits = (hidden[which, places] @ model.lm_head.weight[list(answers)].T).float()
    loss = cross_entropy(logits, wrong.long())
    right = float((logits.argmax(1) == wrong).float().mean())
    said = [
        (k, at)
        for k, r in enumerate(rows)
        for span, true in zip(r.spans, r.labels, strict=True)
        for at in range(*span)
        if true
    ]
    if said:
        which, places = (torch.tensor(column) for column in zip(*said, strict=True))
        scores = (hidden[which, places - 1] @ model.lm_head.weight.T).float()
        loss = loss + TEXT_WEIGHT * cross_entropy(scores, given["input_ids"][which, places])
    return loss, right


@click.command(help=__doc__.splitlines()[0])
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--minutes", default=58.0, show_default=True, help="Minutes of training in sum.")
@click.option("--rate", default=1.2e-3, show_default=True, help="Peak learning rate.")
@click.option("--tokens", default=1600, show_default=True, help="Positions in a batch.")
@click.option("--seed", default=7, show_default=True, help="Seed of every random choice.")
@click.option("--save-every", default=20, show_default=True, help="Steps between saves.")
def main(out: Path, minutes: float, rate: float, tokens: int, seed: int, save_every: int) -> None:
    import torch
    from transformers import AutoConfig, AutoTokenizer

    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    folder = smollm2_folder()
    prompts = ChartPrompts(AutoTokenizer.from_pretrained(folder))
    layers = range(FIRST, AutoConfig.from_pretrained(folder).num_hidden_layers)
    model = adapted(folder, settings := lora(RANK, layers))

    def told(rows: Sequence[ChartRow]) -> tuple[torch.Tensor, dict[str, float]]:
        loss, right = loss_of(model, rows, prompts.answers)
        return loss, {"right": right}

    plan = LoraPlan(out, minutes, rate, WARMUP, FLOOR, save_every)
    train(model, settings, batches(prompts, tokens, seed), told, plan)


if __name__ == "__main__":
    main()
