"""The command's options: their defaults, a file of them, wrong ones, --dry-run."""

from __future__ import annotations

import subprocess
import sys

from commands import read, read_in_full, write_input

from revise_captions.pipelines import cli


def test_config_file_sets_what_the_command_line_does_not(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 20)
    (tmp_path / "c.toml").write_text('threshold = 0.8\nlimit = 7\non-unfixable = "drop"\n')
    assert command("in.jsonl", "out.jsonl", "--config", "c.toml", "--limit", "4").code == 0
    rows = read_in_full("out.jsonl")
    assert len(rows) == 4
    signature = rows[0]["revision"]["signature"]
    assert "threshold:0.8000" in signature
    assert "on-unfixable:drop" in signature
    for text, expected in (
        ("treshold = 1", "sets treshold"),
        ("threshold = 7", "not in the range"),
        ("threshold = nan", "nan is not in the range 0<=x<=1"),
        ("threshold = ", "not readable TOML"),
        (f"threshold = {5000 * '['}", "not readable TOML"),
        ('source = "x"', "sets source"),
    ):
        (tmp_path / "c.toml").write_text(text)
        ran = command("in.jsonl", "o2.jsonl", "--config", "c.toml")
        assert ran.code == 2
        assert expected in ran.err


def test_wrong_options_are_one_line(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 2)
    for arguments, expected in (
        (("in.jsonl", "in.jsonl"), "never overwritten"),
        (("none.jsonl", "o.jsonl"), "none.jsonl does not exist"),
        (("in.jsonl", "no/o.jsonl"), "mkdir -p no"),
        (("in.jsonl", "o.jsonl", "--shard", "3/3"), "no shard 3/3"),
        (("in.jsonl", "o.jsonl", "--shard", "x"), "expected I/N"),
        (("in.jsonl", "o.jsonl", "--report", "no/r.html"), "no folder no"),
        (("in.jsonl", "o.jsonl", "--report", "o.jsonl"), "of both OUT and --report"),
        (("in.jsonl", "o.json", "--report", "o.html"), "would overwrite the output"),
        (
            ("in.jsonl", "o.jsonl", "--threshold", "0.5", "--target-precision", "0.9"),
            "cannot be combined",
        ),
    ):
        ran = command(*arguments)
        assert ran.code == 2
        assert expected in ran.err
        assert ran.err.startswith("revise-captions: ")
        assert ran.err.count("\n") <= 2
        assert ran.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "in.jsonl"]


def test_an_existing_output_is_not_overwritten(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 3)
    (tmp_path / "out.jsonl").write_text("precious")
    ran = command("in.jsonl", "out.jsonl")
    assert ran.code == 2
    assert "--force" in ran.err
    assert command("in.jsonl", "out.jsonl", "--resume").code == 2
    assert (tmp_path / "out.jsonl").read_text() == "precious"
    assert command("in.jsonl", "out.jsonl", "--force").code == 0
    assert len(read("out.jsonl")) == 3


def test_every_option_shows_its_default(command):
    ran = command("--help")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    options = [p for p in cli.revise_captions.params if p.param_type_name == "option"]
    for option in options:
        assert option.opts[0] in text
    for option in options:
        if isinstance(option.default, str | int | float) and not option.is_flag:
            assert f"[default: {option.default}" in text, option.name
    assert text.count("[default: ") >= 15
    names = {option.name for option in options} - {"config", "version", "help", "verbose"}
    from revise_captions.pipelines.options import option_names

    stored = option_names()
    assert names == set(stored) - {"source", "out", "config"}
    for option in options:
        if option.name in stored and isinstance(option.default, str | int | float):
            assert option.default == stored[option.name], option.name


def test_dry_run_counts_and_loads_no_model(tmp_path):
    rows = write_input(tmp_path / "in.jsonl", 30)
    sentences = sum(row["caption"].count(".") for row in rows)
    with (tmp_path / "in.jsonl").open("a") as file:
        file.write('{"image": "gone.png", "caption": "A dog."}\n{"image": "a.png"}\n[]\n')
    code = (
        "import sys\nfrom revise_captions.pipelines import cli\n"
        "try:\n    cli.main(sys.argv[1:])\nexcept SystemExit as stop:\n    code = stop.code\n"
        "assert not {'torch', 'transformers', 'datasets'} & set(sys.modules)\nsys.exit(code)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "in.jsonl", "out.jsonl", "--dry-run", "--reviser", "drop",
         "--threshold", "0.25", "--critic", "m@http://localhost:1/v1"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode in (0, 2), ran.stderr  # 2: no bundled critic in this tree
    if ran.returncode == 2:
        assert "no bundled critic" in ran.stderr
    lines = {line.partition(" ")[0]: line for line in ran.stdout.splitlines()}
    assert lines["records"].split() == ["records", "30"]
    assert lines["sentences"].split() == ["sentences", str(sentences)]
    assert lines["problems"].split() == ["problems", "3"]
    for reason in ("image_not_found", "missing_caption", "not_an_object"):
        assert f"1 {reason}" in ran.stdout
    assert "line 31: image_not_found" in ran.stdout
    assert lines["reviser"].split() == ["reviser", "drop"]
    assert lines["guard"] == "guard            the reviser's own"
    assert lines["stage"].split() == ["stage", "all"]
    assert lines["time"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "in.jsonl"]


def test_dry_run_of_a_later_stage_looks_at_no_images(command, tmp_path):
    write_input(tmp_path / "in.jsonl", 5)
    given = ("--stage", "critique", "--threshold", "0.75")
    assert command("in.jsonl", "c.jsonl", *given).code == 0
    (tmp_path / "a.png").unlink()
    ran = command("c.jsonl", "r.jsonl", "--stage", "revise", "--reviser", "drop", "--dry-run")
    assert ran.code == 0, ran.err
    lines = {line.partition(" ")[0]: line.split()[1:] for line in ran.out.splitlines() if line}
    assert lines["problems"] == ["0"]
    assert lines["threshold"] == ["0.7500"]
    assert lines["critic"] == ["none;", "hash", "flagged"]


def test_dry_run_estimates_from_the_checkpoints_own_speed():
    from revise_captions.pipelines.job.dry_run import estimate

    assert "about 1 min 40 s" in estimate(1000, {"sentences_per_second": 10, "hardware": "a CPU"})
    assert "a CPU" in estimate(1000, {"sentences_per_second": 10, "hardware": "a CPU"})
    assert estimate(1000, {}).startswith("no estimate")
