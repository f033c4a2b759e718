"""Options of `captions vela`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from revise_captions.command_line.options import argument, option
from revise_captions.command_line.shared import EXISTING_FOLDER, OUT_FILE, shared_option
from revise_captions.runs.options import InputOptions
from revise_captions.runs.score_file import ScoreOptions


@dataclass(frozen=True, slots=True)
class VelaOptions:
    """Which metric scores which captions."""

    metric: Path = argument("METRIC", type=EXISTING_FOLDER)
    source: str = argument("IN")
    out: Path = argument("OUT", type=OUT_FILE)
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = shared_option("--caption-field")
    reference_field: str = shared_option(
        "--reference-field", default="references", help="Field of the reference captions."
    )
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")
    limit: int | None = shared_option("--limit")
    language: str = option(
        "",
        "Where the metric's language model is.  [default: where it was trained]",
        show_default=False,
    )
    pair: str = option(
        "",
        "Where the metric's image and text towers are.  [default: where they were trained]",
        show_default=False,
    )
    cache: Path | None = option(
        None, "Keep features in this file, for the next run.", type=OUT_FILE
    )
    batch_size: int = shared_option("--batch-size", help="Prompts per forward pass.")
    device: str = shared_option("--device")
    resume: bool = shared_option("--resume")
    force: bool = shared_option("--force", help="Overwrite OUT.")

    @property
    def file(self) -> ScoreOptions:
        """The options of every metric's command."""
        fields = self.image_field, self.caption_field
        inputs = InputOptions(self.source, *fields, self.image_root, self.allow_urls, self.limit)
        return ScoreOptions(inputs, str(self.out), resume=self.resume, force=self.force)
