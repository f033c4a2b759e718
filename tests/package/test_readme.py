"""What the pages promise is there: commands, options, files, fields; figures are current."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest
from pages import (
    ALL,
    OPTION,
    PAGES,
    PROGRAMS,
    ROOT,
    code,
    command_lines,
    inline,
    options,
)

from revise_captions.command_line.captions import load_command
from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.finetune.data.records import parse
from revise_captions.io import fields
from revise_captions.io.images import load_image
from revise_captions.io.readers import open_source
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.pipelines.cli import revise_captions as command
from revise_captions.pipelines.output.schema import to_json
from revise_captions.records import Record, Revision, Sentence, Span, Verdict
from revise_captions.registry import COMMANDS, names
from revise_captions.text.sentences import split
from scripts.research.bundled_models import card
from scripts.research.frame import blocks

README = PAGES["README.md"]
CARDS = ("critic/bundled", "reviser/bundled", "reviser/smollm2")
NOTES = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs/research").glob("*.md"))
EVERY_PAGE = (
    *PAGES,
    *(f"{folder}/README.md" for folder in (*CARDS, "scripts", "scripts/research")),
    *NOTES,
)
EXAMPLES = ROOT / "datasets/picturebook/examples"
#: Modules with options that the pages name, besides the entry points'.
MODULES = (
    "revise_captions.chart_world.generate",
    "revise_captions.picturebook.generate",
    "scripts.research.bundled_models.card",
    "scripts.research.chart_critic.measure",
    "scripts.checks.mutation",
    "scripts.research.posh.evaluate",
)


def known_options(words: list[str]) -> tuple[set[str], str]:
    """The options that a command line may have, and where they were found."""
    match words:
        case ["captions", "NAME"]:  # of a package that adds a command
            return {"--help"}, "captions"
        case ["captions", sub, *_] if not sub.startswith("-"):
            return options(load_command(sub)), f"captions {sub}"
        case ["python", "-m", "revise_captions", *rest]:
            return known_options(["captions", *rest])
        case ["eval", line]:
            return known_options(shlex.split(line.removeprefix("$(").removesuffix(")")))
        case [name, *_] if name in PROGRAMS:
            return options(PROGRAMS[name]), name
        case ["python", "-m", module, *_]:
            spec = importlib.util.find_spec(module)
            assert spec is not None, f"there is no module {module}"
            text = Path(spec.origin).read_text(encoding="utf-8")
            if "import argparse" in text:  # as the scripts do; they may import torch at once
                return set(OPTION.findall(text)), module
            return options(importlib.import_module(module).main), module
        case ["python" | "bash", script, *_]:
            return set(OPTION.findall((ROOT / script).read_text(encoding="utf-8"))), script
        case [script] if script.startswith("scripts/"):
            return set(), str((ROOT / script).resolve(strict=True))
        case ["grep", *_]:
            return set(), "grep"
        case ["pip", "install", *_]:
            return {"--no-deps"}, "pip"
        case ["docker" | "hf" | "vllm" | "ray" | "sbatch", *_]:  # sbatch's own: test_docs.py
            return {word for word in words if word.startswith("--")}, words[0]
        case [assignment] if "=" in assignment:
            return set(), "the shell"
        case ["torchrun", "--nproc-per-node", _, "-m", "revise_captions", *rest]:
            known, where = known_options(["captions", *rest])
            return {*known, "--nproc-per-node"}, where
    raise AssertionError(f"a command that nothing here knows: {words}")


@pytest.mark.parametrize("line", dict.fromkeys(command_lines(ALL)))
def test_commands_exist_and_take_these_options(line):
    words = shlex.split(line, comments=True)
    known, where = known_options(words)
    asked = {word for word in words if word.startswith("--")}
    assert asked <= known, f"{where} has no {asked - known}"


def test_the_training_script_uses_options_that_exist():
    script = (
        (ROOT / "scripts/research/train-bundled").read_text(encoding="utf-8").replace("\\\n", " ")
    )
    found = re.findall(r"(?m)(?:\$(python)|\.venv/bin/(captions)) +(.*)$", script)
    lines = [f"{python or captions} {rest}" for python, captions, rest in found]
    assert len(lines) == 18
    for line in lines:
        known, where = known_options(shlex.split(line))
        assert set(OPTION.findall(line)) <= known, where


def test_every_option_is_in_the_pages_and_every_one_there_exists():
    shown = set(OPTION.findall(" ".join(inline(ALL))))
    assert options(command) - shown == {"--help", "--version"} - shown
    mains = [importlib.import_module(module).main for module in MODULES]
    known = set().union(*(options(main) for main in (command, *mains, *PROGRAMS.values())))
    scripts = (ROOT / "scripts").rglob("*.py")
    known |= set(OPTION.findall(" ".join(path.read_text(encoding="utf-8") for path in scripts)))
    assert shown - known - {"--treebank"} == set()


def test_every_command_is_in_the_readme():
    lines = command_lines(ALL)
    for name in names(COMMANDS):
        assert any(re.match(rf"captions {name}\b", line) for line in lines), name
        assert f"captions {name}" in README, name


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings, and the site of documented objects."""
    headings = re.findall(r"(?m)^#+ (.*)$", page.read_text(encoding="utf-8"))
    of_headings = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
    return of_headings | set(re.findall(r"(?m)^::: (revise_captions[\w.]*)$", page.read_text()))


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_relative_links_resolve(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    dead = []
    for link in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if "://" not in link and not (
            target.exists() and (not anchor or anchor in anchors(target))
        ):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_paths_of_the_repository_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    tops = r"(?:scripts|src|tests|docs|critic|reviser|pipelines|finetune|datasets)"
    named = set(re.findall(rf"`({tops}(?:/[\w.-]+)+)[` ]", text)) | set(
        re.findall(rf"(?m)^\| `({tops})`", text)
    )
    named |= {m.replace(".", "/") + ".py" for m in re.findall(r"-m (scripts(?:\.\w+)+)", text)}
    made = {card.KEPT}  # only once figures were measured
    places = (ROOT, (ROOT / page).parent)
    missing = [p for p in sorted(named - made) if not any((at / p).exists() for at in places)]
    assert missing == []


def listed(folder: Path, files: Iterable[Path]) -> None:
    """Asserts that the README.md of a folder has each of its files, and nothing else."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    names = {path.relative_to(folder).as_posix() for path in files if path.is_file()}
    assert {name for name in names - {"README.md"} if f"`{name}`" not in text} == set()
    named = re.findall(r"(?m)^\| `([\w./-]+)`", text)
    assert [name for name in named if not (folder / name).is_file()] == []


def test_scripts_are_all_listed():
    folder = ROOT / "scripts"
    listed(folder, (p for f in ("", "bench", "checks") for p in (folder / f).iterdir()))
    research = folder / "research"
    listed(research, (p for p in research.rglob("*") if "__pycache__" not in p.parts))


@pytest.mark.parametrize("page", NOTES)
def test_a_research_note_is_titled_dated_and_reads_as_one(page):
    if page.endswith("/README.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert [n for n in NOTES if n != page and f"]({Path(n).name})" not in text] == []
        return
    title, _, date, *_ = (text := (ROOT / page).read_text(encoding="utf-8")).split("\n")
    assert title.startswith("# ")
    assert date.endswith(Path(page).name[:10])
    parts = ("Question.", "Setup.", "Command.", "Conclusion.")
    assert [part for part in parts if f"**{part}**" not in text] == []


def test_scripts_import_modules_that_exist():
    """Of ours by their full names: a script does not find its neighbours by their bare ones."""
    scripts = [p for p in (ROOT / "scripts").rglob("*.py") if "__pycache__" not in p.parts]
    neighbours = {path.stem for path in scripts}
    seen = 0
    for path in scripts:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.partition(".")[0] not in neighbours, f"{path}: {name}"
                if name.startswith(("scripts.", "revise_captions.")):
                    assert importlib.util.find_spec(name), f"{path}: there is no {name}"
                    seen += 1
    assert seen > 50


def test_fields_that_are_said_to_be_recognised_are():
    page = PAGES["docs/revising.md"]
    paragraph = re.search(r"Fields are recognized.*?\n\n", page, re.DOTALL)
    assert paragraph is not None
    named = set(re.findall(r"`([a-z_]+)`", paragraph[0]))
    assert len(named) > 10
    assert named <= {*fields.CAPTIONS, *fields.IMAGES}


def test_keys_of_the_demos_example_are_those_of_a_row():
    verdict = Verdict(0.9, assessable=True)
    judged = (Sentence(Span(0, 2), verdict, verdict),)
    made = to_json(Revision("A.", "A.", judged, expert="picturebook"))
    demo = PAGES["docs/demo.md"]
    example = json.loads(re.search(r"<!-- example -->\n```json\n(.*?)```", demo, re.DOTALL)[1])
    shown = example["revision"]
    assert set(shown) == set(made["revision"])
    assert all(set(s) == set(made["revision"]["sentences"][0]) for s in shown["sentences"])


def test_training_row_of_the_pages_is_one():
    (row,) = code(PAGES["docs/training-data.md"], "json")
    example = parse(json.loads(row))
    texts = [s.span.of(example.caption) for s in example.sentences]
    assert texts == ["A cat.", "It sleeps."]
    assert [s.factual for s in example.sentences] == [True, False]


# --- Figures ------------------------------------------------------------------------------------


def figures() -> dict:
    """Figures of the shape that `card.measure` gives, every one another number."""
    numbers = iter(range(1, 10_000))

    def number() -> float:
        return next(numbers) / 1000

    def interval() -> list[float]:
        return [number(), number(), number()]

    def context() -> dict[str, object]:
        keys = ("macro_f1", "macro_f1_without_context")
        return {"sentences": 78, **{key: interval() for key in keys}}

    keys = ("roc_auc", "macro_f1", "roc_auc_without_image", "macro_f1_without_image")
    keys += ("roc_auc_without_context", "macro_f1_without_context", "macro_f1_majority", "ece")
    flows = ("wrong_that_end_true", "of_these_deleted", "wrong_flagged", "true_made_false")
    flows += ("true_made_unreadable", "true_kept", "factuality_before", "factuality_after")
    table_6 = ("true_before", "true_after", "critic_after")
    runs = ("bundled critic, bundled reviser", "bundled critic, drop")
    runs += ("perfect critic, bundled reviser",)
    splits = {
        split_: {
            "critic": {
                **{key: interval() for key in keys},
                **{which: context() for which in ("needs_context", "context_decides")},
                "rationales": {"truly_wrong": [number(), 40], "flagged": [number(), 50]},
                "by_error": {"relation": [number(), 30], "text": [number(), 3]},
                "sentences": 1234,
                "captions": 56,
                "share_factual": number(),
                "unscored": number(),
                "assessable_accuracy": number(),
            },
            "shares": {
                when: {
                    kind: dict(zip(("value", "low", "high"), interval(), strict=True))
                    for kind in ("seen", "corrected", "true")
                }
                for when in ("before", "after")
            },
            "loop": {
                run: {
                    **{flow: number() for flow in flows},
                    "intervals": {"true_made_false": [number(), number()]},
                    "table_6": {key: number() for key in table_6},
                }
                for run in runs
            },
        }
        for split_ in card.SPLITS
    }
    return {
        "scenes": 56,
        "first": 7,
        "training": {"seed": 0, "seconds": 120.0, "train_captions": 10, "train_images": 5},
        "calibration": {"macro_f1": 0.9, "ece": 0.0321, "sentences": 99},
        "settings": {"threshold": 0.4321},
        "speed": {"sentences_per_second": 210.4, "hardware": "a machine", "times_faster": 6.66},
        **splits,
    }


def test_figures_land_in_the_files_and_nothing_else_changes(tmp_path):
    found = figures()
    for name in card.blocks(found):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    card.write_blocks(found, tmp_path)
    once = {name: (tmp_path / name).read_text(encoding="utf-8") for name in card.blocks(found)}
    for name, text in once.items():
        before, rest = text.split("<!-- figures -->\n")
        block, after = rest.split("<!-- /figures -->")
        assert block.startswith(("| figure |", "**test** split"))
        original = (ROOT / name).read_text(encoding="utf-8")
        assert original.startswith(before)
        assert original.endswith(after)
    summary = once["docs/measurements/bundled.md"]
    auc = found["test"]["critic"]["roc_auc"]
    assert f"| critic: ROC-AUC | {auc[0]:.3f} ({auc[1]:.3f}–{auc[2]:.3f}) |" in summary
    assert "| ≥ 0.99 / ≥ 0.975: missed (ordinary and compositional) |" in summary
    assert "| ≤ 0.01 / ≤ 0.015: missed (ordinary and compositional) |" in summary
    run = found["test"]["loop"]["bundled critic, bundled reviser"]
    low, high = run["intervals"]["true_made_false"]
    assert f"| {run['true_made_false']:.3f} ({low:.3f}–{high:.3f}) |" in summary
    assert "| flagged, of sentences wrong by text | 0." in once["critic/bundled/README.md"]
    assert (
        "Threshold 0.4321; ECE on 99 validation sentences, held out from setting it: 0.032"
        in summary
    )
    assert "card --scenes 56 --first 7`" in summary
    assert "210 sentences/s" in summary
    dropped = [found[s]["loop"]["bundled critic, drop"]["wrong_that_end_true"] for s in card.SPLITS]
    assert f"--reviser drop` | {dropped[0]:.3f} | {dropped[1]:.3f} |" in summary
    card.write_blocks(json.loads((tmp_path / card.KEPT).read_text()), tmp_path)
    assert once == {name: (tmp_path / name).read_text(encoding="utf-8") for name in once}


def test_a_target_is_missed_only_where_it_is():
    found = figures()
    found["test"]["critic"]["roc_auc"] = [0.99, 0.98, 1.0]
    found["compositional"]["critic"]["roc_auc"] = [0.9749, 0.96, 0.98]
    found["test"]["critic"]["ece"] = [0.0201, 0.01, 0.03]
    found["compositional"]["critic"]["ece"] = [0.04, 0.03, 0.05]
    for split_ in card.SPLITS:
        found[split_]["loop"]["bundled critic, bundled reviser"]["true_made_false"] = 0.01
        found[split_]["loop"]["bundled critic, bundled reviser"]["true_kept"] = 0.97
    lines = card.summary_card(found).splitlines()
    last = {line.split("|")[1].strip(): line.split("|")[-2].strip() for line in lines[2:-2]}
    assert last["critic: ROC-AUC"] == "≥ 0.99 / ≥ 0.975: missed (compositional)"
    assert last["critic: ECE"] == "≤ 0.02 / ≤ 0.04: missed (ordinary)"
    assert last["true sentences made false"] == "≤ 0.01 / ≤ 0.015"
    assert last["true sentences kept"] == "≥ 0.97"
    assert last["… floor: majority class"] == ""


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="0 pairs"):
        blocks.with_block("no marks here", "| figure |")
    with pytest.raises(ValueError, match="2 pairs"):
        blocks.with_block("<!-- figures -->\n<!-- /figures -->\n" * 2, "| figure |")


def test_a_block_finds_the_page_with_its_marks(tmp_path):
    (tmp_path / "docs").mkdir()
    readme, page = tmp_path / "README.md", tmp_path / "docs/page.md"
    with pytest.raises(UserError, match=r"0 of README.md and docs/\*.md"):
        blocks.write_to_pages(tmp_path, {"one": "1"})
    readme.write_text("a\n<!-- one -->\n<!-- /one -->\n")
    page.write_text("<!-- two -->\nold\n<!-- /two -->\nb\n")
    with pytest.raises(UserError, match=r"0 of README.md and docs/\*.md"):
        blocks.write_to_pages(tmp_path, {"one": "1", "three": "3"})
    assert "1" not in readme.read_text()  # all of them or none
    blocks.write_to_pages(tmp_path, {"one": "1", "two": "2"})
    assert readme.read_text() == "a\n<!-- one -->\n1\n<!-- /one -->\n"
    assert page.read_text() == "<!-- two -->\n2\n<!-- /two -->\nb\n"
    page.write_text(page.read_text() + readme.read_text())
    with pytest.raises(UserError, match=r"2 of README.md and docs/\*.md"):
        blocks.write_to_pages(tmp_path, {"one": "1"})


@pytest.mark.parametrize("name", ["demo", "example", "figures", "rate", "metric", "posh"])
def test_every_block_that_a_command_writes_has_one_page(name):
    text = blocks.page_with(ROOT, name).read_text(encoding="utf-8")
    block = text[text.index(f"<!-- {name} -->") : text.index(f"<!-- /{name} -->")]
    assert block.count("\n") > 5
    assert blocks.with_block(text, block.partition("\n")[2].rstrip("\n"), name) == text


def test_figures_in_the_pages_are_the_measured_ones():
    kept = ROOT / card.KEPT
    if not kept.exists():
        pytest.skip(f"{card.KEPT} does not exist: nothing has been measured yet")
    for name, block in card.blocks(json.loads(kept.read_text(encoding="utf-8"))).items():
        assert blocks.block_of(ROOT / name, "figures") == block, (
            f"{name}: run the card with --write"
        )


# --- The demo's input ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def records() -> list[Record]:
    with_fields = open_source(str(EXAMPLES / "captions.jsonl"))
    items = list(with_fields)
    assert all(isinstance(item, Record) for item in items)
    return items


def test_the_examples_load_but_for_the_one_cut_short(records):
    broken = []
    for record in records:
        try:
            picture = load_image(record.image, folder=EXAMPLES)
        except BadRecord as error:
            broken.append((record.fields["id"], error.reason))
        else:
            assert record.fields["model"] == "somebody" or picture.size == (384, 384)
    assert broken == [("cut-short", Reason.IMAGE_TRUNCATED)]
    assert len(records) == 27
    assert len({record.image.path for record in records}) == 27


def test_the_examples_are_small():
    sizes = {path: path.stat().st_size for path in EXAMPLES.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 2_000_000
    assert sizes[EXAMPLES / "contact-sheet.png"] < 300_000
    names = {path.name for path in sizes} - {"captions.jsonl", "contact-sheet.png"}
    assert len(names) == 27


def test_weak_captioners_are_wrong_about_half_of_the_time(records):
    """The oracle, not the writer, says what is true of the scenes that were drawn."""
    truths: dict[str, list[Truth]] = {}
    for record in records:
        split_, _, number = record.fields["id"].partition("-")
        if split_ not in card.SPLITS:
            continue
        scene, text = sample_scene(int(number), split_), record.captions["caption"]
        truths.setdefault(record.fields["model"], []).extend(
            oracle(scene, text[: span.start], span.of(text)) for span in split(text)
        )
    assert not any(truth is Truth.UNPARSED for found in truths.values() for truth in found)
    right = {m: sum(t is not Truth.FALSE for t in ts) / len(ts) for m, ts in truths.items()}
    assert len(right) == 4
    for model in ("simulated-minigpt-4", "simulated-llava-1.5"):
        assert 0.35 < right[model] < 0.65
    assert right["simulated-gpt-4o"] > 0.85
