"""Every figure about scene graphs and POSH, beside its floor, published peers and target.

    python -m scripts.research.posh.evaluate DATA [--only flickr8k] [--write]

DATA holds `factual_sg`, `discosg`, `ud_english_ewt`, `lvlm_captions`, `flickr8k_expert` and
`imageinwords`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.text.formatting import p_value
from scripts.research.frame.figures import ReportedFigure
from scripts.research.frame.report import table_command

PARSER = "bundled"


def _treebank(data: Path) -> Iterator[ReportedFigure]:
    from scripts.research.posh.graphs import treebank

    yield from treebank(data / "ud_english_ewt" / "test.conllu", PARSER)[1]


def _factual(data: Path) -> Iterator[ReportedFigure]:
    from scripts.research.posh.graphs import factual

    yield from factual(data / "factual_sg" / "dev.csv", PARSER)


def _long(data: Path) -> Iterator[ReportedFigure]:
    from scripts.research.posh.graphs import long_captions

    yield from long_captions(data, PARSER)


def _speed(data: Path) -> Iterator[ReportedFigure]:
    from scripts.research.posh.speed import speed

    yield from speed(data / "lvlm_captions", PARSER)


def _flickr8k(data: Path) -> Iterator[ReportedFigure]:
    """The half of the images that no constant was chosen on, beside the plain cosine."""
    from revise_captions.graphs.grading.offline_judge import OfflineJudge
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.frame import people

    encoder = load_encoder()
    items = people.reporting(people.flickr8k(data / "flickr8k_expert" / "flickr8k_expert.json"))
    found = people.overall(items, OfflineJudge(encoder), PARSER)
    plain = people.cosine(items, encoder)
    name = "Flickr8k-Expert τ-c, reporting half"
    yield people.figure(
        f"{name}: offline POSH",
        items,
        found,
        floor=people.figure("", items, plain).value,
        floor_name="cosine",
        target=0.59,
        peers=people.PEERS,
    )
    test = people.paired(items, found, plain)
    if test.difference is not None and test.p_value is not None and test.least_p is not None:
        yield ReportedFigure(
            f"{name}: above its floor by",
            test.difference,
            test.low,
            test.high,
            target=0.03,
            note=f"paired over images, {p_value(test.p_value, test.least_p)}",
        )
    yield from people.pairs(items, found, plain, "Flickr8k-Expert, reporting half")


def _contrasts(data: Path) -> Iterator[ReportedFigure]:
    from revise_captions.graphs.grading.offline_judge import OfflineJudge
    from revise_captions.text.sentence_encoder import load_encoder
    from scripts.research.posh.marks import figures

    yield from figures(data, OfflineJudge(load_encoder()), PARSER)


main = table_command(
    "posh",
    {
        "treebank": ("ud_english_ewt/test.conllu", _treebank),
        "factual": ("factual_sg/dev.csv", _factual),
        "long": ("discosg/train_300.json", _long),
        "speed": ("lvlm_captions", _speed),
        "flickr8k": ("flickr8k_expert/flickr8k_expert.json", _flickr8k),
        "contrasts": ("", _contrasts),
    },
    "Print every figure about scene graphs and POSH as a Markdown table.",
)

if __name__ == "__main__":
    main()
