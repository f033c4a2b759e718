"""The command `captions explore`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import OUT, OUT_FILE, OUT_FOLDER, shared_option

if TYPE_CHECKING:
    from revise_captions.pipelines.explore.session import ExploreSession

EPILOG = """
\b
Examples:
  captions explore revised.jsonl                   # prints an address to open in a browser
  captions explore revised.jsonl --against other.jsonl  # two runs of the same captions
  captions explore revised.jsonl --decisions mine.jsonl  # keep decisions in a file of your own
  captions explore revised.jsonl --only needs_review     # what a person should look at
  captions explore revised.jsonl --static page     # page/index.html, which needs no server
"""


@dataclass(frozen=True, slots=True)
class ExplorerOptions:
    """Which run is shown, beside which other, and where."""

    out: str = argument("OUT")
    against: str | None = option(
        None, "Another run of the same captions, to show beside this one.", metavar="OTHER"
    )
    decisions: Path | None = option(
        None,
        "File that decisions are kept in.  [default: OUT's name with .decisions.jsonl]",
        type=OUT_FILE,
    )
    only: Literal["needs_review", "undecided", "decided"] | None = option(
        None, "Start with these sentences only, those with the most to gain first."
    )
    apply_to: str | None = option(
        None,
        "Where “Apply decisions” writes.  [default: OUT's name with .applied]",
        metavar="NEW",
        type=OUT,
    )
    group_by: str | None = option(
        None, "Field that names the model that wrote a caption.  [default: detected by name]"
    )
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option("--caption-field")
    image_root: Path | None = shared_option("--image-root")
    static: Path | None = option(
        None,
        "Instead, write the page into a new folder. It needs no server, and keeps decisions in "
        "the browser, for download.",
        metavar="FOLDER",
        type=OUT_FOLDER,
    )
    port: int = option(0, "Port to listen on; 0: any free port.", type=click.IntRange(0, 65535))
    open: bool = option(False, "Open the page in the browser.")


@command(
    ExplorerOptions,
    name="explore",
    heading="Correct captions",
    epilog=EPILOG,
)
def explore(options: ExplorerOptions) -> None:
    """Browse a run and decide about its rewrites.

    OUT is the output of revise-captions or captions verify, of any size. The page shows all
    records, sorted by worst, most changed or least sure, with filters and search. Only this machine
    can open it, and OUT is never written to. Apply the decisions to the captions with `captions
    apply OUT DECISIONS NEW`, or make training data of them with `captions annotate import OUT
    DECISIONS --out data`.
    """
    from revise_captions.io.fields import Fields
    from revise_captions.pipelines.explore.index import RunFile
    from revise_captions.pipelines.explore.session import ExploreOptions, open_session

    if options.static is not None:
        _check_static(options, options.static)
    named = (options.caption_field or "").split(",")
    captions = tuple(name.strip() for name in named if name.strip())
    run = RunFile(options.out, Fields(options.image_field, captions), options.group_by)
    shown = ExploreOptions(
        run, options.against, options.decisions, options.image_root, options.apply_to
    )
    session = open_session(shown, lambda text: echo(text, err=True))
    if options.static is not None:
        _write(session, options, options.static)
    else:
        _serve(session, options)


def _check_static(options: ExplorerOptions, folder: Path) -> None:
    from revise_captions.errors import UserError
    from revise_captions.io.writing import check_new_folder

    for name, given in (("decisions", options.decisions), ("apply-to", options.apply_to)):
        if given is not None:
            raise UserError(
                f"the page in {folder} keeps decisions in the browser, not in {given}",
                hint=f"leave out --{name}",
            )
    check_new_folder(folder)


def _write(session: ExploreSession, options: ExplorerOptions, folder: Path) -> None:
    from revise_captions.pipelines.explore.static import write_static
    from revise_captions.text.formatting import plural

    count = write_static(session, folder, options.only or "")
    page = folder / "index.html"
    echo(f"{plural(count, 'caption')} in {page}; to apply decisions downloaded there:")
    echo(f"  captions apply {options.out} decisions.jsonl {session.new}")
    if options.open:
        click.launch(str(page))


def _serve(session: ExploreSession, options: ExplorerOptions) -> None:
    from revise_captions.errors import UserError
    from revise_captions.pipelines.explore.server import ExploreServer, serve

    try:
        server = ExploreServer(session, options.port)
    except OSError as error:
        raise UserError(f"cannot listen on port {options.port}: {error.strerror}") from None

    def ready(url: str) -> None:
        url += f"?only={options.only}&sort=gain" if options.only else ""
        echo(f"{url}\nPress Ctrl-C to stop. Decisions are kept in {session.decisions.path}")
        if options.open:
            click.launch(url)

    serve(server, ready)
    made = sum(session.decisions.counts().values())
    if made:
        path = session.decisions.path
        echo(f"\n{made:,} decisions, {session.left():,} sentences left; next:")
        echo(f"  captions apply {options.out} {path} {session.new}")
        echo(f"  captions annotate import {options.out} {path} --out data")
