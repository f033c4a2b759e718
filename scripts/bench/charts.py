"""What captions of charts cost: the OCR, the language model, the rest; and the most memory held.

    python -m scripts.bench.charts CHOCOLATE [--captions 24]

Runs `revise-captions` with its default models on the first captions of CHOCOLATE's development half
in this process, one thread for torch, and prints JSON. Seconds are processor time of all threads,
which holds on a busy machine, without loading models; `outside` is everything but the OCR, as a
multiple of it. `read` counts images that the OCR was asked to read, `asked` captions and `tokens`
that the language model computed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tempfile
import time
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import click
import torch

from revise_captions.benchmarks.readers.chocolate import read
from revise_captions.critic.charts import language, recent
from revise_captions.pipelines.job import run
from revise_captions.pipelines.options import JobOptions
from revise_captions.process_memory import peak_memory
from scripts.bench.job import Stopwatch, Threads
from scripts.research.chart_critic.halves import is_development


def write_input(data: Path, folder: Path, captions: int) -> int:
    """The captions, one a row. Returns of how many images they are."""
    chosen = (one for one in read(data.resolve()) if is_development(Path(one.image).name))
    images = set()
    with (folder / "in.jsonl").open("w", encoding="utf-8") as file:
        for number, one in enumerate(islice(chosen, captions)):
            image = str(one.record.image.path)
            images.add(image)
            row = {"id": number, "image": image, "caption": one.caption}
            file.write(json.dumps(row) + "\n")
    return len(images)


def measured(data: Path, folder: Path) -> dict[str, Any]:
    """One job on the input in the folder, the images in `data`."""
    ocr, loading, model = Threads(), Threads(), Stopwatch(time.thread_time)
    counts = {"read": 0, "asked": 0, "tokens": 0}
    reader = import_module("revise_captions.charts.read")
    seen_and_unread, load_merged = recent.seen_and_unread, language.load_merged

    def seen(pixels: Any) -> Any:
        counts["read"] += 1
        return seen_and_unread(pixels)

    def count(_: Any, given: Any, named: dict[str, torch.Tensor]) -> None:
        counts["asked"] += len(named["input_ids"])
        counts["tokens"] += named["input_ids"].numel()

    def loaded(*given: Any) -> Any:
        tokenizer, network = load_merged(*given)
        model.watch("language", [network.model])
        network.model.register_forward_pre_hook(count, with_kwargs=True)
        return tokenizer, network

    for module, name, value in (
        (recent, "seen_and_unread", ocr.timed(seen)),
        (reader, "with_turned", ocr.timed(reader.with_turned)),
        (language, "load_merged", loading.timed(loaded)),
        (run, "load_models", loading.timed(run.load_models)),
    ):
        setattr(module, name, value)
    out = folder / "out.jsonl"
    places = {"source": str(folder / "in.jsonl"), "out": str(out), "image_root": data}
    began, wall = time.process_time(), time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        summary = run.run(JobOptions.of({**places, "allow_unscored": True}))
    took = time.process_time() - began - loading.seconds
    return {
        "sentences": summary["sentences"]["total"],
        **counts,
        "seconds_wall": round(time.perf_counter() - wall, 1),
        "seconds": round(took, 1),
        "seconds_ocr": round(ocr.seconds, 1),
        "seconds_language": round(sum(model.seconds.values()), 1),
        "outside": round(took / ocr.seconds - 1, 2),
        "peak_gigabytes": round(peak_memory() / 1e9, 2),
        "output": hashlib.sha256(out.read_bytes()).hexdigest()[:12],
    }


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--captions", default=24, show_default=True)
def main(data: Path, captions: int) -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        images = write_input(data, Path(name), captions)
        print(json.dumps({"captions": captions, "images": images, **measured(data, Path(name))}))


if __name__ == "__main__":
    main()
