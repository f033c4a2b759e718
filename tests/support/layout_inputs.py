"""An input in each layout, with the same captions of the same pictures, and its captions' readers.

`make(layout, folder)` gives the input's name, OUT's suffix and further options; `texts(layout,
out)` the captions that a training loader of the layout finds in an output.
"""

from __future__ import annotations

import csv
import io
import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from revise_captions.io.readers import open_rows
from revise_captions.io.rows import Row
from scripts.checks import training

COUNT = 70
LAYOUTS = (
    *("jsonl", "llava", "csv", "coco", "metadata", "beside", "beside-json", "tar", "tar-json"),
    *("parquet", "parquet-chat", "saved"),
)
_TEXTS = ["One.", 'A "quoted" cat.', "Two\nlines.", "Comma, too.", "Zürich; 日本.", " padded "]


class Made(NamedTuple):
    """An input: its name, the suffix of an output of its layout, options that it needs."""

    source: str
    suffix: str
    options: list[str]


def caption(number: int) -> str:
    return f"Cat {number}. {_TEXTS[number % len(_TEXTS)]}"


def conversation(number: int) -> list[dict[str, str]]:
    return [
        {"from": "human", "value": "<image>\nDescribe it."},
        {"from": "gpt", "value": caption(number)},
        {"from": "human", "value": "Sure?"},
        {"from": "gpt", "value": "Yes."},
    ]


def make(layout: str, folder: Path) -> Made:
    """Writes the input into the folder, which holds `images` then, too."""
    images = folder / "images"
    images.mkdir(exist_ok=True)
    for number in range(20):
        Image.new("RGB", (9, 7), (12 * number, 0, 0)).save(images / f"{number}.png")
    return _MAKERS[layout](layout, folder)


def image(number: int) -> str:
    return f"images/{number % 20}.png"


def _lines(layout: str, folder: Path) -> Made:
    with (folder / "in.jsonl").open("w") as file:
        for n in range(COUNT):
            text = json.dumps(caption(n), ensure_ascii=n % 2 == 0)
            file.write(f'{{"n":{n}.0, "image": "{image(n)}","caption" :{text} , "big": 1e400}}\n')
    return Made("in.jsonl", ".jsonl", [])


def _llava(layout: str, folder: Path) -> Made:
    rows = [
        {"id": str(n), "image": image(n), "conversations": conversation(n)} for n in range(COUNT)
    ]
    (folder / "in.json").write_text(json.dumps(rows, ensure_ascii=False, indent=2))
    return Made("in.json", ".json", [])


def _csv(layout: str, folder: Path) -> Made:
    with (folder / "in.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "image", "caption", "note"])
        writer.writerows([n, image(n), caption(n), f'{n:03} "x"'] for n in range(COUNT))
    return Made("in.csv", ".csv", [])


def coco(count: int) -> dict[str, Any]:
    """COCO's file of so many captions of twenty images."""
    return {
        "info": {"year": 2014},
        "images": [{"id": n, "file_name": f"{n}.png", "width": 9, "height": 7} for n in range(20)],
        "annotations": [
            {"id": n, "image_id": n % 20, "caption": caption(n), "score": n / 7}
            for n in range(count)
        ],
        "licenses": [{"id": 1, "name": "CC BY 4.0"}],
    }


def _coco(layout: str, folder: Path) -> Made:
    (folder / "in.json").write_text(json.dumps(coco(COUNT), indent=1))
    return Made("in.json", ".json", ["--image-root", "images"])


def _folder(layout: str, folder: Path) -> Made:
    photos = folder / "photos"
    photos.mkdir()
    rows = []
    for n in range(COUNT):
        name = f"{n:03}.png"
        (photos / name).write_bytes((folder / image(n)).read_bytes())
        rows.append(json.dumps({"file_name": name, "text": caption(n)}) + "\n")
        if layout == "beside":
            (photos / f"{n:03}.txt").write_bytes(b"\xef\xbb\xbf" * (n % 2) + caption(n).encode())
        elif layout == "beside-json":
            (photos / f"{n:03}.json").write_text(json.dumps({"n": n, "caption": caption(n)}))
    if layout == "metadata":
        (photos / "metadata.jsonl").write_text("".join(rows))
    return Made("photos", "", [])


def _tar(layout: str, folder: Path) -> Made:
    with tarfile.open(folder / "in.tar", "w") as archive:
        for n in range(COUNT):
            members = [("png", (folder / image(n)).read_bytes())]
            if layout == "tar-json":
                members += [("json", json.dumps({"n": n, "caption": caption(n)}).encode())]
            else:
                members += [("txt", caption(n).encode()), ("json", b'{"n": %d}' % n)]
            for suffix, data in members:
                member = tarfile.TarInfo(f"{n:04}.{suffix}")
                member.size, member.mtime = len(data), n
                archive.addfile(member, io.BytesIO(data))
    return Made("in.tar", ".tar", [])


def _table(layout: str, folder: Path) -> Made:
    import datasets

    rows: dict[str, list[Any]] = {
        "image": [{"bytes": None, "path": image(n)} for n in range(COUNT)],
        "n": list(range(COUNT)),
    }
    if layout == "parquet-chat":
        rows["conversations"] = [conversation(n) for n in range(COUNT)]
    else:
        rows["caption"] = [caption(n) for n in range(COUNT)]
    data = datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image(decode=False))
    if layout == "saved":
        data.save_to_disk(folder / "saved")
        return Made("saved", "", ["--image-root", "."])
    data.to_parquet(folder / "in.parquet")
    return Made("in.parquet", ".parquet", [])


_MAKERS = {
    "jsonl": _lines,
    "llava": _llava,
    "csv": _csv,
    "coco": _coco,
    "metadata": _folder,
    "beside": _folder,
    "beside-json": _folder,
    "tar": _tar,
    "tar-json": _tar,
    "parquet": _table,
    "parquet-chat": _table,
    "saved": _table,
}


# --- What a training loader finds ---------------------------------------------------------------


def texts(layout: str, out: Path, cache: Path) -> list[str]:
    """The captions where the layout's own readers look for them, in order."""
    if layout in _READERS:
        return _READERS[layout](out, cache)
    return [text for _, text in training.read(layout, out, images_of(layout, out))]


def images_of(layout: str, out: Path) -> Path:
    """Where the images that a file in `make`'s folder names are."""
    return out.parent / "images" if layout == "coco" else out.parent


def _of_lines(out: Path, cache: Path) -> list[str]:
    return [json.loads(line)["caption"] for line in out.open()]


def _of_csv(out: Path, cache: Path) -> list[str]:
    import pandas

    return list(pandas.read_csv(out, dtype=str)["caption"])


def _of_files(out: Path, cache: Path) -> list[str]:
    """As kohya's sd-scripts read `--caption_extension .txt`: for each image the file of its name,
    which may not be empty. They take its first line, stripped; this, the whole text."""
    images = sorted(out.glob("*.png"))
    assert all(path.with_suffix(".txt").stat().st_size for path in images)
    return [path.with_suffix(".txt").read_text(encoding="utf-8-sig") for path in images]


def _of_json_files(out: Path, cache: Path) -> list[str]:
    images = sorted(out.glob("*.png"))
    return [json.loads(path.with_suffix(".json").read_text())["caption"] for path in images]


def _of_samples(out: Path) -> list[dict[str, Any]]:
    import webdataset

    samples = list(webdataset.WebDataset(str(out), shardshuffle=False).decode("rgb"))
    assert all(sample["png"].shape == (7, 9, 3) for sample in samples)
    return samples


def _of_json_tar(out: Path, cache: Path) -> list[str]:
    return [sample["json"]["caption"] for sample in _of_samples(out)]


def _of_table(out: Path, cache: Path) -> list[str]:
    import datasets

    data = datasets.Dataset.from_parquet(str(out), cache_dir=str(cache))
    assert data.features["image"] == datasets.Image(decode=False)
    if "conversations" in data.column_names:
        return [turns[1]["value"] for turns in data["conversations"]]
    return list(data["caption"])


def _of_saved(out: Path, cache: Path) -> list[str]:
    import datasets

    return list(datasets.load_from_disk(str(out))["caption"])


_READERS = {
    "jsonl": _of_lines,
    "csv": _of_csv,
    "beside": _of_files,
    "beside-json": _of_json_files,
    "tar-json": _of_json_tar,
    "parquet": _of_table,
    "parquet-chat": _of_table,
    "saved": _of_saved,
}


# --- What comes out ------------------------------------------------------------------------------


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows as this package's readers give them, without what only says how they were written."""
    rows = []
    for row in open_rows(str(path)).rows():
        assert isinstance(row, Row), row
        revision = {k: v for k, v in row.data["revision"].items() if k != "caption_field"}
        data = {k: v for k, v in row.data.items() if k != "caption_original"}
        rows.append({**data, "revision": revision})
    return rows


def files_of(path: Path) -> dict[str, bytes]:
    paths = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    # a saved data set's state names a fingerprint of the moment
    paths = [p for p in paths if p.name != "state.json"]
    return {str(p.relative_to(path)): p.read_bytes() for p in paths}
