"""`check-engine`: does a critic answer the same in another setup? Run it before a long job.

Judges the same sentences twice: as the job would, and with some settings changed (engine, dtype,
compiled layers, batch size, layout, attention mode, device, or the critic's name on a server).
Reports the labels that agree, the distribution of |ΔP(factual)|, and the sentences that only one
setup could judge.

Verdicts, strictest first:

    same      all labels and unscored sentences agree, and max |ΔP| ≤ 1e-4
    close     at most 0.5 % of the labels differ, and 99 % of |ΔP| are ≤ 0.02, as for another
              dtype or kernel
    differs   anything else: these are two different critics

Unless the arithmetic is known to be float32, each caption is also judged alone to report what
batching does to it; this does not enter the verdict.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from revise_captions.critic.protocol import JudgeRequest
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.decoding import reduced
from revise_captions.io.images import LoadImage
from revise_captions.io.source import WINDOW
from revise_captions.pipelines.options import ModelOptions
from revise_captions.records import Label, Record, Verdict, label_of
from revise_captions.text.markdown import sentence_spans

if TYPE_CHECKING:
    from revise_captions.critic.protocol import Critic

#: The sample is drawn from this many records at the beginning of the input.
DRAWN_FROM = 10_000
#: |ΔP| up to which two computations count as the same (fp32), and as close.
SAME, CLOSE = 1e-4, 0.02
#: Share of labels that may differ where two computations are close.
CLOSE_LABELS = 0.005
EXAMPLES = 5
KEYS = ("batch-size", "compile", "critic", "device", "dtype", "engine", "layout", "attention-mode")
LAYOUTS = ("packed", "single")
YES_NO = ("yes", "no")
#: Keys that were renamed, by the spelling that is still understood.
OLD_KEYS = {"regime": "attention-mode"}
ATTENTION_MODES = ("prefix", "image-prefix", "causal")


@dataclass(frozen=True, slots=True)
class Setup:
    """One way to run a critic. `layout`: packed, or one prompt per sentence (`single`)."""

    models: ModelOptions
    layout: str = "packed"
    attention_mode: str | None = None

    def changed(self, text: str) -> Setup:
        """This setup with `key=value,key=value` changed. Raises `UserError`."""
        setup = self
        for pair in filter(None, text.split(",")):
            key, equals, value = pair.strip().partition("=")
            key = OLD_KEYS.get(key, key)
            if not equals or key not in KEYS:
                raise UserError(
                    f"--against {pair}: unknown setting", hint=f"expected {'=, '.join(KEYS)}="
                )
            setup = setup._with(key, value)
        return setup

    def _with(self, key: str, value: str) -> Setup:
        if key == "batch-size":
            if not (value.isdecimal() and int(value)):
                raise UserError(f"--against batch-size={value}: expected a positive integer")
            return replace(self, models=replace(self.models, batch_size=int(value)))
        if key == "layout":
            _expect(key, value, LAYOUTS)
            return replace(self, layout=value)
        if key == "compile":
            _expect(key, value, YES_NO)
            return replace(self, models=replace(self.models, compile=value == "yes"))
        if key == "attention-mode":
            _expect(key, value, ATTENTION_MODES)
            return replace(self, attention_mode=value)
        text: Any = {key: value}
        return replace(self, models=replace(self.models, **text))


def _expect(key: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UserError(f"--against {key}={value}", hint=f"expected {', '.join(known)}")


def load_setup(setup: Setup) -> Critic:
    """The critic of a setup. Raises UserError where an engine cannot compute it so."""
    from revise_captions.critic.load import load_critic
    from revise_captions.pipelines.job.models import critic_options

    options = replace(
        critic_options(setup.models),
        packed=setup.layout == "packed",
        attention_mode=setup.attention_mode,
    )
    return load_critic(setup.models.critic, options)


def drawn(rows: Iterable[object], count: int, seed: int = 0) -> list[Record]:
    """A simple random sample of the first `DRAWN_FROM` records, in input order."""
    records = [row for row in islice(rows, DRAWN_FROM) if isinstance(row, Record)]
    if len(records) <= count:
        return records
    chosen = sorted(random.Random(seed).sample(range(len(records)), count))
    return [records[k] for k in chosen]


def paragraphs(
    records: Sequence[Record], load: LoadImage
) -> Iterator[list[tuple[Record, JudgeRequest]]]:
    """Every caption with its image, in the job's windows; broken images are skipped."""
    for start in range(0, len(records), WINDOW):
        window: list[tuple[Record, JudgeRequest]] = []
        for record in records[start : start + WINDOW]:
            try:
                image = reduced(load(record))
            except BadRecord:
                continue
            for caption in record.captions.values():
                spans = sentence_spans(caption)
                window += [(record, JudgeRequest(image, caption, spans))] if spans else []
        yield window


@dataclass(frozen=True, slots=True)
class SampledSentence:
    """One sentence of the sample and one setup's verdict."""

    line: int
    text: str
    verdict: Verdict


def judged(
    critic: Critic, records: Sequence[Record], load: LoadImage, *, alone: bool = False
) -> list[SampledSentence]:
    """All sentences of the sample, in order. `alone`: one caption per call."""
    found = []
    for window in paragraphs(records, load):
        asked = [paragraph for _, paragraph in window]
        if alone:
            answers = [critic.judge([paragraph])[0] for paragraph in asked]
        else:
            answers = critic.judge(asked)
        for (record, paragraph), verdicts in zip(window, answers, strict=True):
            for span, verdict in zip(paragraph.spans, verdicts, strict=True):
                found.append(SampledSentence(record.line, span.of(paragraph.text), verdict))
    return found


def check(
    first: Setup, second: Setup, records: Sequence[Record], load: LoadImage
) -> dict[str, Any]:
    """Judges the sample with both setups, one critic in memory at a time, and compares.

    Raises:
        UserError: A setup is not available.
    """
    sides = []
    alone: dict[str, Any] = {}
    for name, setup in (("first", first), ("second", second)):
        critic = load_setup(setup)
        settings, threshold = dict(critic.settings), critic.threshold
        answers = judged(critic, records, load)
        sides.append((settings, threshold, answers))
        if settings.get("dtype") != "float32":
            apart = judged(critic, records, load, alone=True)
            alone[name] = _batches(settings, compared(answers, apart, threshold))
        del critic
        gc.collect()
    (settings, threshold, one), (other_settings, _, other) = sides
    return {
        "records": len(records),
        "settings": settings,
        "against": {
            **{k: v for k, v in other_settings.items() if settings.get(k) != v},
            **_layout(first, second),
        },
        "threshold": threshold,
        **compared(one, other, threshold),
        "each caption alone": alone,
    }


def _batches(settings: Mapping[str, str], found: Mapping[str, Any]) -> dict[str, Any]:
    """What batching does to a caption, from the comparison with each caption alone."""
    how = settings.get("dtype") or settings.get("server") or settings.get("engine", "unknown")
    keys = ("sentences", "labels equal", "delta")
    return {"arithmetic": how, **{key: found[key] for key in keys}}


def _layout(first: Setup, second: Setup) -> dict[str, str]:
    """Changes that are not part of a critic's settings, as they should not matter."""
    found = {}
    if first.layout != second.layout:
        found["layout"] = second.layout
    if first.models.batch_size != second.models.batch_size:
        found["batch-size"] = str(second.models.batch_size)
    return found


def compared(
    one: Sequence[SampledSentence], other: Sequence[SampledSentence], threshold: float
) -> dict[str, Any]:
    """Labels, |ΔP| and verdict; both sides are labeled at the same threshold."""
    pairs = list(zip(one, other, strict=True))
    labels = [(label_of(a.verdict, threshold), label_of(b.verdict, threshold)) for a, b in pairs]
    deltas = sorted(
        abs(a.verdict.p_factual - b.verdict.p_factual)
        for a, b in pairs
        if a.verdict.p_factual is not None and b.verdict.p_factual is not None
    )
    differ = [pair for pair, (a, b) in zip(pairs, labels, strict=True) if a is not b]
    result: dict[str, Any] = {
        "sentences": len(pairs),
        "judged by both": len(deltas),
        "unscored": sum(a is Label.UNSCORED and b is Label.UNSCORED for a, b in labels),
        "unscored in one only": sum(
            (a is Label.UNSCORED) != (b is Label.UNSCORED) for a, b in labels
        ),
        "labels equal": len(pairs) - len(differ),
        "delta": _distribution(deltas),
        "examples": [_example(a, b) for a, b in differ[:EXAMPLES]],
    }
    return {**result, "verdict": verdict(result)}


def _example(one: SampledSentence, other: SampledSentence) -> dict[str, Any]:
    return {
        "line": one.line,
        "sentence": one.text,
        "p": one.verdict.p_factual,
        "against": other.verdict.p_factual,
    }


def _distribution(deltas: Sequence[float]) -> dict[str, float] | None:
    """Mean and nearest-rank quantiles of sorted values."""
    if not deltas:
        return None
    last = len(deltas) - 1
    ranks = {"median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    found = {"mean": sum(deltas) / len(deltas)}
    # up, so that a high quantile of few values is the largest of them
    found |= {name: deltas[-int(-(last * rank) // 1)] for name, rank in ranks.items()}
    return {name: round(value, 6) for name, value in found.items()}


def verdict(result: Mapping[str, Any]) -> str:
    """`same`, `close`, `differs`, or `nothing to compare`."""
    delta, total = result["delta"], result["sentences"]
    if delta is None:
        return "nothing to compare"
    differing = total - result["labels equal"]
    # P is rounded to four decimals, so two equal values may differ by one in the last
    if not differing and delta["max"] <= SAME + 1e-9:
        return "same"
    if differing <= CLOSE_LABELS * total and delta["p99"] <= CLOSE:
        return "close"
    return "differs"


def as_text(result: Mapping[str, Any]) -> str:
    """The comparison for a terminal, one fact per line."""
    from revise_captions.outside_text import plain
    from revise_captions.text.html import clip

    delta = result["delta"]
    lines = [
        f"critic           {_listed(result['settings'])}",
        f"against          {_listed(result['against']) or 'the same settings'}",
        f"records          {result['records']:,}",
        f"sentences        {result['sentences']:,}",
        f"judged by both   {result['judged by both']:,}",
        f"unscored by both {result['unscored']:,}; in one only {result['unscored in one only']:,}",
        f"labels equal     {result['labels equal']:,} of {result['sentences']:,}",
    ]
    if delta is not None:
        lines.append("|ΔP(factual)|  " + _spread(delta))
    lines += [
        f"each caption alone beside all together ({found['arithmetic']}): labels equal "
        f"{found['labels equal']:,} of {found['sentences']:,}{_spread(found['delta'])}"
        for found in result["each caption alone"].values()
    ]
    for example in result["examples"]:
        p, q = (("none" if v is None else f"{v:.4f}") for v in (example["p"], example["against"]))
        said = plain(clip(" ".join(example["sentence"].split()), 70))
        lines.append(f"  line {example['line']}: {p} / {q}  {said}")
    return "\n".join([*lines, f"verdict          {result['verdict']}"])


def _spread(delta: Mapping[str, float] | None) -> str:
    return "" if delta is None else "  " + "  ".join(f"{k} {v:.6f}" for k, v in delta.items())


def _listed(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in settings.items())
