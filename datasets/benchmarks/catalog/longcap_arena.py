"""VELA's published figures on LongCap-Arena (Matsuda et al. 2025, arXiv:2509.25818), in percent.

TestA has the images of DCI's validation set, TestB those of its test set (section 5.1). The text
of section 5.5 gives other figures for people (55.1, 41.0, 28.1; 48.7, 50.6, 23.4) than Table 1.
"""

from __future__ import annotations

from revise_captions.benchmarks.types import Example

TESTS = ("TestA", "TestB")
AXES = ("descriptiveness", "relevance", "fluency")
#: Names of the rows of both tables.
VELA, HUMAN = "VELA", "human performance"
#: TestA and TestB, three perspectives each.
Six = tuple[float, float, float, float, float, float]
#: Table 1: Kendall's τ-c, and ms per caption on an RTX 3090; None: not given.
TABLE_1: dict[str, tuple[Six, float | None]] = {
    "BLEU": ((28.6, 2.4, 25.5, 32.0, -10.1, -3.5), 0.46),
    "CIDEr": ((-7.0, 6.7, 4.4, 4.0, -3.4, 1.9), 1.3),
    "CLIP-S": ((24.5, 18.6, 25.5, 27.3, 22.5, 24.5), 26),
    "CLIP-S avg": ((-8.6, 11.5, 3.2, 12.8, 27.5, 28.4), 200),
    "RefCLIP-S": ((13.4, 7.3, 9.5, 21.2, 10.3, 10.9), 33),
    "PAC-S": ((24.8, 14.7, 23.6, 27.6, 25.7, 23.0), 48),
    "PAC-S avg": ((-7.4, 14.6, 6.2, 6.6, 29.2, 28.4), 360),
    "RefPAC-S": ((22.6, 19.1, 24.9, 40.7, 29.2, 27.9), 52),
    "Polos": ((28.5, 18.1, 30.6, 41.1, 22.4, 20.0), 33),
    "DENEB": ((10.3, 18.4, 22.2, 31.3, 35.7, 32.6), 47),
    "PAC-S++": ((29.7, 21.4, 34.2, 28.1, 21.9, 21.1), 36),
    "PAC-S++ avg": ((-7.2, 19.4, 6.0, 14.1, 32.4, 30.3), 270),
    "RefPAC-S++": ((25.4, 23.3, 28.9, 40.3, 22.2, 24.2), 40),
    "FLEUR": ((17.3, 2.6, 0.5, 12.6, 10.6, -3.1), 1300),
    "RefFLEUR": ((21.3, 10.3, 7.2, 28.1, 12.3, 17.5), 1400),
    "G-VEval": ((28.3, 22.5, 18.2, 38.1, 22.2, 19.2), 1800),
    "GPT-4o w/o references": ((54.1, 36.8, 20.9, 43.6, 37.3, 25.2), 1900),
    "GPT-4o w/ references": ((47.0, 26.2, 35.4, 46.9, 30.4, 25.1), 2000),
    VELA: ((56.4, 40.0, 57.4, 54.0, 52.3, 39.0), 260),
    HUMAN: ((56.1, 46.6, 24.5, 48.9, 52.6, 24.4), None),
}
#: Table 2: τ-c of VELA without a branch, or with other models in them.
TABLE_2: dict[str, Six] = {
    "without R2C-LLM": (45.9, 11.9, 11.6, 24.6, 28.8, 4.9),
    "without I2C-Align": (50.2, 35.8, 56.3, 48.5, 49.5, 38.8),
    "CLIP ViT-L/14": (54.9, 37.2, 51.5, 50.0, 46.7, 34.5),
    "PAC-S CLIP ViT-L/14": (54.4, 37.7, 53.1, 51.9, 48.0, 32.1),
    "Long-CLIP ViT-B/16": (56.0, 39.4, 57.2, 51.6, 49.1, 34.1),
    "Llama3.2-3B": (54.5, 36.2, 51.8, 51.0, 49.8, 41.3),
    "Phi-3.5-Mini": (51.0, 30.7, 54.8, 44.7, 48.1, 32.2),
    VELA: (56.4, 40.0, 57.4, 54.0, 52.3, 39.0),
}
#: Table 4: Kendall's τ-b.
TABLE_4: dict[str, Six] = {
    "GPT-4o w/o references": (56.1, 38.2, 35.2, 44.6, 38.8, 39.3),
    "GPT-4o w/ references": (47.4, 27.3, 37.0, 47.2, 31.7, 27.1),
    VELA: (56.8, 41.0, 55.2, 52.2, 51.9, 38.7),
    HUMAN: (54.4, 47.5, 32.1, 46.6, 51.9, 31.1),
}
#: Table 7: τ-c without references.
REFERENCE_FREE: Six = (54.3, 36.1, 56.4, 46.4, 44.4, 33.4)
#: Table 8: τ-c on Flickr8k-Expert.
TABLE_8: dict[str, tuple[float]] = {
    "CIDEr": (43.9,),
    "CLIP-S": (51.2,),
    "RefCLIP-S": (53.0,),
    "PAC-S": (54.3,),
    "RefPAC-S": (55.9,),
    "Polos": (56.4,),
    "CLAIR": (48.8,),
    "FLEUR": (53.0,),
    "G-VEval": (59.7,),
    VELA: (56.2,),
}


def test_of(example: Example) -> str:
    """Which of `TESTS` a caption belongs to, by the path that it was read from; "" if neither.

    The files of DCI's validation set are a test set, not the one for early stopping.
    """
    return test_named(example.subset)


def test_named(path: str) -> str:
    """Which of `TESTS` a file's path names; "" if neither."""
    name = path.lower().replace("-", "").replace("_", "")
    if "testa" in name or "dcival" in name:
        return "TestA"
    return "TestB" if "testb" in name or "dcitest" in name else ""


def published() -> dict[str, str]:
    """The figures of VELA and of people, as `captions benchmarks show` prints them."""
    rows = {f"{name}, τ-c (TestA; TestB)": TABLE_1[name][0] for name in (VELA, HUMAN)}
    return {name: f"{_three(row[:3])}; {_three(row[3:])}" for name, row in rows.items()}


def _three(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.1f}" for value in values)
