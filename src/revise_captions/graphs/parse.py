"""Texts to scene graphs: sentences, a spaCy pipeline, the extractor.

Sentence boundaries are `revise_captions.text.sentences`'; the pipeline's parser keeps to them. The
pipeline is the bundled one, a folder, or the name of an installed one (`en_core_web_trf`, as in
POSH): any that parses English in ClearNLP-style or Universal Dependencies labels.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from revise_captions.errors import UserError
from revise_captions.graphs.dependencies.nodes import nodes
from revise_captions.graphs.extract import VERSION, TextReading, read
from revise_captions.graphs.graph import Graph
from revise_captions.outside_text import encodable
from revise_captions.records import Span
from revise_captions.text.sentences import split

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

logger = logging.getLogger(__name__)
BUNDLED = "bundled"
_FOLDER = Path(__file__).parent / "bundled"
_BATCH, _WORDS = 64, 1200
#: Words of a piece of a long text, and how many words on either side decide a word's vector:
#: `depth` times `window_size` in the bundled `config.cfg`.
_PIECE, _SEEN = 1000, 4


class Coreference(Protocol):
    """A coreference resolver that runs before the rules.

    Attributes:
        settings: Names it in a signature.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    def clusters(self, text: str) -> Sequence[Sequence[Span]]:
        """Mentions of one thing, as spans of the text."""
        ...


@lru_cache(maxsize=2)
def load_pipeline(name: str = BUNDLED) -> Language:
    """A spaCy pipeline by name or folder. Raises UserError if there is none."""
    try:
        import spacy
    except ImportError:
        raise UserError(
            "scene graphs need spaCy, which is not installed",
            hint="pip install 'revise-captions[posh]'",
        ) from None
    source = str(_FOLDER) if name == BUNDLED else name
    began = time.monotonic()
    try:
        nlp = spacy.load(source, exclude=["ner"])
    except OSError:
        raise UserError(
            f"no spaCy pipeline {name!r} is installed, and there is no such folder",
            hint=f"python -m spacy download {name}, or leave it out for the bundled parser",
        ) from None
    if not {"parser"}.intersection(nlp.pipe_names):
        raise UserError(f"the spaCy pipeline {name!r} has no parser", hint="choose another one")
    logger.info("loaded the spaCy pipeline %s in %.1f s", source, time.monotonic() - began)
    return nlp


@lru_cache(maxsize=4)
def settings(name: str = BUNDLED) -> Mapping[str, str]:
    """What decides a graph, for a signature: pipeline with version or digest, spaCy, rules."""
    nlp = load_pipeline(name)
    import spacy

    parser = f"{nlp.meta['lang']}_{nlp.meta['name']}-{nlp.meta['version']}"
    if name == BUNDLED:
        digest = hashlib.sha256((_FOLDER / "tok2vec" / "model").read_bytes())
        digest.update((_FOLDER / "parser" / "model").read_bytes())
        parser = f"{BUNDLED}-{digest.hexdigest()[:12]}"
    own = {"graph": f"rules-{VERSION}", "coreference": "rules"}
    return {"parser": parser, "spacy": spacy.__version__, **own}


def parse(
    texts: Iterable[str], pipeline: str = BUNDLED, *, coreference: Coreference | None = None
) -> Iterator[Graph]:
    """Parses texts into scene graphs, a batch at a time.

    Args:
        texts: An empty one has an empty graph.
        pipeline: A spaCy pipeline: `bundled`, a name, or a folder.
        coreference: A resolver that runs before the rules, for example
            `graphs.maverick.Maverick`.

    Yields:
        One graph per text, in order. Spans are `[start, end)` in code points of the text.

    Raises:
        UserError: spaCy or the pipeline is missing.

    Example:
        >>> next(parse(["A man in a hat feeds two horses."])).triples()
        [('horses', 'is', '2'), ('man', 'in', 'hat'), ('man', 'feed', 'horses')]
    """
    for reading in read_texts(texts, pipeline, coreference=coreference):
        yield reading.graph


def read_texts(
    texts: Iterable[str], pipeline: str = BUNDLED, *, coreference: Coreference | None = None
) -> Iterator[TextReading]:
    """`parse`, with the words of each text and the objects that they speak of."""
    nlp = load_pipeline(pipeline)
    for batch in _batches(_document(nlp, text) for text in texts):
        done = []
        if pipeline == BUNDLED and len(batch[-1]) > 2 * _PIECE:
            done = ["tok2vec"]
            for doc in batch:
                _set_vectors(nlp, doc)
        for doc in nlp.pipe(batch, batch_size=_BATCH, disable=done):
            links = coreference.clusters(doc.text) if coreference is not None else ()
            yield read(doc.text, nodes(doc), links)


def _batches(docs: Iterable[Doc]) -> Iterator[list[Doc]]:
    """Few long texts or many short ones: memory follows the words in a batch."""
    batch: list[Doc] = []
    words = 0
    for doc in docs:
        batch.append(doc)
        words += len(doc)
        if words >= _WORDS or len(batch) >= _BATCH:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch


def _set_vectors(nlp: Language, doc: Doc) -> None:
    """What the component `tok2vec` does, in pieces: the same vectors, in a bounded memory."""
    import numpy as np

    encoder: Any = nlp.get_pipe("tok2vec")
    vectors = []
    for start in range(0, len(doc), _PIECE):
        first = max(0, start - _SEEN)
        piece = doc[first : start + _PIECE + _SEEN].as_doc()
        (found,) = encoder.predict([piece])
        vectors.append(found[start - first :][:_PIECE])
    doc.tensor = np.concatenate(vectors)


def _document(nlp: Language, text: str) -> Doc:
    """Tokens, with the sentences' first ones marked, so that the parser keeps the boundaries."""
    import numpy as np

    doc = nlp.make_doc(encodable(text))
    starts = {span.start for span in split(text)}
    marks = np.full(len(doc), -1, dtype=np.int64)
    begins = False
    for token in doc:
        begins = begins or token.idx in starts
        if token.is_space and token.i:
            continue
        marks[token.i] = 1 if begins or token.i == 0 else -1
        begins = False
    # set all at once: set one by one, each looks through all words for a parse
    column: Any = marks.astype(np.uint64).reshape(-1, 1)
    return doc.from_array(["SENT_START"], column) if len(doc) else doc
