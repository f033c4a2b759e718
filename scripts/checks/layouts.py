"""Five layouts: a recipe each, the layout's own loader, a step of training, decisions, and back.

    python -m scripts.checks.layouts [--images 200] [--write]

Draws picture-book scenes, writes them with simulated captions in each layout, runs a recipe of a
few lines with the bundled models, reads the result as those who train on it do, and takes a step of
training. Then every flagged sentence is rejected as in the explorer, applied, and every decision is
taken back: captions are as they came, and then files are what the recipe wrote, byte for byte.
`--write` puts the table into the page that has its marks, docs/measurements/recipes.md.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.captions import main as captions
from revise_captions.pipelines.annotate.tasks.decided import decidable
from revise_captions.pipelines.explore.index import RunFile
from revise_captions.pipelines.explore.session import ExploreOptions, open_session
from scripts.checks.training import LAYOUTS, read, trained_on
from scripts.research.frame.blocks import write_to_pages

ROOT = Path(__file__).resolve().parents[2]
Scene = tuple[Path, str]


# --- Inputs -------------------------------------------------------------------------------------


def draw(folder: Path, scenes: int) -> list[Scene]:
    """Pictures in the folder's `images`, and a caption of each."""
    program = [sys.executable, "-m", "revise_captions.picturebook.generate", str(folder / "world")]
    size = ["--scenes", str(scenes), "--split", "test", "--mode", "captioners", "--workers", "1"]
    subprocess.run([*program, *size], check=True, capture_output=True)
    (folder / "images").mkdir()
    found = []
    for n, line in enumerate((folder / "world" / "test.jsonl").read_text().splitlines()):
        row = json.loads(line)
        path = folder / "images" / f"{n:03}.png"
        shutil.copy(folder / "world" / row["image"], path)
        found.append((path, row["caption"]))
    return found


def _folder(path: Path, scenes: list[Scene]) -> None:
    path.mkdir()
    for image, _ in scenes:
        shutil.copy(image, path)


def _metadata(path: Path, scenes: list[Scene]) -> None:
    _folder(path, scenes)
    rows = [json.dumps({"file_name": image.name, "text": text}) for image, text in scenes]
    (path / "metadata.jsonl").write_text("\n".join(rows) + "\n")


def _beside(path: Path, scenes: list[Scene]) -> None:
    _folder(path, scenes)
    for image, text in scenes:
        (path / f"{image.stem}.txt").write_text(text)


def _tar(path: Path, scenes: list[Scene]) -> None:
    with tarfile.open(path, "w") as archive:
        for image, text in scenes:
            for name, data in ((image.name, image.read_bytes()), (f"{image.stem}.txt", text)):
                content = data.encode() if isinstance(data, str) else data
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def _llava(path: Path, scenes: list[Scene]) -> None:
    rows = [
        {
            "id": image.stem,
            "image": f"images/{image.name}",
            "conversations": [
                {"from": "human", "value": "<image>\nDescribe the picture."},
                {"from": "gpt", "value": text},
            ],
        }
        for image, text in scenes
    ]
    path.write_text(json.dumps(rows, indent=2))


def _coco(path: Path, scenes: list[Scene]) -> None:
    images = [{"id": n, "file_name": image.name} for n, (image, _) in enumerate(scenes)]
    notes = [{"id": n, "image_id": n, "caption": text} for n, (_, text) in enumerate(scenes)]
    path.write_text(json.dumps({"images": images, "annotations": notes}))


@dataclass(frozen=True, slots=True)
class LayoutCheck:
    """A layout of `training.LAYOUTS`: its name for people, IN and OUT, and what writes IN."""

    name: str
    said: str
    source: str
    out: str
    make: Callable[[Path, list[Scene]], None]

    def recipe(self) -> str:
        root = '[input]\nimage_root = "images"\n' if self.name == "coco" else ""
        paths = f'in = "{self.source}"\nout = "{self.out}"\n'
        return f'{paths}{root}[write]\nwrite = "caption"\nevidence = "sidecar"\n'


ALL = (
    LayoutCheck("metadata", "`metadata.jsonl`", "faces", "faces-clean", _metadata),
    LayoutCheck("tar", "WebDataset", "shard.tar", "shard-clean.tar", _tar),
    LayoutCheck("llava", "LLaVA's JSON", "llava.json", "llava-clean.json", _llava),
    LayoutCheck("coco", "COCO", "coco.json", "coco-clean.json", _coco),
    LayoutCheck("beside", "`1.txt` beside `1.png`", "photos", "photos-clean", _beside),
)


# --- The way ------------------------------------------------------------------------------------


def run(*words: str) -> None:
    """`captions …`, in this process. Raises `RuntimeError` with what it said where it fails."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            captions(list(words))
        except SystemExit as stopped:
            if stopped.code:
                raise RuntimeError(f"captions {' '.join(words)}\n{said.getvalue()}") from None


def files_of(path: Path) -> dict[str, bytes]:
    paths = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return {str(p.relative_to(path)): p.read_bytes() for p in paths}


def decide(out: str, decision: str) -> str:
    """The explorer's file of one decision about every flagged sentence; "" takes it back."""
    session = open_session(ExploreOptions(RunFile(out)))
    for (number,) in session.index.db.execute("SELECT id FROM captions ORDER BY id").fetchall():
        revision = session.stored(number).row.revision
        for sentence in decidable(revision) if revision else ():
            session.decide(number, sentence, decision, "")
    return str(session.decisions.path)


def row_of(layout: LayoutCheck, scenes: list[Scene]) -> list[str]:
    """A row of the table, from the whole way in the current folder."""
    layout.make(Path(layout.source), scenes)
    images = Path("images" if layout.name == "coco" else ".")
    before = read(layout.name, Path(layout.source), images)
    came = files_of(Path(layout.source))
    Path("recipe.toml").write_text(layout.recipe())
    run("run", "recipe.toml")
    now = read(layout.name, Path(layout.out), images)
    corrected = sum(a[1] != b[1] for a, b in zip(before, now, strict=True))
    loss = trained_on(layout.name, now[:16])
    made, kept = files_of(Path(layout.out)), f"{layout.out}.evidence.jsonl"
    evidence = Path(kept).read_bytes()
    new = f"new-{layout.out}"
    apply = ["apply", layout.out, decide(layout.out, "reject"), new]
    run(*apply)
    rejected = [text for _, text in read(layout.name, Path(new), images)]
    undone = rejected == [text for _, text in before]
    decide(layout.out, "")
    run(*apply, "--force")
    undone = undone and files_of(Path(new)) == made
    undone = undone and Path(f"{new}.evidence.jsonl").read_bytes() == evidence
    if layout.name == "beside":
        run("apply", layout.source, layout.out, "--in-place")
        undone = undone and read(layout.name, Path(layout.source), images) != before
        run("undo", layout.source)
    undone = undone and files_of(Path(layout.source)) == came
    return [
        *(layout.said, f"`{layout.out}`", LAYOUTS[layout.name][0]),
        *(str(len(now)), str(corrected), f"{loss:.2f}", "yes" if undone else "no"),
    ]


HEAD = ["layout", "OUT", "read by", "records", "corrected", "loss", "taken back, to the byte"]


def table(images: int, said: Callable[[str], Any]) -> str:
    """The table, as Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "| --- " * len(HEAD) + "|"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        scenes = draw(Path(folder), images)
        for layout in ALL:
            lines.append(f"| {' | '.join(row_of(layout, scenes))} |")
            said(lines[-1])
    return "\n".join(lines)


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--images", default=200, show_default=True)
@click.option("--write", is_flag=True, help="Into docs/measurements/recipes.md.")
def main(images: int, write: bool) -> None:
    block = table(images, lambda line: click.echo(line, err=True))
    block += f"\n\nCommand: `python -m scripts.checks.layouts`, {images} images in each layout."
    click.echo(block)
    if write:
        write_to_pages(ROOT, {"layouts": block})


if __name__ == "__main__":
    main()
