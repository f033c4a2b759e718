"""The texts that were typed off photographs, and the captions that quote them."""

from __future__ import annotations

from pathlib import Path

from revise_captions.critic.text.quotes import quotes_in
from scripts.research.quoted_text.captions import RIGHT, captions_of, read_images


def test_captions_quote_typed_texts_rightly_and_wrongly(tmp_path: Path):
    images = read_images(tmp_path)
    assert not any(one.held_out for one in images)
    for image in images:
        known = {word.strip(".") for text in image.texts for word in text.split()}
        assert all(
            word.strip(".") in known for q in quotes_in(image.describe) for word in q.text.split()
        )
        captions = captions_of(image)
        right = [one for one in captions if one.kind == RIGHT]
        assert len(captions) > len(right) >= 1
        assert all((one.said == one.right) is (one.kind == RIGHT) for one in captions)
