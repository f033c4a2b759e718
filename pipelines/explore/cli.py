"""The command `captions explore`."""

from __future__ import annotations

from pathlib import Path

import click

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared

EPILOG = """
\b
Examples:
  captions explore revised.jsonl                   # prints an address to open in a browser
  captions explore revised.jsonl --against other.jsonl  # two runs of the same captions
  captions explore revised.jsonl --decisions mine.jsonl  # keep decisions in a file of your own
"""


@command(
    name="explore",
    heading="Correct captions",
    epilog=EPILOG,
)
@click.argument("out")
@click.option("--against", metavar="OTHER", help="Another run of the same captions, beside it.")
@click.option(
    "--decisions",
    type=OUT_FILE,
    help="File that decisions are kept in.  [default: OUT's name with .decisions.jsonl]",
)
@click.option(
    "--group-by",
    help="Field that names the model that wrote a caption.  [default: detected by name]",
)
@shared("--image-field", "--caption-field")
@shared("--image-root", type=EXISTING_FOLDER)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen at; 0: a free one.",
)
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
def explore(
    out: str,
    against: str | None,
    decisions: Path | None,
    group_by: str | None,
    image_field: str | None,
    caption_field: str | None,
    image_root: Path | None,
    port: int,
    browse: bool,
) -> None:
    """Look at a run in the browser; decide about its rewrites.

    Explore an output of revise-captions in the browser, and decide about its rewrites.

    OUT is what revise-captions or captions verify wrote, of any size: all records, sorted by
    worst, most changed or least sure, filtered, searched. The page is served to this machine alone;
    OUT is only read. Decisions are training data:
    `captions annotate import OUT DECISIONS --out data`.
    """
    from revise_captions.errors import UserError
    from revise_captions.io.fields import Fields
    from revise_captions.pipelines.explore.index import RunFile
    from revise_captions.pipelines.explore.server import ExploreServer, serve
    from revise_captions.pipelines.explore.session import ExploreOptions, open_session

    captions = tuple(name.strip() for name in (caption_field or "").split(",") if name.strip())
    run = RunFile(out, Fields(image_field, captions), group_by)
    options = ExploreOptions(run, against, decisions, image_root)
    session = open_session(options, lambda text: echo(text, err=True))
    try:
        server = ExploreServer(session, port)
    except OSError as error:
        raise UserError(f"cannot listen at port {port}: {error.strerror}") from None

    def ready(url: str) -> None:
        echo(f"{url}\nCtrl-C ends it; decisions are kept in {session.decisions.path}")
        if browse:
            click.launch(url)

    serve(server, ready)
    made = sum(session.decisions.counts().values())
    if made:
        path = session.decisions.path
        echo(f"\n{made:,} decisions; next: captions annotate import {out} {path} --out data")
