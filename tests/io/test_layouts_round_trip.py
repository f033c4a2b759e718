"""Each layout through a whole run and into its own ecosystem's reader; resumed, cut, merged."""

from __future__ import annotations

import csv
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from layout_inputs import caption, coco, image
from output_files import run
from PIL import Image

from revise_captions.errors import UserError
from revise_captions.pipelines.job.merge import merge

COUNT = 150


@pytest.fixture
def pictures(tmp_path):
    """Images of twenty distinct colors, in a folder of their own."""
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(20):
        Image.new("RGB", (9, 7), (12 * number, 0, 0)).save(folder / f"{number}.png")
    return folder


# --- CSV: pandas --------------------------------------------------------------------------------


def write_csv(path: Path, **dialect: Any) -> Path:
    with path.open("w", newline="", encoding=dialect.pop("encoding", "utf-8")) as file:
        writer = csv.writer(file, **dialect)
        writer.writerow(["id", "image", "caption", "note"])
        for number in range(COUNT):
            writer.writerow([number, image(number), caption(number), f"{number:03}"])
    return path


@pytest.mark.parametrize(
    ("name", "dialect", "reading"),
    [
        ("csv", {}, {}),
        ("csv", {"quoting": csv.QUOTE_ALL, "lineterminator": "\n"}, {}),
        ("csv", {"delimiter": ";", "encoding": "utf-8-sig"}, {"sep": ";"}),
        ("tsv", {"delimiter": "\t"}, {"sep": "\t"}),
        ("csv.gz", {}, {}),
    ],
)
def test_pandas_reads_the_same_table_and_two_more_columns(
    command, pictures, tmp_path, name, dialect, reading
):
    pandas = pytest.importorskip("pandas")
    source, out = tmp_path / f"in.{name}", tmp_path / f"out.{name}"
    if name == "csv.gz":
        import gzip

        plain = write_csv(tmp_path / "plain.csv")
        source.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        write_csv(source, **dialect)
    assert command(source.name, out.name).code == 0
    before = pandas.read_csv(source, dtype=str, **reading)
    after = pandas.read_csv(out, dtype=str, **reading)
    assert list(after.columns) == [*before.columns, "revised_caption", "revision"]
    assert after[before.columns].equals(before)
    spans = [json.loads(text)["sentences"][0]["span"] for text in after["revision"]]
    assert all(span[0] == 0 for span in spans)
    assert after["revised_caption"].str.len().min() > 0


def test_every_byte_of_a_table_stays(pictures, tmp_path):
    text = '\ufeff"id",image,caption\r\n1,images/1.png,"A ""cat""."\n 2 ,"images/2.png",A 5" dog.'
    (tmp_path / "in.csv").write_bytes(text.encode())
    run(tmp_path / "in.csv", tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_bytes().decode().split("\n")
    was = text.split("\n")
    assert [line[: len(w.rstrip("\r"))] for line, w in zip(lines, was, strict=True)] == [
        w.rstrip("\r") for w in was
    ]
    assert lines[0].endswith(",revised_caption,revision\r")
    assert not lines[-1].endswith("\r")


def test_a_second_stage_replaces_the_columns_of_the_first(command, pictures, tmp_path):
    write_csv(tmp_path / "in.csv")
    assert command("in.csv", "all.csv").code == 0
    assert command("in.csv", "one.csv", "--stage", "critique").code == 0
    assert command("one.csv", "two.csv", "--stage", "revise").code == 0
    assert command("two.csv", "three.csv", "--stage", "critique").code == 0
    read = [list(csv.DictReader((tmp_path / n).open(newline=""))) for n in ("in.csv", "three.csv")]
    added = ("revised_caption", "revision")
    assert [{k: v for k, v in row.items() if k not in added} for row in read[1]] == read[0]
    assert sum(row["revised_caption"] != row["caption"] for row in read[1]) > 10


# --- COCO: pycocotools --------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
def test_pycocotools_reads_the_same_captions_and_the_new_ones(
    command, pictures, tmp_path, indent, capsys
):
    tools = pytest.importorskip("pycocotools.coco")
    text = json.dumps(coco(COUNT), indent=indent)
    (tmp_path / "in.json").write_text(text)
    assert command("in.json", "out.json", "--image-root", "images").code == 0
    before, after = (tools.COCO(str(tmp_path / name)) for name in ("in.json", "out.json"))
    assert after.imgs == before.imgs
    assert len(after.imgToAnns[3]) == len(before.imgToAnns[3]) == 8
    for key, annotation in before.anns.items():
        assert after.anns[key].items() >= annotation.items()
    changed = [a for a in after.anns.values() if a["revised_caption"] != a["caption"]]
    assert len(changed) > 10
    written = (tmp_path / "out.json").read_text()
    head = text[: text.index('"caption"')]
    assert written.startswith(head)
    assert written.endswith(text[text.rindex("}", 0, text.index('"licenses"')) + 1 :])


def test_a_coco_file_loses_no_more_than_its_bad_rows(command, pictures, tmp_path):
    data = coco(COUNT)
    data["annotations"][0]["image_id"] = data["annotations"][-1]["image_id"] = 999
    data["annotations"][7]["caption"] = " "
    (tmp_path / "in.json").write_text(json.dumps(data))
    assert command("in.json", "out.json", "--image-root", "images").code == 0
    written = json.loads((tmp_path / "out.json").read_text())
    assert [a["id"] for a in written["annotations"]] == [*range(1, 7), *range(8, COUNT - 1)]
    refused = [json.loads(r) for r in (tmp_path / "out.json.quarantine.jsonl").open()]
    assert [(r["line"], r["reason"]) for r in refused] == [
        (1, "missing_image"),
        (8, "empty_caption"),
        (COUNT, "missing_image"),
    ]
    data["annotations"] = []
    (tmp_path / "in.json").write_text(json.dumps(data))
    assert command("in.json", "none.json").code == 0
    assert (tmp_path / "none.json").read_text() == json.dumps(data)


# --- Folders: datasets, and people who train adapters -------------------------------------------


@pytest.mark.parametrize("name", ["metadata.jsonl", "metadata.csv"])
def test_datasets_reads_the_image_folder(command, pictures, tmp_path, name):
    datasets = pytest.importorskip("datasets")
    rows = [{"file_name": f"{n}.png", "text": caption(n), "n": n} for n in range(20)]
    with (pictures / name).open("w", newline="") as file:
        if name.endswith("csv"):
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    assert command("images", "out").code == 0
    loaded = datasets.load_dataset(
        "imagefolder", data_dir=str(tmp_path / "out"), cache_dir=str(tmp_path / "cache")
    )["train"]
    assert [row["text"] for row in loaded] == [row["text"] for row in rows]
    assert [row["n"] for row in loaded] == list(range(20))
    assert loaded[5]["image"].getpixel((0, 0))[0] == 60
    assert {"revised_caption", "revision"} <= set(loaded.column_names)


def test_captions_beside_images_come_back_beside_images(command, pictures, tmp_path):
    for n in range(20):
        if n % 2:
            (pictures / f"{n}.txt").write_text(caption(n))
        elif n:
            (pictures / f"{n}.json").write_text(json.dumps({"caption": caption(n), "n": n}))
    assert command("images", "out", "--caption-field", "txt").code == 0
    assert sorted(p.name for p in (tmp_path / "out").glob("*.png")) == sorted(
        f"{n}.png" for n in range(1, 20, 2)
    )
    for n in range(1, 20, 2):
        kept = tmp_path / "out" / f"{n}.txt"
        assert kept.read_text() == caption(n)
        assert kept.with_suffix(".revised.txt").read_text()
        assert json.loads(kept.with_suffix(".revision.json").read_text())["sentences"]
        same = os.path.samefile(kept.with_suffix(".png"), pictures / f"{n}.png")
        assert same
    assert command("out", "again").code == 0
    assert {p.name: p.read_bytes() for p in (tmp_path / "again").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()
    }


def test_only_a_folder_of_ours_is_replaced(command, pictures, tmp_path):
    (pictures / "0.txt").write_text("A cat.")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").write_text("x")
    assert "exists" in command("images", "out", "--force").err
    assert (tmp_path / "out" / "precious").read_text() == "x"
    assert "inside the input" in command("images", "images/out").err
    assert command("images", "new").code == 0
    assert command("images", "new").code == 2
    assert command("images", "new/", "--force").code == 0  # as shells complete it
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("new")) == [
        "new",
        "new.quarantine.jsonl",
        "new.signatures.json",
    ]


# --- Chats: LLaVA's format, messages ------------------------------------------------------------


def test_llava_reads_the_conversations(command, pictures, tmp_path):
    """As LLaVA's documentation has it: a list, each with `conversations` that begin with the human,
    take turns, and name the one image by `<image>`."""
    rows = [
        {
            "id": str(n),
            "image": image(n),
            "conversations": [
                {"from": "human", "value": "<image>\nDescribe it."},
                {"from": "gpt", "value": caption(n)},
            ],
        }
        for n in range(20)
    ]
    (tmp_path / "in.json").write_text(json.dumps(rows, ensure_ascii=False, indent=2))
    assert command("in.json", "out.json").code == 0
    loaded = json.load((tmp_path / "out.json").open())
    assert isinstance(loaded, list)
    for row, was in zip(loaded, rows, strict=True):
        assert (tmp_path / row["image"]).is_file()
        turns = row["conversations"]
        assert [turn["from"] for turn in turns] == ["human", "gpt"] * (len(turns) // 2)
        assert turns[0]["value"].count("<image>") == 1
        assert row.items() >= was.items()
        assert row["revised_caption"]


def test_messages_with_the_image_among_their_parts(command, pictures, tmp_path):
    with (tmp_path / "in.jsonl").open("w") as file:
        for n in range(20):
            parts = [{"type": "image", "image": image(n)}, {"type": "text", "text": "What is it?"}]
            answer = {"role": "assistant", "content": [{"type": "text", "text": caption(n)}]}
            row = {"messages": [{"role": "user", "content": parts}, answer]}
            file.write(json.dumps(row) + "\n")
    assert command("in.jsonl", "out.jsonl").code == 0
    assert not (tmp_path / "out.quarantine.jsonl").exists()
    was = [json.loads(line) for line in (tmp_path / "in.jsonl").open()]
    now = [json.loads(line) for line in (tmp_path / "out.jsonl").open()]
    assert [row["messages"] for row in now] == [row["messages"] for row in was]


# --- Parquet with paths, WebDataset -------------------------------------------------------------


def test_parquet_with_images_that_are_paths(command, pictures, tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = {"image": [image(n) for n in range(20)], "caption": [caption(n) for n in range(20)]}
    data = datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image(decode=False))
    data.to_parquet(tmp_path / "in.parquet")
    assert data[0]["image"] == {"bytes": None, "path": image(0)}
    assert command("in.parquet", "out.parquet").code == 0
    assert not (tmp_path / "out.parquet.quarantine.jsonl").exists()
    cache = str(tmp_path / "cache")
    again = datasets.Dataset.from_parquet(str(tmp_path / "out.parquet"), cache_dir=cache)
    assert again["caption"][:] == rows["caption"]
    assert again.features["image"] == data.features["image"]
    decoded = again.cast_column("image", datasets.Image())
    assert decoded[3]["image"].getpixel((0, 0))[0] == 36


def test_webdataset_reads_the_tar(command, tmp_path):
    webdataset = pytest.importorskip("webdataset")
    picture = io.BytesIO()
    Image.new("RGB", (9, 7), "red").save(picture, "PNG")
    with tarfile.open(tmp_path / "in.tar", "w") as archive:
        for n in range(20):
            row = json.dumps({"n": n}).encode()
            for suffix, data in (
                ("png", picture.getvalue()),
                ("txt", caption(n).encode()),
                ("json", row),
            ):
                member = tarfile.TarInfo(f"{n:04}.{suffix}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    assert command("in.tar", "out.tar").code == 0
    read = list(webdataset.WebDataset(str(tmp_path / "out.tar"), shardshuffle=False).decode("rgb"))
    assert [sample["txt"] for sample in read] == [caption(n) for n in range(20)]
    assert [sample["json"]["n"] for sample in read] == list(range(20))
    assert all(sample["png"].shape == (7, 9, 3) for sample in read)
    assert all(sample["revised.txt"] for sample in read)
    assert all(sample["revision.json"]["sentences"] for sample in read)


# --- Cut, resumed, merged -----------------------------------------------------------------------


def files_of(path: Path) -> dict[str, bytes]:
    paths = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return {str(p.relative_to(path)): p.read_bytes() for p in paths}


def prepare(layout: str, tmp_path: Path) -> tuple[str, str, list[str]]:
    """The input's name, the output's suffix, and further options."""
    if layout == "csv":
        return write_csv(tmp_path / "in.csv").name, ".csv", []
    if layout == "coco":
        (tmp_path / "in.json").write_text(json.dumps(coco(COUNT), indent=1))
        return "in.json", ".json", ["--image-root", "images"]
    folder = tmp_path / "photos"
    folder.mkdir()
    rows = []
    for n in range(COUNT):
        name = f"{n:03}.png"
        os.link(tmp_path / image(n), folder / name)
        rows.append(json.dumps({"file_name": name, "text": caption(n)}) + "\n")
        if layout == "beside":
            (folder / f"{n:03}.txt").write_text(caption(n))
    if layout == "metadata":
        (folder / "metadata.jsonl").write_text("".join(rows))
    return "photos", "", []


@pytest.mark.parametrize("layout", ["csv", "coco", "metadata", "beside"])
def test_shards_merge_and_a_cut_run_resumes_to_the_same_bytes(
    command, pictures, tmp_path, layout, monkeypatch
):
    source, suffix, more = prepare(layout, tmp_path)
    whole, cut, merged = (f"{name}{suffix}" for name in ("whole", "cut", "merged"))
    assert command(source, whole, *more).code == 0
    monkeypatch.setenv("SCRIPTED_DIES", "3")
    assert command(source, cut, *more).code not in (0, 2)
    monkeypatch.delenv("SCRIPTED_DIES")
    assert not (tmp_path / cut).exists()
    assert command(source, cut, *more, "--resume").code == 0
    names = [f"{index}{suffix}" for index in range(2)]
    for index, name in enumerate(names):
        assert command(source, name, *more, "--shard", f"{index}/2").code == 0
    merge(source, names, merged)
    expected = files_of(tmp_path / whole)
    assert len(expected) > (layout in ("metadata", "beside")) * COUNT
    assert files_of(tmp_path / cut) == expected
    assert files_of(tmp_path / merged) == expected


def test_an_output_needs_an_input_of_its_kind(pictures, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"image": "images/1.png", "caption": "A cat."}\n')
    with pytest.raises(UserError, match="as CSV needs such an input"):
        run(tmp_path / "in.jsonl", tmp_path / "out.csv")
    run(write_csv(tmp_path / "in.csv"), tmp_path / "out.jsonl")
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert (first["id"], first["caption"]) == ("0", caption(0))


# --- Images that are elsewhere ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "path", "hint"),
    [
        ("annotations", "{n}.png", "it is in images: add --image-root images"),
        (".", "pictures/{n}-nowhere.png", "--image-root names the folder"),
        (
            ".",
            "/old/disk/images/{n}.png",
            "remove /old/disk/ from the paths, and add --image-root .",
        ),
        ("annotations", "{here}/images/{n}.png", "add --image-root {here}/images"),
    ],
)
def test_a_hint_where_no_image_is_where_the_input_says(
    command, pictures, tmp_path, folder, path, hint
):
    (tmp_path / folder).mkdir(exist_ok=True)
    rows = [{"image": path.format(n=n, here=tmp_path), "caption": "A cat."} for n in range(1, 20)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / folder / "in.jsonl").write_text(lines)
    printed = command(f"{folder}/in.jsonl", "out.jsonl").err
    outside = path.startswith("{here}")
    what = "first 19 images are outside the folder" if outside else "none of the first 19 images"
    assert what in " ".join(printed.split())
    assert hint.format(here=tmp_path) in " ".join(printed.split())
    root = str(tmp_path / "images")
    if "add --image-root images" in hint:
        again = command(f"{folder}/in.jsonl", "out.jsonl", "--force", "--image-root", root)
        assert again.code == 0
        assert "images is there" not in again.err


def test_the_doctor_says_where_the_images_are(pictures, tmp_path, monkeypatch, capsys):
    from revise_captions.command_line.captions import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/in.json").write_text(json.dumps(coco(COUNT)))
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", "notes/in.json"])
    printed = capsys.readouterr().out
    assert stopped.value.code == 5
    assert "input           notes/in.json (COCO JSON)" in printed
    assert "it is in images: add --image-root images" in printed
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", "notes/in.json", "--image-root", "images"])
    assert "add --image-root" not in capsys.readouterr().out
