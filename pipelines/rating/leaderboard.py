"""`captions rate`: judges captions and writes the leaderboard in every format.

revise-captions does the judging (`--stage critique`), with its journal and quarantine; the rest is
arithmetic on counts.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from revise_captions.command_line.printing import echo
from revise_captions.critic.known_errors import expect_profile, known_errors
from revise_captions.critic.profile import CALIBRATION, UNCALIBRATED
from revise_captions.errors import UserError
from revise_captions.io.rows import dumps
from revise_captions.io.writing import check_writable, head_of, replacing
from revise_captions.pipelines.rating import error_rates, formats
from revise_captions.pipelines.rating.autorater import (
    Counted,
    RatedCaptioners,
    expect_captioner,
    expect_new,
    is_judged,
    joined,
    rate,
    read_judged,
    read_ratings,
    write_ratings,
)
from revise_captions.pipelines.rating.corrected import corrected, note, with_corrected
from revise_captions.pipelines.rating.human_scores import People, against_people, read_people
from revise_captions.pipelines.rating.human_scores import as_text as people_as_text
from revise_captions.pipelines.rating.options import RatingOptions
from revise_captions.pipelines.rating.page import page
from revise_captions.runs.paths import quarantine_path
from revise_captions.signature import of_expert
from revise_captions.stats.error_correction import ErrorRates
from revise_captions.stats.exact import images_to_tell
from revise_captions.stats.leaderboard import (
    ALPHA,
    COLUMNS,
    CRITERIA,
    Leaderboard,
    Ratings,
    length_controlled,
    rank,
)
from revise_captions.text.formatting import plural

RATINGS = "ratings.json"
#: Images up to which a board says that they are too few.
FEW = 10


def rate_captions(options: RatingOptions) -> dict[str, Any]:
    """Judges what is not judged yet, adds it to the leaderboard and writes every format.

    Returns:
        The content of leaderboard.json.

    Raises:
        UserError: An input cannot be read or does not fit the leaderboard.
        EngineDead: A model stopped; run it again, finished windows are kept.
    """
    people = None if options.people is None else read_people(options.people)
    stored = options.out / RATINGS
    _check_out(options)
    with _folder(options.out):
        earlier = read_ratings(stored) if stored.exists() else None
        known = None if earlier is None else earlier.ratings
        rated = rate(_rows(options, known)) if options.inputs else None
        if earlier is not None:
            rated = earlier if rated is None else joined(earlier, rated)
        if rated is None:
            raise UserError(f"{options.out} has no {RATINGS}", hint="pass captions to rate")
        models = options.judging.models
        if models.critic_profile is not None:
            expect_profile(rated.rater, models.critic_profile)
        errors = {
            expert: known_errors(
                of_expert(rated.rater, expert), models.critic, models.adapter, models.critic_profile
            )
            for expert in rated.judges
        }
        write_ratings(stored, rated)
        return write_board(options.out, rated, options.replicates, people, errors)


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Makes the folder. Where the run stops before anything is in it, it goes again."""
    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        if new and not any(out.iterdir()):
            out.rmdir()


def _check_out(options: RatingOptions) -> None:
    """Raises `UserError` where --out holds an input, or files that no leaderboard of ours has.

    Without ratings, only what an unfinished run judged may be there.
    """
    if not options.out.is_dir():
        return
    stored = options.out / RATINGS
    if stored.exists():
        read_ratings(stored)
    elif others := [p.name for p in options.out.iterdir() if not _is_of_unfinished(p.name)]:
        found = f"{options.out} holds {others[0]}, but no leaderboard"
        raise UserError(found, hint="choose a new folder")
    reads = [_named(given)[1] for given in options.inputs]
    if options.people is not None:
        reads.append(str(options.people))
    names = {
        RATINGS,
        "errors.csv",
        *(f"leaderboard.{kind}" for kind in ("json", "md", "tex", "html")),
    }
    names |= {f"{criterion}.csv" for criterion in CRITERIA}
    ours = stored.exists()
    for name in sorted(names):
        check_writable(options.out / name, reads, force=None, ours=lambda head: ours)


def _is_of_unfinished(name: str) -> bool:
    """Whether a file may lie where a run was interrupted before the leaderboard."""
    return name.startswith("judged-") or name.endswith(".partial")


def _rows(options: RatingOptions, known: Ratings | None) -> Iterator[Counted]:
    for captioner, path in map(_named, options.inputs):
        if captioner is None and path != "-":
            captioner = expect_captioner(path, options.captioner_field)
        if known is not None and captioner is not None:
            expect_new(known, [captioner])
    for given in options.inputs:
        captioner, path = _named(given)
        judged = path if is_judged(path) else _judge(options, path)
        yield from read_judged(
            judged,
            captioner=captioner,
            captioner_field=options.captioner_field,
            image_field=options.judging.inputs.image_field,
            caption_field=options.judging.inputs.caption_field,
        )


def _named(given: str) -> tuple[str | None, str]:
    """`NAME=FILE`, or a FILE whose name may contain `=`."""
    name, equals, path = given.partition("=")
    return (name, path) if equals and not Path(given).exists() else (None, given)


def _judge(options: RatingOptions, path: str) -> str:
    """Judges a file's captions into a file beside the leaderboard."""
    from revise_captions.pipelines.job.run import run

    out = options.out / f"judged-{_own_name(path, [_named(given)[1] for given in options.inputs])}"
    if os.path.lexists(out) and head_of(out) and not is_judged(str(out)):
        raise UserError(
            f"{out} exists and is not an earlier leaderboard", hint="choose another --out"
        )
    judging = replace(
        options.judging,
        inputs=replace(options.judging.inputs, source=path),
        run=replace(options.judging.run, out=str(out), stage="critique", resume=True, force=True),
    )
    with redirect_stdout(io.StringIO()):  # its table is of revisions, and there are none
        run(judging)
    if (bad := quarantine_path(str(out))).exists():
        echo(f"{path}: rows that cannot be judged are in {bad}", err=True)
    return str(out)


def _own_name(path: str, among: Sequence[str]) -> str:
    """A name for what is made of a file: its own, with folders where another has the same."""

    def last(path: str, parts: int) -> str:
        return "_".join(Path(path).absolute().parts[-parts:]).lstrip("/")

    others = [other for other in among if other != path]
    count = len(Path(path).absolute().parts)
    needed = (n for n in range(1, count) if all(last(o, n) != last(path, n) for o in others))
    return re.sub(r"[^\w.-]+", "_", last(path, next(needed, count))) or "stdin"


def write_board(
    out: Path,
    rated: RatedCaptioners,
    replicates: int,
    people: People | None = None,
    critic_errors: Mapping[str, ErrorRates | None] | None = None,
) -> dict[str, Any]:
    """`leaderboard.json`, `.md`, `.tex`, `.html`, one `.csv` for each criterion, `errors.csv`."""
    controlled = length_controlled(rated.ratings)
    boards: dict[str, Leaderboard] = {
        criterion: rank(rated.ratings, criterion, replicates=replicates) for criterion in CRITERIA
    }
    tables: dict[str, list[dict[str, Any]]] = {
        criterion: formats.rows_of(
            board, rated.ratings, controlled if criterion == "per_description" else {}
        )
        for criterion, board in boards.items()
    }
    known = critic_errors or {}
    shares = corrected(rated, known, replicates)
    tables["overall"] = with_corrected(tables["overall"], shares)
    found = as_json(boards, tables, rated, replicates)
    found["correction"] = note(rated, known) if shares else ""
    few = too_few(boards["response"], len(rated.ratings.images)), apart(rated.ratings)
    found["few"] = " ".join(filter(None, few))
    order = [standing.captioner for standing in boards["overall"].standings]
    found["errors"] = errors = error_rates.errors_of(rated, order, replicates)
    found["people"] = None if people is None else against_people(rated.ratings, people, replicates)
    texts = {
        "leaderboard.json": dumps(found),
        "leaderboard.md": _sections(tables, formats.as_markdown, "## ")
        + (f"\n\n{found['few']}" if found["few"] else ""),
        "leaderboard.html": page(found, rated.evidence),
        "leaderboard.tex": _sections(tables, formats.as_latex, "% "),
        **{f"{name}.csv": formats.as_csv(table) for name, table in tables.items()},
    }
    if errors is not None:
        head = errors["heading"]
        texts["leaderboard.md"] += f"\n\n## {head}\n\n{error_rates.as_markdown(errors)}"
        texts["leaderboard.tex"] += f"\n\n% {head}\n\n{error_rates.as_latex(errors)}"
        texts["errors.csv"] = error_rates.as_csv(errors)
    for name, text in texts.items():
        with replacing(out / name) as file:
            file.write(text.encode() + b"\n")
    return found


def too_few(board: Leaderboard, images: int) -> str:
    """What is said of a board of so few images that its order means nothing; "" of a larger one."""
    captioners = len(board.standings)
    if captioners < 2:
        return ""
    if images > FEW:
        return _untellable(board.least_p, captioners, images)
    shares = [s.value for s in board.standings if s.value is not None]
    mean = sum(shares) / len(shares) if shares else 0.5
    near = min(max(mean, 0.05), 0.95)
    return (
        f"{plural(images, 'image')}: too few to tell captioners apart. A difference of five points "
        f"between two near {near:.0%} takes about {images_to_tell(near):,} images."
    )


def apart(ratings: Ratings) -> str:
    """What is said of captioners that cannot be compared for want of a common image; or ""."""
    described = ratings.counts[:, :, COLUMNS.index("captions")] > 0
    pairs = np.argwhere(np.triu(described.astype(int) @ described.T == 0, k=1))
    if not len(pairs):
        return ""
    first, second = (formats.shown(ratings.captioners[k]) for k in pairs[0])
    many = "" if len(pairs) == 1 else f" (one of {len(pairs):,} such pairs)"
    return (
        f"{first} and {second} have no image in common{many}, so no test can tell them apart: "
        "their ranks do not compare them. Images are the same if their names are."
    )


def _untellable(least_p: float, captioners: int, images: int) -> str:
    """What is said where not even a pair that differs on every image could be told apart; or ""."""
    pairs = captioners * (captioners - 1) // 2

    def least(images: int) -> float:  # where all images agree, as two of all ways to swap do
        return least_p + pairs * 2.0 ** (1 - images)

    needed = next((n for n in range(images, 64) if least(n) < ALPHA), images)
    if needed == images:
        return ""
    return (
        f"{images} images: too few to tell {captioners} captioners apart. With {pairs} pairs to "
        f"compare, no difference can be significant before there are {needed} images."
    )


def _sections(tables: Mapping[str, Any], render: Any, mark: str) -> str:
    parts = [f"{mark}{formats.HEADINGS[name]}\n\n{render(rows)}" for name, rows in tables.items()]
    return "\n\n".join(parts)


def as_json(
    boards: Mapping[str, Leaderboard],
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    rated: RatedCaptioners,
    replicates: int,
) -> dict[str, Any]:
    return {
        "rater": dict(rated.rater),
        "images": len(rated.ratings.images),
        "replicates": replicates,
        "criteria": {
            name: {
                "heading": formats.HEADINGS[name],
                "table": list(tables[name]),
                "p_values": _rounded(board.p_values),
                "least_p": board.least_p,
                "wins": _rounded(board.wins),
            }
            for name, board in boards.items()
        },
    }


def _rounded(matrix: Any) -> list[list[float | None]]:
    """NaN becomes null, as JSON has no NaN."""
    return [[None if v != v else round(float(v), 6) for v in row] for row in matrix]


def as_text(found: Mapping[str, Any]) -> str:
    """The tables for a terminal."""
    parts = [f"{c['heading']}\n\n{formats.as_text(c['table'])}" for c in found["criteria"].values()]
    if found["few"]:
        parts.insert(0, found["few"])
    if found["errors"] is not None:
        parts.append(f"{found['errors']['heading']}\n\n{error_rates.as_text(found['errors'])}")
    if found["people"] is not None:
        parts.append(people_as_text(found["people"]))
    if found["correction"]:
        parts.append(found["correction"])
    if UNCALIBRATED in _calibrations(found["rater"]):
        parts.append(
            "Uncalibrated: this critic's error rates were never measured (captions calibrate does)."
        )
    rater = ", ".join(f"{key} {value}" for key, value in found["rater"].items())
    parts.append(
        f"{plural(found['images'], 'image')}; intervals and ranks: {found['replicates']:,} "
        f"resamples and permutations over images, Holm's correction\nrater: {rater}"
    )
    return "\n\n".join(parts)


def _calibrations(rater: Mapping[str, str]) -> set[str]:
    """How the critic, or each expert of a panel, was calibrated."""
    return {value for key, value in rater.items() if key.rpartition(".")[2] == CALIBRATION}
