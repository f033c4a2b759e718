"""VNLI-Critique's figures (Table 4): ROC-AUC and macro-F1 of raters on three benchmarks.

A dash means not reported. Metrics without a decision have no macro-F1.
"""

from __future__ import annotations

BENCHMARKS = ("docci-critique", "m-haldetect", "chocolate")
#: rater: (ROC-AUC, macro-F1) on each of `BENCHMARKS`.
TABLE_4: dict[str, tuple[str, str, str, str, str, str]] = {
    "CLIPScore": ("0.48", "–", "0.59", "–", "0.56", "–"),
    "VQAScore-CLIP-FlanT5": ("0.73", "–", "0.79", "–", "0.71", "–"),
    "VQAScore-GPT-4o": ("0.88", "–", "0.85", "–", "0.84", "–"),
    "SigLIP": ("0.50", "–", "0.63", "–", "0.56", "–"),
    "TIFA": ("0.61", "–", "0.70", "–", "0.57", "–"),
    "PaliGemma2-9B-448": ("0.51", "0.23", "0.61", "0.39", "0.53", "0.00"),
    "Qwen2.5-VL-7B-Instruct": ("0.65", "0.36", "0.81", "0.75", "0.81", "0.74"),
    "InstructBLIP-Vicuna-7B": ("0.50", "0.45", "0.45", "0.40", "0.53", "0.37"),
    "Emu3-Chat": ("0.51", "0.50", "0.52", "0.42", "0.50", "0.37"),
    "Janus-Pro-7B": ("0.67", "0.58", "0.72", "0.59", "0.65", "0.47"),
    "LLaVA-OneVision-Qwen2-7B": ("0.76", "0.58", "0.82", "0.60", "0.75", "0.44"),
    "mPLUG-Owl3-7B": ("0.73", "0.65", "0.76", "0.68", "0.68", "0.54"),
    "Gemini-2.0-Flash": ("0.73", "0.74", "0.74", "0.74", "0.81", "0.79"),
    "GPT-4o": ("–", "0.74", "–", "0.69", "–", "0.70"),
    "VNLI-Critique": ("0.93", "0.83", "0.86", "0.76", "0.73", "0.68"),
}


def sentence_factuality(benchmark: str) -> dict[str, str]:
    """`ROC-AUC / macro-F1` by rater."""
    at = 2 * BENCHMARKS.index(benchmark)
    return {
        f"{rater}, ROC-AUC / macro-F1": f"{row[at]} / {row[at + 1]}"
        for rater, row in TABLE_4.items()
    }
