"""The explorer as a folder: a page that needs no server, and keeps decisions in the browser."""

from __future__ import annotations

from pathlib import Path

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.writing import check_new_folder, replacing_folder, write_text
from revise_captions.pipelines.explore.server import LARGE, SMALL
from revise_captions.pipelines.explore.session import ExploreSession
from revise_captions.pipelines.explore.views import IMAGES, ExploreViews
from revise_captions.pipelines.report.cards import has_boxes

#: Captions that one page holds, in a browser that stays quick.
MOST = 2_000


def write_static(session: ExploreSession, folder: Path, only: str = "") -> int:
    """Writes `index.html`, `figures.html` and the images of a run; all of it or nothing.

    The page is the explorer's, with all captions at once, and without decisions that were made
    before. An image that cannot be read is left out, as the explorer leaves it out.

    Args:
        session: The open run.
        folder: A new one.
        only: With what the page begins: one of `query.ONLY`, or "".

    Returns:
        The number of captions.

    Raises:
        UserError: The folder has content, or the run more than `MOST` captions.
    """
    check_new_folder(folder)
    (count,) = session.index.db.execute("SELECT count(*) FROM captions").fetchone()
    if count > MOST:
        raise UserError(
            f"{session.index.run.path} has {count:,} captions, and a page without a server holds "
            f"at most {MOST:,}",
            hint="select some with captions select",
        )
    views = ExploreViews(session, served=False)
    with replacing_folder(folder) as new:
        (new / IMAGES).mkdir()
        write_text(new / "index.html", views.all_captions(only))
        write_text(new / "figures.html", views.figures())
        for number in range(count):
            _write_images(views, number, new / IMAGES)
    return int(count)


def _write_images(views: ExploreViews, number: int, folder: Path) -> None:
    session = views.session
    stored = session.stored(number)
    if not session.has_picture(stored):
        return
    marked = has_boxes(stored.row)
    for name, side in ((f"{number}.jpg", SMALL), (f"{number}-large.jpg", LARGE)):
        try:
            made = views.picture(number, side, marked=marked)
        except (BadRecord, LookupError):
            return
        (folder / name).write_bytes(made)
