"""Trains the bundled parser: spaCy, on the English Web Treebank, with word vectors from MiniLM.

    python -m scripts.research.parser.train TREEBANK FACTUAL/train.csv OUT

TREEBANK holds `train.conllu` and `dev.conllu` of Universal Dependencies' English-EWT (CC BY-SA
4.0, so what comes out has that license too). The word vectors are a table of `DIMENSIONS` numbers
for each word that the sentence encoder all-MiniLM-L6-v2 (Apache 2.0) knows as one piece or that the
treebank has twice: the encoder's input embedding and its second layer's output for the word alone,
reduced by principal components. They tell the parser about words that the treebank lacks, which
in captions are many.

A treebank of letters and posts knows few fragments, captions are full of them: so one short
document in six loses its full stop, one word sequence in seven its capitals, and 5,000 short
captions with trees are written from FACTUAL's scene graphs (`caption_trees`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import numpy.typing as npt

from scripts.research.parser.caption_trees import captions, tags_of
from scripts.research.parser.treebank import Word, document, sentences

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.training import Example

DIMENSIONS = 64
#: Synthetic captions beside the treebank's 12,544 sentences.
CAPTIONS = 5000
CONFIG = Path(__file__).with_name("parser.cfg")
#: Hidden words: the a of their probability, what they are called, and the run's learning rate.
HIDING = 0.25
HIDDEN = "hidden "
SECOND_RATE = 0.001


def documents(all_sentences: Sequence[list[Word]], seed: int = 0) -> Iterator[list[list[Word]]]:
    """Each sentence once, in runs of one to four; some of those of one without their full stop."""
    draw = random.Random(seed)
    at = 0
    while at < len(all_sentences):
        size = draw.choice((1, 1, 1, 2, 3, 4))
        part = list(all_sentences[at : at + size])
        if size == 1 and len(part[0]) > 2 and part[0][-1].form == "." and draw.random() < 1 / 6:
            part = [part[0][:-1]]
        yield part
        at += size


def vocabulary(all_sentences: Sequence[list[Word]], pieces: Sequence[str]) -> list[str]:
    """Lower-cased words: the encoder's own, and those that the treebank has at least twice."""
    seen = Counter(word.form.lower() for sentence in all_sentences for word in sentence)
    own = {piece for piece in pieces if piece.isascii() and piece.isalpha() and len(piece) > 1}
    more = {word for word, count in seen.items() if count > 1 and word.isprintable()}
    return sorted(own | more)


def word_vectors(words: Sequence[str], encoder: Path) -> npt.NDArray[np.float32]:
    """One row of `DIMENSIONS` per word, unit variance overall."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    codec: Any = AutoTokenizer.from_pretrained(encoder)
    model: Any = AutoModel.from_pretrained(encoder).eval()
    model.encoder.layer = model.encoder.layer[:2]
    rows = []
    with torch.inference_mode():
        for start in range(0, len(words), 512):
            batch = codec(
                list(words[start : start + 512]),
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=12,
            )
            inner = batch["attention_mask"].clone()
            ends = inner.sum(1) - 1
            inner[:, 0] = 0
            inner[torch.arange(len(inner)), ends] = 0
            weight = inner[:, :, None] / inner.sum(1).clamp(min=1)[:, None, None]
            first = model.embeddings.word_embeddings(batch["input_ids"])
            second = model(**batch).last_hidden_state
            parts = [(layer * weight).sum(1) for layer in (first, second)]
            rows.append(torch.cat([part / part.norm(dim=1).mean() for part in parts], 1).numpy())
    table = np.concatenate(rows)
    table -= table.mean(0)
    _, _, axes = np.linalg.svd(table[:: max(1, len(table) // 8000)], full_matrices=False)
    reduced = table @ axes[:DIMENSIONS].T
    return (reduced / reduced.std()).astype(np.float32)


def blank(words: Sequence[str], table: npt.NDArray[np.float32]) -> Language:
    """An English pipeline with nothing but a tokenizer and the vectors, looked up in lower case."""
    import spacy
    from spacy.vectors import Vectors

    nlp = spacy.blank("en")
    keys = [nlp.vocab.strings.add(word) for word in words]
    nlp.vocab.vectors = Vectors(
        strings=nlp.vocab.strings, data=table, keys=keys, name="minilm-words", attr="LOWER"
    )
    return nlp


def prepare(treebank: Path, graphs: Path, encoder: Path, work: Path) -> None:
    """Writes `train.spacy`, `dev.spacy` and the folder `vectors` into `work`."""
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab
    from transformers import AutoTokenizer

    work.mkdir(parents=True, exist_ok=True)
    train = list(sentences(treebank / "train.conllu"))
    dev = list(sentences(treebank / "dev.conllu"))
    codec: Any = AutoTokenizer.from_pretrained(encoder)
    if not (work / "vectors").is_dir():
        words = vocabulary(train, list(codec.get_vocab()))
        blank(words, word_vectors(words, encoder)).to_disk(work / "vectors")
    vocab = Vocab()
    parts = {"train": list(documents(train)), "dev": [[sentence] for sentence in dev]}
    parts["train"] += [[one] for one in captions(graphs, tags_of(train), CAPTIONS)]
    for name, runs in parts.items():
        DocBin(docs=[document(vocab, run) for run in runs]).to_disk(work / f"{name}.spacy")


def hiding(work: Path, seed: int = 0) -> Callable[..., Iterator[Example]]:
    """A corpus reader's augmenter that takes words' own embeddings away; their vectors stay."""
    from spacy.tokens import DocBin
    from spacy.training.augment import create_lower_casing_augmenter
    from spacy.vocab import Vocab

    lower = create_lower_casing_augmenter(0.15)
    docs = DocBin().from_disk(work / "train.spacy").get_docs(Vocab())
    counts = Counter(token.lower_ for doc in docs for token in doc)
    draw = random.Random(seed)

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        for one in lower(nlp, example):
            for token in one.predicted:
                if draw.random() < HIDING / (HIDING + counts[token.lower_]):
                    token.norm_ = f"{HIDDEN}{draw.randrange(1_000_000)}"
            yield one

    return augment


def continued(start: Path, work: Path, overrides: dict[str, Any]) -> None:
    """The second run: every component from `start`, words hidden."""
    from spacy import registry
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train
    from spacy.util import load_config

    registry.augmenters("revise_captions.hiding.v1", func=lambda: hiding(work))
    config = load_config(CONFIG, overrides=overrides, interpolate=False)
    for name in config["components"]:
        config["components"][name] = {"source": str(start)}
    config["corpora"]["train"]["augmenter"] = {"@augmenters": "revise_captions.hiding.v1"}
    config["training"]["optimizer"]["learn_rate"]["initial_rate"] = SECOND_RATE
    out = work / "second"
    out.mkdir(exist_ok=True)
    nlp = init_nlp(config)
    lemmatizer: Any = nlp.get_pipe("trainable_lemmatizer")
    # spaCy 3.8 does not restore this table, and without it a loaded one learns nothing.
    lemmatizer.tree2label = {tree: i for i, tree in enumerate(lemmatizer.cfg["labels"])}
    train(nlp, out)


@click.command()
@click.argument("treebank", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("graphs", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--steps", default=6000, show_default=True, help="Updates of about 1,000 words.")
@click.option("--encoder", type=click.Path(exists=True, path_type=Path), help="all-MiniLM-L6-v2.")
@click.option(
    "--start",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Continue from this pipeline, with hidden words, into OUT/second.",
)
def main(
    treebank: Path, graphs: Path, out: Path, steps: int, encoder: Path | None, start: Path | None
) -> None:
    """Train the parser that comes with the package; the best one ends in OUT/model-best."""
    from spacy.cli.train import train

    from revise_captions.text.sentence_encoder import bundled_folder

    if not (out / "train.spacy").is_file():
        prepare(treebank, graphs, encoder or bundled_folder(), out)
    overrides = {
        "paths.train": str(out / "train.spacy"),
        "paths.dev": str(out / "dev.spacy"),
        "paths.vectors": str(out / "vectors"),
        "training.max_steps": steps,
        "training.eval_frequency": max(50, min(500, steps // 12)),
    }
    if start is not None:
        continued(start, out, overrides)
    else:
        train(CONFIG, out, overrides=overrides)


if __name__ == "__main__":
    main()
