"""Established reference-based metrics, computed by the libraries that maintain them.

    floor:bleu      sacreBLEU sentence BLEU, lower-cased, exponential smoothing, in 0 to 1
    floor:rouge-l   rouge-score ROUGE-L F1 with stemming, the best of the references
    floor:meteor    NLTK METEOR: exact words and stems, and WordNet synonyms if installed
    floor:cider     pycocoevalcap CIDEr; document frequencies from this benchmark's references
    floor:graph-f1  F1 of this project's scene graphs against the union of all references': SPICE
                    (Anderson et al. 2016) without synonyms
    floor:spice-like[=DIR]
                    the same with WordNet's synonyms, as SPICE has them; like SPICE, not SPICE: the
                    parser and its rules are this project's. DIR holds WordNet's index files

Tokens for METEOR and CIDEr are NLTK's Treebank tokens, lower-cased, without punctuation (COCO's own
tokenizer needs Java). None looks at the image; a caption without references has no score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

from revise_captions.benchmarks.types import Example
from revise_captions.errors import UserError

NO_REFERENCES = "no references"
#: Not among `BASELINES`, which need no data of their own.
SPICE_LIKE = "floor:spice-like"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A metric of `package`, which `extra` installs; `scores` takes captions with references."""

    package: str
    extra: str
    scores: Callable[[Sequence[Example]], list[float]]


def bleu(examples: Sequence[Example]) -> list[float]:
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(lowercase=True, effective_order=True, smooth_method="exp")
    return [metric.sentence_score(e.caption, list(e.references)).score / 100 for e in examples]


def rouge_l(examples: Sequence[Example]) -> list[float]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    return [scorer.score_multi(e.references, e.caption)["rougeL"].fmeasure for e in examples]


def meteor(examples: Sequence[Example]) -> list[float]:
    from nltk.translate.meteor_score import meteor_score

    synonyms = _wordnet() or _NoSynonyms()
    return [
        float(meteor_score([_words(r) for r in e.references], _words(e.caption), wordnet=synonyms))
        for e in examples
    ]


class _NoSynonyms:
    """Replaces WordNet if NLTK's copy is not installed."""

    def synsets(self, word: str) -> tuple[()]:
        return ()


def _wordnet() -> Any:
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        return None
    return wordnet


def cider(examples: Sequence[Example]) -> list[float]:
    from pycocoevalcap.cider.cider import Cider

    references = {k: [" ".join(_words(r)) for r in e.references] for k, e in enumerate(examples)}
    captions = {k: [" ".join(_words(e.caption))] for k, e in enumerate(examples)}
    return [float(score) for score in Cider().compute_score(references, captions)[1]]


def _words(text: str) -> list[str]:
    from nltk.tokenize import TreebankWordTokenizer

    found = TreebankWordTokenizer().tokenize(text.lower())
    return [word for word in found if re.search(r"\w", word)]


def graph_f1(examples: Sequence[Example]) -> list[float]:
    from revise_captions.graphs.triples import f1, tuples

    found = {text: tuples(triples).all for text, triples in _triples(examples).items()}
    return [
        f1(found[e.caption], frozenset().union(*(found[r] for r in e.references))) for e in examples
    ]


def _triples(examples: Sequence[Example]) -> dict[str, list[tuple[str, ...]]]:
    """The graphs of captions and references, in annotators' notation."""
    from revise_captions.graphs.parse import parse
    from revise_captions.graphs.triples import convention

    texts = list(dict.fromkeys(t for e in examples for t in (e.caption, *e.references)))
    graphs = zip(texts, parse(texts), strict=True)
    return {text: convention(graph) for text, graph in graphs}


def spice_like(examples: Sequence[Example], folder: str) -> tuple[dict[str, float | None], str]:
    """`floor:graph-f1` with WordNet's synonyms.

    Args:
        examples: Captions with references.
        folder: With WordNet's files; "": where it is usually installed.

    Returns:
        Scores by caption, None without references; and what computed them.

    Raises:
        UserError: WordNet, or the parser's package, is not installed.
    """
    from revise_captions.graphs.synonyms import combined, find_wordnet, synonym_f1

    wordnet = find_wordnet(folder)

    def score(judged: Sequence[Example]) -> list[float]:
        found = _triples(judged)
        return [
            synonym_f1(
                combined(found[e.caption], wordnet),
                combined([t for r in e.references for t in found[r]], wordnet),
            )
            for e in judged
        ]

    scores, made = _scored(SPICE_LIKE, Baseline("spacy", "posh", score), examples)
    return scores, f"{made}, WordNet {wordnet.digest}"


BASELINES: Mapping[str, Baseline] = {
    "floor:bleu": Baseline("sacrebleu", "metrics", bleu),
    "floor:rouge-l": Baseline("rouge_score", "metrics", rouge_l),
    "floor:meteor": Baseline("nltk", "metrics", meteor),
    "floor:cider": Baseline("pycocoevalcap", "metrics", cider),
    "floor:graph-f1": Baseline("spacy", "posh", graph_f1),
}


def baseline(name: str, examples: Sequence[Example]) -> tuple[dict[str, float | None], str]:
    """Scores by caption (None without references), and what computed them.

    Raises:
        UserError: The package is not installed.
    """
    scores, made = _scored(name, BASELINES[name], examples)
    if name == "floor:meteor":
        made += " with WordNet" if _wordnet() else " without WordNet"
    return scores, made


def _scored(
    name: str, known: Baseline, examples: Sequence[Example]
) -> tuple[dict[str, float | None], str]:
    """Scores by caption, None without references, and the package that computed them."""
    try:
        import_module(known.package)
    except ImportError:
        raise UserError(
            f"{name} needs {known.package}", hint=f"pip install 'revise-captions[{known.extra}]'"
        ) from None
    judged = [e for e in examples if any(r.strip() for r in e.references)]
    values = known.scores(judged) if judged else []
    scores: dict[str, float | None] = {e.id: None for e in examples}
    scores.update((e.id, value) for e, value in zip(judged, values, strict=True))
    return scores, f"{known.package} {version(known.package)}"
