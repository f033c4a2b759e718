"""What rewriting does to drawn charts' captions: wrong sentences that end true, and harm.

    python -m scripts.research.chart_critic.rewrites --charts 200

The critic `charts` reads each image, the reviser `charts` rewrites, as in a run. The table that was
drawn decides each sentence as it then stands; what it cannot decide counts as not true.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import click

from revise_captions.chart_world.captions import sample_caption
from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.readings import exact_reading
from revise_captions.chart_world.statements import ChartStatement
from revise_captions.chart_world.tables import Table, sample_table
from revise_captions.charts.claims import ClaimOutcome, check_sentence
from revise_captions.critic.charts.critic import ChartCritic
from revise_captions.pipelines.draft import new_draft, present_text
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.reviser.charts import ChartReviser
from revise_captions.text.sentences import split
from scripts.research import markdown

ROOT = Path(__file__).resolve().parents[3]


def is_true(text: str, statement: ChartStatement, table: Table) -> bool:
    """Whether a sentence is true of a table, as it stands after the revision."""
    if text == statement.text:
        return statement.error is None
    if text == statement.rewrite:
        return True
    outcomes = {check.outcome for check in check_sentence(text, [exact_reading(table)])}
    return ClaimOutcome.TRUE in outcomes and ClaimOutcome.FALSE not in outcomes


def revised(
    rng: random.Random, models: LoadedModels, settings: RevisionSettings
) -> list[tuple[str, bool, bool]]:
    """A chart's sentences: type of error ("" for none), whether it was changed, whether it is
    true then. None where the caption is split otherwise than it was written."""
    table = sample_table(rng)
    caption = sample_caption(rng, table)
    spans = split(caption.text)
    written = [statement.text for statement in caption.statements]
    if [span.of(caption.text) for span in spans] != written:
        return []
    (draft,) = run_stages(
        [new_draft(draw_table(table, rng), caption.text, spans)], models, settings
    )
    found = []
    for statement, sentence in zip(caption.statements, draft.sentences, strict=True):
        text = present_text(sentence, draft.caption)
        true = is_true(text, statement, table)
        found.append((statement.error or "", text != statement.text, true))
    return found


@click.command()
@click.option("--charts", default=200, show_default=True, help="Charts to draw.")
@click.option("--seed", default="rewrites", show_default=True, help="Chooses the charts.")
@click.option("--write", is_flag=True, help="Also into docs.")
def main(charts: int, seed: str, write: bool) -> None:
    """Print what became of wrong and right sentences, by type of error."""
    critic, settings = ChartCritic(), RevisionSettings(guard="warn")
    models = LoadedModels(critic, ChartReviser(), critic.threshold, "")
    rows = [
        row
        for number in range(charts)
        for row in revised(random.Random(f"{seed}.{number}"), models, settings)
    ]
    lines = ["| sentences | number | rewritten | true afterwards |", "| --- | --- | --- | --- |"]
    kinds = Counter(error for error, _, _ in rows)
    parts = {"wrong": [row for row in rows if row[0]]}
    parts |= {
        f"… {kind}": [row for row in rows if row[0] == kind] for kind in sorted(kinds) if kind
    }
    parts["right"] = [row for row in rows if not row[0]]
    for name, part in parts.items():
        count = max(1, len(part))
        changed, true = sum(row[1] for row in part) / count, sum(row[2] for row in part) / count
        lines.append(f"| {name} | {len(part)} | {changed:.3f} | {true:.3f} |")
    print("\n".join(lines))
    if write:
        markdown.write_to_pages(ROOT, {"rewrites": "\n".join(lines)})


if __name__ == "__main__":
    main()
