"""A critic of ours through vLLM: the answers of the engine in process, and what is sent for them.

vLLM is imitated (`fake_vllm`); scripts/checks/vllm_vision.py asks vLLM itself.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import fake_vllm
import numpy as np
import pytest
import tinycritic
from PIL import Image
from safetensors.torch import load_file, save_file

from revise_captions.critic.hub_names import write_hub_names
from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.image_prefetch import resized
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.paligemma.vllm import VllmCritic
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import EngineDead, UserError
from revise_captions.pipelines.output.batch_journal import BatchJournal
from revise_captions.records import Unscored, Verdict
from revise_captions.text.sentences import split

TEXTS = [
    "There is a red circle. It is on the left. Both wear hats.",
    "The sky is grey, and two people walk.  The scene feels calm.",
    "There are 3 blue boats near the house.\nDer Kreis ist rot und der Himmel blau. It is red.",
]
LONG = 48


@pytest.fixture(scope="module")
def paragraphs() -> list[JudgeRequest]:
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 256, (70, 90, 3), dtype=np.uint8)) for _ in TEXTS]
    return [JudgeRequest(i, t, tuple(split(t))) for i, t in zip(images, TEXTS, strict=True)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("critics")
    return {
        attention_mode: tinycritic.saved(
            place / attention_mode, attention_mode, fluent=True, threshold=0.9, max_length=LONG
        )
        for attention_mode in AttentionMode
    }


@pytest.fixture
def fakes(folders, monkeypatch):
    """vLLM for one of the folders, on a device."""

    def made(
        attention_mode: AttentionMode, device: str = "cuda", **decided
    ) -> tuple[PaliGemmaCritic, fake_vllm.Fake]:
        local = load_paligemma(folders[attention_mode], CriticOptions(Placement(device="cpu")))
        plain = load_paligemma(
            folders[attention_mode], CriticOptions(Placement(device="cpu"))
        ).model
        plain.set_attn_implementation("eager")
        network = fake_vllm.paligemma(plain, block=attention_mode is AttentionMode.IMAGE_PREFIX)
        expand = fake_vllm.expand_paligemma(local.tokenizer, local.images)
        fake = fake_vllm.Fake(
            network,
            expand,
            device=device,
            eos=local.tokenizer.eos,
            **{"prefix_lm": True, **decided},
        )
        return local, fake_vllm.installed(monkeypatch, fake)

    return made


def test_the_fixture_s_answers_depend_on_the_attention_mode(folders, paragraphs):
    found = [
        [
            v.p_factual
            for v in load_paligemma(folder, CriticOptions(Placement(device="cpu"))).judge(
                paragraphs[:1]
            )[0]
        ]
        for folder in folders.values()
    ]
    for one, two in pairwise(found):
        assert all(abs(a - b) > 1e-3 for a, b in zip(one, two, strict=True) if a is not None)


@pytest.mark.parametrize(
    ("attention_mode", "device"),
    [
        (AttentionMode.CAUSAL, "cpu"),
        pytest.param(AttentionMode.CAUSAL, "cuda", marks=pytest.mark.slow),
        (AttentionMode.IMAGE_PREFIX, "cuda"),
    ],
)
def test_answers_are_those_of_the_engine_in_process(
    fakes, folders, paragraphs, attention_mode, device
):
    local, fake = fakes(attention_mode, device)
    critic = load_critic(
        str(folders[attention_mode]), CriticOptions(Placement(engine="vllm", dtype="float32"))
    )
    assert isinstance(critic, VllmCritic)
    expected, found = local.judge(paragraphs), critic.judge(paragraphs)
    reasons = {v.unscored for group in expected for v in group}
    assert {None, Unscored.LANGUAGE, Unscored.TOO_LONG} <= reasons
    for one, other in zip(expected, found, strict=True):
        assert [v.unscored for v in one] == [v.unscored for v in other]
        assert [v.assessable for v in one] == [v.assessable for v in other]
        for v, w in zip(one, other, strict=True):
            assert v.p_factual == pytest.approx(w.p_factual, abs=1.01e-4)
            assert v.answer_mass == pytest.approx(w.answer_mass, abs=1.01e-4)
    claims = [ExplainRequest(p.image, p.text, p.spans, k) for p in paragraphs for k in range(2)]
    told = critic.explain(claims)
    assert told == local.explain(claims)
    written = [one.text for one in told]
    assert "" in written
    assert len(set(written)) > 3
    ((_, options),) = fake.started
    assert options["hf_overrides"] == {
        "is_mm_prefix_lm": attention_mode is AttentionMode.IMAGE_PREFIX
    }
    assert options["limit_mm_per_prompt"] == {"image": 1}
    assert options["enforce_eager"] is (device == "cpu")
    assert options["max_model_len"] == LONG + 64
    settings = critic.settings
    assert (
        settings.items()
        >= {"attention-mode": str(attention_mode), "engine": "vllm", "device": device}.items()
    )
    assert settings["critic"].startswith(f"{attention_mode}@")
    assert critic.threshold == 0.9


def test_what_is_sent(fakes, folders, paragraphs, caplog):
    """Token ids without what vLLM adds, the picture in the tower's size, a caption's prompts one
    after the other."""
    caplog.set_level("INFO", "revise_captions")
    local, fake = fakes(AttentionMode.CAUSAL)
    critic = load_critic(
        str(folders[AttentionMode.CAUSAL]), CriticOptions(Placement(engine="vllm"))
    )
    counts = critic.vllm.counts
    before = replace(counts)
    critic.judge(paragraphs[:2])
    prompts, options = fake.asked[-1]
    tokenizer = local.tokenizer
    assert (options.temperature, options.max_tokens, options.ignore_eos) == (0.0, 2, True)
    assert options.logprob_token_ids == [
        tokenizer.yes,
        tokenizer.no,
        tokenizer.nothing,
        tokenizer.eos,
    ]
    for prompt in prompts:
        ids = prompt["prompt_token_ids"]
        assert not {tokenizer.image, tokenizer.bos} & set(ids)
        assert ids[-1] == tokenizer.special("\n")[0]
        (image,) = prompt["multi_modal_data"]["image"]
        assert image.size == (64, 64)
    whose = [prompt["multi_modal_data"]["image"][0] for prompt in prompts]
    assert np.array_equal(np.asarray(whose[0]), resized(paragraphs[0].image, 64))
    texts = [tokenizer.decode(prompt["prompt_token_ids"]) for prompt in prompts]
    assert texts[1] == "There is a red circle. It is on the left.\n"
    changes = sum(one is not other for one, other in pairwise(whose))
    assert changes == len({id(image) for image in whose}) - 1 == 1
    # at least the image and its <bos>, which are a block each time but the first of a caption
    cached, tokens = counts.cached - before.cached, counts.tokens - before.tokens
    assert tokens == sum(len(p["prompt_token_ids"]) + local.images + 1 for p in prompts)
    again = len(prompts) - 2
    assert again * local.images <= cached < tokens
    assert fake.ended == 0
    del critic
    assert fake.ended == 1  # vLLM's processes and memory are given back
    assert f"vLLM: {counts.cached} of {counts.tokens} prompt tokens" in caplog.text


def test_one_refused_prompt_costs_its_own_answer(fakes, folders, paragraphs):
    local, fake = fakes(AttentionMode.CAUSAL)
    critic = load_critic(
        str(folders[AttentionMode.CAUSAL]), CriticOptions(Placement(engine="vllm"))
    )
    expected = critic.judge(paragraphs[:2])
    bad = lambda ids: "hats" in local.tokenizer.decode(ids)  # noqa: E731
    fake.refuse = lambda ids: ValueError("no hats") if bad(ids) else None
    found = critic.judge(paragraphs[:2])
    assert found[0][2] == Verdict(None, Unscored.ENGINE_ERROR)
    assert found[0][:2] == expected[0][:2]
    assert found[1] == expected[1]
    fake.refuse = lambda ids: fake_vllm.EngineDeadError("gone")
    with pytest.raises(EngineDead, match="gone"):
        critic.judge(paragraphs)
    with pytest.raises(EngineDead, match="gone"):
        critic.explain(
            [ExplainRequest(paragraphs[0].image, "It is red.", tuple(split("It is red.")), 0)]
        )


def test_images_outside_the_domain_are_not_asked_about(fakes, folders, paragraphs, monkeypatch):
    import revise_captions.critic.gates.image_domain as domain

    gate = SimpleNamespace(inside=lambda states: np.arange(len(states)) != 1)
    monkeypatch.setattr(domain, "read_gate", lambda folder: gate)
    _, fake = fakes(AttentionMode.CAUSAL)
    critic = load_critic(
        str(folders[AttentionMode.CAUSAL]), CriticOptions(Placement(engine="vllm"))
    )
    found = critic.judge(paragraphs)
    assert {v.unscored for v in found[1]} == {Unscored.OUTSIDE_DOMAIN}
    assert len(fake.asked[-1][0]) == sum(v.p_factual is not None for group in found for v in group)
    assert critic.judge([]) == []


def refused(folder, **options) -> str:
    with pytest.raises(UserError) as caught:
        load_critic(str(folder), CriticOptions(Placement("vllm"), **options))
    return str(caught.value)


def test_attention_modes_that_vllm_does_not_compute_are_refused(fakes, folders, monkeypatch):
    _, fake = fakes(AttentionMode.CAUSAL, "cpu")
    says = "does not compute PaliGemma's attention"
    assert f"{says} as this critic" in refused(folders[AttentionMode.PREFIX])
    assert f"{says} on a CPU" in refused(folders[AttentionMode.IMAGE_PREFIX])
    assert fake.started == []  # before anything is loaded
    fakes(AttentionMode.CAUSAL, "tpu")
    assert f"{says} on tpu" in refused(folders[AttentionMode.IMAGE_PREFIX])
    # to see by how much another attention mode differs, as captions check-engine does
    fakes(AttentionMode.CAUSAL, "cpu")
    assert (
        load_critic(
            str(folders[AttentionMode.PREFIX]),
            CriticOptions(Placement(engine="vllm"), attention_mode="causal"),
        ).judge([])
        == []
    )
    fakes(AttentionMode.CAUSAL, "cuda", prefix_lm=None)
    assert "does not report support for causal" in refused(folders[AttentionMode.CAUSAL])


def test_a_vllm_that_builds_other_prompts_is_refused(fakes, folders):
    local, fake = fakes(AttentionMode.CAUSAL)
    own = fake.expand
    fake.expand = lambda ids: [local.tokenizer.bos, *own(ids)]
    assert "builds prompts" in refused(folders[AttentionMode.CAUSAL])
    fake.refuse = lambda ids: ValueError("cannot see")
    assert "does not answer: cannot see" in refused(folders[AttentionMode.CAUSAL])


def test_names_that_vllm_does_not_load_are_refused(fakes, folders, tmp_path):
    for path in folders[AttentionMode.CAUSAL].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "model.safetensors"
    weights = {k.replace(".vision_model.", "."): v for k, v in load_file(path).items()}
    save_file(weights, path, metadata={"format": "pt"})
    fakes(AttentionMode.CAUSAL)
    said = refused(tmp_path)
    assert "expected vision_tower.vision_model." in said
    assert f"python -m revise_captions.critic.hub_names {tmp_path}" in said
    write_hub_names(tmp_path)
    assert load_critic(str(tmp_path), CriticOptions(Placement(engine="vllm"))).judge([]) == []


def test_without_vllm_and_with_an_adapter_there_is_one_line(folders, tmp_path):
    assert "needs the package vllm" in refused(folders[AttentionMode.CAUSAL])
    (tmp_path / "adapter_config.json").write_text(
        f'{{"base_model_name_or_path": "{folders[AttentionMode.CAUSAL]}"}}'
    )
    assert "cannot add an adapter" in refused(folders[AttentionMode.CAUSAL], adapter=str(tmp_path))


def test_an_interrupted_call_goes_on_at_its_batch(
    fakes, folders, paragraphs, tmp_path, monkeypatch
):
    """What vLLM has answered is not asked again, and the verdicts are the same."""
    monkeypatch.setattr("revise_captions.critic.paligemma.vllm.TOGETHER", 2)
    _, fake = fakes(AttentionMode.IMAGE_PREFIX)
    name = str(folders[AttentionMode.IMAGE_PREFIX])
    critic = load_critic(name, CriticOptions(Placement(engine="vllm", dtype="float32")))
    claims = [ExplainRequest(paragraphs[0].image, paragraphs[0].text, paragraphs[0].spans, 1)]
    expected = critic.judge(paragraphs), critic.explain(claims)
    shown: list[tuple[str, int, int]] = []

    def answers() -> tuple[object, object]:
        def show(*told):
            shown.append(told)

        batches = BatchJournal(tmp_path / "journal", "run", show, resumed=True)
        with batches.window(0, "digest"):
            return critic.judge(paragraphs), critic.explain(claims)

    asked = len(fake.asked)
    with monkeypatch.context() as patch:
        cut = asked + 2
        patch.setattr(fake, "refuse", lambda _: EngineDead("") if len(fake.asked) > cut else None)
        with pytest.raises(EngineDead):
            answers()
    before, asked = shown[-1], len(fake.asked)
    assert before[:2] == ("judging", 4)
    assert answers() == expected
    assert len(fake.asked) - asked == (before[2] - 4 + 1) // 2 + 1  # the rest, and the rationale
