"""`--dry-run`: what a run would do, what is wrong with its input, how long it would take.

Fetches nothing, and loads no model but the bundled critic, which judges a few records. Every row is
read, every image path is checked, and the first `DECODED` images are decoded. The time estimate
divides the number of sentences by the rate recorded in the critic's checkpoint, for the hardware
named there; without that record there is no estimate. Tokens and cost of a critic on a server are
estimated by rules of thumb.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.critic.checkpoints import GOES_WITH, card_settings
from revise_captions.critic.locate import SHIPPED
from revise_captions.engines.model_spec import HUB_ID, served
from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.images import resolve_path
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.outside_text import plain
from revise_captions.records import Record
from revise_captions.text.markdown import sentence_spans

if TYPE_CHECKING:
    from revise_captions.critic.checkpoints import CriticCard
    from revise_captions.io.images import LoadImage
    from revise_captions.pipelines.options import JobOptions

#: How many images are read and decoded; for later ones, only the file's existence is checked.
DECODED = 200
#: Tokens of a prompt without its caption and image; pixels per token, as in Qwen2.5-VL (28 x 28);
#: and characters per token, as in English. Other models can differ severalfold.
PROMPT_TOKENS, PIXELS_OF_TOKEN, CHARACTERS_OF_TOKEN = 80, 784, 4
#: How many problems are listed individually.
LISTED = 10


def dry_run(
    source: Source, job: JobOptions, load: LoadImage, checks: Iterable[Callable[[], None]]
) -> dict[str, Any]:
    """Prints the findings as text and returns them.

    `checks` raise `UserError` where the run would not start. This function re-raises it, but only
    after printing everything.
    """
    from rich.console import Console

    looks = job.run.stage != "revise"
    found = survey(source, load if looks else None, job.inputs.image_root)
    card, models, trouble = _models(source, job)
    for check in checks:
        try:
            check()
        except UserError as error:
            trouble.append(error)
    gate = [] if trouble or not looks else _gate(source, job, load)
    findings = {
        "in": f"{source.name} ({source.layout.title})",
        "image field": source.fields.image or "none",
        "caption fields": ", ".join(source.fields.captions),
        **found,
        "gate": gate,
        "settings": {**models, **_settings(job)},
        "estimate": estimate(found["sentences"], card.speed if card else {}, job.run.stage),
        "tokens": server_estimate(found, job),
    }
    console = Console(stderr=job.run.out == "-")
    console.print(plain(as_text(findings)), markup=False, highlight=False, soft_wrap=True)
    if trouble:
        raise trouble[0]
    return findings


def _gate(source: Source, job: JobOptions, load: LoadImage) -> list[str]:
    """How well the bundled critic, which is quick, can judge records sampled across the input."""
    from revise_captions.pipelines.job.models import load_critic_of
    from revise_captions.pipelines.job.probe import probe

    if job.models.critic not in SHIPPED or job.models.adapter is not None:
        return []
    found = probe(source, load, load_critic_of(job.models))
    return [f"{name:16} {text}" for name, text in found.lines() if name in ("bundled critic", "")]


def _settings(job: JobOptions) -> dict[str, object]:
    return {
        "engine": job.models.engine,
        "stage": job.run.stage,
        "rounds": job.run.rounds,
        "on-unfixable": job.run.on_unfixable,
        "batch-size": job.models.batch_size,
        "dtype": job.models.dtype,
        "compile": job.models.compile,
        "device": job.models.device,
        "image-root": job.inputs.image_root or "the input's folder",
        "allow-urls": job.inputs.allow_urls,
        "shard": job.inputs.shard,
        "limit": job.inputs.limit or "none",
        "report": job.run.report or "none",
        "group-by": job.run.group_by or "none",
    }


def _models(
    source: Source, job: JobOptions
) -> tuple[CriticCard | None, dict[str, object], list[UserError]]:
    """The critic's card, what the models and threshold are, and the errors that stop the run."""
    from revise_captions.critic.builtin import NO_CARD
    from revise_captions.critic.load import PALIGEMMA, resolve_critic
    from revise_captions.critic.locate import chosen_threshold, find_checkpoint, stored_card
    from revise_captions.critic.profile import read_profile
    from revise_captions.pipelines.job.models import check_reviser, earlier_signature
    from revise_captions.reviser.load import resolve_reviser
    from revise_captions.signature import settings_of

    card = None
    earlier: Mapping[str, str] = {}
    named: dict[str, object] = {}
    trouble: list[UserError] = []
    chosen = job.models.threshold, job.models.target_precision
    try:
        profile = job.models.critic_profile and read_profile(job.models.critic_profile)
        rows = (row.data for row in source.rows() if isinstance(row, Row))
        earlier = settings_of(earlier_signature(rows, job.run.stage))
        threshold: object = job.models.threshold
        if job.run.stage == "revise":
            named["critic"] = f"none; {earlier.get('critic', 'an earlier stage')} flagged"
            threshold = earlier.get("threshold") if threshold is None else threshold
        elif _is_on_hub(job.models.critic):
            named["critic"] = f"{job.models.critic} (from the hub; not checked)"
        elif "," in job.models.critic:
            experts = [resolve_critic(name).expert for name in job.models.critic.split(",")]
            named["critic"] = f"a panel of {', '.join(experts)} (not asked)"
        elif job.models.critic in SHIPPED or resolve_critic(job.models.critic).entry == PALIGEMMA:
            named["critic"] = find_checkpoint(job.models.critic)
            card = stored_card(job.models.critic)
            threshold = chosen_threshold(profile or card, *chosen)
        else:
            named["critic"] = f"{job.models.critic} (not asked)"
            threshold = chosen_threshold(profile or NO_CARD, *chosen)
        named["threshold"] = "the critic's own" if threshold is None else threshold
    except UserError as error:
        trouble.append(error)
    named["adapter"] = job.models.adapter or "none"
    if job.run.stage == "critique":
        return card, named | {"reviser": "none"}, trouble
    try:
        if not _is_on_hub(job.models.critic):
            check_reviser(job.models, earlier or ({} if card is None else _named_by(card)))
        elif job.models.reviser is None:
            return card, named | {"reviser": "the critic, if it is an instruct model"}, trouble
        own = card.goes_with if card is not None else earlier.get(GOES_WITH, "")
        if job.models.reviser is None and not own:
            return card, named | {"reviser": "what goes with the critic"}, trouble
        named["reviser"] = resolve_reviser(job.models.reviser or own).name
        named["guard"] = job.run.guard or "the reviser's own"
    except UserError as error:
        trouble.append(error)
    return card, named, trouble


def _is_on_hub(critic: str) -> bool:
    """Whether looking at the critic would download it."""
    from revise_captions import registry

    known = registry.is_folder(registry.CRITICS, critic) or critic in registry.entries(
        registry.CRITICS
    )
    return not known and HUB_ID.fullmatch(critic) is not None


def survey(source: Source, load: LoadImage | None, root: Path | None = None) -> dict[str, Any]:
    """Counts of records, captions, sentences, and problems by reason, with the first few in full.

    If `load` is None, images are not looked at.
    """
    counts: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    listed: list[str] = []
    for row in source:
        bad = row if isinstance(row, BadRow) else None
        if isinstance(row, Record) and load is not None:
            bad = _image_problem(source, row, load, root, counts)
        if bad is not None:
            problems[str(bad.reason)] += 1
            if len(listed) < LISTED:
                listed.append(f"line {bad.line}: {bad.reason}: {bad.detail}")
            continue
        assert isinstance(row, Record)
        counts["records"] += 1
        counts["captions"] += len(row.captions)
        for caption in row.captions.values():
            ends = [span.end for span in sentence_spans(caption)]
            counts["sentences"] += len(ends)
            counts["asked characters"] += sum(ends)  # each question carries its context
    return {
        "records": counts["records"],
        "captions": counts["captions"],
        "sentences": counts["sentences"],
        "asked characters": counts["asked characters"],
        "images decoded": counts["decoded"],
        "pixels": counts["pixels"],
        "problems": dict(problems.most_common()),
        "first problems": listed,
    }


def _image_problem(
    source: Source, record: Record, load: LoadImage, root: Path | None, counts: Counter[str]
) -> BadRow | None:
    """Decodes the first `DECODED` images, then only checks that files exist. Fetches no URL."""
    image = record.image
    if image.path is None and image.data is None:
        return None
    try:
        if counts["decoded"] < DECODED:
            width, height = load(record).size
            counts["decoded"] += 1
            counts["pixels"] += width * height
        elif image.path is not None:
            path = resolve_path(image.path, root, source.folder)
            if not path.is_file():
                raise BadRecord(Reason.IMAGE_NOT_FOUND, f"{path} does not exist")
    except (BadRecord, OSError, ValueError) as error:
        if not isinstance(error, BadRecord):  # the name is not a possible file name
            error = BadRecord(Reason.IMAGE_NOT_FOUND, f"{image.path!r}: {error}")
        return BadRow.of(record, record.source, error)
    return None


def estimate(sentences: int, speed: Mapping[str, Any], stage: str = "all") -> str:
    """The time to judge every sentence once, from the rate measured for the checkpoint."""
    from revise_captions.text.formatting import duration

    if stage == "revise":
        return "no estimate: only flagged sentences are rewritten, and no speed is known"
    rate = speed.get("sentences_per_second")
    if not rate:
        return "no estimate: the critic's checkpoint records no speed"
    hardware = speed.get("hardware", "unnamed hardware")
    return (
        f"about {duration(sentences / rate)} to judge each sentence once, at {rate:,.0f} "
        f"sentences/s ({hardware}); rewrites are extra"
    )


def server_estimate(found: Mapping[str, Any], job: JobOptions) -> str:
    """Tokens and cost of judging each sentence once; "" for a critic that is not on a server."""
    if served(job.models.critic) is None or job.run.stage == "revise":
        return ""
    options = job.models.server
    asked = found["sentences"] * (job.models.samples or 1)
    picture = found["pixels"] / max(found["images decoded"], 1) / PIXELS_OF_TOKEN
    text = found["asked characters"] / max(found["sentences"], 1) / CHARACTERS_OF_TOKEN
    tokens_in, tokens_out = round(asked * (PROMPT_TOKENS + picture + text)), asked
    cost = options.cost(tokens_in, tokens_out)
    paid = "no --price-in, no cost" if cost is None else f"cost {cost:.3g}"
    return (
        f"about {tokens_in:,} in, {tokens_out:,} out, {paid}: to judge each sentence once, "
        f"without log-probabilities perhaps more; {PIXELS_OF_TOKEN} pixels or "
        f"{CHARACTERS_OF_TOKEN} characters per token; rationales and rewrites are extra"
    )


def as_text(findings: Mapping[str, Any]) -> str:
    """The findings as readable text, one fact per line."""
    lines = ["dry run: nothing was judged or written", ""]
    lines += [f"{name:16} {findings[name]}" for name in ("in", "image field", "caption fields")]
    counts = ("records", "captions", "sentences", "images decoded")
    lines += [f"{name:16} {findings[name]:,}" for name in counts]
    lines.append(f"{'problems':16} {sum(findings['problems'].values()):,}")
    lines += [f"  {count:,} {reason}" for reason, count in findings["problems"].items()]
    lines += [f"    {line}" for line in findings["first problems"]]
    lines += findings["gate"]
    lines += ["", *(f"{name:16} {value}" for name, value in findings["settings"].items())]
    lines += ["", f"{'time':16} {findings['estimate']}"]
    if findings["tokens"]:
        lines.append(f"{'tokens':16} {findings['tokens']}")
    return "\n".join(lines)


def _named_by(card: CriticCard) -> Mapping[str, str]:
    """The entry in a critic's settings that names its default reviser."""
    return {"critic": "named", **card_settings(card)}
