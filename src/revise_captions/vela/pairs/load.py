"""VELA's I2C branch by name."""

from __future__ import annotations

from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.panel import first_of
from revise_captions.critic.states import states_of
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.vela.branches import PairEncoder
from revise_captions.vela.pairs import text_pair
from revise_captions.vela.pairs.critic_pair import WAYS, CriticPair
from revise_captions.vela.pairs.dual_encoder import load_dual_encoder


def needs_image(name: str) -> bool:
    """Whether the branch of this name looks at images, without loading it."""
    return name != text_pair.NAME


def load_pair(name: str, *, device: str = "auto", dtype: str = "auto") -> PairEncoder:
    """VELA's I2C branch by name.

    Args:
        name: A CLIP-like pair of towers (a folder or hub id); `bundled`, or a critic's folder, with
            `#late`, `#early` or `#verdict` behind it; or `minilm`, which compares with references.
        device: See `ModelSpec`.
        dtype: Of a critic, see `ModelSpec`; towers of other pairs compute in float32.

    Raises:
        UserError: It cannot be loaded.
    """
    if name == text_pair.NAME:
        return text_pair.load_text_pair(device)
    place, mark, way = name.partition("#")
    if place != "bundled" and not mark:
        return load_dual_encoder(name, device=device)
    if (way or "early") not in WAYS:
        raise UserError(f"--pair {name}: expected {' or '.join(f'{place}#{w}' for w in WAYS)}")
    options = CriticOptions(Placement(device=device, dtype=dtype))
    critic = first_of(load_critic(place, options))
    states = states_of(critic)
    if states is None:
        raise UserError(f"--pair {name} is no PaliGemma critic in this process")
    return CriticPair(critic, states, way or "early", critic.settings.get("critic", place))
