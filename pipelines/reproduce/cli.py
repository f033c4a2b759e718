"""The command `captions reproduce`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.pipelines.reproduce.options import ReproduceOptions

EPILOG = """
\b
Examples:
  captions reproduce --list
  captions reproduce posh:table2                       # on a made-up sample, offline
  captions reproduce vnli-critique:table4 --data DIR --model Qwen/Qwen3-VL-8B-Instruct
  captions reproduce vnli-critique:table3 --data DIR metric:vqascore=MODEL  # beside the critic
  captions reproduce posh:table3-docent --data DIR --protocol released --prompts prompts \\
    --model Qwen/Qwen3-14B --model parser=en_core_web_trf --model coreference=maverick
  captions reproduce dcscore:table11 --data DIR mine=captions.jsonl
  captions reproduce vela:table1 --data DIR metric:vela=FOLDER metric:clipscore=MODEL
  captions reproduce contextref:table1 --data DIR clipscore=MODEL --model gpt2
"""


@command(ReproduceOptions, name="reproduce", heading="Measure captions and metrics", epilog=EPILOG)
def reproduce_table(options: ReproduceOptions) -> None:
    """Compute a paper's table from data in its released format.

    Compute a paper's table for your models, beside the rows that the paper prints.

    Notes below the table name what makes the two not comparable, such as another judge or other
    prompts. Without --data, a made-up sample is used, to try the command.
    """
    from revise_captions.pipelines.reproduce.catalog import not_taken, tables
    from revise_captions.pipelines.reproduce.display import listed
    from revise_captions.pipelines.reproduce.run import reproduce

    table = options.table or ""
    if options.list or not table:
        own = [one for one in tables().values() if one.id.startswith(table)]
        others = {name: why for name, why in not_taken().items() if name.startswith(table)}
        echo(listed(own, others))
        return
    echo(reproduce(options))
