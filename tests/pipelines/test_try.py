"""`captions try` and `captions init-config`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from commands import outcome, program, read, write_input

from revise_captions.command_line.captions import load_command
from revise_captions.command_line.init_config import init_config
from revise_captions.pipelines import try_cli
from revise_captions.pipelines.api import revise
from revise_captions.runs import progress

main = program(try_cli.try_caption)
write_config = program(init_config)

IMAGES = Path(__file__).parents[2] / "datasets/picturebook/examples/images"
CAPTION = (
    "The image depicts a peaceful beach. The image also shows a bird. It is below the sun. "
    "A blue boat is visible below the sun. It is large."
)


def test_each_step_of_one_caption_is_shown(capsys, monkeypatch):
    """What `revise` finds, and what the page shows."""
    monkeypatch.setattr(progress, "PATIENCE", 60)
    code, out, err = outcome(main, capsys, IMAGES / "test-073.png", CAPTION)
    assert (code, err) == (0, "")
    lines, text = out.splitlines(), " ".join(out.split())
    image = str(IMAGES / "test-073.png")
    (found,) = revise([{"image": image, "caption": CAPTION}], image_field="image")
    (revision,) = found.revisions.values()
    for sentence in revision.sentences:
        p = sentence.verdict.p_factual
        mark = "✗" if p < revision.threshold else "✓"
        assert f"{mark}    {p:.4f}  {sentence.span.of(CAPTION)}" in lines
        if p < revision.threshold:
            assert f"why: {sentence.rationale.text}" in text
            assert f"→ {sentence.now.p_factual:.4f} {sentence.accepted.text}" in text
    assert {"✓", "✗"} <= {line[:1] for line in lines}
    assert text.endswith("A blue boat is visible below the sun. It is large.")
    page = Path(__file__).parents[2] / "docs/revising.md"
    assert "\n".join(lines[:4]) in page.read_text(encoding="utf-8")


def test_what_cannot_be_tried(capsys, tmp_path):
    from PIL import Image

    Image.effect_noise((64, 64), 90).convert("RGB").save(tmp_path / "noise.png")
    code, out, _ = outcome(main, capsys, tmp_path / "noise.png", "A man.\x1b[2J")
    assert code == 4
    assert "?  unscored  A man." in out
    assert "--critic" in out
    assert "\x1b[2J" not in out
    for image, caption, said in (
        (tmp_path / "none.png", "A man.", "none.png' does not exist"),
        (tmp_path / "noise.png", "  ", "empty caption"),
    ):
        code, _, err = outcome(main, capsys, image, caption)
        assert code == 2
        assert said in err
        assert "Traceback" not in err


@pytest.mark.parametrize("name", ["revise", "rate", "verify"])
def test_a_config_with_every_option_at_its_default(name, capsys, tmp_path):
    path = tmp_path / "c.toml"
    assert outcome(write_config, capsys, path, "--for", name)[0] == 0
    assert tomllib.loads(path.read_text()) == {}
    lines = path.read_text().splitlines()
    values = tomllib.loads("\n".join(line[1:] for line in lines if line[:1] == "#" != line[:2][1:]
                                     and line[1:2].isalpha()))  # fmt: skip
    for option in load_command(name).params:
        stored = values.get(max(option.opts, key=len).removeprefix("--"))
        if isinstance(option.default, str | int | float) and stored is not None:
            assert stored == option.default, option.name
    assert {"critic", "image-root"} <= set(values)
    code, _, err = outcome(write_config, capsys, path)
    assert code == 2
    assert "--force" in err


def test_a_command_without_a_config_is_named(capsys):
    code, _, err = outcome(write_config, capsys, "--for", "posh")
    assert (code, err) == (2, "captions init-config: captions posh takes no --config\n")
    code, _, err = outcome(write_config, capsys, "--for", "pohs")
    assert (code, "did you mean posh?" in err) == (2, True)


def test_the_config_is_taken(command, capsys, tmp_path):
    write_input(tmp_path / "in.jsonl", 3)
    assert outcome(write_config, capsys, "c.toml")[0] == 0
    text = Path("c.toml").read_text()
    assert "#limit = 1" in text
    Path("c.toml").write_text(text.replace("#limit = 1", "limit = 2"))
    assert command("in.jsonl", "out.jsonl", "--config", "c.toml").code == 0
    assert len(read("out.jsonl")) == 2
