"""A running server: what it can do, and how many requests a second, ours and without us.

    python -m scripts.bench.servers llama.cpp=http://localhost:8080/v1 [NAME=MODEL@URL …] [--write]

Short rewrites (24 tokens at most) are asked for, 1, 8 and 32 at once: through the engine of this
package, and, with the same bodies, by a bare loop of HTTP requests, which is the server's limit.
The two take turns. Figures are ratios to the bare loop at 1, so that a busy machine blurs them
less; its requests a second stand beside them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import click

from revise_captions.command_line.printing import echo
from revise_captions.engines.openai.messages import messages_of
from revise_captions.engines.openai.probe import connect
from revise_captions.engines.openai.server import OpenAIEngine
from revise_captions.engines.protocol import Data, Failed, Prompt, Template
from revise_captions.errors import UserError
from scripts.research.frame import blocks as markdown

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = (1, 8, 32)
TOKENS = 24
HEAD = (
    "| server | log-probabilities | images | prefix cache | requests/s at 1 | at 8 | at 32 | ours |"
)


def prompts(count: int, first: int) -> list[Prompt]:
    """Prompts that begin alike and differ at the end, as a caption's do; no number comes twice."""
    asked = Template("Rewrite the sentence in other words, and say nothing else. Sentence: ")
    return [
        Prompt((asked, Data(f"Picture {first + k} shows a red house near a small lake.")))
        for k in range(count)
    ]


def ours(engine: OpenAIEngine, asked: Sequence[Prompt], at_once: int) -> None:
    """Through the engine. Raises ValueError where an answer fails."""
    engine.in_flight = engine.http.pace.most = at_once
    engine.http.pace.at_once = float(at_once)
    for answer in engine.generate(asked, TOKENS):
        if isinstance(answer, Failed):
            raise ValueError(answer.detail)


def bare(engine: OpenAIEngine, asked: Sequence[Prompt], at_once: int) -> None:
    """The same bodies without the engine. Raises httpx's errors."""
    import httpx

    bodies = [
        {
            "model": engine.model,
            "messages": messages_of(prompt),
            "temperature": 0.0,
            engine.can.limit: TOKENS,
        }
        for prompt in asked
    ]
    with httpx.Client(timeout=600) as client, ThreadPoolExecutor(at_once) as pool:

        def send(body: object) -> None:
            client.post(f"{engine.http.base}/chat/completions", json=body).raise_for_status()

        list(pool.map(send, bodies))


Way = Callable[[OpenAIEngine, Sequence[Prompt], int], None]


def measured(engine: OpenAIEngine, count: int, rounds: int) -> dict[tuple[str, int], float]:
    """Requests a second of both ways, by what is at once: the median of some rounds, in turns."""
    rates: dict[tuple[str, int], list[float]] = {}
    ways: list[tuple[str, Way]] = [("bare", bare), ("ours", ours)]
    ours(engine, prompts(2, 0), 1)
    first = 2
    for _ in range(rounds):
        for at_once in AT_ONCE:
            ways.reverse()
            for name, way in ways:
                began = time.monotonic()
                way(engine, prompts(count, first), at_once)
                rates.setdefault((name, at_once), []).append(count / (time.monotonic() - began))
                first += count
    return {key: median(values) for key, values in rates.items()}


@click.command(help=__doc__)
@click.argument("servers", nargs=-1, required=True, metavar="NAME=[MODEL@]URL…")
@click.option("--requests", type=click.IntRange(1), default=32)
@click.option("--rounds", type=click.IntRange(1), default=3)
@click.option("--write", is_flag=True, help="Also into docs/measurements/engines.md.")
def main(servers: tuple[str, ...], requests: int, rounds: int, write: bool) -> None:
    lines = [HEAD, "| --- " * 8 + "|"]
    for text in servers:
        name, _, server = text.partition("=")
        model, _, url = server.rpartition("@")
        engine = connect(model, url, scores=True)
        try:
            images = "yes" if connect(model, url, images=True).can.images else "no"
        except UserError as error:
            echo(f"{name}: {error}")
            images = "this model takes none"
        rates = measured(engine, requests, rounds)
        one = rates["bare", 1]
        gains = [f"× {rates['bare', number] / one:.1f}" for number in AT_ONCE[1:]]
        kept = ", ".join(f"{rates['ours', n] / rates['bare', n]:.0%}" for n in AT_ONCE)
        cells = [name, engine.can.logprobs, images]
        cells += ["reported" if engine.reports_cache else "not reported"]
        lines.append("| " + " | ".join([*cells, f"{one:.2f}", *gains, kept]) + " |")
        echo(lines[-1])
    if write:
        markdown.write_to_pages(ROOT, {"servers": "\n".join(lines)})


if __name__ == "__main__":
    main()
