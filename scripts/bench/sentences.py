"""Sentence-boundary F1 of `revise_captions.text.sentences.split` beside other splitters.

    python -m scripts.bench.sentences --treebank DIR [--split test] [--errors]

DIR holds `train.conllu`, `dev.conllu` and `test.conllu` of UD English EWT
(github.com/UniversalDependencies/UD_English-EWT). Raw paragraphs are rebuilt from `# text`,
`# newdoc`, `# newpar` and the last word's `SpaceAfter`. A boundary is the offset of a sentence's
first character; a paragraph's first is given away free and not counted. `exact` is the share of
gold sentences found with both ends right; `hard` the share of the hard cases in
tests/text/test_sentences.py that come out as expected, all spans of the case. Splitters that are
not installed are named as such: `pip install pytest spacy nltk pysbd blingfire syntok sentencex`.
Punkt is trained on `train.conllu`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from revise_captions.text.sentences import split

ROOT = Path(__file__).resolve().parents[2]
Splitter = Callable[[str], Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BoundaryScore:
    """Boundary precision, recall, F1; share of gold sentences found exactly."""

    precision: float
    recall: float
    f1: float
    exact: float


def paragraphs(path: Path) -> Iterator[Paragraph]:
    """Raw paragraphs of a CoNLL-U file with their gold sentence spans."""
    sentences: list[tuple[str, bool]] = []
    text, spaced = "", True
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(("# newdoc", "# newpar")) and sentences:
                yield _join(sentences)
                sentences = []
            elif line.startswith("# text = "):
                text = line[len("# text = ") :].rstrip("\n")
            elif line == "\n":
                sentences.append((text, spaced))
            elif not line.startswith("#"):
                spaced = "SpaceAfter=No" not in line.rstrip("\n").split("\t")[-1]
    if sentences:
        yield _join(sentences)


def _join(sentences: list[tuple[str, bool]]) -> Paragraph:
    text, spans = "", []
    for sentence, spaced in sentences:
        spans.append((len(text), len(text) + len(sentence)))
        text += sentence + (" " if spaced else "")
    return Paragraph(text.rstrip(), tuple(spans))


def score(splitter: Splitter, gold: Sequence[Paragraph]) -> BoundaryScore:
    """Counts over all paragraphs together (micro)."""
    hit = found = wanted = exact = total = 0
    for paragraph in gold:
        spans = splitter(paragraph.text)
        ours = {start for start, _ in spans[1:]}
        theirs = {start for start, _ in paragraph.spans[1:]}
        hit += len(ours & theirs)
        found += len(ours)
        wanted += len(theirs)
        exact += len(set(spans) & set(paragraph.spans))
        total += len(paragraph.spans)
    precision, recall = hit / max(found, 1), hit / max(wanted, 1)
    return BoundaryScore(precision, recall, 2 * hit / max(found + wanted, 1), exact / total)


def lead(ours: Splitter, other: Splitter, gold: Sequence[Paragraph]) -> tuple[float, float]:
    """95 % interval of our F1 minus the other's: paired bootstrap over paragraphs, seed 0."""
    rows = []
    for p in gold:
        theirs = {start for start, _ in p.spans[1:]}
        row: list[int] = []
        for splitter in (ours, other):
            found = {start for start, _ in splitter(p.text)[1:]}
            row += [2 * len(found & theirs), len(found) + len(theirs)]
        rows.append(row)
    counts = np.array(rows)
    rng = np.random.default_rng(0)
    draws = rng.integers(len(counts), size=(2000, len(counts)))
    a_hit, a_all, b_hit, b_all = counts[draws].sum(axis=1).T
    low, high = np.quantile(a_hit / a_all - b_hit / b_all, [0.025, 0.975])
    return float(low), float(high)


def stripped(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans without the white space that some splitters leave at the ends."""
    out = []
    for start, end in spans:
        piece = text[start:end]
        start += len(piece) - len(piece.lstrip())
        if piece.strip():
            out.append((start, start + len(piece.strip())))
    return out


def located(text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Spans of pieces, searched for in order; a piece that the splitter altered is left out."""
    out, at = [], 0
    for piece in (p.strip() for p in pieces):
        start = text.find(piece, at)
        if piece and start >= 0:
            out.append((start, start + len(piece)))
            at = start + len(piece)
    return out


def _spacy(_: list[str]) -> Splitter:
    nlp = importlib.import_module("spacy").blank("en")
    nlp.add_pipe("sentencizer")
    nlp.max_length = 10**9
    return lambda t: stripped(t, [(s.start_char, s.end_char) for s in nlp(t).sents])


def _punkt(train: list[str]) -> Splitter:
    punkt = importlib.import_module("nltk.tokenize.punkt")
    trainer = punkt.PunktTrainer()
    trainer.INCLUDE_ALL_COLLOCS = True
    trainer.train("\n\n".join(train), finalize=True)
    tokenizer = punkt.PunktSentenceTokenizer(trainer.get_params())
    return lambda t: stripped(t, list(tokenizer.span_tokenize(t)))


def _pysbd(_: list[str]) -> Splitter:
    segmenter = importlib.import_module("pysbd").Segmenter(language="en", clean=False)
    return lambda t: located(t, segmenter.segment(t))


def _blingfire(_: list[str]) -> Splitter:
    cut = importlib.import_module("blingfire").text_to_sentences_and_offsets
    return lambda t: stripped(t, list(cut(t)[1])) if t.strip() else []


def _syntok(_: list[str]) -> Splitter:
    process = importlib.import_module("syntok.segmenter").process

    def run(text: str) -> list[tuple[int, int]]:
        return [
            (s[0].offset, s[-1].offset + len(s[-1].value)) for p in process(text) for s in p if s
        ]

    return run


def _sentencex(_: list[str]) -> Splitter:
    segment = importlib.import_module("sentencex").segment
    return lambda t: located(t, list(segment("en", t)))


OTHERS: dict[str, Callable[[list[str]], Splitter]] = {
    "spacy": _spacy,
    "nltk": _punkt,
    "pysbd": _pysbd,
    "blingfire": _blingfire,
    "syntok": _syntok,
    "sentencex": _sentencex,
}
NAMES = {"spacy": "spaCy sentencizer", "nltk": "punkt (trained on EWT)"}


def hard_case_share(splitter: Splitter) -> float:
    """Share of the hard cases in tests/text/test_sentences.py that come out exactly as expected."""
    spec = importlib.util.spec_from_file_location("cases", ROOT / "tests" / "test_sentences.py")
    if spec is None or spec.loader is None:
        raise SystemExit("tests/text/test_sentences.py not found: run this from a source checkout")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cases: list[list[str]] = [case for _, case in module.CASES]
    texts = [text for text, _ in module.CASES]
    right = sum([t[a:b] for a, b in splitter(t)] == c for t, c in zip(texts, cases, strict=True))
    return right / len(cases)


def show_errors(gold: Sequence[Paragraph], limit: int) -> None:
    for paragraph in gold:
        ours = {start for start, _ in split(paragraph.text)[1:]}
        theirs = {start for start, _ in paragraph.spans[1:]}
        for at in sorted(ours ^ theirs)[:limit]:
            sign = "+" if at in ours else "-"
            print(sign, paragraph.text[max(0, at - 40) : at], "|", paragraph.text[at : at + 30])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = ROOT.parent / "shared" / "data" / "ud_english_ewt"
    parser.add_argument("--treebank", type=Path, default=default)
    parser.add_argument("--split", choices=("train", "dev", "test"), default="test")
    parser.add_argument("--errors", action="store_true", help="list our own errors instead")
    args = parser.parse_args()
    if not (args.treebank / "test.conllu").is_file():
        sys.exit(f"no test.conllu in {args.treebank}; give the treebank's folder with --treebank")
    gold = list(paragraphs(args.treebank / f"{args.split}.conllu"))
    if args.errors:
        return show_errors(gold, limit=20)
    train = [p.text for p in paragraphs(args.treebank / "train.conllu")]
    splitters: dict[str, Splitter] = {"revise_captions": split}
    absent = [name for name in OTHERS if importlib.util.find_spec(name) is None]
    for name, build in OTHERS.items():
        if name not in absent:
            splitters[NAMES.get(name, name)] = build(train)
    n = sum(len(p.spans) for p in gold)
    print(f"EWT {args.split}: {len(gold)} paragraphs, {n} sentences")
    print(f"{'splitter':24}{'P':>7}{'R':>7}{'F1':>7}{'exact':>7}{'hard':>7}{'k chars/s':>11}")
    f1: dict[str, float] = {}
    for name, splitter in splitters.items():
        began = time.perf_counter()
        s = score(splitter, gold)
        speed = sum(len(p.text) for p in gold) / (time.perf_counter() - began) / 1000
        f1[name] = s.f1
        figures = "".join(f"{100 * x:7.1f}" for x in (s.precision, s.recall, s.f1, s.exact))
        print(f"{name:24}{figures}{100 * hard_case_share(splitter):7.1f}{speed:11,.0f}")
    others = [name for name in f1 if name != "revise_captions"]
    if others:
        best = max(others, key=f1.__getitem__)
        low, high = lead(split, splitters[best], gold)
        gain = 100 * (f1["revise_captions"] - f1[best])
        print(f"F1 minus {best}: {gain:+.1f} (95 % interval {100 * low:+.1f} to {100 * high:+.1f})")
    if absent:
        print("not installed:", ", ".join(absent))


if __name__ == "__main__":
    main()
