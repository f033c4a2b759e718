"""Options of `captions rate`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from revise_captions.command_line.options import REQUIRED, argument, group, option
from revise_captions.command_line.shared import EXISTING_FILE, OUT_FOLDER, shared_option
from revise_captions.engines.server_options import ServerOptions
from revise_captions.pipelines.options import JobOptions


@dataclass(frozen=True, slots=True)
class RatingOptions:
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
    expert: tuple[str, ...] = shared_option("--expert")
    critic: str = shared_option("--critic")
    critic_profile: Path | None = shared_option("--critic-profile")
    adapter: str | None = shared_option("--adapter")
    threshold: float | None = shared_option("--threshold")
    batch_size: int = shared_option("--batch-size")
    dtype: str = shared_option("--dtype")
    device: str = shared_option("--device")
    trust_remote_code: bool = shared_option("--trust-remote-code")
    server: ServerOptions = group(ServerOptions)
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
