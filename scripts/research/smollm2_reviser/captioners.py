"""Rewrites of fifty sentences that real captioners wrote, to be read by eye.

    python -m scripts.research.smollm2_reviser.captioners DATA [--reviser smollm2] [--out FILE]

`captioners.jsonl` has a written rationale for each sentence, which it names by captioner, caption
and number: the sentences themselves stay in DATA (`lvlm_captions`). Whoever reads the rewrites puts
a verdict beside the digest of what was read; a rewrite that has changed since has none.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from revise_captions.commands import echo
from revise_captions.io.writing import write_text
from revise_captions.reviser.guards import check
from revise_captions.reviser.load import load_reviser
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.sentences import split
from scripts.research import markdown
from scripts.research.smollm2_reviser.evaluate import PAGE

LISTED = Path(__file__).with_name("captioners.jsonl")
WORDS = range(5, 41)


def requests(data: Path, rows: list[dict[str, Any]]) -> list[RewriteRequest]:
    """A request for each row, with what the caption says before the sentence."""
    captions = {
        name: [row["text"] for row in _objects(data / "lvlm_captions" / f"{name}.json")]
        for name in {row["captioner"] for row in rows}
    }
    found = []
    for row in rows:
        text = captions[row["captioner"]][row["caption"]]
        spans = [s for s in split(text) if len(s.of(text).split()) in WORDS]
        span = [s for s in spans if "\n" not in s.of(text)][row["sentence"]]
        found.append(RewriteRequest(text[: span.start], span.of(text), row["rationale"]))
    return found


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Objects of a file that has one a line, or one after another."""
    text, decoder, at = path.read_text(encoding="utf-8"), json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        yield value


def digest(rewrite: str | None) -> str:
    """What a verdict is about."""
    return hashlib.sha256(repr(rewrite).encode()).hexdigest()[:8]


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--reviser", default="smollm2", show_default=True, help="Whose rewrites.")
@click.option("--out", type=click.Path(path_type=Path), help="List with digests, for verdicts.")
@click.option("--write", is_flag=True, help="The verdicts also into the model card.")
def main(data: Path, reviser: str, out: Path | None, write: bool) -> None:
    rows = [json.loads(line) for line in LISTED.read_text(encoding="utf-8").splitlines()]
    asked = requests(data, rows)
    counts: Counter[str] = Counter()
    for row, request, text in zip(rows, asked, load_reviser(reviser).rewrite(asked), strict=True):
        why = "no answer"
        if text is not None:
            why = check(request.sentence, request.rationale, text, mode="strict").why or "passes"
        verdict = row.get("verdict", "") if row.get("digest") == digest(text) else "not read"
        row["verdict"] = verdict
        counts[verdict] += 1
        echo(f"{row['captioner']} {row['caption']} {row['sentence']}: {verdict} ({why})")
        echo(f"  {request.sentence}\n  {row['rationale']}\n  {text!r}")
        row["digest"] = digest(text)
    echo(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    if write:
        block = ["| captioner | caption | sentence | rationale | verdict |", "| --- " * 5 + "|"]
        for row in rows:
            cells = (row["captioner"], row["caption"], row["sentence"], row["rationale"])
            block.append(f"| {' | '.join(map(str, cells))} | {row['verdict']} |")
        said = ", ".join(f"{count} {name}" for name, count in counts.most_common())
        markdown.write_blocks(PAGE, {"captioners": "\n".join([f"{said}.", "", *block])})
    if out:
        write_text(out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


if __name__ == "__main__":
    main()
