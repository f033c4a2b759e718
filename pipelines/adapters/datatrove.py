"""datatrove: a step of a pipeline whose documents are captions.

pipeline = [JsonlReader("captions", text_key="caption"), ReviseStep(image="image"),
            JsonlWriter("revised")]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.base import PipelineStep

from revise_captions.pipelines.adapters.columns import PROBLEM, REVISED, REVISION, revised
from revise_captions.pipelines.api import BatchReviser


class ReviseStep(PipelineStep):
    """Corrects documents' texts by their images; no document is left out.

    The metadata get `caption_original` and `revision` (JSON), or `revision_problem` where a
    document could not be processed, whose text stays.
    """

    name = "Revise captions"
    type = "REVISER"

    def __init__(self, image: str = "image", batch_size: int = 64, **options: Any) -> None:
        """Which images, and how.

        Args:
            image: The key of the metadata that holds a document's image.
            batch_size: Documents that are worked on together.
            options: Of `revise_captions.revise`.
        """
        super().__init__()
        self.image, self.batch_size = image, batch_size
        self.revise = BatchReviser(**options)

    def run(
        self, data: Iterable[Document] | None, rank: int = 0, world_size: int = 1
    ) -> Iterator[Document]:
        documents = iter(data or ())
        while batch := list(islice(documents, self.batch_size)):
            rows = [{"image": one.metadata.get(self.image), "caption": one.text} for one in batch]
            with self.track_time("batch"):
                found = revised(self.revise, rows)
            for document, row in zip(batch, found, strict=True):
                if row[PROBLEM]:
                    document.metadata[PROBLEM] = row[PROBLEM]
                    self.stat_update("problems")
                else:
                    document.metadata |= {
                        "caption_original": document.text,
                        REVISION: row[REVISION],
                    }
                    self.stat_update("rewritten" if row[REVISED] != document.text else "kept")
                    document.text = row[REVISED]
                self.update_doc_stats(document)
                yield document
