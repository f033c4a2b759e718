"""Data-Juicer: an operator whose samples are captions, named `revise_caption_mapper` in a recipe.

- revise_caption_mapper: {options: {critic: Qwen/Qwen3-VL-8B-Instruct}, batch_size: 64}
"""

from __future__ import annotations

import re
from typing import Any

from data_juicer.ops.base_op import OPERATORS, UNFORKABLE, Mapper
from data_juicer.utils.mm_utils import SpecialTokens

from revise_captions.pipelines.adapters.columns import PROBLEM, REVISED, REVISION, revised
from revise_captions.pipelines.api import BatchReviser

NAME = "revise_caption_mapper"


@UNFORKABLE.register_module(NAME)
@OPERATORS.register_module(NAME)
class ReviseCaptionMapper(Mapper):  # type: ignore[misc]
    """Corrects samples' texts by their one image; no sample is left out.

    Tokens like `<__dj__image>` around a text stay. A sample gets `caption_original` and `revision`
    (JSON), or `revision_problem` where it could not be processed, whose text stays.
    """

    _batched_op = True

    def __init__(self, options: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """How, and Data-Juicer's own settings of an operator.

        By default there is one process, as each has models of its own, and an error ends the run:
        Data-Juicer would go on without the batch.

        Args:
            options: Of `revise_captions.revise`.
            kwargs: Of any operator, such as `batch_size`, `text_key`, `image_key`, `num_proc`.
        """
        super().__init__(**{"num_proc": 1, **kwargs, "skip_op_error": False})
        self.revise = BatchReviser(**(options or {}))
        tokens = [SpecialTokens.image, SpecialTokens.audio, SpecialTokens.video, SpecialTokens.eoc]
        self.token = "|".join(map(re.escape, tokens))

    def process_batched(self, samples: dict[str, list[Any]]) -> dict[str, list[Any]]:
        texts = samples[self.text_key]
        around = re.compile(rf"((?:\s|{self.token})*)(.*?)((?:\s|{self.token})*)", re.DOTALL)
        parts = [around.fullmatch(text).groups() for text in texts]  # type: ignore[union-attr]
        field = self.image_bytes_key if samples.get(self.image_bytes_key) else self.image_key
        images = samples.get(field) or [None] * len(texts)
        rows = [
            {"image": image, "caption": self._caption(text)}
            for image, (_, text, _) in zip(images, parts, strict=True)
        ]
        found = revised(self.revise, rows)
        fine = [not row[PROBLEM] for row in found]
        return {
            **samples,
            self.text_key: [
                f"{before}{row[REVISED]}{after}" if good else text
                for text, (before, _, after), row, good in zip(
                    texts, parts, found, fine, strict=True
                )
            ],
            "caption_original": list(texts),
            **{name: [row[name] for row in found] for name in (REVISION, PROBLEM)},
        }

    def _caption(self, text: str) -> str | list[str]:
        """A text, or its parts, which are no caption, where tokens divide it."""
        parts = re.split(self.token, text)
        return text if len(parts) == 1 else parts
