"""The model cards of the bundled models: every figure in them is measured by this one command.

    python -m scripts.research.bundled_models.card --out DIR    # critic.md, loop.md, …
    python -m scripts.research.bundled_models.card --write      # …and into the Markdown files

Held-out scenes of the ordinary and of the compositional split, drawn afresh from their own seeds.
`--write` replaces what stands between `<!-- figures -->` and `<!-- /figures -->` in README.md and
in the two model cards, and keeps the figures beside the critic (`critic/bundled/figures.json`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from revise_captions.io.writing import write_text
from revise_captions.stats.exact import exact_interval
from scripts.research.frame import blocks as marks
from scripts.research.frame.figures import rows_as_table, spread

#: Targets of the project, ordinary and compositional split.
TARGETS = {
    "roc_auc": (0.99, 0.975),
    "macro_f1": (0.93, 0.85),
    "ece": (0.02, 0.04),
    "rationales": (0.88, 0.85),
    "end_true": (0.80, 0.75),
    "harm": (0.01, 0.015),
}
AT_MOST = ("ece", "harm")
SPLITS = ("test", "compositional")
#: The run that ships.
OWN = "bundled critic, bundled reviser"
ROOT = Path(__file__).resolve().parents[3]
#: Where `--write` keeps what it has measured.
KEPT = "critic/bundled/figures.json"


def measure(critic: str, reviser: str, scenes: int, first: int) -> dict[str, Any]:
    """All figures of both cards. Takes minutes."""
    from revise_captions.critic.known_errors import known_errors
    from revise_captions.critic.locate import stored_card
    from revise_captions.critic.paligemma.load import load_paligemma
    from revise_captions.pipelines.job.models import named_settings
    from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
    from revise_captions.reviser.load import load_reviser
    from scripts.research.bundled_models.critic_figures import figures
    from scripts.research.bundled_models.job_figures import (
        OracleCritic,
        drafts,
        fates,
        loop_figures,
        told_shares,
    )
    from scripts.research.frame.held_out import held_out

    judge, blind = load_paligemma(critic), load_paligemma(critic)
    blind.gate = None
    own = load_reviser(reviser)
    card = stored_card(critic)
    result: dict[str, Any] = {
        "training": dict(card.training),
        "speed": dict(card.speed),
        "calibration": {
            name: card.calibration.get(name) for name in ("macro_f1", "ece", "sentences")
        },
        "settings": {**judge.settings, "threshold": judge.threshold, **own.settings},
        "scenes": scenes,
        "first": first,
    }
    settings = RevisionSettings()
    errors = known_errors(named_settings(judge, own, settings))
    for split in SPLITS:
        items = held_out(split, scenes, first=first)
        runs: dict[str, tuple[Any, Any]] = {
            OWN: (judge, own),
            "bundled critic, drop": (judge, load_reviser("drop")),
            "perfect critic, bundled reviser": (OracleCritic.of(items), own),
        }
        done = {
            name: list(drafts(items, LoadedModels(critic_, reviser_, ""), settings))
            for name, (critic_, reviser_) in runs.items()
        }
        result[split] = {
            "critic": figures(judge, blind, items),
            "loop": {
                name: loop_figures([fates(*one, runs[name][0].threshold) for one in made])
                for name, made in done.items()
            },
            "shares": told_shares(done[OWN], errors),
        }
    return result


def critic_card(found: Mapping[str, Any]) -> str:
    """The critic's card in Markdown."""
    rows: list[tuple[str, ...]] = [("figure", "ordinary", "compositional", "target")]
    for name, key, target in (
        ("ROC-AUC", "roc_auc", "roc_auc"),
        ("macro-F1 at the stored threshold", "macro_f1", "macro_f1"),
        ("ECE", "ece", "ece"),
        ("ROC-AUC, same model, gray picture", "roc_auc_without_image", ""),
        ("macro-F1, same model, gray picture", "macro_f1_without_image", ""),
        ("ROC-AUC, same model, no context", "roc_auc_without_context", ""),
        ("macro-F1, same model, no context", "macro_f1_without_context", ""),
        ("macro-F1, majority class", "macro_f1_majority", ""),
    ):
        cells = [_interval(found[split]["critic"][key]) for split in SPLITS]
        rows.append((name, *cells, _target(target)))
    for name, which, target in (
        ("that refer to what was said before", "needs_context", ""),
        ("of which only the context decides", "context_decides", "0.150 above the next line"),
    ):
        parts = [found[split]["critic"][which] for split in SPLITS]
        alone = [_interval(part["macro_f1_without_context"]) for part in parts]
        rows += [
            (f"macro-F1 of sentences {name}", *(_interval(p["macro_f1"]) for p in parts), target),
            ("the same, without the context", *alone, ""),
            ("how many these are", *(f"{part['sentences']:,}" for part in parts), ""),
        ]
    for name, key in (("truly wrong", "truly_wrong"), ("flagged", "flagged")):
        told = [found[split]["critic"]["rationales"] for split in SPLITS]
        cells = [_counted(part[key], part.get(f"{key}_interval")) for part in told]
        target = _target("rationales") if key == "truly_wrong" else ""
        rows.append((f"rationales right, of {name} sentences", *cells, target))
    for error in found[SPLITS[0]]["critic"]["by_error"]:
        parts = [found[split]["critic"]["by_error"].get(error, (0.0, 0)) for split in SPLITS]
        rows.append((f"flagged, of sentences wrong by {error}", *map(_counted, parts), ""))
    for name, key in (("sentences", "sentences"), ("captions", "captions")):
        rows.append((name, *(f"{found[s]['critic'][key]:,}" for s in SPLITS), ""))
    for name, key in (
        ("share factual", "share_factual"),
        ("left unscored", "unscored"),
        ("`assessable` right, of true sentences", "assessable_accuracy"),
    ):
        parts = [found[split]["critic"] for split in SPLITS]
        rows.append((name, *(_counted((c[key], c["sentences"])) for c in parts), ""))
    return "\n\n".join(filter(None, (rows_as_table(rows), told_card(found))))


def told_card(found: Mapping[str, Any]) -> str:
    """The shares of true sentences that a run tells beside those that there are; "" where they were
    not measured."""
    if not all("shares" in found[split] for split in SPLITS):
        return ""
    rows: list[tuple[str, ...]] = [("true sentences", "ordinary", "compositional")]
    for when in ("before", "after"):
        parts = [found[split]["shares"][when] for split in SPLITS]
        for name, key in (
            ("as the critic sees them", "seen"),
            ("corrected for its errors", "corrected"),
            ("as they are", "true"),
        ):
            cells = (_interval([p[key][end] for end in ("value", "low", "high")]) for p in parts)
            rows.append((f"{when} the revision, {name}", *cells))
        held = [
            p["corrected"]["low"] <= p["true"]["value"] <= p["corrected"]["high"] for p in parts
        ]
        rows.append(("… within the corrected interval", *("yes" if h else "no" for h in held)))
    return rows_as_table(rows)


def loop_card(found: Mapping[str, Any]) -> str:
    """What the loop does, per split and combination, in Markdown."""
    parts = []
    for split, place in zip(SPLITS, (0, 1), strict=True):
        runs = found[split]["loop"]
        rows: list[tuple[str, ...]] = [("figure", *runs, "target")]
        for name, key, target in (
            ("wrong sentences that end true", "wrong_that_end_true", "≥ "),
            ("… of these by deletion", "of_these_deleted", "≤ 0.150"),
            ("wrong sentences flagged", "wrong_flagged", ""),
            ("true sentences made false", "true_made_false", f"≤ {TARGETS['harm'][place]:.3f}"),
            ("true sentences made unreadable", "true_made_unreadable", ""),
            ("true sentences kept", "true_kept", "≥ 0.970"),
            ("caption factuality before", "factuality_before", ""),
            ("caption factuality after", "factuality_after", ""),
        ):
            if target == "≥ ":
                target = f"≥ {TARGETS['end_true'][place]:.3f}"
            rows.append((name, *(_run(run, key) for run in runs.values()), target))
        for name, key in (
            ("flagged: true before (oracle)", "true_before"),
            ("flagged: true after (oracle)", "true_after"),
            ("flagged: factual after (critic)", "critic_after"),
        ):
            rows.append((name, *(_run(run, key, run["table_6"]) for run in runs.values()), ""))
        parts.append(f"**{split}** split\n\n{rows_as_table(rows)}")
    return "\n\n".join(parts)


def summary_card(found: Mapping[str, Any]) -> str:
    """The figures of both cards that docs/measurements/bundled.md shows; what misses says so."""
    critic = [found[split]["critic"] for split in SPLITS]
    loops = [found[split]["loop"] for split in SPLITS]
    own = [runs["bundled critic, bundled reviser"] for runs in loops]
    drop = [runs["bundled critic, drop"] for runs in loops]
    rows: list[tuple[str, ...]] = [("figure", "ordinary", "compositional", "target")]
    for name, values, least in (
        ("critic: ROC-AUC", [c["roc_auc"] for c in critic], TARGETS["roc_auc"]),
        ("… floor: gray picture", [c["roc_auc_without_image"] for c in critic], ()),
        ("critic: macro-F1", [c["macro_f1"] for c in critic], TARGETS["macro_f1"]),
        ("… floor: majority class", [c["macro_f1_majority"] for c in critic], ()),
        ("critic: ECE", [c["ece"] for c in critic], TARGETS["ece"]),
    ):
        points = [value[0] for value in values]
        reached = _reached(points, least, at_most=name.endswith("ECE"))
        rows.append((name, *map(_interval, values), reached))
    parts = [c["rationales"] for c in critic]
    told = [_counted(part["truly_wrong"], part.get("truly_wrong_interval")) for part in parts]
    reached = _reached([part["truly_wrong"][0] for part in parts], TARGETS["rationales"])
    rows.append(("rationales right, of truly wrong sentences", *told, reached))
    for name, runs, key, least, most in (
        ("wrong sentences that end true", own, "wrong_that_end_true", TARGETS["end_true"], ()),
        ("… floor: `--reviser drop`", drop, "wrong_that_end_true", (), ()),
        ("… of the mended, by deletion", own, "of_these_deleted", (), (0.15, 0.15)),
        ("true sentences made false", own, "true_made_false", (), TARGETS["harm"]),
        ("true sentences kept", own, "true_kept", (0.97, 0.97), ()),
        ("true share of a caption, before", own, "factuality_before", (), ()),
        ("true share of a caption, after", own, "factuality_after", (), ()),
    ):
        points = [run[key] for run in runs]
        reached = _reached(points, least) or _reached(points, most, at_most=True)
        rows.append((name, *(_run(run, key) for run in runs), reached))
    return f"{rows_as_table(rows)}\n\n{_origin(found)}"


def _reached(points: Sequence[float], bounds: Sequence[float], *, at_most: bool = False) -> str:
    """The targets of the two splits, and where one is missed; "" where there is none."""
    if not bounds:
        return ""
    sign = "≤" if at_most else "≥"
    text = " / ".join(f"{sign} {bound:g}" for bound in dict.fromkeys(bounds))
    pairs = list(zip(points, bounds, strict=True))
    met = [point <= bound if at_most else point >= bound for point, bound in pairs]
    if all(met):
        return text
    missed = " and ".join(
        n for n, m in zip(("ordinary", "compositional"), met, strict=True) if not m
    )
    return f"{text}: missed ({missed})"


def _origin(found: Mapping[str, Any]) -> str:
    """How the figures came about, in one paragraph."""
    training, settings = found["training"], found["settings"]
    scenes, first = found["scenes"], found["first"]
    drawn = f", of scenes from number {first}, drawn after training had ended" if first else ""
    parts = [f"{scenes:,} captions per split{drawn}, 95 % intervals over captions."]
    if "train_captions" in training:
        minutes = (training.get("seconds", 0) + training.get("tower_seconds", 0)) / 60
        parts.append(
            f"Critic: seed {training['seed']}, {training['train_captions']:,} captions of "
            f"{training['train_images']:,} pictures, {minutes:.0f} minutes in its last run."
        )
    calibration = found.get("calibration") or {}
    if calibration.get("ece") is not None:
        parts.append(
            f"Threshold {settings['threshold']:.4f}; ECE on {calibration['sentences']:,} "
            f"validation sentences, held out from setting it: {calibration['ece']:.3f}."
        )
    parts.append(
        "Command: `python -m scripts.research.bundled_models.card "
        f"--scenes {scenes} --first {first}`."
    )
    speed = found.get("speed") or {}
    if speed:
        parts.append(
            f"The critic judges {speed['sentences_per_second']:,.0f} sentences/s "
            f"({speed['hardware']}), {speed['times_faster']:.1f} times the plain transformers "
            "loop; command: `python -m scripts.bench.critic`."
        )
    return " ".join(parts)


def blocks(found: Mapping[str, Any]) -> dict[str, str]:
    """What belongs between the marks, by file of the checkout."""
    origin = _origin(found)
    return {
        "docs/measurements/bundled.md": summary_card(found),
        "critic/bundled/README.md": f"{critic_card(found)}\n\n{origin}",
        "reviser/bundled/README.md": f"{loop_card(found)}\n\n{origin}",
    }


def write_blocks(found: Mapping[str, Any], root: Path = ROOT) -> None:
    """Replaces the figures in the checkout's Markdown files, and keeps them for the next time."""
    for name, block in blocks(found).items():
        marks.write_blocks(root / name, {"figures": block})
    write_text(root / KEPT, _as_json(found))


def _as_json(found: Mapping[str, Any]) -> str:
    return json.dumps(found, indent=1, default=str) + "\n"


def _interval(value: Any) -> str:
    point, low, high = value
    return f"{point:.3f}{spread(low, high)}"


def _run(run: Mapping[str, Any], key: str, part: Mapping[str, Any] | None = None) -> str:
    """A figure of the loop, or of a part of its figures, with its interval where it has one."""
    value = (run if part is None else part)[key]
    return _interval((value, *run.get("intervals", {}).get(key, (None, None))))


def _counted(value: Any, interval: Any = None) -> str:
    """A share of so many, with its interval; the exact one where nothing else is known."""
    share, count = value
    if interval is None and count:
        interval = exact_interval(round(share * count), count)
    return f"{_interval((share, *(interval or (None, None))))} of {count:,}"


def _target(key: str) -> str:
    sign = "≤" if key in AT_MOST else "≥"
    return f"{sign} {TARGETS[key][0]:g} / {sign} {TARGETS[key][1]:g}" if key else ""


@click.command(help=__doc__.splitlines()[0])
@click.option("--critic", default="bundled", show_default=True)
@click.option("--reviser", default="bundled", show_default=True)
@click.option("--scenes", default=700, show_default=True, help="Captions per split.")
@click.option("--first", default=0, show_default=True, help="Number of the first scene.")
@click.option("--out", type=click.Path(path_type=Path), default="runs/card", show_default=True)
@click.option(
    "--figures",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Measure nothing: take an earlier run's figures.json.",
)
@click.option(
    "--write", is_flag=True, help="Also into docs/measurements/bundled.md and the model cards."
)
def main(
    critic: str,
    reviser: str,
    scenes: int,
    first: int,
    out: Path,
    figures: Path | None,
    write: bool,
) -> None:
    if write and not (ROOT / "README.md").is_file():
        raise click.UsageError(f"--write needs a checkout of the repository; {ROOT} is none")
    if figures is None:
        found = measure(critic, reviser, scenes, first)
    else:
        found = json.loads(figures.read_text(encoding="utf-8"))
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "figures.json", _as_json(found))
    for name, text in (("critic.md", critic_card(found)), ("loop.md", loop_card(found))):
        write_text(out / name, text + "\n")
        click.echo(f"{text}\n")
    if write:
        write_blocks(found)


if __name__ == "__main__":
    main()
