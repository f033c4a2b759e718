"""`captions run`: the recipes of the page end where the commands do, and do nothing twice."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from commands import outcome, read
from layout_inputs import COUNT, files_of, make, rows_of, texts
from pages import PAGES, code

from revise_captions.command_line.captions import main
from revise_captions.pipelines.explore.decisions import decisions_path
from revise_captions.pipelines.recipe.init import pilot_of
from revise_captions.stats.exact import exact_interval

RECIPES = code(PAGES["docs/recipes.md"], "toml")
LAYOUTS = ("jsonl", "beside", "tar")
STYLE = ["--write", "caption", "--evidence", "sidecar"]
WHERE = "factual_after >= 0.9 and unscored = 0"


@pytest.fixture(autouse=True)
def scripted(command, tmp_path, monkeypatch):
    monkeypatch.setenv("SCRIPTED_CALLS", str(tmp_path / "calls"))


def asked(folder: Path) -> int:
    """How many captions the critic was asked about."""
    calls = folder / "calls"
    return len(calls.read_text().splitlines()) if calls.exists() else 0


def write(text: str) -> None:
    Path("recipe.toml").write_text(text)


def run(capsys, *more: object) -> tuple[int, str, str]:
    return outcome(main, capsys, "run", "recipe.toml", *more)


@pytest.mark.parametrize(("layout", "recipe"), list(zip(LAYOUTS, RECIPES, strict=True)))
def test_a_recipe_of_the_page_makes_what_a_training_loader_reads(layout, recipe, tmp_path, capsys):
    pytest.importorskip("duckdb")
    made = make(layout, tmp_path)
    named = tomllib.loads(recipe)
    Path(made.source).rename(named["in"])
    write(recipe)
    code_, said, err = run(capsys)
    assert code_ == 0, err
    found = texts(layout, Path(named["out"]), tmp_path / "cache")
    last = "judge-3" if layout == "beside" else "judge"  # it has one model in memory at a time
    judged = rows_of(Path(f"{named['out']}.steps/{last}{made.suffix}"))
    revised = [row["revised_caption"] for row in judged]
    assert len(revised) == COUNT
    if layout == "beside":
        assert found == revised
    else:
        assert 5 < len(found) < COUNT
        assert set(found) <= set(revised)
    calls = asked(tmp_path)
    before = files_of(Path(named["out"]))
    code_, said, _ = run(capsys)
    assert code_ == 0
    assert said.count("reused") == said.count("] ")
    assert asked(tmp_path) == calls
    assert files_of(Path(named["out"])) == before


def test_a_recipe_ends_in_the_bytes_of_the_commands(command, tmp_path, capsys):
    pytest.importorskip("duckdb")
    make("jsonl", tmp_path)
    lines = Path("in.jsonl").read_text().splitlines(keepends=True)
    Path("in.jsonl").write_text("".join([*lines[:9], "{damaged\n", *lines[9:]]))
    assert command("in.jsonl", "judged.jsonl").code == 0
    line = ["select", "judged.jsonl", "kept.jsonl", "--where", WHERE, *STYLE]
    assert outcome(main, capsys, *line)[0] == 0
    write(
        'in = "in.jsonl"\nout = "out.jsonl"\n[report]\nreport = "out.html"\n'
        f'[select]\nwhere = "{WHERE}"\n[write]\nwrite = "caption"\nevidence = "sidecar"\n'
    )
    assert run(capsys)[0] == 0
    for name in ("{}.jsonl", "{}.jsonl.evidence.jsonl", "{}.jsonl.signatures.json"):
        mine, theirs = (Path(name.format(n)) for n in ("out", "kept"))
        assert mine.read_bytes() == theirs.read_bytes()
    (bad,) = read("out.quarantine.jsonl")
    assert (bad["file"], bad["line"], bad["reason"]) == ("in.jsonl", 10, "malformed_json")
    records = json.loads(Path("out.json").read_text())["summary"]["records"]
    assert (records["read"], records["quarantined"]) == (COUNT + 1, 1)


def test_a_cut_recipe_goes_on_and_only_what_depends_on_a_change_is_done_again(
    command, tmp_path, capsys, monkeypatch
):
    make("jsonl", tmp_path)
    recipe = 'in = "in.jsonl"\nout = "out.jsonl"\n[write]\nwrite = "{}"\n[revise]\nrounds = {}\n'
    write(recipe.format("both", 2))
    monkeypatch.setenv("SCRIPTED_DIES", "3")
    code_, _, said = run(capsys)
    assert code_ == 3
    assert "the same command resumes" in said
    monkeypatch.delenv("SCRIPTED_DIES")
    code_, _, said = run(capsys)
    assert code_ == 0, said
    assert command("in.jsonl", "whole.jsonl").code == 0
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    calls = asked(tmp_path)
    write(recipe.format("caption", 2))
    assert run(capsys)[1].count("reused") == 1
    assert asked(tmp_path) == calls
    assert command("in.jsonl", "in-place.jsonl", "--write", "caption").code == 0
    assert Path("out.jsonl").read_bytes() == Path("in-place.jsonl").read_bytes()
    calls = asked(tmp_path)
    write(recipe.format("caption", 1))
    assert run(capsys)[1].count("reused") == 0
    assert asked(tmp_path) > calls
    calls = asked(tmp_path)
    (tmp_path / "images/3.png").write_bytes((tmp_path / "images/4.png").read_bytes())
    assert run(capsys)[0] == 0  # an image is another one: what it shows is judged anew
    assert asked(tmp_path) > calls


def test_what_the_recipe_did_not_write_is_not_replaced(tmp_path, capsys):
    make("jsonl", tmp_path)
    Path("out.jsonl").write_text("mine\n")
    write('in = "in.jsonl"\nout = "out.jsonl"\n')
    code_, _, said = run(capsys)
    assert (code_, said) == (2, f"captions run: out.jsonl exists\n  {HINT}\n")
    assert asked(tmp_path) == 0
    assert run(capsys, "--force")[0] == 0
    with Path("out.jsonl").open("a") as file:
        file.write("\n")
    code_, _, said = run(capsys)
    changed = "out.jsonl has changed since the recipe wrote it"
    assert (code_, said) == (2, f"captions run: {changed}\n  {HINT}\n")


HINT = "--force writes it anew; or name another one"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('in = "a"\n', 'expected out = "…"'),
        ('in = "a"\nout = "b"\n[juge]\n', "the recipe has no juge\n  did you mean judge?"),
        ('in = "a"\nout = "b"\n[judge]\ncritik = "c"\n', "[judge] has no critik\n  did you mean"),
        ('in = "a"\nout = "b"\n[revise]\nrounds = "two"\n', "[revise] rounds: 'two' is not"),
        ('in = "a"\nout = "b"\n[judge]\nstages = "later"\n', "'in turn'"),
        ('in = "a"\nout = "b"\n[select]\nstratify = "captioner"\n', "add sample"),
        ('in = "a"\nout = "b"\njudge = 3\n', "expected a section [judge]"),
        ('in = "a"\nout = "-"\n', "out must be a file or a folder, not -"),
        ("in = ", "is not readable TOML"),
        (f"in = {5000 * '['}", "is not readable TOML"),
    ],
)
def test_what_is_no_recipe_is_said(text, said, tmp_path, capsys):
    write(text)
    code_, _, printed = run(capsys)
    assert code_ == 2
    assert said in printed
    assert "Traceback" not in printed


def test_a_misspelled_recipe_is_answered_with_the_nearest(capsys, tmp_path):
    write("")
    code_, _, said = outcome(main, capsys, "run", "recip.toml")
    assert code_ == 2
    assert "'recip.toml' does not exist: did you mean recipe.toml?" in said


@pytest.mark.parametrize("stages", ["together", "in turn"])
def test_the_report_has_the_intervals_that_the_terminal_had(stages, tmp_path, capsys):
    make("jsonl", tmp_path)
    write(
        'in = "in.jsonl"\nout = "out.jsonl"\n[report]\nreport = "report.html"\n'
        f'[judge]\nstages = "{stages}"\n[revise]\nrounds = 1\n'
    )
    code_, said, err = run(capsys)
    assert code_ == 0, err
    told = [line for line in said.splitlines() if line.startswith("Captions, every sentence")][-1]
    figures = json.loads(Path("report.json").read_text())["summary"]
    found = figures["captions"]["all_factual"]
    for share in (found["before"], found["after"]):
        assert f"[{100 * share['low']:.1f}, {100 * share['high']:.1f}]" in told


def test_a_pilot_says_what_the_whole_would_come_to(tmp_path, capsys):
    make("jsonl", tmp_path)
    rows = [{**row, "big": 1, "model": "ab"[row["n"] % 10 == 0]} for row in read("in.jsonl")]
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write('in = "in.jsonl"\nout = "out.jsonl"\n[pilot]\nprice_per_hour = 3600\n')
    code_, said, _ = run(capsys, "--pilot", 20)
    assert code_ == 0
    assert "Pilot on 20 records of 70." in said
    assert "at 3600 an hour" in said
    assert "nobody has decided" in said
    assert not Path("out.jsonl").exists()
    judged = Path("out.jsonl.steps/pilot/out.jsonl.steps/judge.jsonl")
    models = [row["model"] for row in read(judged)]
    assert (models.count("a"), models.count("b")) == (18, 2)
    calls = asked(tmp_path)
    for right, of, go_on in ((50, 50, "yes"), (9, 10, "not clear yet"), (10, 50, "no:")):
        made = [
            {"sentence_id": str(n), "decision": "accept" if n < right else "edit"}
            for n in range(of)
        ]
        path = decisions_path(str(judged))
        path.write_text("".join(json.dumps(row) + "\n" for row in made * 2))
        said = run(capsys, "--pilot", 20)[1]
        low, _ = exact_interval(right, of)
        assert f"{right} of {of} decided" in said
        assert f"{100 * low:.1f} %" in said
        assert f"go on    {go_on}" in said
    assert asked(tmp_path) == calls
    assert run(capsys)[0] == 0
    assert len(read("out.jsonl")) == 70


@pytest.mark.parametrize("pilot", [(), ("--pilot", 20)])
def test_a_strangers_folder_beside_out_is_left_alone(tmp_path, capsys, pilot):
    make("jsonl", tmp_path)
    write('in = "in.jsonl"\nout = "out.jsonl"\n')
    Path("out.jsonl.steps").mkdir()
    Path("out.jsonl.steps/precious").write_text("mine")
    code_, _, said = run(capsys, *pilot)
    assert code_ == 2
    assert "was not written by a recipe" in said
    assert [path.name for path in Path("out.jsonl.steps").iterdir()] == ["precious"]


def test_the_interval_is_that_of_clopper_and_pearson():
    """0 of 10: 1 - 0.025 ** (1/10). 7 of 20: their tables, .1539 to .5922."""
    assert exact_interval(0, 10) == (0, pytest.approx(1 - 0.025**0.1))
    assert exact_interval(7, 20) == pytest.approx((0.1539, 0.5922), abs=5e-5)


@pytest.mark.parametrize(
    ("total", "size"), [(None, 500), (10**6, 500), (2_000, 200), (80, 10), (10, 10), (3, 3)]
)
def test_the_pilot_that_is_suggested_fits_the_input(total, size):
    assert pilot_of(total) == size


@pytest.mark.parametrize("layout", [*LAYOUTS, "coco", "parquet"])
def test_a_recipe_that_was_written_for_an_input_runs(layout, tmp_path, capsys, monkeypatch):
    from revise_captions.pipelines.doctor import cli

    pytest.importorskip("datasets")
    monkeypatch.setattr(cli, "_critic_of", lambda job: None)
    made = make(layout, tmp_path)
    code_, told, said = outcome(
        main, capsys, "init-recipe", made.source, "recipe.toml", *made.options
    )
    assert code_ == 0, said
    size = 500 if layout == "coco" else 10  # how many a COCO file has, only reading it tells
    assert f"recipe.toml --pilot {size}\n" in told
    assert run(capsys)[0] == 0
    out = tomllib.loads(Path("recipe.toml").read_text())["out"]
    assert len(texts(layout, Path(out), tmp_path / "cache")) == COUNT
    assert Path("report.html").exists()
