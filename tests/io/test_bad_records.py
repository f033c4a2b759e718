"""No record is lost: each comes out in its place, or in the quarantine with a named reason."""

from __future__ import annotations

import base64
import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from commands import read
from PIL import Image

from revise_captions.records import Unscored

ROOT = Path(__file__).parents[2]
GOOD = "A dog stands near the tree."
#: A rewrite as a critique stage writes it.
TRIED = {
    "text": "x",
    "accepted": False,
    "why": "no better than before",
    "round": 1,
    "p_before": 0.1,
}
TRIED |= {"p_after": 0.1, "warning": ""}


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def plain(size: tuple[int, int] = (40, 30)) -> Image.Image:
    return Image.radial_gradient("L").resize(size).convert("RGB")


def bomb() -> bytes:
    """A PNG of 60,000 × 60,000 pixels in a few bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + data + chunk(b"IEND", b"")


def rotated() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(plain(), "JPEG", exif=exif)


def frames() -> list[Image.Image]:
    return [Image.new("RGB", (8, 8), colour) for colour in ("red", "green", "blue")]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    jpeg = encoded(plain((200, 150)), "JPEG")
    files = {
        "good.png": encoded(plain(), "PNG"),
        "truncated.jpg": jpeg[: len(jpeg) // 2],
        "broken.png": b"\x89PNG\r\n\x1a\n" + bytes(50),
        "empty.png": b"",
        "page.jpg": b"<!DOCTYPE html><html>404</html>",
        "bomb.png": bomb(),
        "animated.gif": encoded(frames()[0], "GIF", save_all=True, append_images=frames()[1:]),
        "cmyk.jpg": encoded(plain().convert("CMYK"), "JPEG"),
        "deep.png": encoded(Image.new("I;16", (8, 8), 40_000), "PNG"),
        "rotated.jpg": rotated(),
        "clear.png": encoded(Image.new("RGBA", (8, 8), (255, 0, 0, 0)), "PNG"),
        "palette.png": encoded(plain().convert("P"), "PNG"),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder.png").mkdir()
    return tmp_path


#: Rows as text or as objects, and the reason for which each is quarantined.
BAD: list[tuple[str | dict[str, Any], str]] = [
    ('{"image": "good.png", "caption": "A dog', "malformed_json"),
    ('{"image": "good.png", "caption": "A dog."},', "malformed_json"),
    ("not json", "malformed_json"),
    ("[" * 100_000, "malformed_json"),
    ("[1, 2]", "not_an_object"),
    ('"text"', "not_an_object"),
    ("null", "not_an_object"),
    ({"image": "good.png"}, "missing_caption"),
    ({"image": "good.png", "caption": None}, "missing_caption"),
    ({"image": "good.png", "caption": 7}, "caption_not_text"),
    ({"image": "good.png", "caption": ["A dog."]}, "caption_not_text"),
    ({"image": "good.png", "caption": {"text": "A dog."}}, "caption_not_text"),
    ({"image": "good.png", "caption": ""}, "empty_caption"),
    ({"image": "good.png", "caption": " \n\t\u3000"}, "empty_caption"),
    ({"image": "good.png", "caption": "A dog. " * 150_000}, "caption_too_long"),
    ({"caption": GOOD}, "missing_image"),
    ({"image": "", "caption": GOOD}, "missing_image"),
    ({"image": None, "caption": GOOD}, "missing_image"),
    ({"image": ["good.png", "clear.png"], "caption": GOOD}, "missing_image"),
    ({"image": 12, "caption": GOOD}, "image_unreadable"),
    ({"image": "nowhere.png", "caption": GOOD}, "image_not_found"),
    ({"image": "good.png/more.png", "caption": GOOD}, "image_not_found"),
    ({"image": "nul\u0000.png", "caption": GOOD}, "image_not_found"),
    ({"image": "a.png/" * 1000, "caption": GOOD}, "image_not_found"),
    ({"image": "folder.png", "caption": GOOD}, "image_unreadable"),
    ({"image": "truncated.jpg", "caption": GOOD}, "image_truncated"),
    ({"image": "broken.png", "caption": GOOD}, "image_unreadable"),
    ({"image": "empty.png", "caption": GOOD}, "image_unreadable"),
    ({"image": "page.jpg", "caption": GOOD}, "image_unreadable"),
    ({"image": "bomb.png", "caption": GOOD}, "image_too_large"),
    ({"image": "data:image/png;base64,AAAA", "caption": GOOD}, "image_unreadable"),
    ({"image": "https://example.org/a.png", "caption": GOOD}, "url_not_allowed"),
    ({"image": "ftp://example.org/a.png", "caption": GOOD}, "image_unreadable"),
]


def test_every_bad_row_is_quarantined_with_its_reason(command, pictures):
    rows = [row if isinstance(row, str) else json.dumps(row) for row, _ in BAD]
    good = json.dumps({"image": "good.png", "caption": GOOD})
    lines: list[bytes] = [good.encode()]
    for row in rows:
        lines += [row.encode(), b"", good.encode()]  # bad, blank, good
    lines.append(b'{"image": "good.png", "caption": "caf\xe9"}')
    (pictures / "in.jsonl").write_bytes(b"\n".join(lines))
    ran = command("in.jsonl", "out.jsonl", "--report", "report.html")
    assert ran.code == 0, ran.err
    assert len(read("out.jsonl")) == len(rows) + 1
    found = read("out.quarantine.jsonl")
    assert [row["reason"] for row in found] == [reason for _, reason in BAD] + ["invalid_utf8"]
    for number, (row, bad) in enumerate(zip(rows, found, strict=False)):
        assert bad["line"] == 3 * number + 2
        assert bad["file"] == "in.jsonl"
        assert bad["text"] == row
        assert bad["detail"]
    assert base64.b64decode(found[-1]["bytes"]) == lines[-1]
    summary = json.loads((pictures / "report.json").read_text())["summary"]
    assert summary["records"]["quarantined"] == len(BAD) + 1
    assert summary["records"]["read"] == 2 * len(rows) + 2
    assert f"{len(BAD) + 1}  " in ran.out or "quarantined" in ran.out


def test_images_outside_the_root_are_not_read(command, pictures):
    inner = pictures / "inner"
    inner.mkdir()
    (inner / "link.png").symlink_to(pictures / "good.png")
    (inner / "in.png").write_bytes((pictures / "good.png").read_bytes())
    paths = ["../good.png", str(pictures / "good.png"), "link.png", "in.png"]
    rows = [{"image": path, "caption": GOOD} for path in paths]
    (pictures / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("in.jsonl", "out.jsonl", "--image-root", "inner").code == 0
    assert [row["reason"] for row in read("out.quarantine.jsonl")] == ["image_outside_root"] * 3
    assert [row["image"] for row in read("out.jsonl")] == ["in.png"]


def test_private_addresses_are_never_fetched(command, pictures):
    rows = [
        {"image": f"http://{host}/a.png", "caption": GOOD}
        for host in ("127.0.0.1:9", "localhost:9", "10.0.0.1", "169.254.169.254", "[::1]:9")
    ]
    (pictures / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("in.jsonl", "out.jsonl", "--allow-urls").code == 5  # nothing could be processed
    found = read("out.quarantine.jsonl")
    assert [row["reason"] for row in found] == ["url_not_allowed"] * len(rows)


def test_unusual_images_and_captions_pass(command, pictures):
    def uri(name: str) -> str:
        data = base64.b64encode((pictures / name).read_bytes()).decode()
        return f"data:image/png;base64,{data}"

    names = ["animated.gif", "cmyk.jpg", "deep.png", "rotated.jpg", "clear.png", "palette.png"]
    rows: list[dict[str, Any]] = [{"image": name, "caption": GOOD} for name in names]
    rows += [
        {"image": str(pictures / "good.png"), "caption": GOOD},
        {"image": uri("good.png"), "caption": GOOD},
        {"image": uri("good.png").partition(",")[2], "caption": GOOD},
        {"image": ["good.png"], "caption": GOOD},
        {"image": "good.png", "caption": "A dog.\x00 A\x07 cat\x1b[31m. \ud800 \u202e!"},
        {"image": "good.png", "caption": "<script>alert(1)</script> A dog."},
        {"image": "good.png", "caption": "🙂"},
        {"image": "good.png", "caption": "x" * 100_000},
    ]
    rows += [{"id": 7, "image": "good.png", "caption": GOOD}] * 3  # ids may repeat
    (pictures / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = command("in.jsonl", "out.jsonl", "--report", "r.html", "--group-by", "caption")
    assert ran.code == 0, ran.err
    assert not (pictures / "out.quarantine.jsonl").exists()
    done = read("out.jsonl")
    assert [{key: row[key] for key in rows[i]} for i, row in enumerate(done)] == rows
    assert all(row["revision"]["sentences"] for row in done)
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out
    assert "<script>alert(1)" not in (pictures / "r.html").read_text()


def test_the_critic_sees_images_upright_and_small(command, pictures, monkeypatch):
    import scripted_run

    seen = []
    judge = scripted_run.HashCritic.judge

    def look(self, paragraphs):
        seen.extend(paragraph.image for paragraph in paragraphs if paragraph.first == 0)
        return judge(self, paragraphs)

    monkeypatch.setattr(scripted_run.HashCritic, "judge", look)
    (pictures / "large.png").write_bytes(encoded(Image.new("RGB", (4000, 1000), "blue"), "PNG"))
    names = ["rotated.jpg", "animated.gif", "large.png"]
    rows = [{"image": name, "caption": "A dog stands near the fence."} for name in names]
    (pictures / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("in.jsonl", "out.jsonl", "--stage", "critique").code == 0
    assert [image.mode for image in seen] == ["RGB"] * 3
    assert seen[0].size == (30, 40)
    assert seen[1].getpixel((4, 4))[0] > 200  # the first frame is red
    assert seen[2].size == (2449, 612)  # 1.5 megapixels at most, shape kept
    assert seen[2].getpixel((100, 100)) == (0, 0, 255)


def test_a_foreign_language_is_unscored_and_stays(command, pictures):
    text = "Собака стоит у дерева. 犬が木のそばに立っている。"
    rows = [{"image": "good.png", "caption": text}] * 3
    (pictures / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = command("in.jsonl", "out.jsonl", "--report", "r.html", "--allow-unscored")
    assert ran.code == 0
    for row in read("out.jsonl"):
        assert row["revised_caption"] == text
        for sentence in row["revision"]["sentences"]:
            assert sentence["label"] == "unscored"
            assert sentence["reason"] == Unscored.LANGUAGE.value
            assert sentence["p_factual"] is sentence["p_after"] is None
            assert sentence["reason_after"] == Unscored.LANGUAGE.value
    # Where nothing could be judged, that is the headline.
    head = " ".join(ran.out.split())
    assert "language the critic does not know" in head
    summary = json.loads((pictures / "r.json").read_text())["summary"]
    assert summary["headline"]["kind"] == "unscored"


def test_a_broken_revision_of_an_earlier_stage(command, pictures):
    (pictures / "in.jsonl").write_text(
        json.dumps({"image": "good.png", "caption": "A dog stands near the fence."}) + "\n"
    )
    assert command("in.jsonl", "c.jsonl", "--stage", "critique").code == 0
    (row,) = read("c.jsonl")
    broken = []
    for change in (
        {"span": [0, 999]},
        {"span": [5, 3]},
        {"p_factual": 7},
        {"p_factual": None},
        {"reason": "because"},
        {"attempts": [{"text": "x"}]},
        {"p_after": None},
        {"p_after": "0.5"},
        {"rationale": {"why": "so"}},
        {"assessable": [1]},
        {"attempts": [{**TRIED, "p_before": "0.5"}]},
        {"attempts": [{**TRIED, "accepted": "yes"}]},
        {"attempts": [{**TRIED, "round": 1e400}]},
        {"attempts": [{**TRIED, "text": None}]},
    ):
        copy = json.loads(json.dumps(row))
        copy["revision"]["sentences"][0] |= change
        broken.append(copy)
    broken += [{**row, "revision": {"sentences": []}}, {**row, "revision": [1]}]
    broken += [{k: v for k, v in row.items() if k != "revision"}]
    (pictures / "b.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [row, *broken]))
    # the signature of the rows stands beside the file that they were taken from
    (pictures / "c.jsonl.signatures.json").rename(pictures / "b.jsonl.signatures.json")
    assert command("b.jsonl", "r.jsonl", "--stage", "revise").code == 0
    assert len(read("r.jsonl")) == 1
    found = read("r.quarantine.jsonl")
    assert [bad["reason"] for bad in found] == ["bad_revision"] * len(broken)


def test_nothing_but_bad_rows(command, pictures):
    (pictures / "in.jsonl").write_text("{oops\n\n[]\n")
    ran = command("in.jsonl", "out.jsonl")
    assert ran.code == 5
    assert (pictures / "out.jsonl").read_bytes() == b""
    assert len(read("out.quarantine.jsonl")) == 2
    (pictures / "empty.jsonl").write_text("\n \n")
    assert command("empty.jsonl", "none.jsonl").code == 0
    assert (pictures / "none.jsonl").read_bytes() == b""
    assert not (pictures / "none.quarantine.jsonl").exists()


@pytest.mark.skipif(
    not (ROOT / "critic/bundled/config.json").exists(), reason="the bundled critic is not there"
)
def test_the_bundled_critic_knows_its_language(pictures, monkeypatch, capsys):
    """What it cannot judge it leaves as it is, and says why."""
    from revise_captions.pipelines import cli

    examples = ROOT / "datasets/picturebook/examples"
    rows = [json.loads(line) for line in (examples / "captions.jsonl").read_text().splitlines()]
    foreign = "Кошка сидит на заборе. Рядом стоит дом."
    monkeypatch.chdir(pictures)
    (pictures / "in.jsonl").write_text(
        "".join(
            json.dumps({"image": str(examples / row["image"]), "caption": text}) + "\n"
            for row, text in ((rows[0], foreign), (rows[0], rows[0]["caption"]))
        )
    )
    with pytest.raises(SystemExit) as stopped:
        cli.main(["in.jsonl", "out.jsonl", "--stage", "critique", "--image-root", "/"])
    assert stopped.value.code == 0, capsys.readouterr().err
    strange, known = read("out.jsonl")
    reasons = [sentence["reason"] for sentence in strange["revision"]["sentences"]]
    assert reasons == [Unscored.LANGUAGE.value] * 2
    assert strange["revised_caption"] == foreign
    assert all(s["p_factual"] is not None for s in known["revision"]["sentences"])
