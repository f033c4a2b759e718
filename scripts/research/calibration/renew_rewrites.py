"""Puts the rewrites of a labeled run into a critic's card; its map, threshold and sentences stay.

    python -m scripts.research.calibration.labeled_run runs/rewrites --scenes 800
    python -m scripts.research.calibration.renew_rewrites critic/bundled runs/rewrites

For when the reviser or its guards have changed and the critic has not: the share of accepted
rewrites that are true is known for the reviser that wrote them alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from revise_captions.critic import prompts
from revise_captions.critic.checkpoints import read_card
from revise_captions.critic.load import load_critic
from revise_captions.critic.panel import first_of
from revise_captions.critic.profile import MeasuredSentences
from revise_captions.finetune.calibration.measure import JudgedSentences, judged
from revise_captions.finetune.calibration.sentences import read_folder

#: A setting that only some machines have; every word of these sentences is the picture book's.
OTHER_WORDS = "reviser-of-other-words"


def renewed(kept: MeasuredSentences, found: JudgedSentences) -> MeasuredSentences:
    """The critic's own sentences of `kept`, with the rewrites of `found`."""
    own = ~kept.rewritten
    _, image = np.unique(np.asarray(found.image), return_inverse=True)
    return MeasuredSentences(
        np.concatenate([kept.image[own], image + kept.image[own].max() + 1]).astype(np.int64),
        np.concatenate([kept.p[own], found.p]),
        np.concatenate([kept.factual[own], found.factual]),
        np.concatenate([kept.rewritten[own], found.rewritten]),
        np.concatenate([kept.weight[own], found.weight]),
    )


@click.command(help=__doc__.partition("\n")[0] if __doc__ else None)
@click.argument("critic", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("run", type=click.Path(path_type=Path, exists=True, file_okay=False))
def main(critic: Path, run: Path) -> None:
    card, data = read_card(critic, prompts.VERSION), read_folder(run, None)
    found = judged(first_of(load_critic(str(critic.absolute()))), data.captions)
    rewrites = found.part(found.rewritten)
    kept = MeasuredSentences.read(card.calibration["measured"])
    measured = renewed(kept, rewrites)
    reviser = {name: value for name, value in data.reviser.items() if name != OTHER_WORDS}
    more = {"measured": measured.as_json(), "reviser": reviser}
    replace(card, calibration={**card.calibration, **more}).write(critic)
    for name, each in (("before", kept), ("now", measured)):
        rates = each.rates(card.threshold, "", rewrites=True)
        assert rates is not None
        assert rates.rewrites_true is not None
        share = rates.rewrites_true
        click.echo(f"{name}: {share.share:.3f} of {int(each.rewritten.sum()):,} rewrites true")


if __name__ == "__main__":
    main()
