"""DeCapBench as published (2503.07906): Table 11's leaderboard, Table 1's agreement with people.

Every figure here was measured with GPT-4o as decomposer, matcher and verifier. Figures from another
judge are on another scale: they can be ranked among themselves, but not compared with these.
"""

from __future__ import annotations

#: The judge behind all published figures.
JUDGE = "gpt-4o"
SOURCE = "2503.07906, Table 11"
#: F of DCScore in percent, by model.
TABLE_11: dict[str, float] = {
    "Qwen-VL-Chat-7B": 19.16,
    "mPLUG-Owl2": 23.27,
    "LLaVA-1.5-7B": 24.50,
    "LLaVA-1.5-13B": 25.55,
    "XComposer2.5-7B": 29.60,
    "Cambrian-34B": 35.12,
    "LLaVA-1.6-7B": 36.21,
    "MiniCPM-Llama3-V-2.5-8B": 36.36,
    "LLaVA-1.6-13B": 37.98,
    "ViLA-40B": 38.02,
    "InternVL-1.5-20B": 39.28,
    "LLaVA-1.6-34B": 40.46,
    "LLaVA-Onevision-7B": 43.49,
    "Gemini-Pro-1.5": 46.34,
    "InternVL-2-8B": 47.39,
    "GPT-4v": 48.52,
    "InternVL-2-26B": 49.59,
    "GLM-4v-9B": 49.85,
    "InternVL-2-40B": 51.17,
    "Claude-3.5-Sonnet": 52.37,
    "GPT-4o": 53.44,
    "FeedQuill-7B": 55.65,
}
#: Agreement of DCScore with people on the paper's own 500 captions (Table 1).
TABLE_1 = {"PCC": 0.6605, "Kendall τ": 0.5328, "Sample-wise τ": 0.6166}
#: CapArena's ranking of captioners by people's votes, best first (2503.12329); models by their
#: names in Table 11.
CAPARENA = (
    "GPT-4o", "human", "Gemini-2.0-flash-exp", "InternVL-2-26B", "Gemini-Pro-1.5",
    "Claude-3.5-Sonnet", "GPT-4o-mini-0718", "LLama-3.2-90B", "Qwen2-VL-72B-Instruct",
    "CogVLM2-llama3-chat-19B", "MiniCPM-V2.6-8B", "Qwen2-VL-7B-Instruct", "Qwen2-VL-2B-Instruct",
    "LLaVA-1.6-34B", "LLaVA-1.5-7B",
)  # fmt: skip


def published() -> dict[str, str]:
    """Figures by name, as listed by `captions benchmarks show decapbench`."""
    rows = {f"{model}, F in percent": f"{score:.2f}" for model, score in TABLE_11.items()}
    return rows | {f"DCScore against people, {name}": f"{r:.4f}" for name, r in TABLE_1.items()}
