"""What ContextRef prints about other metrics (Kreiss et al. 2024).

Figure 3 is an image: the shares in it cannot be read from the paper's text. Table 1 prints, for two
metrics before and after fine-tuning, the share of the test split (20 %) whose score falls.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Table 1: percent of changed descriptions with a lower score.
TABLE_1: Mapping[str, tuple[float, float, float, float]] = {
    "shuffled descriptions": (100.0, 100.0, 66.7, 69.2),
    "shuffled contexts": (43.9, 48.8, 58.5, 65.9),
    "shuffled words": (67.6, 91.9, 100.0, 100.0),
    "proper name replacement": (76.2, 81.0, 85.7, 85.7),
    "frequent alignment errors": (89.3, 89.3, 71.4, 75.0),
    "Frankenstein images": (100.0, 100.0, 53.7, 53.7),
    "short continuation": (78.1, 90.2, 61.0, 63.4),
    "long continuation": (65.9, 100.0, 2.4, 9.8),
    "irrelevant final sentence": (80.5, 100.0, 2.4, 19.5),
    "exact repetition": (65.9, 100.0, 0.0, 0.0),
}
TABLE_1_COLUMNS = ("CLIP", "CLIP, tuned", "Frozen", "Frozen, tuned")
#: What the text says of Figure 3 in words (section 5.2); there is no other figure for BLIP-2.
FIGURE_3 = (
    "no metric passes all checks",
    "Frozen raises more than 25 % of the shuffled descriptions, BLIP-2 (likelihood) more than half",
    "CLIP and BLIP-2 (similarity) raise 25 % of the descriptions with shuffled words",
    "every likelihood metric raises all exact repetitions",
)
#: Table A.1, overall quality: Pearson's r with ratings before and after the image is seen.
TABLE_A1: Mapping[str, tuple[float, float]] = {
    "CLIPScore": (0.11, 0.28),
    "contextual CLIP": (0.18, 0.35),
    "BLIP-2, similarity": (0.23, 0.36),
    "InstructBLIP, likelihood": (0.22, 0.20),
    "Flamingo, likelihood": (0.36, 0.39),
    "Frozen, likelihood": (0.43, 0.39),
    "BLIP-2, likelihood": (0.42, 0.40),
}
