"""The model card of a fine-tuned critic: data, training, and figures with floors.

Figures are of the validation split, on which the threshold was calibrated. Intervals are over
images (`revise_captions.stats.paired_tests`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic import chat_prompts, prompts
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.records import provenance
from revise_captions.finetune.models.adapters import trained_parts
from revise_captions.stats.classification import macro_f1, one_class_macro_f1, roc_auc
from revise_captions.stats.paired_tests import ResampledFigure as Figure
from revise_captions.stats.paired_tests import measured
from revise_captions.text.formatting import plural

if TYPE_CHECKING:
    from revise_captions.finetune.data.records import Examples
    from revise_captions.finetune.trainer.setup import TrainingRun
    from revise_captions.finetune.trainer.validate import ValidationResult

Floats = NDArray[np.float64]
_LICENSE = re.compile(r"^license(?:_name)?:\s*['\"]?([^'\"\n]+)", re.MULTILINE)
_UNKNOWN = "not stated: check it before you distribute this critic"


def base_license(folder: Path | None) -> str:
    """The license in a base's own model card."""
    if folder is None:
        return "none: trained from scratch"
    page = folder / "README.md"
    found = _LICENSE.search(page.read_text(encoding="utf-8")) if page.exists() else None
    return found[1].strip() if found else _UNKNOWN


def data_license(root: Path) -> str:
    """The license in the data's `data.json`, else the first line of its LICENSE file."""
    stated = provenance(root).get("licence")
    if stated:
        return str(stated)
    for name in ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE"):
        path = root / name
        if path.is_file():
            lines = [line.strip("# ").strip() for line in path.read_text("utf-8").splitlines()]
            return next((line for line in lines if line), _UNKNOWN)
    return _UNKNOWN


def floors(validation: Examples) -> tuple[Floats, Floats, Floats, list[str]]:
    """Label, negated length, negated position and image of every sentence."""
    rows = [
        (s.factual, s.span.start - s.span.end, -k, example.image)
        for example in validation
        for k, s in enumerate(example.sentences)
    ]
    truth, length, place, images = zip(*rows, strict=True)
    return (
        np.array(truth, dtype=float),
        np.array(length, dtype=float),
        np.array(place, dtype=float),
        list(images),
    )


def figures(run: TrainingRun, card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rows of the table: the critic on the validation split, and floors that need no model."""
    found = run.measured
    assert found is not None
    images = [run.validation.images[run.validation.image_of[i]] for i in found.caption]
    p, truth = found.p, found.factual.astype(float)
    limit = float(card["threshold"])
    whole, length, place, of = floors(run.validation)
    calibration = card["calibration"]
    ece = f"{calibration['ece']:.3f}" if calibration else "none: one class only"
    return [
        ("ROC-AUC", _shown(measured(roc_auc, p, truth, images))),
        ("… floor: the shorter the truer", _shown(measured(roc_auc, length, whole, of))),
        ("… floor: the earlier the truer", _shown(measured(roc_auc, place, whole, of))),
        (
            f"macro-F1 at the threshold {limit:.4f}",
            _shown(measured(partial(macro_f1, threshold=limit), p, truth, images)),
        ),
        ("… floor: the more frequent class", f"{one_class_macro_f1(whole):.3f}"),
        ("expected calibration error", ece),
        *_rationale_lines(found),
    ]


def _rationale_lines(found: ValidationResult) -> list[tuple[str, str]]:
    if np.isnan(found.rationale_loss):
        return [("rationales", "none in the validation split")]
    return [
        ("rationale: loss per token", f"{found.rationale_loss:.3f}"),
        ("rationale: token accuracy", f"{found.rationale_accuracy:.3f}"),
    ]


def _shown(figure: Figure) -> str:
    if figure.value is None:
        return "none: one class only"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f} (too few images for an interval)"
    return f"{figure.value:.3f} ({figure.low:.3f}–{figure.high:.3f})"


def model_card(run: TrainingRun, card: Mapping[str, Any]) -> str:
    """README.md of the critic's folder. `card`: the content of critic.json."""
    chat = card["prompt"] == chat_prompts.VERSION
    settings, base = run.settings, run.base_name
    data = _data_lines(run)
    table = "\n".join(f"| {name} | {value} |" for name, value in figures(run, card))
    changed = "\n".join(f"| `{name}` | {value} |" for name, value in _options(settings))
    learned = ", ".join(f"{p} ({n:,})" for p, n in trained_parts(run.model).items())
    what = {"full": "all weights", "lora": "LoRA", "qlora": "LoRA on a 4-bit base (NF4)"}
    asks = chat_prompts if chat else prompts
    attention_mode = "the model's own" if chat else f"`{card['attention_mode']}`"
    front = "" if run.base.folder is None else f"base_model: {base}\n"
    return f"""---
{front}library_name: transformers
pipeline_tag: image-text-to-text
tags: [caption-factuality, critic]
---

# A critic of image captions

Judges each sentence of a caption against its image and explains errors. Trained by
`captions finetune`; use it with `revise-captions in.jsonl out.jsonl --critic FOLDER`.

- Base: {base} (license: {base_license(run.base.folder)}).
- Trained: {what[settings.lora.method]} of {learned} parameters.
- Prompts: version {asks.VERSION} (VNLI-Critique, section 4.1). Attention: {attention_mode}.
- Data: {data}
- License of the data: {data_license(run.train.root)}.

## Figures

On the validation split ({len(run.validation):,} captions). The threshold was calibrated on it, and
with `--keep best` the weights were chosen on it, so expect slightly lower figures on new data of
this kind. In brackets: 95 % intervals over images.

| figure | value |
| --- | --- |
{table}

The figures hold for images and captions like the training data. For others, measure first:
`captions evaluate-metric` compares the critic with human labels.

## Training

{plural(run.progress.step, "step")} of {settings.data.batch_size} captions, with these settings:

| setting | value |
| --- | --- |
{changed}
"""


def _data_lines(run: TrainingRun) -> str:
    train, share = run.train, run.settings.data.replay_share
    sentences = [s for i in range(train.own) for s in train[i].sentences]
    wrong = sum(not s.factual for s in sentences)
    explained = sum(not s.factual and bool(s.rationales) for s in sentences)
    stated = provenance(train.root)
    name = f"{stated['title']}: " if stated.get("title") else ""
    replayed, mark, also = "", "", {}
    if train.replayed is not None:
        more, also = len(train) - train.own, provenance(train.replayed)
        what, terms = also.get("title") or "other data", data_license(train.replayed)
        replayed = f" Mixed in, {share:.0%} of all: {more:,} captions of {what} (license: {terms})."
    if stated.get("benchmark") or also.get("benchmark"):
        mark = " **This is a benchmark: the critic cannot be measured by it.**"
    return (
        f"{name}{train.own:,} captions of {train.own_images:,} images, "
        f"{len(sentences):,} sentences, {wrong:,} of them wrong, {explained:,} explained."
        f"{replayed}{mark}"
    )


def _options(settings: TrainingSettings) -> list[tuple[str, str]]:
    """Every option with its value."""
    return [
        (f"--{name.replace('_', '-')}", str(value) or "–")
        for name, value in settings.options().items()
    ]
