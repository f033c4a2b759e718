"""How long a large job takes, and what it asks of the machines around the GPUs.

    python -m scripts.bench.plan_job --captions 10_000_000 --gpus 64 \
        --records-per-second 9.5 --price 2.5

`--records-per-second` is what one GPU did on a sample of the very input: the last line of the table
that `revise-captions … --limit 2000` prints. Nothing is assumed about models or cards. Everything
else is divided from it; options say what the images and rows are like.

    python -m scripts.bench.plan_job --captions 10_000_000 --gpus 64 --teraflops 400

Before there is a measurement, `--teraflops` (what the card sustains on matrices of this size)
gives a bound from the matrix work alone, two operations per weight and token: every sentence judged
once, nothing else, no time lost. The defaults are PaliGemma 2 3B at 448 pixels (2.02e9 weights in
its language model's layers, 0.41e9 in its tower's) and the tokens of captions of seven sentences of
20 words as scripts/bench/packing.py counts them. A job takes longer than its bound.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Any

#: Records of a window; a replica has one in work and two more in hand.
WINDOW, IN_HAND = 64, 3


@dataclass(frozen=True, slots=True)
class Job:
    """`rate`: records per second of one GPU. `efficiency`: of all together, against so many ones.

    `decode`: seconds of one core for reading and decoding an image. Sizes in bytes.
    """

    captions: int
    gpus: int
    rate: float
    efficiency: float
    decode: float
    image: float
    row: float
    price: float | None


def plan(job: Job) -> dict[str, Any]:
    """Everything that follows; rates are of the whole cluster."""
    records = job.rate * job.gpus * job.efficiency
    seconds = job.captions / records
    hours = seconds / 3600
    lost = IN_HAND * WINDOW
    return {
        "records_per_second": round(records, 1),
        "hours": round(hours, 2),
        "gpu_hours": round(hours * job.gpus, 1),
        "cost": None if job.price is None else round(hours * job.gpus * job.price, 2),
        "cores_for_images": round(records * job.decode, 1),
        "image_megabytes_per_second": round(records * job.image / 1e6, 1),
        "output_gigabytes": round(job.captions * job.row / 1e9, 2),
        "windows": -(-job.captions // WINDOW),
        "seconds_lost_with_a_replica": round(lost / job.rate, 1),
        "hours_on_one_gpu": round(job.captions / job.rate / 3600, 1),
    }


def bound(teraflops: float, weights: float, tokens: float, tower: float, patches: float) -> float:
    """Captions per second that matrix work allows, each judged once."""
    return teraflops * 1e12 / (2 * (weights * tokens + tower * patches))


def count(text: str) -> int:
    return int(float(text.replace("_", "").replace(",", "")))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--captions", type=count, required=True)
    add("--gpus", type=int, required=True)
    add("--records-per-second", type=float, help="measured rate of one GPU")
    add("--teraflops", type=float, help="instead: what one GPU sustains")
    add("--weights", type=float, default=2.02e9, help="parameters of the language model's layers")
    add("--tokens", type=float, default=1380.0, help="text and image tokens per caption")
    add("--tower-weights", type=float, default=0.41e9)
    add("--patches", type=float, default=1024.0)
    add("--efficiency", type=float, default=1.0, help="of scaling; measure it on one node")
    add("--decode-ms", type=float, default=10.0, help="time of one core per image")
    add("--image-kilobytes", type=float, default=200.0)
    add("--row-kilobytes", type=float, default=2.5, help="size of an output row")
    add("--price", type=float, help="of a GPU hour, in any currency")
    given = parser.parse_args()
    if (given.records_per_second is None) is (given.teraflops is None):
        parser.error("give --records-per-second, or --teraflops for a bound")
    rate = given.records_per_second or bound(
        given.teraflops, given.weights, given.tokens, given.tower_weights, given.patches
    )
    if given.captions < 1 or given.gpus < 1 or rate <= 0:
        parser.error("captions, GPUs and the rate must be positive")
    if not 0 < given.efficiency <= 1:
        parser.error("--efficiency is a share, from 0 to 1")
    job = Job(
        given.captions,
        given.gpus,
        rate,
        given.efficiency,
        given.decode_ms / 1000,
        given.image_kilobytes * 1000,
        given.row_kilobytes * 1000,
        given.price,
    )
    kind = "a bound" if given.records_per_second is None else "measured"
    print(json.dumps({"rate_of_one_gpu": round(rate, 2), "rate_is": kind, **plan(job)}, indent=1))


if __name__ == "__main__":
    main()
