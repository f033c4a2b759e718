"""Hooks of mkdocs.yml: pages from outside docs/, and packages where mkdocstrings finds them.

Pages stay where readers of the repository look for them (README.md, the models' cards, …), with
links that work there. The site gets copies of them, with the links rewritten to the copies.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import tomllib
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
#: Files of the repository that become pages or pictures of the site, by their places there.
ADDED = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "critic/bundled/README.md": "cards/critic.md",
    "reviser/bundled/README.md": "cards/reviser.md",
    "src/revise_captions/graphs/bundled/README.md": "cards/parser.md",
    "scripts/README.md": "scripts.md",
    "datasets/picturebook/examples/contact-sheet.png": "contact-sheet.png",
}
#: The demo's report and its explorer, where it was run before the site is built: pages to decide
#: on, without a server.
DEMO, EXPLORER = "demo-out/report.html", "demo-out/explorer"
_LINK = re.compile(
    r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<path>[^()\s#:]+)(?P<anchor>#[^)\s]*)?\)"
)
#: GitHub wants bars escaped in the code of a table's cell, and Python's Markdown shows the escape.
_IN_CODE = re.compile(r"`[^`\n]+`")


def package_tree(folder: Path) -> Path:
    """`revise_captions` as one folder, of links: griffe reads files and knows no mapped folders."""
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    mapped: dict[str, str] = setup["tool"]["setuptools"]["package-dir"]
    base = folder / "revise_captions"
    base.mkdir(parents=True)
    for entry in (ROOT / mapped["revise_captions"]).iterdir():
        (base / entry.name).symlink_to(entry)
    for package, place in mapped.items():
        names = package.split(".")[1:]
        if len(names) == 1 and not (base / names[0]).exists():
            (base / names[0]).symlink_to(ROOT / place)
    return folder


@event_priority(100)  # before mkdocstrings reads its paths
def on_config(config: MkDocsConfig) -> None:
    """Tells mkdocstrings where the package is; adds research notes to the navigation."""
    tree = package_tree(Path(tempfile.mkdtemp(prefix="revise-captions-docs-")))
    config.plugins["mkdocstrings"].config["handlers"]["python"]["paths"] = [str(tree)]
    assert config.nav is not None
    (measured,) = (entry["Measurements"] for entry in config.nav if "Measurements" in entry)
    notes = sorted(Path(config.docs_dir).glob("research/2*.md"))
    measured.append(
        {"Research notes": ["research/README.md", *(f"research/{n.name}" for n in notes)]}
    )


def on_files(files: Files, config: MkDocsConfig) -> None:
    demo = {DEMO: "demo-report.html"} if (ROOT / DEMO).exists() else {}
    shown = sorted(path for path in (ROOT / EXPLORER).rglob("*") if path.is_file())
    demo |= {str(path.relative_to(ROOT)): f"explorer/{_below(path)}" for path in shown}
    for source, place in (ADDED | demo).items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))


def _below(path: Path) -> str:
    return path.relative_to(ROOT / EXPLORER).as_posix()


def on_page_markdown(markdown: str, page: Page, files: Files, **_: object) -> str:
    """The page with links to where its targets are on the site."""
    sources = {place: source for source, place in ADDED.items()}
    here = page.file.src_uri
    source = sources.get(here, f"docs/{here}")
    if here == "index.md":
        page.meta["hide"] = ["navigation"]

    if here == "demo.md" and files.get_file_from_path("demo-report.html") is not None:
        markdown += "\n[The demo's report, to look at and decide in](demo-report.html)\n"
    if here == "demo.md" and files.get_file_from_path("explorer/index.html") is not None:
        markdown += "\n[The explorer on the demo's run, without a server](explorer/index.html)\n"

    def moved(link: re.Match[str]) -> str:
        target = normpath(join(dirname(source), link["path"]))
        place = ADDED.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(place) is not None:
            path = relpath(place, dirname(here) or ".")
            return f"{link['picture']}[{link['text']}]({path}{link['anchor'] or ''})"
        # What is in the repository and not on the site is named, not linked; what is nowhere stays
        # a link, and MkDocs says that it is broken.
        return link["text"] if (ROOT / target).exists() else link[0]

    return _LINK.sub(moved, _IN_CODE.sub(lambda code: code[0].replace("\\|", "|"), markdown))


def on_post_build(config: MkDocsConfig) -> None:
    (tree,) = config.plugins["mkdocstrings"].config["handlers"]["python"]["paths"]
    shutil.rmtree(tree)
