"""The critics of this package, as entry points load them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from revise_captions import registry
from revise_captions.critic import chat_prompts
from revise_captions.critic.adapters import check_base
from revise_captions.critic.checkpoints import CriticCard, asks_by_chat, read_card
from revise_captions.critic.clauses import ClauseCritic
from revise_captions.critic.locate import chosen_threshold, critic_folders, weights_digest
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.panel import PanelCritic
from revise_captions.critic.protocol import ChoosesByImage, Critic, JudgesParts
from revise_captions.engines.model_spec import TRANSFORMERS, VLLM, resolve_model
from revise_captions.errors import UserError
from revise_captions.pretrained import with_adapter

#: The shipped critic's name, in a panel too.
PICTUREBOOK = "picturebook"
#: The card of a model that was never calibrated as a critic.
NO_CARD = CriticCard(AttentionMode.CAUSAL)


def load_bundled(argument: str, options: CriticOptions) -> Critic:
    """The picture book's critic, by clauses, then the charts critic; the image decides who judges.

    The domain gate comes first, so the charts critic costs nothing in runs without charts. An
    adapter, a profile, a target precision or another attention mode concern the picture book's
    weights: with any of them, that critic is loaded alone.
    """
    own = ClauseCritic(load_picturebook(argument, options))
    if options.of_one:
        return own
    from revise_captions.critic.charts.load import load_or_missing

    return PanelCritic({PICTUREBOOK: own, "charts": load_or_missing(options)})


def load_picturebook(argument: str, options: CriticOptions) -> Critic:
    """The shipped critic of drawn picture-book scenes, alone."""
    _without_argument("picturebook", argument)
    return load_paligemma("bundled", options)


def load_clauses(argument: str, options: CriticOptions) -> Critic:
    """Any critic, asked about each clause of compound sentences [=CRITIC, else picturebook]."""
    from revise_captions.critic.load import resolve_critic

    name = argument or PICTUREBOOK
    named = resolve_critic(name)
    load = registry.load(registry.CRITICS, named.entry)
    critic: Critic = load(named.argument, replace(options, profile=None))
    if isinstance(critic, ChoosesByImage | JudgesParts):
        raise UserError(
            f"the clauses of {name} cannot be judged one by one",
            hint="name a single critic of whole sentences: clauses=picturebook,charts",
        )
    return ClauseCritic(critic)


def load_paligemma(argument: str, options: CriticOptions) -> Critic:
    """A PaliGemma 2, prompted as it was trained [=FOLDER or hub id]."""
    placement = options.placement
    if options.compiled and placement.engine != TRANSFORMERS:
        raise _no_compiling(argument)
    if placement.engine == VLLM:
        from revise_captions.critic.paligemma.vllm import expect_attention_mode, load_vllm_critic

        own, folder, _ = critic_folders(argument)
        if options.attention_mode is None:
            expect_attention_mode(read_card(own).attention_mode, folder)
        return load_vllm_critic(argument, options)
    if placement.engine != TRANSFORMERS:
        # also reports an unknown engine, and a server without an address
        resolve_model(argument, placement, option="--critic")
        raise UserError(
            f"the engine {placement.engine} cannot run the critic {argument}",
            hint="use transformers or vllm: it needs a PaliGemma's own attention",
        )
    from revise_captions.critic.paligemma.load import load_paligemma as load

    return load(argument, options)


def load_chat(argument: str, options: CriticOptions) -> Critic:
    """Any vision–language model that follows instructions [=FOLDER, hub id or server's model]."""
    from revise_captions.critic.instruct import InstructCritic
    from revise_captions.engines.load import load_engine
    from revise_captions.engines.transformers.engine import TransformersEngine

    if options.attention_mode is not None:
        raise UserError("only PaliGemma 2 critics have a choice of attention mode")
    spec = resolve_model(argument, options.placement, option="--critic")
    engine = spec.placement.engine
    if options.compiled:
        raise _no_compiling(argument)
    own: Path | None = None
    added: Path | None = None
    if engine in (TRANSFORMERS, VLLM):  # other engines have models of their own
        own, folder, added = critic_folders(argument, options.adapter)
        if added is not None:
            spec = replace(spec, name=str(folder), source=str(folder))
            check_base(added, weights_digest(folder), folder)
    if (options.adapter is not None or added is not None) and engine != TRANSFORMERS:
        raise UserError(
            f"--engine {engine} cannot add an adapter to a model",
            hint="train with --merge and name the merged folder",
        )
    card = NO_CARD
    if own is not None and asks_by_chat(own):
        card = read_card(own, chat_prompts.VERSION)
    limit = chosen_threshold(card, options.threshold, options.target_precision)
    loaded = load_engine(spec, option="--critic", samples=options.samples, scores=True, images=True)
    if added is not None:
        assert isinstance(loaded, TransformersEngine)
        loaded.model = with_adapter(loaded.model, added).eval()
        digest = weights_digest(added)
        loaded.settings = {**loaded.settings, "adapter": f"{added.name}@{digest}"}
    return InstructCritic(loaded, threshold=limit, calibrated=bool(card.calibration))


def _no_compiling(name: str) -> UserError:
    return UserError(
        f"--compile is for PaliGemma 2 critics in this process, and {name} is not one",
        hint="leave it out: vLLM and servers compile models themselves",
    )


def _without_argument(name: str, argument: str) -> None:
    if argument:
        raise UserError(f"the critic {name} takes no argument, but was given {argument!r}")
