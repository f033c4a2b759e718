"""Options of `captions rate`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from revise_captions.command_line.options import REQUIRED, argument, option
from revise_captions.command_line.shared import EXISTING_FILE, OUT_FOLDER, shared_option
from revise_captions.pipelines.options import JobOptions, JudgeOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingOptions(JudgeOptions):
    """Which captions are judged, by whom, and where their captioners are ranked."""

    inputs: tuple[str, ...] = argument("[NAME=]IN…", required=False)
    out: Path = option(REQUIRED, "Folder of the leaderboard.", type=OUT_FOLDER)
    captioner_field: str | None = option(
        None, "Field that names the captioner.  [default: detected by name]"
    )
    config: Path | None = shared_option("--config")
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option(
        "--caption-field", help="Field that holds the caption.  [default: detected by name]"
    )
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    allow_unscored: bool = shared_option("--allow-unscored")
    limit: int | None = shared_option("--limit", help="Read only this many records of each IN.")
    people: Path | None = option(
        None,
        "CSV of human scores to compare with: `captioner` and `score`, or a column by criterion.",
        type=EXISTING_FILE,
    )
    replicates: int = shared_option("--replicates", default=10_000)

    @property
    def judging(self) -> JobOptions:
        """How captions are judged: as in a run of `revise-captions`, whose OUT is not this one."""
        return JobOptions.of({k: v for k, v in asdict(self).items() if k != "out"})
