"""What POSH's figures were under earlier judges and graphs, and what they are now.

    python -m scripts.research.posh.changes --write

takes the present ones from the table of `evaluate` (src/revise_captions/posh/README.md), earlier
ones from `earlier.json` beside this file, which holds the values that it printed then.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from scripts.research.markdown import write_blocks

ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "src/revise_captions/posh/README.md"
NOTE = ROOT / "docs/research/2026-11-22-truth.md"
EARLIER = Path(__file__).with_name("earlier.json")
#: Rows begin with these.
_SHOWN = (
    "FACTUAL dev: SPICE-style", "FACTUAL train", "DiscoSG: F1 of", "DeCapBench: units covered",
    "FaithScore facts ROC-AUC: offline", "IIW pairs, Hallucination", "contrasts",
    "Flickr8k-Expert τ-c, reporting half: offline", "Flickr8k-Expert τ-c, reporting half: above",
    "Flickr8k-Expert, reporting half",
)  # fmt: skip


def table(page: str, earlier: dict[str, dict[str, str]]) -> str:
    """Markdown: a row for each figure, a column for each version, the target and its verdict."""
    lines = page.split("<!-- posh -->\n")[1].split("<!-- /posh -->")[0].splitlines()
    versions = list(earlier)
    rows = [
        "| figure | " + "".join(f"judge {v} | " for v in versions) + "now | target |",
        "| --- | " + "--- | " * len(versions) + "--- | --- |",
    ]
    for line in lines[2:]:
        name, value, *_, target = (cell.strip() for cell in line.strip("|").split("|"))
        plain = name.partition("[")[0].strip()
        if plain.startswith(_SHOWN):
            before = "".join(f"{earlier[v].get(plain, '')} | " for v in versions)
            rows.append(f"| {name} | {before}{value} | {target} |")
    return "\n".join(rows)


@click.command()
@click.option("--write", is_flag=True, help="Into the research note.")
def main(write: bool) -> None:
    """Print POSH's figures under each version of its judge."""
    earlier = json.loads(EARLIER.read_text(encoding="utf-8"))
    found = table(TABLE.read_text(encoding="utf-8"), earlier)
    click.echo(found)
    if write:
        write_blocks(NOTE, {"posh changes": found})


if __name__ == "__main__":
    sys.exit(main())
