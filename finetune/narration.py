"""A training log for people: one line per event, with the time left."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from revise_captions.text.formatting import duration, plural

#: The validation figures that are shown, if defined.
FIGURES = {"auc": "ROC-AUC", "macro_f1": "macro-F1", "rationale_token_accuracy": "rationale tokens"}


class Narrator:
    """Turns lines of the log into text.

    Args:
        out: The critic's folder.
    """

    def __init__(self, out: Path) -> None:
        self.out = out

    def lines(self, event: Mapping[str, Any]) -> Iterator[str]:
        """The lines for an event; none for events of no interest to users."""
        tell = getattr(self, f"_{event['event']}", None)
        if tell is not None:
            yield from tell(event)

    def _prepare(self, e: Mapping[str, Any]) -> Iterator[str]:
        yield str(e["what"])

    def _start(self, e: Mapping[str, Any]) -> Iterator[str]:
        trained, total = (e[key] / 1e6 for key in ("trained", "parameters"))
        replayed = f" and {e['replayed']:,} replayed" if e["replayed"] else ""
        yield (
            f"{'continuing' if e['resumed'] else 'training'} on {e['device']}: "
            f"{plural(e['captions'], 'caption')}{replayed}, {plural(e['images'], 'image')}; "
            f"{trained:,.1f} of {total:,.1f} million parameters; "
            f"validated on {plural(e['validation_captions'], 'caption')}"
        )
        yield f"log: {self.out / 'training' / 'log.jsonl'}"

    def _tower(self, e: Mapping[str, Any]) -> Iterator[str]:
        yield f"image tower, step {e['step']:,}: loss {e['loss']:.3f}"

    def _train(self, e: Mapping[str, Any]) -> Iterator[str]:
        left = f", {duration(e['left'])} left" if e["left"] is not None else ""
        loss = f", loss {e['loss']:.3f}" if "loss" in e else ""
        yield (
            f"step {e['step']:,}, epoch {e['epoch'] + 1}, {100 * e['fraction']:.0f} %{loss}, "
            f"{e['captions_per_s']:.1f} captions/s, {e['sentences_per_s']:.1f} sentences/s{left}"
        )

    def _validation(self, e: Mapping[str, Any]) -> Iterator[str]:
        known = [f"{name} {e[key]:.3f}" for key, name in FIGURES.items() if e.get(key) is not None]
        figures = ", ".join(known) or "no figure: one class only"
        part = f"{e['captions']:,} of {e['of']:,} captions, " if e["captions"] < e["of"] else ""
        yield f"validation after step {e['step']:,}: {figures} ({part}{duration(e['took'])})"

    def _saved(self, e: Mapping[str, Any]) -> Iterator[str]:
        yield f"saved after step {e['step']:,}"

    def _end(self, e: Mapping[str, Any]) -> Iterator[str]:
        card = json.loads((self.out / "critic.json").read_text(encoding="utf-8"))
        best = f", best after step {e['best_step']:,}" if e.get("best") is not None else ""
        folder = shlex.quote(str(self.out))
        yield ""
        yield f"done: {plural(e['step'], 'step')} in {duration(e['seconds'])}{best}"
        yield f"critic      {self.out}  (threshold {card['threshold']:.4f})"
        yield f"model card  {self.out / 'README.md'}"
        yield ""
        yield "Run now, with a language model as reviser:"
        yield (
            f"  captions revise captions.jsonl revised.jsonl --critic {folder} "
            "--reviser Qwen/Qwen3-14B"
        )
