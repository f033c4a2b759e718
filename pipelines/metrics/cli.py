"""The command `captions evaluate-metric`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.pipelines.metrics.options import EvaluationOptions

EPILOG = """
\b
Examples:
  captions evaluate-metric chocolate DIR judged.jsonl  # output of revise-captions
  captions evaluate-metric chocolate DIR judged.jsonl --floors
  captions evaluate-metric chocolate DIR floor:digits floor:numbers=ocr.jsonl  # cached OCR
  captions evaluate-metric flickr8k-expert DIR CLIP=clip.csv BLEU=bleu.csv --ratings each
  captions evaluate-metric annotations DIR                       # agreement between your raters

\b
Rows of a scores file (JSON Lines, CSV, Parquet): {"id", "score"} for a caption,
{"id", "sentence", "score"} for a sentence, {"id", "spans": [{"start", "end", "score"}]} for
predicted error spans, or the output of revise-captions. A score of null means “could not judge”.
`captions benchmarks export` lists the ids.

\b
Floors, the trivial baselines that a metric has to beat: length, position, digits (from the captions
alone); bleu, rouge-l, meteor, cider, graph-f1 (against references); numbers=FILE (numbers in chart
captions that OCR does not find in the image); spice-like[=DIR] (graph-f1 with the synonyms of
WordNet, from DIR or where it is installed).

\b
Metrics that are computed here: metric:NAME or metric:NAME=MODEL, for example metric:posh,
metric:critic=bundled or metric:clipscore=FOLDER. --list names all.
"""


@command(
    EvaluationOptions,
    name="evaluate-metric",
    heading="Measure captions and metrics",
    epilog=EPILOG,
)
def evaluate_metric(options: EvaluationOptions) -> None:
    """Compare a metric with the human labels of a benchmark.

    Compare the SCORES of metrics or raters with the human annotations of BENCHMARK, read from
    DIR.

    Figures cover every level that the benchmark supports: sentences, captions (segments),
    captioners (systems), preferences, error spans, and agreement between the human raters. Each has
    a bootstrap interval over images, and every SCORES after the first is tested against the first.
    `captions benchmarks list` names the benchmarks. SCORES named `floor:…` or
    `metric:…` are computed, not read.
    """
    from revise_captions.pipelines.metrics.evaluate import as_text, evaluate

    echo(as_text(evaluate(options)))
