"""What a small critic affirms, denies and refuses on scenes drawn after its training ended.

    python -m scripts.research.critic.fresh_scenes --first SEED [--before FOLDER] [--write]

SEED is the number of the first scene: draw it when training has ended, so that no scene steered
the critic's development. Each split's scenes are drawn from it; the table has both splits, and with
`--before` another critic's figures on the same scenes. `--write` puts the table into the bundled
critic's card. Intervals are 95 % bootstraps over images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.finetune.data.recolor import shifted_hues
from revise_captions.records import UnknownWord, Verdict
from revise_captions.stats.classification import calibration_error, macro_f1, roc_auc
from revise_captions.stats.paired_tests import measured
from scripts.research import markdown
from scripts.research.bundled_models.held_out import Item, held_out
from scripts.research.critic.probes import probes_of

SPLITS = ("test", "compositional")
ROOT = Path(__file__).resolve().parents[3]
#: Degrees of the color circle by which images are shifted.
HUE = 20
WINDOW = 32


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict on a sentence of a family about an image, beside its truth."""

    image: str
    family: str
    factual: bool
    verdict: Verdict

    @property
    def unknown(self) -> bool:
        return isinstance(self.verdict.unscored, UnknownWord)


def answers(critic: PaliGemmaCritic, items: Sequence[Item], first: int) -> Iterator[Answer]:
    """The critic's answers to all probes, and to the captions, as they are and shifted in hue."""
    for start in range(0, len(items), WINDOW):
        part = list(enumerate(items[start : start + WINDOW], first + start))
        probes = [list(probes_of(item, n)) for n, item in part]
        asked = [
            JudgeRequest(
                i.image, i.text, i.spans, instead=tuple((p.after, p.sentence) for p in own)
            )
            for (_, i), own in zip(part, probes, strict=True)
        ]
        for (n, _), own, verdicts in zip(part, probes, critic.judge(asked), strict=True):
            for probe, verdict in zip(own, verdicts, strict=True):
                yield Answer(str(n), probe.family, probe.factual, verdict)
        for family, turned in (("captions", 0), ("hue", HUE)):
            shown = [(n, _shifted(item, turned)) for n, item in part]
            said = critic.judge([JudgeRequest(i.image, i.text, i.spans) for _, i in shown])
            for (n, item), verdicts in zip(shown, said, strict=True):
                for factual, verdict in zip(item.factual, verdicts, strict=True):
                    yield Answer(str(n), family, factual, verdict)


def _shifted(item: Item, degrees: int) -> Item:
    from PIL import Image

    if not degrees:
        return item
    pixels = shifted_hues(np.asarray(item.image.convert("RGB")), degrees / 360)
    return replace(item, image=Image.fromarray(pixels))


Floats = NDArray[np.float64]


def _share(hit: Floats, _: Floats) -> float:
    return float(hit.mean()) if len(hit) else float("nan")


def _shown(found: object) -> str:
    value, low, high = (getattr(found, name) for name in ("value", "low", "high"))
    if value is None:
        return "–"
    return f"{value:.3f}" if low is None else f"{value:.3f} ({low:.3f}–{high:.3f})"


def figures(found: Sequence[Answer], threshold: float) -> dict[str, str]:
    """Every figure of one critic on one split, by its name in the table.

    A sentence left unscored was neither passed nor flagged; in macro-F1, ROC-AUC and ECE it is not.
    """
    made: dict[str, str] = {}

    def share(name: str, family: str, factual: bool | None, hit: str) -> None:
        chosen = [a for a in found if a.family == family and factual in (None, a.factual)]
        hits = {
            "passed": [(p := a.verdict.p_factual) is not None and p >= threshold for a in chosen],
            "flagged": [(p := a.verdict.p_factual) is not None and p < threshold for a in chosen],
            "unscored": [a.verdict.p_factual is None for a in chosen],
            "unknown": [a.unknown for a in chosen],
        }[hit]
        images = [a.image for a in chosen]
        of = f"{_shown(measured(_share, hits, hits, images))} of {len(chosen):,}"
        made[name] = of if chosen else "–"

    def score(name: str, family: str, statistic: object) -> None:
        chosen = [a for a in found if a.family == family and a.verdict.p_factual is not None]
        p = [a.verdict.p_factual for a in chosen]
        truth = [float(a.factual) for a in chosen]
        made[name] = _shown(measured(statistic, p, truth, [a.image for a in chosen]))  # type: ignore[arg-type]

    def f1(p: Floats, truth: Floats) -> float:
        return float(macro_f1(p, truth, threshold))

    for family in ("existence", "existence, new frame"):
        share(f"{family}: absent things passed", family, False, "passed")
        share(f"{family}: present things passed", family, True, "passed")
    for family in ("negation", "negation, new frame"):
        score(f"{family}: macro-F1", family, f1)
    share("joined clauses: one of five wrong, passed", "joined", False, "passed")
    share("joined clauses: five true, flagged", "joined", True, "flagged")
    share("words never taught: refused as unknown", "never taught", None, "unknown")
    share("words never taught: passed", "never taught", None, "passed")
    share("captions: sentences refused for an unknown word", "captions", None, "unknown")
    share("captions: true sentences flagged", "captions", True, "flagged")
    share("captions: wrong sentences passed", "captions", False, "passed")
    share("in capitals: true sentences flagged", "capitals", True, "flagged")
    share("in capitals: wrong sentences passed", "capitals", False, "passed")
    share(f"hue +{HUE}°: true sentences flagged", "hue", True, "flagged")
    share(f"hue +{HUE}°: sentences unscored", "hue", None, "unscored")
    score("captions: ROC-AUC", "captions", roc_auc)
    score("captions: macro-F1", "captions", f1)
    score("captions: ECE", "captions", calibration_error)
    return made


TARGETS: Mapping[str, str] = {
    "existence: absent things passed": "≤ 0.05",
    "negation: macro-F1": "≥ 0.95",
    "joined clauses: one of five wrong, passed": "≤ 0.10",
    "words never taught: refused as unknown": "1.000",
    "captions: sentences refused for an unknown word": "≤ 0.002",
    "captions: ROC-AUC": "≥ 0.990 / ≥ 0.975",
    "captions: ECE": "≤ 0.02 / ≤ 0.04",
}


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """Figures as Markdown, one column per critic and split."""
    heads = list(columns)
    lines = [" | ".join(["| figure", *heads, "target |"]), "|" + " --- |" * (len(heads) + 2)]
    for name in next(iter(columns.values())):
        cells = [columns[head][name] for head in heads]
        lines.append(" | ".join([f"| {name}", *cells, f"{TARGETS.get(name, '')} |"]))
    return "\n".join(lines)


@click.command(help=__doc__.splitlines()[0])
@click.option("--critic", default="bundled", show_default=True, help="Folder, or bundled.")
@click.option("--before", help="Another critic, for a column beside.")
@click.option("--first", required=True, type=int, help="Number of the first scene.")
@click.option("--scenes", default=200, show_default=True, help="Scenes per split.")
@click.option("--write", is_flag=True, help="Put the table into the bundled critic's card.")
def main(critic: str, before: str | None, first: int, scenes: int, write: bool) -> None:
    from revise_captions.critic.locate import stored_card
    from revise_captions.critic.paligemma.load import load_paligemma

    columns: dict[str, dict[str, str]] = {}
    calibrated = []
    for name, folder in (("before", before), ("now", critic)):
        if folder is None:
            continue
        judge = load_paligemma(folder)
        calibrated.append(f"{name} {stored_card(folder).calibration['ece']:.3f}")
        for split in SPLITS:
            found = list(answers(judge, held_out(split, scenes, first=first), first))
            columns[f"{name}, {split}"] = figures(found, judge.threshold)
    text = (
        f"{table(columns)}\n\n{scenes:,} scenes per split from number {first}, drawn after training"
        f" had ended. ECE on validation sentences, by the card: {', '.join(calibrated)}. Command: "
        f"`python -m scripts.research.critic.fresh_scenes --first {first} --scenes {scenes}`."
    )
    click.echo(text)
    if write:
        markdown.write_blocks(ROOT / "critic/bundled/README.md", {"fresh-scenes": text})


if __name__ == "__main__":
    main()
