"""Copies a trained pipeline into the package: what is needed to parse, and nothing of training.

python -m scripts.research.parser.install runs/parser/second/model-best \\
    src/revise_captions/graphs/bundled
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click

from revise_captions.io.writing import write_text
from scripts.research.parser.train import HIDDEN

#: The limit on what comes with the package, in bytes.
LARGEST = 20_000_000


@click.command()
@click.argument("model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def main(model: Path, folder: Path) -> None:
    """Replace the pipeline in FOLDER by MODEL; its README.md stays."""
    import spacy

    nlp = spacy.load(model)
    nlp.meta.update(
        name="revise_captions_parser",
        version="1.0.0",
        license="CC BY-SA 4.0",
        author="revise-captions",
        description="Trained on Universal Dependencies English-EWT and captions written from "
        "FACTUAL's scene graphs, with word vectors from all-MiniLM-L6-v2.",
    )
    nlp.meta.pop("performance", None)
    card = folder / "README.md"
    kept = card.read_text(encoding="utf-8") if card.is_file() else ""
    shutil.rmtree(folder, ignore_errors=True)
    nlp.to_disk(folder)
    strings = folder / "vocab" / "strings.json"
    names = [name for name in json.loads(strings.read_text()) if not name.startswith(HIDDEN)]
    write_text(strings, json.dumps(names, ensure_ascii=False))
    if kept:
        write_text(card, kept)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > LARGEST:
        raise click.ClickException(f"{size} bytes, and at most {LARGEST} may be shipped")
    click.echo(f"{size / 1e6:.1f} MB in {folder}")


if __name__ == "__main__":
    main()
