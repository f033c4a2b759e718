"""The first sentence of a run's summary.

If most sentences or records could not be judged, that is the headline, with the option that would
help, as the factuality of the remaining few would mislead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from revise_captions.engines.smollm2 import INSTALL
from revise_captions.records import UnknownWord, Unscored, Why, kind_of_reason
from revise_captions.text.formatting import percent, plural

_REMEDIES = {
    Unscored.OUTSIDE_DOMAIN: "The bundled critic only knows drawn picture-book scenes and charts "
    "(extra `charts`). For other images, choose another critic: `--critic "
    "Qwen/Qwen3-VL-8B-Instruct`, a model on a server (MODEL@http://host:8000/v1), or your own "
    "(`captions finetune`) with `--critic FOLDER`. `captions doctor IN` lists those that fit "
    "this machine.",
    Unscored.UNREADABLE_CHART: "`captions read-chart IMAGE` shows what could not be read. For "
    "images that are not charts, or other kinds of charts, choose another critic with `--critic`.",
    Unscored.NEEDS_CHARTS: "To judge charts, install the libraries that read them: `pip install "
    "'revise-captions[charts]'`. Or choose another critic with `--critic`.",
    Unscored.NO_QUOTE: "The critic `text` judges only quotes: add a critic for the rest with "
    "`--critic MODEL,text`, or leave such sentences as they are with `--allow-unscored`.",
    Unscored.UNREADABLE_TEXT: "Name a critic for the rest of such sentences beside `text`: "
    "`--critic MODEL,text`.",
    Unscored.TEXT_BORNE_OUT: "Name a critic for the rest of such sentences beside `text`: "
    "`--critic MODEL,text`.",
    Unscored.LANGUAGE: "Give `--critic` a model that knows the captions' language; "
    "`captions finetune` can teach one.",
    UnknownWord.KIND: "A small critic knows only the words of its training data: give `--critic` "
    "a larger model, or teach it new words with `captions finetune … --new-words 300`.",
    Unscored.TOO_LONG: "Give `--critic` a model with a longer context, or shorten the captions.",
    Unscored.NO_ANSWER: "The model does not answer yes or no: fine-tune it (`captions finetune`), "
    "or check that `--adapter` belongs to this `--critic`.",
    Unscored.NO_LOGPROBS: "Choose a substitute: `--samples 5`, five sampled answers (five times "
    "the requests, P(factual) in fifths); `--without-logprobs stated`, a probability that the "
    "model states (one request; coarse, often overconfident); or `--without-logprobs label`, Yes "
    "or No (one request; 0 or 1, so there is no threshold to choose). `captions calibrate` with "
    "the same option measures how good it is. vLLM and llama.cpp return log-probabilities.",
    Unscored.ENGINE_ERROR: "See the messages above; a smaller `--batch-size` often helps. Then "
    "run again with `--force`.",
    Unscored.UNEXPECTED: "It is in `revision.error` of the rows, and `--verbose` logs it. Please "
    "report it.",
}


def headline(summary: Mapping[str, Any]) -> dict[str, str]:
    """`kind` ("nothing", "quarantined", "unscored", "clean" or "factuality"), `text`, `help`."""
    records, sentences = summary["records"], summary["sentences"]
    if records["read"] == 0:
        return _line("nothing", "There were no records to read.", "Is IN the right file?")
    if records["quarantined"] > records["written"]:
        return _quarantined(records)
    if sentences["total"] == 0:
        return _line("nothing", "No caption has a sentence to judge.")
    if 2 * sentences["unscored"] > sentences["total"]:
        return _unscored(sentences)
    return _factuality(summary)


def _line(kind: str, text: str, help_: str = "") -> dict[str, str]:
    return {"kind": kind, "text": text, "help": help_}


def _quarantined(records: Mapping[str, Any]) -> dict[str, str]:
    reason, count = next(iter(records["quarantined_by_reason"].items()))
    text = (
        f"{records['quarantined']:,} of {records['read']:,} records could not be processed, "
        f"mostly: {reason.replace('_', ' ')} ({count:,})."
    )
    return _line("quarantined", text, "The quarantine file has each one with the reason.")


def _unscored(sentences: Mapping[str, Any]) -> dict[str, str]:
    reason, count = next(iter(sentences["unscored_by_reason"].items()))
    if sentences["total"] == 1:
        which = "The only sentence"
    elif sentences["unscored"] == sentences["total"]:
        which = f"All {sentences['total']:,} sentences"
    else:
        which = f"{sentences['unscored']:,} of {sentences['total']:,} sentences"
    text = f"{which} came back unscored: {reason}"
    text += "." if count == sentences["unscored"] else f" ({count:,}), and other reasons."
    return _line("unscored", text, remedy(reason))


def remedy(reason: str) -> str:
    """A remedy for sentences unscored for this reason; "" if none is known."""
    return next((text for known, text in _REMEDIES.items() if known == kind_of_reason(reason)), "")


def _factuality(summary: Mapping[str, Any]) -> dict[str, str]:
    sentences, share = summary["sentences"], summary["factuality"]["all"]
    flagged = sentences["flagged"] + sentences["flagged_later"]
    if flagged == 0:
        return _line("clean", f"Nothing flagged in {plural(sentences['scored'], 'sentence')}.")
    before, after = share["before"]["value"], share["after"]["value"]
    if after is None:
        return _line("factuality", f"{plural(flagged, 'sentence')} flagged; none is left to judge.")
    parts = [
        plural(sentences[key], "sentence", verb)
        for key, verb in (("accepted", "rewritten"), ("deleted", "deleted"), ("dropped", "dropped"))
        if sentences[key]
    ]
    done = ", ".join(parts) if parts else "nothing changed"
    own = f"{percent(before)} before and {percent(after)} after"
    if summary["corrected"] is not None:
        text = (
            f"Factuality, corrected for the critic's errors, {_corrected(summary['corrected'])}: "
            f"{flagged:,} flagged, {done}. As the critic sees it, {own}."
        )
    else:
        critic = "critic" if summary["calibrated"] else "uncalibrated critic"
        text = f"Factuality, as the {critic} sees it, {own}: {flagged:,} flagged, {done}."
    return _line("factuality", text, "" if parts else _causes(summary))


def _corrected(found: Mapping[str, Any]) -> str:
    """Before and after; only bounds for the latter if accepted rewrites were not measured."""
    before, after = found["before"]["value"], found["after"]
    if after["value"] is not None:
        then = f"{percent(after['value'])} after"
    else:
        low, high = percent(after["low"]), percent(after["high"])
        then = f"between {low} and {high} after"
    return f"{percent(before)} before and {then}"


def _causes(summary: Mapping[str, Any]) -> str:
    """Why no flagged sentence was changed, by cause, most frequent first."""
    steps: Counter[str] = Counter()
    for item in summary["flow"]:
        steps[item["step"]] += item["sentences"]
    said = "; ".join(f"{count:,}: {step}" for step, count in steps.most_common())
    known = Why.OUTSIDE_WORDS in steps
    return f"Why not: {said}." + f" Name another reviser with --reviser, or: {INSTALL}." * known
