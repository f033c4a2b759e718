"""The pages that readers begin with, README.md and those in docs, and what stands in them."""

from __future__ import annotations

import re
from pathlib import Path

import click

from revise_captions.command_line.captions import captions
from revise_captions.pipelines.cli import revise_captions
from scripts.research.frame import blocks

ROOT = Path(__file__).parents[2]
#: Text of each page, by its path in the checkout.
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in blocks.pages(ROOT)
}
ALL = "\n".join(PAGES.values())
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
_STARTS = ("captions ", "revise-captions ", "python ", "bash ", "scripts/", "pip ")


def code(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```", text)


def inline(text: str) -> list[str]:
    """What stands between single backticks; one that is broken over two lines is one."""
    without = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
    found = re.findall(r"(?<!`)`([^`]+)`(?!`)", without)
    return [" ".join(part.split()).replace("\\|", "|") for part in found]


def command_lines(text: str) -> list[str]:
    """The shell commands of a page, in blocks and in its sentences."""
    blocks = [block.replace("\\\n", " ") for block in code(text, "bash")]
    lines = [line.strip() for block in blocks for line in block.splitlines() if line.strip()]
    return [*lines, *(part for part in inline(text) if part.startswith(_STARTS))]


def options(of) -> set[str]:
    names = {
        name for parameter in of.params for name in (*parameter.opts, *parameter.secondary_opts)
    }
    if isinstance(of, click.Group):
        context = click.Context(of)
        inner = (of.get_command(context, name) for name in of.list_commands(context))
        names |= set().union(*map(options, inner))
    return {name for name in names if name.startswith("--")} | {"--help"}


#: The two programs.
PROGRAMS = {"captions": captions, "revise-captions": revise_captions}
