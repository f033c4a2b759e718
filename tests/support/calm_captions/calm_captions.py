"""A package of somebody else's; docs/extending.md shows its parts."""

from __future__ import annotations

# --- a critic -------------------------------------------------------------------------------------
import re

from revise_captions.critic.protocol import Acceptance
from revise_captions.records import Fix, Rationale, Span, Verdict

LOUD = re.compile("amazing|stunning")


class CalmCritic:
    def __init__(self, threshold):
        self.settings, self.threshold = {"critic": "calm 1.0", "goes-with": "calm"}, threshold

    def accepts(self, images):
        return [Acceptance(mine=image.getcolors(1) is not None) for image in images]

    def judge(self, requests):
        return [[Verdict(0.1 if LOUD.search(s) else 0.9) for _, s in r.asked] for r in requests]

    def explain(self, requests):
        loud = [LOUD.finditer(r.spans[r.index].of(r.text)) for r in requests]
        fixes = [tuple(Fix(Span(*at.span()), "plain") for at in each) for each in loud]
        return [Rationale("It is a plain surface.", each) for each in fixes]


def load_critic(argument, options):
    """Judges pictures of a single color, which amaze nobody."""
    return CalmCritic(0.5 if options.threshold is None else options.threshold)


# --- a reviser ------------------------------------------------------------------------------------
class CalmReviser:
    settings, strict = {"reviser": "calm 1.0"}, False

    def rewrite(self, requests):
        return [None if r.failed else self.mended(r.sentence, r.fixes) for r in requests]

    def mended(self, text, fixes):
        for fix in reversed(fixes):
            text = text[: fix.span.start] + fix.right + text[fix.span.end :]
        return text


def load_reviser(argument, placement):
    """Puts in what the critic names as right."""
    return CalmReviser()


# --- a metric -------------------------------------------------------------------------------------
from revise_captions.metrics import MetricScore


class Shouting:
    name, settings, needs = "shouting", {"shouting": "1.0"}, frozenset()

    def score(self, items):
        return [MetricScore(-float(item.text.count("!"))) for item in items]


def load_shouting(argument, options):
    """The fewer exclamation marks, the better."""
    return Shouting()


# --- a command ------------------------------------------------------------------------------------
from dataclasses import dataclass

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.io.readers import open_source


@dataclass(frozen=True)
class CountOptions:
    source: str = argument("IN")
    least: int = option(1, "Count captions with this many exclamation marks and more.")


@command(CountOptions, heading="Measure captions and metrics")
def count_shouts(options: CountOptions) -> None:
    """Count the captions that shout."""
    found = [text for record in open_source(options.source) for text in record.captions.values()]
    echo(f"{sum(text.count('!') >= options.least for text in found)} of {len(found)} shout")
