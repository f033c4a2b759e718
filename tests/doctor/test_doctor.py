"""`captions doctor`: what it finds in an input and on a machine, and the command that it names."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import outcome, program
from PIL import Image

from revise_captions.command_line.captions import load_command
from revise_captions.command_line.extras import installed_extras
from revise_captions.pipelines import cli
from revise_captions.pipelines.doctor import machine, open_models
from revise_captions.pipelines.doctor.cli import doctor
from revise_captions.pipelines.doctor.machine import Gpu, Machine
from revise_captions.pipelines.job import probe as probing

main = program(doctor)

EXAMPLES = Path(__file__).parents[2] / "datasets/picturebook/examples/captions.jsonl"
CAPTION = "A man in a blue shirt rides a bicycle along the street. A dog runs behind him."


def photographs(folder: Path, count: int, **fields: str) -> Path:
    """Noise that no gate takes for a drawing."""
    rng = np.random.default_rng(0)
    with (folder / "in.jsonl").open("w") as file:
        for number in range(count):
            pixels = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((256, 256)).save(folder / f"{number}.jpg")
            row = {"image": f"{number}.jpg", "caption": CAPTION, **fields}
            file.write(json.dumps(row) + "\n")
    return folder / "in.jsonl"


def facts(out: str) -> dict[str, str]:
    lines = (line.split(maxsplit=1) for line in out.splitlines() if line[:1].strip())
    return {words[0]: words[-1] for words in lines}


def test_the_examples_can_be_judged(capsys):
    code, out, err = outcome(main, capsys, EXAMPLES)
    assert (code, err) == (0, "")
    assert "26 of 27 open" in out
    assert "1 image_truncated: " in out
    assert "critic  judges 125 of 131 sentences" in out
    assert f"captions revise {shlex.quote(str(EXAMPLES))} revised.jsonl" in out.splitlines()[-1]


def test_photographs_need_another_critic_and_the_run_agrees(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "look", lambda: Machine(2, 20.0, (), {"server": True}))
    photographs(tmp_path, 70)
    code, out, _ = outcome(main, capsys, "in.jsonl", "--image-field", "image")
    assert code == 4
    assert "looked at       32 records of 70" in out
    assert "judges 0 of 64 sentences" in out
    assert "The bundled critic cannot judge these captions: outside the model's domain." in out
    words = shlex.split(out.splitlines()[-1])
    assert words[0] == "captions"
    assert load_command(words[1]).name == "revise"
    assert words[words.index("--critic") + 1] == "Qwen/Qwen3-VL-4B-Instruct"
    assert words[words.index("--image-field") + 1] == "image"
    from revise_captions.pipelines import cli

    code, _, err = outcome(cli.main, capsys, "in.jsonl", "out.jsonl")
    assert code == 4
    assert "stopped: All 128 sentences of the first 64 records" in err
    assert err.count("unscored:") == 1  # the stop says what a warning before it would
    code, _, err = outcome(cli.main, capsys, "in.jsonl", "all.jsonl", "--allow-unscored")
    assert code == 0
    assert "in 32 records across in.jsonl, 64 of 64 sentences come back unscored" in err
    for path in tmp_path.glob("all.*"):
        path.unlink()
    assert sorted(p.suffix for p in tmp_path.iterdir() if p.suffix != ".jpg") == [".jsonl"]
    code, out, _ = outcome(cli.main, capsys, "in.jsonl", "out.jsonl", "--dry-run")
    assert code == 0
    assert "judges 0 of 64 sentences" in out
    assert "64 unscored: outside the model's domain" in out


def test_the_output_has_the_inputs_format_and_a_broken_row_its_line(tmp_path, capsys):
    for source, out in (("a.csv", "revised.csv"), ("folder", "revised")):
        given = tmp_path / source
        if source == "folder":
            given.mkdir()
            shutil.copy(EXAMPLES.parent / "images/test-076.png", given / "1.png")
            (given / "1.txt").write_text("One boat is visible.")
        else:
            image = EXAMPLES.parent / "images/test-076.png"
            shutil.copy(image, tmp_path / "1.png")
            given.write_text("image,caption\n1.png,One boat is visible.\nnone.png,A dog.\n")
        code, said, _ = outcome(main, capsys, given)
        assert code == 0
        assert f"{given} {out} --report" in said.splitlines()[-1]
        assert ("1 image_not_found: line 3: " in said) == (source == "a.csv")


def test_an_empty_input(tmp_path, capsys):
    (tmp_path / "in.jsonl").write_text("")
    code, out, _ = outcome(main, capsys, tmp_path / "in.jsonl")
    assert code == 2
    assert "There are no records in " in out


def test_no_image_opens(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for image in photographs(tmp_path, 3).parent.glob("*.jpg"):
        image.unlink()
    code, out, _ = outcome(main, capsys, "in.jsonl")
    assert code == 5
    assert "0 of 3 open" in out
    assert "3 image_not_found: " in out


def test_images_at_urls_are_fetched_only_if_allowed_and_the_command_says_so(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = [{"url": f"http://a.example/{k}.jpg", "caption": "A dog."} for k in range(2)]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = outcome(main, capsys, "in.jsonl")
    assert code == 0
    assert "2 URLs not fetched" in out
    assert "--allow-urls" in out.splitlines()[-1]
    code, _, err = outcome(cli.main, capsys, "in.jsonl", "out.jsonl")
    assert code == 5
    assert "the first 2 images are URLs, which are not fetched; add --allow-urls" in err


def test_absolute_paths_outside_the_inputs_folder_name_what_they_share(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(EXAMPLES.parent / "images", tmp_path / "elsewhere" / "images")
    rows = [json.loads(line) for line in EXAMPLES.read_text().splitlines()[:3]]
    (tmp_path / "in").mkdir()
    with open("in/in.jsonl", "w") as file:
        for row in rows:
            row["image"] = str(tmp_path / "elsewhere" / row["image"])
            file.write(json.dumps(row) + "\n")
    code, out, _ = outcome(main, capsys, "in/in.jsonl")
    assert code == 5
    shared = f"--image-root {tmp_path / 'elsewhere/images'}"
    assert f"add {shared}, their common folder" in out
    _, _, err = outcome(cli.main, capsys, "in/in.jsonl", "out.jsonl")
    assert "the first 3 images are outside the folder in, the only" in err
    assert f"add {shared}" in err
    code, out, _ = outcome(main, capsys, "in/in.jsonl", *shared.split())
    assert code == 0
    assert "3 of 3 open" in out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--critic", "nobody/nothing"), "nobody/nothing: cannot be had"),
        (("--critic", "m@http://127.0.0.1:9/v1"), "m@http://127.0.0.1:9/v1: cannot be had"),
        (("--critic", "/no/folder"), "/no/folder: cannot be had"),
        (("--critic", "bundeld"), "did you mean bundled?"),
    ],
)
def test_models_that_cannot_be_had(given, said, capsys, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code, out, _ = outcome(main, capsys, *given)
    assert code == 2
    assert said in out
    assert "Traceback" not in out


def test_a_critic_that_is_not_bundled_must_name_its_reviser(capsys, tmp_path):
    from revise_captions.critic.locate import BUNDLED

    own = shutil.copytree(BUNDLED, tmp_path / "mine")
    card = json.loads((own / "critic.json").read_text()) | {"goes_with": ""}
    (own / "critic.json").write_text(json.dumps(card))
    code, out, _ = outcome(main, capsys, EXAMPLES, "--critic", own)
    assert code == 2
    assert "needs a reviser" in out
    code, out, _ = outcome(main, capsys, EXAMPLES, "--critic", own, "--reviser", "drop")
    assert code == 0


def test_choices_go_by_memory():
    names = {m.name: m.memory(gpu=True) for m in open_models.CRITICS}
    assert 16 < names["Qwen/Qwen3-VL-8B-Instruct"] < 20
    assert 4 < names["Qwen/Qwen3-VL-2B-Instruct"] < 7
    large = open_models.choices(open_models.CRITICS, 80, gpu=True)
    assert len(large) == 3
    assert large[0].name == "Qwen/Qwen3-VL-8B-Instruct"
    (small,) = open_models.choices(open_models.CRITICS, 1, gpu=True)
    assert small.name == "Qwen/Qwen3-VL-2B-Instruct"
    assert Machine(1, 5, (Gpu("a", 10), Gpu("b", 20)), {}).room == 20
    assert Machine(1, 5, (), {}).room == 5


def test_memory_is_what_is_left_of_a_container(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemFree: 1 kB\nMemAvailable:  8388608 kB\n")
    assert machine.free_memory(tmp_path) == 8
    limits = tmp_path / "sys/fs/cgroup"
    limits.mkdir(parents=True)
    (limits / "memory.current").write_text(f"{1 << 30}\n")
    for limit, free in (("max\n", 8), (f"{3 << 30}\n", 2)):
        (limits / "memory.max").write_text(limit)
        assert machine.free_memory(tmp_path) == free


def test_extras_are_those_of_the_package():
    found = installed_extras()
    assert {"parquet", "server", "vllm", "train"} <= set(found)
    assert "dev" not in found


def test_the_sample_goes_across_the_input(tmp_path):
    from revise_captions.io.readers import open_source

    (tmp_path / "in.jsonl").write_text('{"image": "a.png", "caption": "A."}\n' * 1000)
    source = open_source(str(tmp_path / "in.jsonl"))
    lines = [row.line for row in probing.sampled(source)]
    assert len(lines) == 32
    assert lines[0] == 1
    assert lines[-1] > 950
    assert [row.line for row in probing.sampled(source, patience=0)] == list(range(1, 33))


def test_revise_captions_doctor_is_the_same(capsys, tmp_path, monkeypatch):
    from revise_captions.pipelines import cli

    monkeypatch.chdir(tmp_path)
    code, out, _ = outcome(cli.main, capsys, "doctor", "--help")
    assert code == 0
    assert out.startswith("Usage: captions doctor")
