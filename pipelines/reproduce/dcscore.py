"""DCScore's tables (2503.07906): DeCapBench's leaderboard."""

from __future__ import annotations

from itertools import islice

from revise_captions.benchmarks.catalog.decapbench import JUDGE, SOURCE, TABLE_11
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.errors import UserError
from revise_captions.pipelines.reproduce.table import (
    PAPER,
    RELEASED,
    Asked,
    PaperTable,
    TableModel,
    TableRows,
)

BENCHMARK = "decapbench"
_OWN_PROMPTS = "the prompts are ours; --protocol released --prompts DIR takes the authors'"


def leaderboard(asked: Asked) -> TableRows:
    """Table 11: DCScore's F in percent of each captioner's file, with its parts."""
    from revise_captions.dcscore.load import load_scorer
    from revise_captions.dcscore.options import UnitModels
    from revise_captions.dcscore.rows import means
    from revise_captions.pipelines.benchmarks.decapbench import examples_of, score_files

    if not asked.files:
        raise UserError(
            "no file of captions is given", hint="add one for each captioner: NAME=captions.jsonl"
        )
    models = UnitModels(
        decomposer=asked.models["decomposer"],
        matcher=asked.models["matcher"],
        verifier=(asked.models["verifier"],),
        placement=asked.placement,
        protocol=asked.protocol,
        prompts=asked.prompts,
    )
    folder = asked.folder(BENCHMARK)
    examples = examples_of(benchmark(BENCHMARK), folder)
    examples = dict(islice(examples.items(), asked.limit))
    scorer = load_scorer(models)
    root = folder if models.looks else None
    found = score_files(asked.files, examples, scorer, image_root=root, looks=models.looks)
    rows, notes = {}, []
    for one in found:
        mean = means(one.rows)
        values = [mean[name].value for name in ("dcscore", "s_p", "s_r")]
        rows[one.name] = [None if value is None else 100 * value for value in values]
        notes.append(
            f"{one.name}: {len(one.rows)} of {len(examples)} images, {mean['dcscore'].unscored} "
            f"unscored, {one.unknown} of other images, {one.bad} bad or repeated rows"
        )
    own = asked.prompts is None
    return TableRows(rows, scorer.settings, tuple(notes), (_OWN_PROMPTS,) * own)


TABLES = (
    PaperTable(
        id="dcscore:table11",
        title="DeCapBench: F of each captioner, in percent; s_p and s_r beside it",
        source=SOURCE,
        benchmarks=(BENCHMARK,),
        cost="400 captions a captioner: three to five long answers of each model a caption",
        columns=("F", "s_p", "s_r"),
        published={who: (value, None, None) for who, value in TABLE_11.items()},
        roles=(
            TableModel("decomposer", "offline", JUDGE),
            TableModel("matcher", "offline", JUDGE),
            TableModel("verifier", "reference", JUDGE, "`reference` looks at no image"),
        ),
        run=leaderboard,
        sample="dcscore",
        protocols=(PAPER, RELEASED),
        files="captions of one captioner: rows with `image_name` and `caption`",
        sample_files=("somebody=decapbench/captions.jsonl",),
        digits=(2,),
    ),
)
