"""Held-out pairs for a reward model, and how often it agrees with them.

They have separate images: no image, or one that looks like it, is on both sides. The floors are
chance, and the number of words alone: the longer caption, or the shorter, whichever more of the
training pairs prefer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from revise_captions.finetune.preferences.data import PreferenceExamples, columns
from revise_captions.finetune.preferences.reward_model import ModelReward
from revise_captions.io.perceptual_hash import fingerprint, groups
from revise_captions.metrics.protocol import StoredImage
from revise_captions.stats.exact import exact_interval
from revise_captions.training_data.folder import TRAIN, splits

EVENT = "held-out"
RESULT = "held_out.json"


def without_held_out(
    pairs: PreferenceExamples, share: float
) -> tuple[PreferenceExamples, PreferenceExamples]:
    """Pairs to train on, and those of images held out by a hash of their names.

    Args:
        pairs: All pairs.
        share: Of the images; 0 to hold out none.

    Raises:
        UserError: There are too few different images.
    """
    if not share:
        return pairs, _part(pairs, ())
    names = [StoredImage(ref).key for ref in pairs.images]
    first = {name: number for number, name in reversed([*enumerate(names)])}
    prints = {name: fingerprint(pairs.image(number)) for name, number in first.items()}
    side_of = splits(groups(prints), share)
    trained = [number for number, name in enumerate(names) if side_of[name] == TRAIN]
    return _part(pairs, trained), _part(pairs, sorted({*range(len(names))} - {*trained}))


def _part(pairs: PreferenceExamples, numbers: Sequence[int]) -> PreferenceExamples:
    rows, images = [pairs.rows[k] for k in numbers], [pairs.images[k] for k in numbers]
    return replace(pairs, rows=rows, images=images)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often the reward model agrees with held-out pairs.

    Attributes:
        pairs: Number of held-out pairs.
        images: Number of their images. The interval treats pairs as independent, so it is too
            narrow if an image has many.
        right: Pairs whose chosen caption has the higher reward; a tie counts as wrong.
        longer: Whether the longer caption is chosen in at least half of the training pairs.
        by_length: Share that this length rule gets right; equal lengths count one half.
    """

    pairs: int
    images: int
    right: int
    longer: bool
    by_length: float

    def as_json(self) -> dict[str, Any]:
        """For the log: with the share and its exact 95 % interval."""
        low, high = exact_interval(self.right, self.pairs)
        return {
            "pairs": self.pairs,
            "images": self.images,
            "right": self.right,
            "accuracy": self.right / self.pairs,
            "low": low,
            "high": high,
            "floor: chance": 0.5,
            f"floor: the {'longer' if self.longer else 'shorter'}": self.by_length,
        }


def said(found: Mapping[str, Any]) -> str:
    """The line of the log, for people."""
    floors = [f"{name} {value:.3f}" for name, value in found.items() if name.startswith("floor")]
    return (
        f"held out, {found['pairs']:,} pairs of {found['images']:,} images: accuracy "
        f"{found['accuracy']:.3f} ({found['low']:.3f} to {found['high']:.3f}); {', '.join(floors)}"
    )


def accuracy(
    reward: ModelReward, held: PreferenceExamples, trained: PreferenceExamples, *, batch: int
) -> Accuracy:
    """Scores both captions of each held-out pair.

    Args:
        reward: The trained model.
        held: The pairs, one at least.
        trained: What it was trained on, for the direction of the length floor.
        batch: Pairs at a time.
    """
    right = 0
    for start in range(0, len(held.rows), batch):
        rows = held.rows[start : start + batch]
        images = [[held.image(k)] for k in range(start, start + len(rows))]
        prompts = [row["prompt"] for row in rows]
        chosen, rejected = (
            reward(prompts, [row[side] for row in rows], images) for side in ("chosen", "rejected")
        )
        right += sum(a > b for a, b in zip(chosen, rejected, strict=True))
    longer = sum(_longer(trained)) >= 0
    own = [sign if longer else -sign for sign in _longer(held)]
    by_length = sum((sign + 1) / 2 for sign in own) / len(own)
    return Accuracy(len(own), len({*held.images}), right, longer, by_length)


def _longer(pairs: PreferenceExamples) -> list[int]:
    """For each pair, 1 if the chosen caption has more words, -1 if fewer, 0 if equally many."""
    both = zip(columns(pairs, "chosen"), columns(pairs, "rejected"), strict=True)
    words = [(len(a.split()), len(b.split())) for a, b in both]
    return [(a > b) - (a < b) for a, b in words]
