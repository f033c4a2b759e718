"""How well revisers follow rationales on edits of held-out images with held-out words.

    python -m scripts.research.smollm2_reviser.evaluate DATA picture-book smollm2 --json FILE

Printed for each kind of edit: exact or equivalent rewrites; rewrites whose remainder, what stands
before and after the change, is byte for byte the sentence's; rewrites with content words that are
neither in the sentence nor in the rationale. Floors: a copy, the named words deleted,
`picture-book`, the small bundled model, and `zero-shot`, SmolLM2 without the adapter.
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from revise_captions.command_line.printing import echo
from revise_captions.critic.reading.rationale import read, with_named_fixes
from revise_captions.engines.model_spec import Placement
from revise_captions.engines.smollm2 import smollm2_folder
from revise_captions.reviser.builtin import ADAPTER, BUNDLED
from revise_captions.reviser.load import load_reviser
from revise_captions.reviser.protocol import Reviser, RewriteRequest
from revise_captions.text.content_words import content, new_content
from scripts.research.frame.blocks import write_blocks
from scripts.research.frame.figures import share_of_hits, spread
from scripts.research.smollm2_reviser.edits import EditExample, stream
from scripts.research.smollm2_reviser.faults import articled
from scripts.research.smollm2_reviser.train import read_edits

FLOOR = "floor: "
#: Nothing was tuned on its edits, as was on those of the seeds `held out`, `rules`, `reported`,
#: `rest20 dev` and `gpu dev`.
SEED = "reported/4"
ZERO_SHOT, ALONE = "zero-shot", "picture-book"
#: The model card, where `--write` puts tables.
PAGE = ADAPTER / "README.md"
Rewrite = Callable[[Sequence[RewriteRequest]], list[str | None]]


@dataclass(frozen=True, slots=True)
class Judged:
    """One rewrite against the one right answer."""

    image: str
    kind: str
    right: bool
    kept: bool
    supported: bool


def kind_of(example: EditExample) -> str:
    """The row of the table that an example belongs to."""
    if example.command and example.task != "foreign":
        return "with a command"
    if example.voice == "unheard":
        return "an unheard voice"
    if example.task == "number":
        return "one or many"
    if example.task == "one":
        return "one fault" if example.voice == "plain" else f"one fault, {example.voice}"
    return {
        "several": "several faults", "mixed": "several faults", "added": "removal",
        "removed": "removal", "nothing": "sentence goes", "foreign": "nothing to change",
    }[example.task]  # fmt: skip


def same(text: str, right: str) -> bool:
    """Whether two texts are equal up to case, articles' form, white space and a final stop."""

    def key(value: str) -> str:
        return re.sub(r"\s+", " ", articled(value).casefold()).strip().rstrip(".")

    return key(text) == key(right)


def kept_remainder(sentence: str, right: str, text: str) -> bool:
    """Whether `text` keeps what stands before and after the change from sentence to `right`."""
    before = _shared(sentence, right)
    after = _shared(sentence[len(before) :][::-1], right[len(before) :][::-1])[::-1]
    return text.startswith(before) and text.endswith(after)


def _shared(one: str, two: str) -> str:
    """The whole words that both texts begin with."""
    end = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None)
    shared = one[: min(len(one), len(two)) if end is None else end]
    return shared[: shared.rfind(" ") + 1]


def judged(example: EditExample, text: str | None) -> Judged:
    sentence, right = example.request.sentence, example.rewrite
    found = sentence if text is None else text
    rest = right == "" or kept_remainder(sentence, right, found)
    supported = not new_content(found, sentence, example.request.rationale)
    return Judged(example.image, kind_of(example), same(found, right), rest, supported)


def copied(requests: Sequence[RewriteRequest]) -> list[str | None]:
    """The floor that changes nothing."""
    return [request.sentence for request in requests]


def named_deleted(requests: Sequence[RewriteRequest]) -> list[str | None]:
    """The floor that deletes what the rationale negates and the sentence says."""
    written: list[str | None] = []
    for request in requests:
        named = re.search(r"\b(?:not|no|instead of|rather than) (?:an? )?(\w+)", request.rationale)
        gone = named.group(1) if named else next(iter(content(request.rationale).values()), "")
        text = re.sub(rf" ?\b{re.escape(gone)}\b", "", request.sentence) if gone else ""
        written.append(" ".join(text.split()))
    return written


def held_out_examples(data: Path, each: int, seed: str) -> list[EditExample]:
    """As many examples of each row of the table, in the order they are drawn."""
    edits = read_edits(data, held=True)
    counts: dict[str, int] = {}
    chosen: list[EditExample] = []
    rows = 10
    for made in stream(edits.data, edits.words, seed):
        kind = kind_of(made)
        if counts.get(kind, 0) < each:
            counts[kind] = counts.get(kind, 0) + 1
            chosen.append(made)
        if len(counts) == rows and min(counts.values()) == each:
            return chosen
    raise AssertionError("the stream has no end")


def as_a_job_asks(request: RewriteRequest) -> RewriteRequest:
    """With what is read in the rationale."""
    said = request.rationale, request.sentence
    return replace(request, fixes=with_named_fixes(*said).fixes, faults=read(*said))


def table(name: str, results: Sequence[Judged], speed: str) -> list[str]:
    """Rows of Markdown: kind, right with interval, remainder kept, unsupported words; the speed."""
    lines = []
    for kind in [*dict.fromkeys(r.kind for r in results), "all"]:
        some = [r for r in results if kind in (r.kind, "all")]
        found = share_of_hits([r.right for r in some], [r.image for r in some])
        right = f"{found.value:.3f}{spread(found.low, found.high)}"
        kept = sum(r.kept for r in some) / len(some)
        new = sum(not r.supported for r in some) / len(some)
        lines.append(f"| {name} | {kind} | {right} of {len(some)} | {kept:.3f} | {new:.3f} |")
    if not name.startswith(FLOOR):
        lines.append(f"| {name} | sentences/s | {speed} | | |")
    return lines


def timed(rewrite: Rewrite, requests: Sequence[RewriteRequest]) -> tuple[list[str | None], str]:
    """Rewrites, and how many there were a second: of the clock, and of the processor's time, which
    depends less on what else runs."""
    import torch

    began, worked = time.perf_counter(), time.process_time()
    texts = rewrite(requests)
    clock, work = time.perf_counter() - began, time.process_time() - worked
    per_second = f"{len(texts) / clock:.1f} ({len(texts) / work:.1f} a second of CPU time)"
    threads, load = torch.get_num_threads(), os.getloadavg()[0]
    return texts, f"{per_second}; threads: {threads}, load: {load:.1f}"


def reviser_of(name: str, dtype: str = "auto") -> Reviser:
    """A reviser by name; `zero-shot` is SmolLM2 without the adapter, through its chat template, and
    `picture-book` the small bundled model alone."""
    folders = {ZERO_SHOT: smollm2_folder, ALONE: lambda: BUNDLED}
    return load_reviser(str(folders[name]()) if name in folders else name, Placement(dtype=dtype))


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.argument("revisers", nargs=-1, required=True)
@click.option("--each", default=100, show_default=True, help="Examples of each kind.")
@click.option("--seed", default=SEED, show_default=True, help="Seed of the examples.")
@click.option("--json", "out", type=click.Path(path_type=Path), help="Write every rewrite here.")
@click.option("--dtype", default="auto", show_default=True, help="What models compute in.")
@click.option("--write", is_flag=True, help="Also into the model card.")
@click.option("--block", default="edits", show_default=True, help="Whose marks --write fills.")
def main(
    data: Path, revisers: tuple[str, ...], each: int, seed: str, out: Path | None, dtype: str,
    write: bool, block: str,
) -> None:  # fmt: skip
    examples = held_out_examples(data, each, seed)
    random.Random(0).shuffle(examples)
    requests = [as_a_job_asks(example.request) for example in examples]
    lines = ["| reviser | edits | right | remainder kept | unsupported words |"]
    lines.append("| --- | --- | --- | --- | --- |")
    rows = []
    named: dict[str, Rewrite] = {f"{FLOOR}copy": copied, f"{FLOOR}delete": named_deleted}
    named |= {name: reviser_of(name, dtype).rewrite for name in revisers}
    for name, rewrite in named.items():
        texts, speed = timed(rewrite, requests)
        results = [judged(e, text) for e, text in zip(examples, texts, strict=True)]
        found = table(name, results, speed)
        echo("\n".join(found))
        lines += found
        for example, text, result in zip(examples, texts, results, strict=True):
            request = example.request
            rows.append(
                {"reviser": name, "kind": result.kind, "kinds": example.kinds,
                 "right": result.right, "sentence": request.sentence,
                 "rationale": request.rationale,
                 "rewrite": text, "expected": example.rewrite}
            )  # fmt: skip
    if write:
        write_blocks(PAGE, {block: "\n".join(lines)})
    if out:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
