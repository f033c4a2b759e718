"""Several critics as one: `bundled` lets the image choose between scenes and charts."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version

import pytest
from PIL import Image

from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.tables import Table, TableColumn
from revise_captions.critic import load
from revise_captions.critic.charts import critic as chart_critic
from revise_captions.critic.charts import load as load_charts
from revise_captions.critic.charts.critic import ChartCritic
from revise_captions.critic.charts.missing import MissingChartCritic
from revise_captions.critic.checkpoints import GOES_WITH
from revise_captions.critic.clauses import ClauseCritic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.panel import EXPERTS, PanelCritic, experts_of
from revise_captions.critic.protocol import Acceptance, Chosen, ExplainRequest, JudgeRequest, chosen
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.engines.model_spec import Placement
from revise_captions.pipelines.draft import flagged, new_draft, revision_of
from revise_captions.pipelines.job import rounds
from revise_captions.pipelines.output.schema import from_json, to_json
from revise_captions.records import Rationale, Unscored, Verdict
from revise_captions.signature import of_expert
from revise_captions.text.sentences import split

CARD = 0.1318
SCENE = Image.new("RGB", (64, 64), "green")
CAPTION = "Women stand at 61. Rural stands at 52."
WRONG = "Rural is at 25, not 52."
#: What each of the experts `Expert` takes, by the size of the image.
SIZES = {"small": (1, 1), "wide": (2, 1), "broken": (3, 3), "foreign": (4, 4)}


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


def photograph() -> Image.Image:
    return Image.effect_noise((200, 150), 80).convert("RGB")


def asked(image: Image.Image, caption: str = CAPTION) -> JudgeRequest:
    return JudgeRequest(image, caption, tuple(split(caption)))


def why(image: Image.Image, index: int = 1) -> ExplainRequest:
    return ExplainRequest(image, CAPTION, asked(image).spans, index)


class SceneCritic:
    """Takes one scene, and knows nothing of any other image."""

    threshold = CARD
    settings = {"critic": "scenes", GOES_WITH: "bundled", "dtype": "float32"}  # noqa: RUF012

    def __init__(self) -> None:
        self.prepared: list[Image.Image] = []

    def accepts(self, images):
        return [Acceptance(image is SCENE) for image in images]

    def judge(self, requests):
        assert all(request.image is SCENE for request in requests)
        return [[Verdict(0.9)] * len(request.asked) for request in requests]

    def explain(self, requests):
        assert all(request.image is SCENE for request in requests)
        return [Rationale("of its own")] * len(requests)

    def prepare(self, image):
        self.prepared.append(image)


@dataclass
class Expert:
    """Takes images of some sizes, cannot judge others that are its own, and keeps a log."""

    name: str
    mine: tuple[str, ...]
    p: float = 0.3
    threshold: float = 0.5
    broken: tuple[str, ...] = ()
    gates: list[list[tuple[int, int]]] = field(default_factory=list)
    judged: list[list[tuple[int, int]]] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, str]:
        return {"critic": self.name, "dtype": f"{self.name}-bits"}

    def accepts(self, images: Sequence[Image.Image]) -> list[Acceptance]:
        self.gates.append([image.size for image in images])
        broken = [SIZES[one] for one in self.broken]
        takes = [SIZES[one] for one in self.mine]
        return [
            Acceptance(True, Unscored.UNREADABLE_CHART)
            if image.size in broken
            else Acceptance(image.size in takes)
            for image in images
        ]

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        self.judged.append([request.image.size for request in requests])
        return [[Verdict(self.p)] * len(request.asked) for request in requests]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        return [Rationale(f"{self.name}: {r.spans[r.index].of(r.text)}") for r in requests]


def images(*names: str) -> list[Image.Image]:
    return [Image.new("RGB", SIZES[name]) for name in names]


# --- A panel -------------------------------------------------------------------------------------


def test_the_first_gate_that_takes_an_image_decides():
    """The second would take “small” as well; it is asked about what the first leaves only."""
    first = Expert("first", ("small",), p=0.1)
    second = Expert("second", ("small", "wide"), p=0.2)
    panel = PanelCritic({"a": first, "b": second})
    pictures = images("wide", "small", "foreign", "wide")
    found = panel.judge([asked(image) for image in pictures])
    outside = Verdict(None, Unscored.OUTSIDE_DOMAIN)
    assert found == [[Verdict(p)] * 2 if p else [outside] * 2 for p in (0.2, 0.1, None, 0.2)]
    assert first.gates == [[SIZES[n] for n in ("wide", "small", "foreign", "wide")]]
    assert second.gates == [[SIZES[n] for n in ("wide", "foreign", "wide")]]
    assert (first.judged, second.judged) == ([[SIZES["small"]]], [[SIZES["wide"]] * 2])


def test_a_panel_may_refuse_images_only_if_all_its_experts_may():
    class TakesAll:
        threshold, settings = 0.5, {"critic": "all"}

    gated = SceneCritic()
    gated.gate = "a gate"
    assert PanelCritic({"scenes": ClauseCritic(gated)}).gate == "a gate"
    assert PanelCritic({"scenes": gated, "clauses": ClauseCritic(TakesAll())}).gate is None


def test_gates_are_asked_once_about_an_image():
    first, second = Expert("first", ("small",)), Expert("second", ("wide",))
    panel = PanelCritic({"a": first, "b": second})
    small, wide, foreign = pictures = images("small", "wide", "foreign")
    for _ in range(2):
        panel.chosen([*pictures, small])
        panel.judge([asked(image) for image in (wide, small, foreign, wide)])
        panel.explain([why(image) for image in pictures])
    assert [len(part) for part in first.gates] == [3]
    assert [len(part) for part in second.gates] == [2]
    (new,) = images("small")
    panel.chosen([small, new, new])
    assert first.gates[1:] == [[new.size]]
    assert second.gates[1:] == []


def test_an_experts_reason_stands_and_no_other_expert_is_asked():
    first = Expert("first", (), broken=("broken",))
    second = Expert("second", ("broken", "wide"))
    panel = PanelCritic({"a": first, "b": second})
    broken, wide = images("broken", "wide")
    unreadable, judged = panel.judge([asked(broken), asked(wide)])
    assert unreadable == [Verdict(None, Unscored.UNREADABLE_CHART)] * 2
    assert judged == [Verdict(0.3)] * 2
    assert first.judged == []
    assert second.gates == second.judged == [[wide.size]]
    assert panel.explain([why(broken)]) == [Rationale("")]


def test_an_image_that_nobody_takes_is_outside_the_domain_of_all():
    panel = PanelCritic({"a": Expert("first", ("small",), threshold=0.2)})
    (foreign,) = images("foreign")
    assert panel.judge([asked(foreign)]) == [[Verdict(None, Unscored.OUTSIDE_DOMAIN)] * 2]
    assert panel.chosen([foreign]) == [Chosen("", 0.2)]
    assert panel.explain([why(foreign)]) == [Rationale("")]


def test_statements_in_the_place_of_sentences_are_each_unscored():
    panel = PanelCritic({"a": Expert("first", ("small",))})
    (foreign,) = images("foreign")
    request = JudgeRequest(
        foreign, CAPTION, asked(foreign).spans, instead=((0, "x"), (0, "y"), (1, "z"))
    )
    assert [len(row) for row in panel.judge([request])] == [3]


def test_an_expert_without_a_gate_takes_every_image_that_is_left():
    rest = ScriptedCritic(default=Verdict(0.7), settings={"critic": "rest"})
    panel = PanelCritic({"a": Expert("first", ("small",)), "b": rest})
    small, foreign = pictures = images("small", "foreign")
    assert [one.expert for one in panel.chosen(pictures)] == ["a", "b"]
    assert panel.judge([asked(small), asked(foreign)]) == [[Verdict(0.3)] * 2, [Verdict(0.7)] * 2]


def test_explanations_come_from_who_takes_the_image_in_the_order_asked():
    panel = PanelCritic({"a": Expert("first", ("small",)), "b": Expert("second", ("wide",))})
    small, wide = images("small", "wide")
    found = panel.explain([why(wide, 0), why(small, 1), why(wide, 1)])
    one, two = "Women stand at 61.", "Rural stands at 52."
    assert [r.text for r in found] == [f"second: {one}", f"first: {two}", f"second: {two}"]


def test_each_expert_keeps_its_threshold():
    first = Expert("first", ("small",), p=0.3, threshold=0.2)
    second = Expert("second", ("wide",), p=0.3, threshold=0.6)
    panel = PanelCritic({"a": first, "b": second})
    pictures = images("small", "wide", "foreign")
    assert panel.threshold == 0.2
    assert chosen(panel, pictures) == [Chosen("a", 0.2), Chosen("b", 0.6), Chosen("", 0.2)]
    done = rounds.judge([new_draft(image, CAPTION, split(CAPTION)) for image in pictures], panel)
    assert [(d.expert, d.threshold) for d in done] == [("a", 0.2), ("b", 0.6), ("", 0.2)]
    assert [flagged(draft) for draft in done] == [[], [0, 1], []]
    assert chosen(first, pictures) == [Chosen("", 0.2)] * 3


def test_the_thresholds_of_experts_decide_which_rewrites_stand():
    """0.3 before, 0.5 after: enough for an expert whose threshold is 0.4, not for one of 0.6."""

    class Hopeful(Expert):
        def judge(self, requests):
            return [
                [Verdict(0.5 if said == "Better." else 0.3) for _, said in request.asked]
                for request in requests
            ]

    panel = PanelCritic(
        {"a": Hopeful("first", ("small",), threshold=0.4), "b": Hopeful("second", ("wide",),
         threshold=0.6)}
    )  # fmt: skip

    class Reviser:
        strict, settings = False, {"reviser": "x"}

        def rewrite(self, requests):
            return ["Better."] * len(requests)

    drafts = [new_draft(image, "Worse.", split("Worse.")) for image in images("small", "wide")]
    models = rounds.LoadedModels(panel, Reviser(), "s")
    settings = rounds.RevisionSettings(rounds=1, guard="warn")
    lenient, strict = rounds.run_stages(drafts, models, settings)
    assert revision_of(lenient, "s").revised_caption == "Better."
    assert revision_of(strict, "s").revised_caption == "Worse."
    assert [a.accepted for a in strict.sentences[0].attempts] == [False]


class Quotes(ScriptedCritic):
    """An expert of a part of sentences that says the same of all."""

    part = "quoted text"


@pytest.mark.parametrize(
    ("own", "part", "expected"),
    [
        (0.3, 0.5, Verdict(0.3)),  # at its threshold a part is not refuted
        (0.9, 0.5, Verdict(0.9)),
        (None, 0.5, Verdict(None, Unscored.OUTSIDE_DOMAIN)),
        (0.3, 0.4999, Verdict(0.3)),
        (0.3, 0.25, Verdict(0.2)),  # scaled to the image's threshold; both object
        (0.4, 0.25, Verdict(0.2, by="quotes")),  # at its own the image's expert does not
        (0.9, 0.4999, Verdict(0.3999, by="quotes")),
        (None, 0.25, Verdict(0.2, by="quotes")),
    ],
)
def test_what_is_exactly_at_a_threshold_is_factual_to_it(own, part, expected):
    outside = Verdict(None, Unscored.OUTSIDE_DOMAIN)
    image = ScriptedCritic(default=outside if own is None else Verdict(own), threshold=0.4)
    panel = PanelCritic({"image": image, "quotes": Quotes(default=Verdict(part), threshold=0.5)})
    assert panel.judge([asked(SCENE)]) == [[expected] * 2]


def test_settings_name_every_expert():
    first = Expert("first", ("small",), threshold=0.2)
    second = Expert("second", ("wide",), threshold=0.6)
    settings = PanelCritic({"a": first, "b": second}).settings
    assert settings == {
        "critic": "first+second", EXPERTS: "a,b",
        "a.critic": "first", "a.dtype": "first-bits", "a.threshold": "0.2000",
        "b.critic": "second", "b.dtype": "second-bits", "b.threshold": "0.6000",
    }  # fmt: skip
    whole = {**settings, "rounds": "2"}
    assert of_expert(whole, "b") == {
        "critic": "second", "dtype": "second-bits", "threshold": "0.6000", "rounds": "2",
        EXPERTS: "a,b",
    }  # fmt: skip
    assert list(experts_of(whole)) == ["a", "b"]
    assert experts_of(whole)["a"]["critic"] == "first"
    assert experts_of({"critic": "alone"}) == {"": {"critic": "alone"}}


def test_the_first_expert_prepares_images():
    own = SceneCritic()
    PanelCritic({"a": own, "b": Expert("second", ("wide",))}).prepare(SCENE)
    assert own.prepared == [SCENE]
    PanelCritic({"b": Expert("second", ("wide",)), "a": own}).prepare(SCENE)  # it cannot
    assert own.prepared == [SCENE]


# --- Scenes and charts ---------------------------------------------------------------------------


@pytest.fixture
def own() -> SceneCritic:
    return SceneCritic()


@pytest.fixture
def panel(own) -> PanelCritic:
    return PanelCritic({"picturebook": own, "charts": ChartCritic()})


def test_every_image_goes_to_its_critic(panel, own, drawn):
    charts = panel.experts["charts"]
    scene, (right, wrong), other = panel.judge([asked(SCENE), asked(drawn), asked(photograph())])
    assert scene == [Verdict(0.9)] * 2
    assert other == [Verdict(None, Unscored.OUTSIDE_DOMAIN)] * 2
    assert right.p_factual >= charts.threshold > wrong.p_factual
    assert [one.expert for one in panel.chosen([SCENE, drawn])] == ["picturebook", "charts"]
    requests = [why(image) for image in (drawn, SCENE)]
    assert [r.text for r in panel.explain(requests)] == [WRONG, "of its own"]
    fresh = PanelCritic({"picturebook": own, "charts": ChartCritic()})
    assert [r.text for r in fresh.explain(requests)] == [WRONG, "of its own"]  # judged nothing yet


def test_scenes_and_photographs_are_never_read(panel, monkeypatch):
    def fail(image):
        raise AssertionError("OCR of an image that is no chart")

    monkeypatch.setattr(chart_critic, "read_image", fail)
    panel.prepare(SCENE)
    scene, other = panel.judge([asked(SCENE), asked(photograph())])
    assert scene == [Verdict(0.9)] * 2
    assert other[0].unscored is Unscored.OUTSIDE_DOMAIN


def test_a_chart_without_a_value_is_unreadable_and_not_foreign(own, drawn):
    charts = ChartCritic()
    reading = charts.reading(drawn)
    assert reading.readable
    unreadable, foreign = chart(33.0), chart(34.0)
    charts.take(unreadable, chart_critic.ChartReading((), reading.lines, is_chart=True))
    charts.take(foreign, chart_critic.ChartReading((), reading.lines, is_chart=False))
    panel = PanelCritic({"picturebook": own, "charts": charts})
    found = [row[0].unscored for row in panel.judge([asked(unreadable), asked(foreign)])]
    assert found == [Unscored.UNREADABLE_CHART, Unscored.OUTSIDE_DOMAIN]


def test_without_the_extra_one_line_says_what_to_install(own, drawn, caplog):
    panel = PanelCritic({"picturebook": own, "charts": MissingChartCritic()})
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            found = panel.judge([asked(SCENE), asked(drawn), asked(chart(30.0))])
    assert found[0] == [Verdict(0.9)] * 2
    assert found[1] == found[2] == [Verdict(None, Unscored.NEEDS_CHARTS)] * 2
    assert len(caplog.records) == 1
    assert "pip install 'revise-captions[charts]'" in caplog.text
    assert panel.settings["charts.critic"] == "charts (not installed)"
    (other,) = panel.judge([asked(photograph())])
    assert other == [Verdict(None, Unscored.OUTSIDE_DOMAIN)] * 2


def test_bundled_is_a_panel_of_scenes_and_charts(monkeypatch):
    panel = load.load_critic("bundled", CriticOptions(Placement(device="cpu")))
    assert isinstance(panel, PanelCritic)
    assert list(panel.experts) == ["picturebook", "charts"]
    settings = experts_of(panel.settings)
    charts = panel.experts["charts"]
    assert isinstance(charts, ChartCritic)
    assert settings["charts"]["critic"] == charts.settings["critic"]
    assert settings["charts"]["rapidocr"] == version("rapidocr")
    assert settings["charts"]["threshold"] == f"{charts.threshold:.4f}"
    assert [one[GOES_WITH] for one in settings.values()] == ["bundled", "fixes"]
    assert settings["picturebook"]["threshold"] == f"{panel.threshold:.4f}"
    assert settings["picturebook"]["clauses"] == load.load_critic("clauses").settings["clauses"]
    monkeypatch.setattr(load_charts, "missing_libraries", lambda *_: ["rapidocr"])
    without = load.load_critic("bundled", CriticOptions(Placement(device="cpu")))
    assert isinstance(without.experts["charts"], MissingChartCritic)


def test_the_row_says_who_judged_and_the_next_stage_keeps_it(panel, drawn):
    charts = panel.experts["charts"]
    drafts = [new_draft(image, CAPTION, split(CAPTION)) for image in (drawn, SCENE)]
    drafts.append(new_draft(photograph(), CAPTION, split(CAPTION)))
    done = rounds.judge(drafts, panel)
    rows = [to_json(revision_of(draft, "s")) for draft in done]
    said = [(row["revision"].get("expert"), row["revision"]["threshold"]) for row in rows]
    assert said == [("charts", charts.threshold), ("picturebook", CARD), (None, CARD)]
    assert [to_json(from_json(CAPTION, row, whole=True)) for row in rows] == rows


def test_threads_read_what_one_thread_reads():
    pictures = [chart(value) for value in (20.0, 45.0)]
    alone = [chart_critic.read_image(image) for image in pictures]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(chart_critic.read_image, pictures)) == alone
