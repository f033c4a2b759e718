"""The command `captions stress-metric`."""

from __future__ import annotations

from revise_captions.command_line.command import command
from revise_captions.command_line.printing import echo
from revise_captions.pipelines.stress.options import StressOptions

EPILOG = """
\b
Examples:
  captions stress-metric posh length DIR --benchmark contextual-descriptions --html stress.html
  captions stress-metric clipscore=openai/clip-vit-base-patch32 DIR --benchmark contextref
  captions stress-metric critic=bundled DIR --writer none  # without the two continuations
  captions stress-metric DIR --export variants          # for a metric that runs elsewhere, then
  captions stress-metric mine=scores.csv DIR            # its scores, by the exported ids

\b
A METRIC is a name that --list prints, NAME=MODEL, a floor or a scores file as `evaluate-metric`
takes it. DIR holds the benchmark (`captions benchmarks list`).
"""


@command(
    StressOptions,
    name="stress-metric",
    heading="Measure captions and metrics",
    epilog=EPILOG,
)
def stress_metric(options: StressOptions) -> None:
    """Show what a metric does not notice.

    Run the ten checks of ContextRef on each METRIC: descriptions in DIR are made worse in ten ways,
    and a sound metric scores each of them lower than the original.

    Prints how many scores fell, stayed the same or rose, with intervals over images and the paper's
    figures for other metrics; correlations with people's ratings and among the metrics; and what
    each metric should not be used for.
    """
    from revise_captions.pipelines.stress.run import run
    from revise_captions.pipelines.stress.terminal import as_text

    found = run(options)
    if found:
        echo(as_text(found))
