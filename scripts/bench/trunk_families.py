"""Every family of vision–language models: is a tree of tokens equal to one prompt a sentence?

    python -m scripts.bench.trunk_families [--write]

Tiny random models of each architecture, with grouped heads and, where the family has them, sliding
windows and bidirectional images, in float32 against transformers' own unbatched forward pass and
`generate`. Families whose processors import torchvision need one that can be imported, or a folder
with one in REVISE_CAPTIONS_TORCHVISION (see `scripts/checks/families`).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from revise_captions.command_line.printing import echo
from scripts.research.frame import blocks as markdown

ROOT = Path(__file__).resolve().parents[2]


@click.command(help=__doc__)
@click.option("--write", is_flag=True, help="Also into docs/measurements/engines.md.")
def main(write: bool) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    import torchvision_shim

    torchvision_shim.install()
    import every_family
    import tinyvlm

    lines = ["| family | prompt tokens | as trees | max \\|ΔP\\| | rationales equal |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for family in (*tinyvlm.PLAIN, *tinyvlm.VIDEO):
        with tempfile.TemporaryDirectory() as folder:
            found = every_family.check(family, Path(folder))
        lines.append(
            f"| {family} | {found.tokens:,} | {found.nodes:,} | {found.apart:.0e} "
            f"| {found.rationales} of {found.rationales} |"
        )
        echo(lines[-1])
    if write:
        markdown.write_to_pages(ROOT, {"families": "\n".join(lines)})


if __name__ == "__main__":
    main()
