"""`bundled` picks its critic by image: scenes, charts, and all else."""

from __future__ import annotations

import logging
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version

import pytest
from PIL import Image

from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.tables import Table, TableColumn
from revise_captions.critic.charts import critic as chart_critic
from revise_captions.critic.charts.critic import ChartCritic
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest, as_judged
from revise_captions.critic.routed import RoutedCritic
from revise_captions.pipelines.draft import new_draft, revision_of
from revise_captions.pipelines.job import rounds
from revise_captions.pipelines.output.schema import from_json, to_json
from revise_captions.records import Unscored, Verdict
from revise_captions.reviser.bundled_model.charts_first import ChartsFirst
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.reviser.scripted import DropReviser
from revise_captions.text.sentences import split

CARD = 0.1318
SCENE = Image.new("RGB", (64, 64), "green")
CAPTION = "Women stand at 61. Rural stands at 52."
WRONG = "Rural is at 25, not 52."


def chart(rural: float = 25.0) -> Image.Image:
    table = Table(
        "horizontal bar", "Rents in Oslo by group", "", "the rent", "Rent", "Group", "", 0,
        ("Men", "Women", "Urban", "Rural"), (TableColumn("", (40.0, 61.0, 70.0, rural)),), False,
        True,
    )  # fmt: skip
    return draw_table(table, random.Random(0), "infographic")


@pytest.fixture(scope="module")
def drawn() -> Image.Image:
    return chart()


class SceneCritic:
    """Knows one scene, and lets another critic complete its verdicts."""

    threshold, settings, beyond = CARD, {"critic": "scenes"}, staticmethod(as_judged)

    def judge(self, requests):
        known = Verdict(0.9), Verdict(None, Unscored.OUTSIDE_DOMAIN)
        found = [[known[request.image is not SCENE]] * len(request.asked) for request in requests]
        return self.beyond(requests, found)

    def explain(self, requests):
        assert all(request.image is SCENE for request in requests)
        return ["of its own"] * len(requests)


@pytest.fixture
def own() -> SceneCritic:
    return SceneCritic()


def asked(image: Image.Image, caption: str = CAPTION) -> JudgeRequest:
    return JudgeRequest(image, caption, tuple(split(caption)))


def test_every_image_goes_to_its_critic(own, drawn):
    critic = RoutedCritic(own, ChartCritic(), CARD)
    photo = Image.effect_noise((200, 150), 80).convert("RGB")
    scene, (right, wrong), other = critic.judge([asked(SCENE), asked(drawn), asked(photo)])
    assert scene == [Verdict(0.9)] * 2
    assert other == [Verdict(None, Unscored.OUTSIDE_DOMAIN)] * 2
    assert right.p_factual >= critic.threshold > wrong.p_factual
    assert {right.critic, wrong.critic} == {"charts"}
    requests = [ExplainRequest(image, CAPTION, asked(drawn).spans, 1) for image in (drawn, SCENE)]
    assert critic.explain(requests) == [WRONG, "of its own"]
    fresh = RoutedCritic(own, ChartCritic(), CARD)  # asked to explain what it has not judged
    assert fresh.explain(requests) == [WRONG, "of its own"]


def test_scenes_and_photographs_are_never_read(own, monkeypatch):
    def fail(image):
        raise AssertionError("OCR of an image that is no chart")

    monkeypatch.setattr(chart_critic, "read_image", fail)
    critic = RoutedCritic(own, ChartCritic(), CARD)
    photo = Image.effect_noise((200, 150), 80).convert("RGB")
    critic.prepare(SCENE)
    scene, other = critic.judge([asked(SCENE), asked(photo)])
    assert scene == [Verdict(0.9)] * 2
    assert other[0].unscored is Unscored.OUTSIDE_DOMAIN


def test_without_the_extra_one_line_says_what_to_install(own, drawn, caplog):
    critic = RoutedCritic(own, None, CARD)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            found = critic.judge([asked(SCENE), asked(drawn), asked(chart(30.0))])
    assert found[0] == [Verdict(0.9)] * 2
    assert found[1] == found[2] == [Verdict(None, Unscored.NEEDS_CHARTS)] * 2
    assert len(caplog.records) == 1
    assert "pip install 'revise-captions[charts]'" in caplog.text
    assert critic.settings["charts-critic"] == "not installed"


def test_one_threshold_serves_both(own):
    charts = ChartCritic()
    critic = RoutedCritic(own, charts, CARD)
    steps = [k / 10_000 for k in range(10_001)]
    scaled = [critic._on_scale(Verdict(p)).p_factual for p in steps]
    assert scaled == sorted(scaled)
    assert (scaled[0], scaled[-1]) == (0.0, 1.0)
    for before, after in zip(steps, scaled, strict=True):
        assert (before >= charts.threshold) is (after >= CARD)


def test_settings_name_both_critics(own):
    charts = ChartCritic()
    settings = RoutedCritic(own, charts, CARD).settings
    assert settings["critic"] == "scenes"
    assert settings["charts-critic"] == charts.settings["critic"]
    assert settings["charts-rapidocr"] == version("rapidocr")
    assert settings["charts-threshold"] == f"{charts.threshold:.4f}"


def test_the_row_says_who_judged_and_the_next_stage_keeps_it(own, drawn):
    critic = RoutedCritic(own, ChartCritic(), CARD)
    drafts = [new_draft(image, CAPTION, split(CAPTION)) for image in (drawn, SCENE)]
    done = rounds.judge(drafts, critic)
    rows = [to_json(revision_of(draft, "s")) for draft in done]
    assert [row["revision"].get("critic") for row in rows] == ["charts", None]
    assert [to_json(from_json(CAPTION, row, whole=True), critic.threshold) for row in rows] == rows


def test_rewrites_of_charts_are_made_by_rule_and_pass_the_guard():
    reviser = ChartsFirst(DropReviser())
    trend = RewriteRequest("", "It rose.", "It fell from 9 in 2010 to 4 in 2014.")
    other = RewriteRequest("", "It rose.", "There is no dog.")
    assert reviser.rewrite([other, trend]) == ["", "It fell."]
    assert [reviser.by_rule(r) for r in (other, trend)] == [False, True]
    unruled = replace(other, rationale="The chart does not show 7.", critic="charts")
    assert reviser.rewrite([unruled]) == [None]
    assert reviser.settings["reviser-of-charts"] == "charts-3"


def test_threads_read_what_one_thread_reads():
    images = [chart(value) for value in (20.0, 45.0)]
    alone = [chart_critic.read_image(image) for image in images]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(chart_critic.read_image, images)) == alone
